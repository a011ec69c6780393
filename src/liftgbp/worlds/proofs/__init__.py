"""The proofs room: what no world's score exceeds, over classes of objects, in fractions.

Takes a model in normal form; knows region graphs, consistent beliefs and count cuts; knows nothing
of how worlds are found.
"""
