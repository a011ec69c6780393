"""Numbers in files: what is wrong with one is said, with its place; all others are Python's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from liftgbp.ground.formats import load_network, write_network
from liftgbp.ground.formats.uai import COMMENTS
from liftgbp.ground.formats.words import WordReader
from liftgbp.ground.grounding import GroundNetwork
from liftgbp.ground.grounding.network import distinct_rows
from liftgbp.support.errors import InputError, Source
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


@pytest.mark.slow
@BOTH
@ANY_TIME
@given(network=networks(), data=st.data())
def test_spoilt_files_are_read_or_refused(
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
        load_network(path)
    except InputError as error:
        assert str(path) in str(error)


def words_of(text: str) -> WordReader:
    return WordReader(Source("net.uai", text), COMMENTS)


NUMBERS = st.one_of(
    st.integers(0, 10**18 - 1).map(str),
    st.floats(0, allow_nan=False, allow_infinity=False).map(repr),
    st.floats(0, 1e300).map(lambda value: f"{value:.5e}"),
)


@pytest.mark.slow
@given(st.lists(NUMBERS, min_size=1), BLANKS)
def test_numbers_are_those_of_python(numbers: list[str], blank: str) -> None:
    words = words_of(blank.join(["", *numbers, ""]))
    for position, number in enumerate(numbers):
        log = math.log(float(number)) if float(number) else -math.inf
        assert words.log_potential(position) == log
    whole = [number for number in numbers if number.isdecimal()]
    assert words_of(blank.join(whole)).wholes(len(whole), "a number") == tuple(map(int, whole))


@pytest.mark.parametrize("text", ["x", "1.2.3", "1-2", "0x10", "1_0", "٣", ".", "-1", "9" * 19])
def test_words_that_are_no_whole_numbers(text: str) -> None:
    with pytest.raises(InputError, match=r"net\.uai:1:3: expected the size of 7, got "):
        words_of(f"2 {text} 3").wholes(3, "the size of {}", 7)


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2)))
def test_distinct_rows(rows: list[list[int]]) -> None:
    first, group = distinct_rows(np.array(rows, np.int64).reshape(len(rows), 2))
    assert [rows[k] for k in first[group].tolist()] == rows
    assert first.tolist() == sorted(rows.index(list(row)) for row in set(map(tuple, rows)))
