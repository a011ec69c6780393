"""The methods room: ways to a posterior, and what judges one.

Takes a prepared model or a `Problem`; gives a `Posterior` (`exact`, `counting`, `blocks`),
`Bounds` (`bounding`) or a `Sample` (`sampling`). Imports the rooms up to `posterior`. Knows nothing
of which method is tried when.
"""
