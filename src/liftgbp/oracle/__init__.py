"""The oracle room: slow code that shares nothing with the engine, and what compares the two.

Takes a `Problem`; gives exact and ground answers (`reference`), checks and the evaluation of the
paper. `reference` imports `support`, `model` and `evidence`; the rest may import every room.
"""
