"""Index arithmetic between tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from liftgbp.arrays import Ints


def projection(shape: Sequence[int], axes: Sequence[int]) -> Ints:
    """For each state of a table, the state of a smaller table whose axes are some of its axes.

    States are flat indices, row-major.

    >>> projection((2, 3), (1,)).tolist()
    [0, 1, 2, 0, 1, 2]
    """
    index = np.zeros(shape, dtype=np.int64)
    stride = math.prod(shape[axis] for axis in axes)
    for axis in axes:
        stride //= shape[axis]
        along = [1] * len(shape)
        along[axis] = shape[axis]
        index += (np.arange(shape[axis]) * stride).reshape(along)
    return index.ravel()


def project_states(states: Ints, shape: Sequence[int], axes: Sequence[int]) -> Ints:
    """The same for some states only.

    >>> project_states(np.array([1, 5]), (2, 3), (1,)).tolist()
    [1, 2]
    """
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    index = np.zeros(len(states), dtype=np.int64)
    for axis in axes:
        index *= shape[axis]
        index += states // strides[axis] % shape[axis]
    return index
