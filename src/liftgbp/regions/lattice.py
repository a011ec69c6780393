"""The local graph: the regions inside a region, and which of them cover which."""

from __future__ import annotations

from collections.abc import Collection


def cover_parents(masks: Collection[int]) -> dict[int, list[int]]:
    """For each mask its smallest proper supersets among the masks.

    >>> cover_parents([0b111, 0b011, 0b001])
    {7: [], 3: [7], 1: [3]}
    """
    by_size = sorted(masks, key=int.bit_count)
    return {mask: _minimal_supersets(mask, by_size) for mask in masks}


def _minimal_supersets(mask: int, by_size: list[int]) -> list[int]:
    minimal: list[int] = []
    for other in by_size:
        larger = other & mask == mask and other != mask
        if larger and not any(found & other == found for found in minimal):
            minimal.append(other)
    return minimal
