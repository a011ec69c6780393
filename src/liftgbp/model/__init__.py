"""The model room: what users write, as text or in Python.

Takes texts and Python values; gives a `Model` and parsed queries. Imports `support`, and
`pictures` for cards. Knows nothing of classes of objects and of arrays.
"""
