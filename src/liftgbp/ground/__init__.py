"""The ground room: a problem written out, and compressed again.

Takes a `Problem` or a network file (`formats`); gives a `GroundNetwork` (`grounding`) and a
`QuotientGraph` (`compress`). Imports the rooms up to `lift`. Knows nothing of messages as numbers.
"""
