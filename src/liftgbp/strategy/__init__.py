"""The strategy room: which methods answer a question, in which order, and what to believe.

Takes a `Problem` or a ground network, with a request and an effort; gives a `Posterior`. Imports
the rooms up to `methods`. Knows nothing of commands and files.
"""
