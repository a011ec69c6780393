"""Runs on Spark, in a process of their own, since Spark leaves sockets open.

Usage: spark_runs.py FOLDER. Writes to the folder, and prints as JSON what went wrong.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import liftgbp
from engine_networks import PAIRS, TRIPLES
from liftgbp.engines.message_tables import Messages


def main(folder: Path) -> None:
    """All runs with one session, of the user's, which must still be there in the end."""
    settings = {"spark.sql.shuffle.partitions": 1, "spark.ui.enabled": False}
    session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    table = session.read.csv(str(folder / "friends.csv"), header=True)
    table.createOrReplaceTempView("friends")
    found = {"catalog": run(folder, "catalog", "friends=spark://friends", PAIRS, "bethe")}
    table.repartition(2).write.parquet(str(folder / "parts"))
    for name, place in (("files", f"glob:{folder}/parts/*.parquet"), ("folder", folder / "parts")):
        found[name] = run(folder, name, f"friends={place}", PAIRS, "bethe")
    source = f"friends={folder / 'friends.csv'}"
    found["forecast"] = forecast(source)
    found["alike"] = run(folder, "alike", f"friends={folder / 'alike.csv'}", PAIRS, "bethe", True)
    run_interrupted(folder, source)
    for name, wrong in wrong_sources(folder).items():
        found[name] = run(folder, name, wrong, PAIRS, "bethe")
    found["session"] = str(session.range(3).count())
    print(json.dumps(found))
    session.stop()


def run(
    folder: Path, name: str, source: str, text: str, regions: str, compress: bool = False
) -> str:
    """Pass messages three times; returns what is wrong."""
    try:
        liftgbp.run_on_engine(
            liftgbp.parse(text),
            source,
            folder / name,
            compress=compress,
            engine="spark",
            closed="friends",
            regions=regions,
            iterations=3,
        )
    except liftgbp.InputError as error:
        return str(error)
    return ""


def run_interrupted(folder: Path, source: str) -> None:
    """Scopes of three, ended in the second iteration, and a run that goes on."""
    step = Messages.step

    def ended(self: Messages, iteration: int, rate: float) -> float:
        if iteration == 1:
            raise KeyboardInterrupt
        return step(self, iteration, rate)

    replaced: Any = Messages
    replaced.step = ended
    try:
        run(folder, "triples", source, TRIPLES, "intersections")
    except KeyboardInterrupt:
        replaced.step = step
    assert (folder / "triples.work").is_dir()
    run(folder, "triples", source, TRIPLES, "intersections")


def forecast(source: str) -> str:
    """How many factors the engine counts."""
    found = liftgbp.forecast_on_engine(
        liftgbp.parse(PAIRS), source, engine="spark", closed="friends"
    )
    return str(found.stages[2].number)


def wrong_sources(folder: Path) -> dict[str, str]:
    """Sources that cannot be read."""
    (folder / "broken.parquet").write_text("no Parquet")
    return {
        "missing table": "friends=spark://nobody",
        "missing file": f"friends={folder / 'nowhere.csv'}",
        "missing column": f"friends={folder / 'friends.csv'}[a,c]",
        "wrong type": f"friends={folder / 'dates.parquet'}",
        "broken file": f"friends={folder / 'broken.parquet'}",
        "table of DuckDB": f"friends={folder / 'data.duckdb'}:friends",
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
