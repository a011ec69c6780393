"""Which files a model may include: regular ones in its folder, unless someone says otherwise."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import liftgbp
import processes

SECRET = "hunter2:x:0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model in it, and a secret beside it."""
    (tmp_path / "secret").write_text(SECRET)
    inside = tmp_path / "models"
    (inside / "parts").mkdir(parents=True)
    return inside


@pytest.mark.parametrize("name", ["../secret", "parts/../../secret", "ABSOLUTE"])
def test_files_outside_the_folder_are_not_read(folder: Path, name: str) -> None:
    name = str(folder.parent / "secret") if name == "ABSOLUTE" else name
    (folder / "main.mln").write_text(f'p(person)\n#include "{name}"\n')
    with pytest.raises(liftgbp.ModelError, match="is not in the folder of the model") as caught:
        liftgbp.load(folder / "main.mln")
    assert "hunter2" not in str(caught.value)
    assert "--include-anywhere" in str(caught.value)
    with pytest.raises(liftgbp.ModelError, match="is not in the folder") as caught:
        liftgbp.parse(f'#include "{name}"', name=str(folder / "text.mln"))
    assert "hunter2" not in str(caught.value)


def test_it_is_not_told_whether_there_is_a_file_outside(folder: Path) -> None:
    messages = []
    for name in ("secret", "absent"):
        with pytest.raises(liftgbp.ModelError) as caught:
            liftgbp.parse(f'#include "../{name}"', name=str(folder / "text.mln"))
        messages.append(caught.value.message.replace(name, "NAME"))
    assert messages[0] == messages[1]


def test_links_that_lead_outside_are_not_followed(folder: Path) -> None:
    (folder / "link.mln").symlink_to(folder.parent / "secret")
    (folder / "up").symlink_to(folder.parent)
    (folder / "circle").symlink_to(folder / "circle")
    for name in ("link.mln", "up/secret"):
        with pytest.raises(liftgbp.ModelError, match="is not in the folder") as caught:
            liftgbp.parse(f'#include "{name}"', name=str(folder / "text.mln"))
        assert "hunter2" not in str(caught.value)
    with pytest.raises(liftgbp.ModelError, match="cannot read"):
        liftgbp.parse('#include "circle"', name=str(folder / "text.mln"))


def test_links_inside_the_folder_are_followed(folder: Path) -> None:
    (folder / "parts" / "rules.mln").write_text('p(person)\n#include "../more.mln"')
    (folder / "more.mln").write_text("1 p(x)")
    (folder / "link.mln").symlink_to(folder / "parts" / "rules.mln")
    # A link is read where it lies: what it includes is found from there.
    (folder / "parts" / "main.mln").write_text('#include "rules.mln"')
    with pytest.raises(liftgbp.ModelError, match="is not in the folder"):
        liftgbp.load(folder / "parts" / "main.mln")
    assert len(liftgbp.parse('#include "parts/rules.mln"', name=str(folder / "t.mln")).rules) == 1


def test_files_may_lie_anywhere_if_someone_says_so(folder: Path) -> None:
    (folder.parent / "rules.mln").write_text("p(person)\n1 p(x)")
    (folder / "main.mln").write_text('#include "../rules.mln"')
    assert len(liftgbp.load(folder / "main.mln", include_anywhere=True).rules) == 1
    text = f'#include "{folder.parent / "rules.mln"}"'
    assert len(liftgbp.parse(text, include_anywhere=True).rules) == 1


WITHOUT_WAITING = """
import sys, liftgbp
try:
    liftgbp.parse(f'#include "{sys.argv[1]}"', include_anywhere=True)
except liftgbp.ModelError as error:
    print(error.message)
"""


@pytest.mark.slow
def test_only_regular_files_are_included(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), Path("/dev/stdin")):
        # In a process of its own, which is ended should it wait or grow.
        done = processes.run([sys.executable, "-c", WITHOUT_WAITING, str(path)], stdin="p(person)")
        assert done.stdout == f"cannot read {path}: it is no regular file\n", done.stderr


def test_untrusted_models_include_nothing(folder: Path) -> None:
    (folder / "main.mln").write_text('p(person)\n#include "rules.mln"')
    (folder / "rules.mln").write_text("1 p(x)")
    for call in (
        lambda: liftgbp.load(folder / "main.mln", untrusted=True),
        lambda: liftgbp.parse('#include "rules.mln"', str(folder / "t.mln"), untrusted=True),
        lambda: liftgbp.parse('#include "/etc/passwd"', untrusted=True),
        lambda: liftgbp.parse('#include "absent"', untrusted=True),
    ):
        with pytest.raises(liftgbp.ModelError) as caught:
            call()
        assert caught.value.message == "an untrusted model cannot include files"
    with pytest.raises(liftgbp.InputError, match="drop include_anywhere"):
        liftgbp.parse("p(person)", untrusted=True, include_anywhere=True)


def test_untrusted_models_have_a_largest_size(folder: Path) -> None:
    text = "p(person)\n1 p(x)\n// "
    fits, too_long = text + "." * 10**6, text + "." * 2**20
    assert liftgbp.parse(fits, untrusted=True) == liftgbp.parse(text)
    with pytest.raises(liftgbp.ModelError, match="more than 1 MB"):
        liftgbp.parse(too_long, untrusted=True)
    (folder / "long.mln").write_text(too_long)
    assert liftgbp.load(folder / "long.mln") == liftgbp.parse(too_long, str(folder / "long.mln"))
    with pytest.raises(liftgbp.ModelError, match="more than 1 MB"):
        liftgbp.load(folder / "long.mln", untrusted=True)


def test_a_file_that_is_included_often_is_read_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from liftgbp.model import parser

    read = []
    real = parser.read_source

    def counted(path: Path, *arguments: object, **options: object) -> object:
        read.append(path.name)
        return real(path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(parser, "read_source", counted)
    (folder / "rules.mln").write_text("p(person)\n1 p(x)")
    (folder / "main.mln").write_text('#include "rules.mln"\n' * 50)
    assert len(liftgbp.load(folder / "main.mln").rules) == 1
    assert read == ["main.mln", "rules.mln"]
