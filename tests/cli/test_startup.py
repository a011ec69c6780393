"""What happens before there is a command: little is imported, and Ctrl-C is heard."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import processes

COMMAND_LINE = """
import atexit, sys
from liftgbp.cli import program
sys.argv = ["liftgbp", *{arguments}]
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
program()
"""
INTERRUPTED = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
sys.argv = ["liftgbp", "query", "-", "-n", "person=9"]
from liftgbp.cli import program
program()
"""
PARSED = """
import sys, liftgbp
try:
    print(liftgbp.parse('{text}'))
except liftgbp.InputError as error:
    sys.exit(str(error))
"""


def run(
    script: str, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return processes.run([sys.executable, "-c", script], stdin, env)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["query", "--help"]])
def test_help_does_without_the_engine(arguments: list[str]) -> None:
    done = run(COMMAND_LINE.format(arguments=arguments))
    assert done.returncode == 0
    rooms = {name for name in done.stderr.split() if name.startswith("liftgbp.")}
    assert "liftgbp.cli.commands" in rooms
    assert all(
        name.startswith("liftgbp.cli")
        for name in rooms - {"liftgbp.support", "liftgbp.support.texts"}
    )
    assert {"numpy", "lark", "rich"}.isdisjoint(done.stderr.split())


NOT_FOR_SMALL_QUERIES = {
    *("scipy", "duckdb", "matplotlib", "mpmath", "numpy.ma", "numpy.random", "statistics"),
    *("html", "threadpoolctl", "liftgbp.pictures.charts"),
    *(f"liftgbp.cli.{file}" for file in ("checks", "second_opinions")),
    *("liftgbp.ground.grounding", "liftgbp.ground.compress", "liftgbp.oracle"),
    *(f"liftgbp.methods.{part}" for part in ("sampling", "bounding", "blocks", "counting")),
    *(f"liftgbp.evidence.{file}" for file in ("read", "fact_lines", "fact_tables")),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["tables", "json"])
def test_a_query_does_without_what_other_commands_need(form: str) -> None:
    arguments = ["query", "-", "-n", "person=9", *(["--json"] if form == "json" else [])]
    done = run(COMMAND_LINE.format(arguments=arguments), stdin="s(person)\n1 s(x) ^ s(y)")
    assert done.returncode == 0
    modules = set(done.stderr.split())
    assert "liftgbp.solve.descent" in modules
    assert NOT_FOR_SMALL_QUERIES.isdisjoint(modules)
    assert ("json" in modules) == (form == "json")
    assert ("rich" in modules) == (form == "tables")


@pytest.mark.slow
@pytest.mark.parametrize("library", [None, "duckdb", "matplotlib.figure", "scipy.linalg"])
def test_libraries_do_not_complain_about_what_is_left_at_the_end(library: str | None) -> None:
    script = f"""
import sys
{"" if library is None else f"import {library}"}
from liftgbp.cli import program
sys.argv = ["liftgbp", "query", "-", "-n", "person=9"]
program()
"""
    done = run(script, stdin="s(person)\n1 s(x) ^ s(y)")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "module", ["liftgbp.cli.commands", "click", "numpy", "liftgbp.cli.terminal"]
)
def test_an_interrupt_while_importing_leaves_no_traceback(module: str) -> None:
    done = run(INTERRUPTED.format(module=module), stdin="s(person)\n1 s(x) ^ s(y)")
    assert done.returncode == 130
    assert done.stderr.strip() == "interrupted"


@pytest.mark.parametrize(
    "class_body", ["exec('raise KeyboardInterrupt')", "field = Interrupting()"]
)
def test_an_interrupt_while_a_class_is_made(class_body: str) -> None:
    script = f"""
import dataclasses

class Interrupting:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt

def interrupted_dataclass(*arguments, **options):
    class Made:
        {class_body}

dataclasses.dataclass = interrupted_dataclass
"""
    done = run(script + INTERRUPTED.format(module=None))
    assert done.returncode == 130
    assert done.stderr.strip() == "interrupted"


@pytest.mark.slow
def test_tables_of_the_parser_are_kept_with_the_byte_code(tmp_path: Path) -> None:
    def answers(**environment: str) -> tuple[str, str]:
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        own = {**inherited, "PYTHONPYCACHEPREFIX": str(tmp_path), **environment}
        right = run(PARSED.format(text="p(a) \\n 1.5 p(x)"), env=own)
        wrong = run(PARSED.format(text="p(a) \\n 1.5 p(x) =>"), env=own)
        assert right.returncode == 0
        return right.stdout, wrong.stderr

    computed = answers(PYTHONDONTWRITEBYTECODE="1")
    assert "1.5 p(x)" in computed[0]
    assert "expected" in computed[1]
    assert not list(tmp_path.rglob("*"))
    assert answers() == computed
    (kept,) = tmp_path.rglob("*.lark")
    assert answers() == computed
    for damage in (b"", kept.read_bytes()[:1000], b"nonsense\n" + kept.read_bytes()):
        kept.write_bytes(damage)
        assert answers() == computed


def test_only_the_program_leaves_at_once() -> None:
    """Whoever calls the command line from Python goes on after it, and `atexit` handlers run."""
    script = """
import atexit, sys
from liftgbp.cli import main, program
sys.argv = ["liftgbp", "--version"]
try:
    main()
except SystemExit as end:
    print("first", end.code)
atexit.register(print, "last")
program()
print("not reached")
"""
    done = run(script)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [lines[1], lines[3:]] == ["first 0", ["last"]]
    assert lines[0] == lines[2]
