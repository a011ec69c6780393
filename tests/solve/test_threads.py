"""The number of threads of linear algebra is put back, whatever happens in between."""

from __future__ import annotations

import pytest

from liftgbp.solve import threads


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A library with eight threads; the list tells what has been set so far."""
    settings = [8]
    monkeypatch.setattr(threads, "_controls", lambda: (lambda: settings[-1], settings.append))
    return settings


def test_small_matrices_get_one_thread(library: list[int]) -> None:
    with threads.few_threads(10):
        assert library[-1] == 1
    assert library[-1] == 8


def test_large_matrices_keep_their_threads(library: list[int]) -> None:
    with threads.few_threads(threads.SMALL):
        assert library == [8]
    assert library == [8]


def test_threads_come_back_after_an_error(library: list[int]) -> None:
    with pytest.raises(KeyboardInterrupt), threads.few_threads(10):
        raise KeyboardInterrupt
    assert library[-1] == 8


def test_nested_use_ends_where_it_began(library: list[int]) -> None:
    with threads.few_threads(10), threads.few_threads(20):
        assert library[-1] == 1
    assert library[-1] == 8


def test_another_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_controls", lambda: None)
    with threads.few_threads(10):
        pass
