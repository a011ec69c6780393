"""Log tables over sorted scopes: the few array operations that the oracle needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from liftgbp.support.arrays import Floats

Key = TypeVar("Key")
Scalar = TypeVar("Scalar", bound=np.generic)

MAX_ENTRIES = 2**20
LOWEST = np.finfo(np.float64).min


def table_shape(scope: Sequence[Key], ranges: Mapping[Key, int]) -> tuple[int, ...]:
    """One axis per member of the scope, as long as its range."""
    return tuple(ranges[key] for key in scope)


def expand(
    table: npt.NDArray[Scalar], scope: Collection[Key], target: Sequence[Key]
) -> npt.NDArray[Scalar]:
    """View a table so that it broadcasts over a larger sorted scope.

    Both scopes are sorted, so their axes are in the same order and a reshape suffices.

    >>> expand(np.zeros((2, 3)), ["a", "c"], ["a", "b", "c"]).shape
    (2, 1, 3)
    """
    lengths = iter(table.shape)
    return table.reshape([next(lengths) if key in scope else 1 for key in target])


def axes_outside(scope: Sequence[Key], inner: Collection[Key]) -> tuple[int, ...]:
    """The axes of a scope that do not belong to the inner one.

    >>> axes_outside(["a", "b", "c"], ["b"])
    (0, 2)
    """
    return tuple(axis for axis, key in enumerate(scope) if key not in inner)


def log_sum_exp(table: Floats, axes: tuple[int, ...] | None = None) -> Floats:
    """The logarithm of the sum of exponentials over some axes (all by default); all −∞ gives −∞.

    >>> log_sum_exp(np.log([[1.0, 2.0], [3.0, 4.0]]), (1,)).round(6).tolist()
    [1.098612, 1.94591]
    """
    over = tuple(range(table.ndim)) if axes is None else axes
    # Use the lowest finite number if the maximum is −∞, which would give ∞ − ∞.
    top = np.maximum(table.max(axis=over, keepdims=True), LOWEST)
    total = np.exp(table - top).sum(axis=over)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total) + top.reshape(total.shape))


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The same array, closed for writing."""
    array.setflags(write=False)
    return array
