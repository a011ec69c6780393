"""Do answers depend on the processor? The same runs under six arithmetics, each in a process.

`python -m benchmarks.portable` takes more than an hour, and with `quick` after it, without the
default effort, some five minutes. `--part 3/7` takes every seventh run from the third on. With
`--journal FOLDER`, what is done is kept there: an interrupted run goes on, and parts are compared
together. It ends with code 1 if trust, shares of minima or probabilities of trusted answers differ.

OpenBLAS and NumPy choose their instructions by the processor, and can be told to take others. Sums
are added up in another order then, and logarithms differ in the last bit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table

import liftgbp
from benchmarks.answers import Record, Run, differences_of, random_text, record
from benchmarks.timing import MODELS

NO_AVX512 = "X86_V4 AVX512_ICL AVX512_SPR"
ARITHMETICS: dict[str, dict[str, str]] = {
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    "Haswell without AVX512": {
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": NO_AVX512,
    },
    "Prescott without AVX2": {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": f"X86_V3 {NO_AVX512}",
    },
}
SIZES = (5, 20, 100, 10**3, 10**6, 10**9, 10**12, 10**15)
RANDOM_MODELS = 60
RANDOM_SIZES = ({"person": 4, "thing": 3}, {"person": 1000, "thing": 50})
EFFORTS = ("quick", "normal")
SAME_SHARE = 1e-9


@dataclass(frozen=True)
class Part:
    """Every so many runs, from one on."""

    first: int
    every: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """The part that `3/7` stands for."""
        first, _, every = text.partition("/")
        part = cls(int(first), int(every))
        if not 1 <= part.first <= part.every:
            raise ValueError(text)
        return part

    def of(self, runs: Iterator[tuple[str, Run]]) -> Iterator[tuple[str, Run]]:
        """The runs of this part."""
        return islice(runs, self.first - 1, None, self.every)

    def __str__(self) -> str:
        return f"{self.first}/{self.every}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("efforts", nargs="*", metavar="EFFORT", choices=[[], *EFFORTS])
    parser.add_argument("--part", type=Part.parse, default=Part(1, 1), help="as in 3/7")
    parser.add_argument("--journal", type=Path, help="a folder that keeps what is done")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    efforts = asked.efforts or list(EFFORTS)
    if asked.worker is not None:
        write(asked.worker, asked.part.of(runs(efforts)))
        return 0
    if asked.journal is not None:
        asked.journal.mkdir(parents=True, exist_ok=True)
        return compared(efforts, asked.part, asked.journal)
    with tempfile.TemporaryDirectory() as folder:
        return compared(efforts, asked.part, Path(folder))


def runs(efforts: Sequence[str]) -> Iterator[tuple[str, Run]]:
    """All runs by name: the shipped models, and random ones."""
    for effort in efforts:
        for path in sorted(MODELS.glob("*.mln")):
            if path.with_suffix(".db").exists():
                continue
            model = liftgbp.load(path)
            for size in SIZES:
                yield f"{effort}/{path.stem}/{size:g}", _run(model, size, effort)
        for number in range(RANDOM_MODELS):
            model = liftgbp.parse(random_text(Random(number)))
            for sizes in RANDOM_SIZES:
                yield f"{effort}/random {number}/{sizes['person']}", _run(model, sizes, effort)


def _run(model: liftgbp.Model, size: int | dict[str, int], effort: str) -> Run:
    sizes = dict.fromkeys(model.sorts, size) if isinstance(size, int) else size
    return lambda: liftgbp.infer(model, sizes, effort=effort)  # type: ignore[arg-type]


def write(path: Path, runs: Iterator[tuple[str, Run]]) -> None:
    """Add the runs that a file of one JSON line each does not have yet."""
    warnings.simplefilter("ignore")  # flooding leaves the range of floats where it diverges
    known = read(path)
    with path.open("a", encoding="utf-8") as file:
        for name, run in runs:
            if name in known:
                continue
            shares: list[float] = []

            def kept(run: Run = run, shares: list[float] = shares) -> liftgbp.Answers:
                answers = run()
                shares += [point.weight for point in answers.minima]
                return answers

            found = record(kept) | {"shares": shares}
            file.write(json.dumps([name, found]) + "\n")
            file.flush()


def read(path: Path) -> dict[str, Record]:
    """The runs of a file; a line that an interrupt has cut off is not one of them."""
    if not path.exists():
        return {}
    lines = path.read_text("utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    if len(whole) < len(lines):
        path.write_text("".join(whole), encoding="utf-8")
    return dict(map(json.loads, whole))


def compared(efforts: Sequence[str], part: Part, folder: Path) -> int:
    """Run a part under all arithmetics, and say what differs from the first."""
    paths = {name: folder / f"{name.replace(' ', '-')}.jsonl" for name in ARITHMETICS}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda name: _worker(name, paths[name], efforts, part), ARITHMETICS))
    tables = {name: read(path) for name, path in paths.items()}
    first, *others = tables
    shown = Table(title=f"differences from {first}")
    for column in ("arithmetic", "runs", "trust", "shares", "probabilities or log Z"):
        shown.add_column(column, justify="left" if column == "arithmetic" else "right")
    total = 0
    for name in others:
        found = list(_differences(tables[first], tables[name]))
        total += len(found)
        counts = [sum(kind == own for kind, _ in found) for own in ("trust", "shares", "numbers")]
        shown.add_row(name, str(len(tables[name])), *map(str, counts))
        for _, text in found:
            print(f"{name}: {text}")
    Console(width=120).print(shown)
    return 1 if total else 0


def _differences(one: dict[str, Record], other: dict[str, Record]) -> Iterator[tuple[str, str]]:
    for key, here in one.items():
        there = other.get(key)
        if there is None:
            continue
        for text in differences_of(here, there):
            kind = "trust" if text.startswith(("trusted", "error")) else "numbers"
            yield kind, f"{key}: {text}"
        shares = [sorted(p for p in own["shares"] if p > SAME_SHARE) for own in (here, there)]
        same = len(shares[0]) == len(shares[1]) and all(
            abs(p - q) < SAME_SHARE for p, q in zip(*shares, strict=True)
        )
        if here.get("trusted") and there.get("trusted") and not same:
            yield "shares", f"{key}: shares {here['shares']} -> {there['shares']}"


def _worker(name: str, path: Path, efforts: Sequence[str], part: Part) -> None:
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.portable", *efforts]
    command += ["--worker", str(path), "--part", str(part)]
    subprocess.run(command, env=os.environ | threads | ARITHMETICS[name], check=True)
    print(f"{name} is done", flush=True)


if __name__ == "__main__":
    sys.exit(main())
