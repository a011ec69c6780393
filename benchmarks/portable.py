"""Do answers depend on the processor? The same runs under six arithmetics, each in a process.

`python -m benchmarks.portable` takes about an hour. With `quick` after it, the default effort is
left out, which takes some five minutes. It ends with code 1 if trust, shares of minima or
probabilities of trusted answers differ.

OpenBLAS and NumPy choose their instructions by the processor, and can be told to take others. Sums
are added up in another order then, and logarithms differ in the last bit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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


def main() -> int:
    match sys.argv[1:]:
        case ["worker", path, *efforts]:
            write(Path(path), efforts)
            return 0
        case ["quick"]:
            return compared(EFFORTS[:1])
        case []:
            return compared(EFFORTS)
    print(__doc__)
    return 2


def runs(efforts: tuple[str, ...] | list[str]) -> Iterator[tuple[str, Run]]:
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


def write(path: Path, efforts: list[str]) -> None:
    warnings.simplefilter("ignore")  # flooding leaves the range of floats where it diverges
    table = {}
    for name, run in runs(efforts):
        shares: list[float] = []

        def kept(run: Run = run, shares: list[float] = shares) -> liftgbp.Answers:
            answers = run()
            shares += [point.weight for point in answers.minima]
            return answers

        table[name] = record(kept) | {"shares": shares}
        path.write_text(json.dumps(table), encoding="utf-8")


def compared(efforts: tuple[str, ...]) -> int:
    """Run everything under all arithmetics, and say what differs from the first."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = {name: Path(folder, f"{k}.json") for k, name in enumerate(ARITHMETICS)}
        list(pool.map(lambda name: _worker(name, paths[name], efforts), ARITHMETICS))
        tables = {name: json.loads(path.read_text()) for name, path in paths.items()}
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
        there = other[key]
        for text in differences_of(here, there):
            kind = "trust" if text.startswith(("trusted", "error")) else "numbers"
            yield kind, f"{key}: {text}"
        shares = [sorted(p for p in own["shares"] if p > SAME_SHARE) for own in (here, there)]
        same = len(shares[0]) == len(shares[1]) and all(
            abs(p - q) < SAME_SHARE for p, q in zip(*shares, strict=True)
        )
        if here.get("trusted") and there.get("trusted") and not same:
            yield "shares", f"{key}: shares {here['shares']} -> {there['shares']}"


def _worker(name: str, path: Path, efforts: tuple[str, ...]) -> None:
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.portable", "worker", str(path), *efforts]
    subprocess.run(command, env=os.environ | threads | ARITHMETICS[name], check=True)
    print(f"{name} is done", flush=True)


if __name__ == "__main__":
    sys.exit(main())
