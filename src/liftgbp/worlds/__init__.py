"""The worlds room: most probable worlds, and bounds that prove them.

Takes a `Problem` or a network; gives a `BestWorld`. `ground` searches atom by atom, `blocks` over
blocks of objects that are alike, `proofs` bounds the scores of all worlds over classes of objects.
Imports the rooms up to `methods`. Knows nothing of commands and files.
"""
