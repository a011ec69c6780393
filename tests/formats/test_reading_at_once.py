"""Files are read in arrays, or word by word if anything is strange: both say the same."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from liftgbp.errors import InputError
from liftgbp.formats import fg, load_network, uai, write_network
from liftgbp.formats.text_numbers import Numbers, StrangeTextError, Words, logarithms
from liftgbp.grounding import GroundNetwork
from liftgbp.grounding.network import distinct_rows
from random_networks import networks

ANY_TIME = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
BOTH = pytest.mark.parametrize("extension", ["uai", "fg"])
ODD_NUMBERS = ("-1", "-0", "1.5", "0", "3", "2.0", "+1", "1e999", "nan", "inf", ".5", "5.", "2e-3")
ODD_TEXTS = (
    "x",
    "1_0",
    "1e",
    "1.2.3",
    "1-2",
    "0x1",
    "٣",
    "1,5",
    "9" * 18,
    "9" * 19,
    "0" * 18 + "1",
)
ODD_WORDS = st.sampled_from(ODD_NUMBERS + ODD_TEXTS)
BLANKS = st.sampled_from([" ", "\n", "\t", "\r\n", "  \n ", "\v", "\f", "\x1c", "\u00a0", "\n\n"])


def at_once(extension: str, words: Words) -> GroundNetwork:
    if extension == "uai":
        return uai._read_at_once(words.text)
    return fg._read_at_once(Numbers.of(words.text))


def word_by_word(extension: str, words: Words) -> GroundNetwork:
    return (uai if extension == "uai" else fg)._read_word_by_word(words)


def words_of(extension: str, path: Path) -> Words:
    return Words.of_file(path, (uai if extension == "uai" else fg).COMMENTS)


def assert_same(one: GroundNetwork, other: GroundNetwork) -> None:
    assert one.ranges.tolist() == other.ranges.tolist()
    assert one.log_constant == pytest.approx(other.log_constant, rel=1e-13, abs=1e-13)
    for left, right in zip(one.blocks, other.blocks, strict=True):
        assert left.scopes.tolist() == right.scopes.tolist()
        for here, there in zip(left.table_of, right.table_of, strict=True):
            assert one.tables[here].tolist() == other.tables[there].tolist()


@BOTH
@ANY_TIME
@given(network=networks())
def test_what_is_written_is_read_at_once(
    extension: str, tmp_path_factory: pytest.TempPathFactory, network: GroundNetwork
) -> None:
    network = replace(network, log_constant=min(network.log_constant, 600.0))
    path = tmp_path_factory.mktemp("nets") / f"net.{extension}"
    write_network(network, path)
    words = words_of(extension, path)
    assert_same(at_once(extension, words), word_by_word(extension, words))


@BOTH
@ANY_TIME
@given(network=networks(), data=st.data())
def test_spoilt_files_are_judged_alike(
    extension: str,
    tmp_path_factory: pytest.TempPathFactory,
    network: GroundNetwork,
    data: st.DataObject,
) -> None:
    path = tmp_path_factory.mktemp("nets") / f"net.{extension}"
    write_network(network, path)
    every_word = path.read_text(encoding="utf-8").split()
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.integers(0, len(every_word) - 1))
        match data.draw(st.sampled_from(["replace", "replace", "replace", "remove", "insert"])):
            case "replace":
                every_word[place] = data.draw(ODD_WORDS)
            case "remove" if len(every_word) > 1:
                del every_word[place]
            case _:
                every_word.insert(place, data.draw(ODD_WORDS))
    path.write_text(data.draw(BLANKS).join(every_word), encoding="utf-8", newline="")
    try:
        expected = word_by_word(extension, words_of(extension, path))
    except InputError as error:
        with pytest.raises(type(error)) as caught:
            load_network(path)
        assert str(caught.value) == str(error)
        return
    assert_same(load_network(path).ground, expected)


NUMBERS = st.one_of(
    st.integers(0, 10**18 - 1).map(str),
    st.floats(0, allow_nan=False, allow_infinity=False).map(repr),
    st.floats(0, 1e300).map(lambda value: f"{value:.5e}"),
)


@given(st.lists(NUMBERS, min_size=1), BLANKS.filter(str.isascii).filter(lambda b: b != "\x1c"))
def test_numbers_are_those_of_python(words: list[str], blank: str) -> None:
    numbers = Numbers.of(blank.join(["", *words, ""]))
    assert numbers.values.tolist() == list(map(float, words))
    assert numbers.wholes.tolist() == [int(word) if word.isdecimal() else -1 for word in words]


@pytest.mark.parametrize("text", ["", " \n", "1 x", "1.2.3", "1-2", "0x10", "1_0", "٣", "1.5 ."])
def test_texts_of_other_things(text: str) -> None:
    with pytest.raises(StrangeTextError):
        Numbers.of(text)


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2)))
def test_distinct_rows(rows: list[list[int]]) -> None:
    first, group = distinct_rows(np.array(rows, np.int64).reshape(len(rows), 2))
    assert [rows[k] for k in first[group].tolist()] == rows
    assert first.tolist() == sorted(rows.index(list(row)) for row in set(map(tuple, rows)))


def test_logarithms_are_those_of_the_library() -> None:
    values = np.array([[0.0, 1.0, 0.1], [1e-300, 5e-324, 1e308]])
    expected = [[math.log(v) if v else -math.inf for v in row] for row in values.tolist()]
    assert logarithms(values).tolist() == expected
