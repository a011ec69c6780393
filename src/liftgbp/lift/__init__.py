"""The lifting room: from a problem to a lifted region graph, in exact integers.

Takes a `Problem`; gives classes of objects and a `NormalModel` (`shatter`), atoms up to renaming
(`signature`) and a `LiftedRegionGraph` (`regions`). Imports the rooms up to `evidence`. Knows
nothing of messages as numbers.
"""
