"""Operations on arrays, beside plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from liftgbp.support.arrays import (
    RowIndex,
    Segments,
    distinct,
    group_rows,
    places_of_rows,
    ranks,
    row_order,
    stable_order,
    starts_of,
)

RUNS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([1, 3, 70, 200])), max_size=4)


@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.integers(-3, 10**12)), unique=True),
    wanted=st.tuples(st.integers(0, 9), st.integers(-3, 10**12)),
)
def test_rows_are_found(rows: list[tuple[int, int]], wanted: tuple[int, int]) -> None:
    index = RowIndex(np.array(rows, dtype=np.int64).reshape(-1, 2))
    assert [index.find(row) for row in rows] == list(range(len(rows)))
    assert (index.find(wanted) is not None) == (wanted in rows)


@pytest.mark.parametrize(("rows", "place"), [(0, None), (1, 0)])
def test_a_row_of_nothing_is_found(rows: int, place: int | None) -> None:
    assert RowIndex(np.zeros((rows, 0), dtype=np.int64)).find(()) == place


@pytest.mark.slow
@given(runs=RUNS, rows=st.integers(1, 3), seed=st.integers(0, 99))
def test_segments_of_equal_and_of_other_lengths(
    runs: list[tuple[int, int]], rows: int, seed: int
) -> None:
    lengths = np.array([length for length, count in runs for _ in range(count)], dtype=np.int64)
    starts = starts_of(lengths)
    segments = Segments(starts[:-1], int(starts[-1]))
    values = np.random.default_rng(seed).normal(size=(rows, starts[-1]))
    parts = [values[:, a : a + n] for a, n in zip(starts, lengths, strict=False)]
    if not parts:
        return
    tops = np.array([part.max(axis=1) for part in parts]).T
    np.testing.assert_array_equal(segments.tops(values), tops)
    sums = np.array([[sum(row) for row in part.tolist()] for part in parts]).T
    np.testing.assert_allclose(segments.sums(values), sums, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(segments.of, np.repeat(np.arange(len(lengths)), lengths))
    less = values.copy()
    segments.apply(np.subtract, less, tops)
    wanted = [part - part.max(axis=1, keepdims=True) for part in parts]
    np.testing.assert_array_equal(less, np.concatenate(wanted, axis=1))


@given(order=st.permutations(range(9)))
def test_ranks(order: list[int]) -> None:
    assert ranks(np.array(order))[order].tolist() == list(range(9))


NUMBERS = st.one_of(st.integers(0, 3), st.integers(-(2**63), 2**63 - 1))


@pytest.mark.slow
@given(values=st.lists(NUMBERS))
def test_distinct(values: list[int]) -> None:
    assert distinct(np.array(values, dtype=np.int64)).tolist() == sorted(set(values))


@given(rows=st.lists(st.tuples(NUMBERS, st.integers(0, 2), st.booleans()), max_size=30))
def test_equal_rows_are_groups(rows: list[tuple[int, int, bool]]) -> None:
    """Numbers of any size, and those of other types."""
    columns = [np.array([row[k] for row in rows]) for k in range(3)]
    columns[0] = columns[0].astype(np.int64)
    columns[1] = columns[1].astype(np.uint64) + np.uint64(2**64 - 3)
    first, group = group_rows([*columns[:2], columns[2].astype(np.bool_)])
    assert [rows[k] for k in first[group]] == rows
    assert first.tolist() == [rows.index(rows[k]) for k in first.tolist()]
    assert len(first) == len(set(rows))


WIDE = st.sampled_from([1, 2, 2**20, 2**40, 2**62])


@given(size=st.integers(0, 3000), spans=st.lists(WIDE, min_size=1, max_size=3), seed=st.integers())
def test_orders_of_rows(size: int, spans: list[int], seed: int) -> None:
    rng = np.random.default_rng(abs(seed))
    columns = [rng.integers(-span, span, size) for span in spans]
    for column in columns:
        np.testing.assert_array_equal(stable_order(column), np.argsort(column, kind="stable"))
    np.testing.assert_array_equal(row_order(columns), np.lexsort(columns[::-1]))
    hashes = columns[0].astype(np.uint64)
    np.testing.assert_array_equal(stable_order(hashes), np.argsort(hashes, kind="stable"))


@given(size=st.integers(0, 40), more=st.integers(0, 40), span=WIDE, seed=st.integers(0, 99))
def test_places_of_rows(size: int, more: int, span: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = np.unique(rng.integers(0, min(span, 50), (size, 3)) * span // 50, axis=0)
    wanted = np.concatenate([known, rng.integers(0, min(span, 50), (more, 3)) * span // 50])
    number = {row: k for k, row in enumerate(map(tuple, known.tolist()))}
    found = places_of_rows(list(wanted.T), list(known.T))
    assert found.tolist() == [number.get(row, -1) for row in map(tuple, wanted.tolist())]


@pytest.mark.parametrize("span", [1, 2, 200, 256, 257, 4000, 10**6, 2**62])
@pytest.mark.parametrize("least", [0, -3, -(2**61)])
def test_many_rows_are_grouped_in_the_order_of_keys(span: int, least: int) -> None:
    rng = np.random.default_rng(span)
    keys = least + rng.integers(0, span, size=5000)
    _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    first, group = group_rows([keys])
    np.testing.assert_array_equal(first, firsts)
    np.testing.assert_array_equal(group, groups.ravel())
    np.testing.assert_array_equal(stable_order(keys), np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("spans", [(3, 4), (1, 7, 1), (300, 2, 900), (2**20, 2**40)])
def test_many_rows_of_several_columns(spans: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(spans))
    columns = [rng.integers(0, span, size=3000) - k * span for k, span in enumerate(spans)]
    table = np.column_stack(columns)
    _, firsts, groups = np.unique(table, axis=0, return_index=True, return_inverse=True)
    first, group = group_rows(columns)
    np.testing.assert_array_equal(first, firsts)
    np.testing.assert_array_equal(group, groups.ravel())
    np.testing.assert_array_equal(row_order(columns), np.lexsort(columns[::-1]))
