"""The strategy room: which methods answer a question, in which order, and what to believe.

Takes a model under evidence, or a ground network, with a request and an effort; gives answers.
Knows all methods; knows nothing of commands and files.
"""
