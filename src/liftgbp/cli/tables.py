"""Results as tables for people."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from decimal import Context, Decimal
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

import liftgbp

PIPE_WIDTH = 200
"""The width of tables that do not go to a terminal, where nothing needs to be folded."""

LARGEST_WRITTEN_OUT = 10**15
MOST_ROWS = 50
"""How many rows of one answer are printed."""

MOST_PEAKS = 4
SMALLEST_SHARE = 1e-4
"""So many of the most likely counts are listed, and none with a smaller share."""

MOST_VALUE_COLUMNS = 4
"""More values than this stand below each other."""


def show_answers(result: dict[str, Any], minima: bool = False) -> None:
    """The answers of a query, how far they can be trusted, and perhaps the table of minima."""
    console = _console()
    for query, group in groupby(result["answers"], key=lambda row: row["query"]):
        rows = list(group)
        console.print(_answer_table(query, rows[:MOST_ROWS], result["evidence"] is not None))
        if len(rows) > MOST_ROWS:
            console.print(f"... and {len(rows) - MOST_ROWS:,} more rows; --json prints all of them")
    if minima and result["minima"]:
        console.print(_minima_table(result["minima"]))
    elif minima:
        console.print("no minima to show: " + _why_no_minima(result))
    if "growth" in result:
        console.print(_growth_table(result["growth"], result["answers"]))
        console.print(f"no larger regions: {result['growth']['end']}")
    _show_run(console, result)


def _growth_table(growth: dict[str, Any], rows: list[dict[str, Any]]) -> Table:
    """One line per family of regions, the chosen one marked."""
    table = _table(Text("growing regions", style="bold"), "regions")
    table.add_column("log Z", justify="right")
    shown = rows[:MOST_VALUE_COLUMNS]
    for row in shown:
        *_, value = row["values"]
        table.add_column(f"P({row['atom']} {value})", justify="right")
    table.add_column("")
    for step in growth["steps"]:
        log_z = "undefined" if step["log_z"] is None else f"{step['log_z']:.10g}"
        answers = step["answers"][: len(shown)] or [None] * len(shown)
        texts = [
            "" if a is None else probability_text([*a["values"].values()][-1]) for a in answers
        ]
        trusted = step["status"] == "converged" and step["plausible"]
        verdict = "chosen" if step["chosen"] else "" if trusted else "not trustworthy"
        table.add_row(step["family"], log_z, *texts, verdict)
    return table


def _why_no_minima(result: dict[str, Any]) -> str:
    if "sum_over" in result:
        return "each count has its own"
    if result["solver"]["name"] == "flooding":
        return "flooding finds one stationary point at most; --solver descent looks for all"
    return "the regions share nothing, so there is one solution"


def _minima_table(minima: list[dict[str, Any]]) -> Table:
    table = _table(Text("stationary points of the free energy", style="bold"))
    for heading in ("log Z", "share"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for point in minima:
        share = f"{point['weight']:.4f}" if point["weight"] else ""
        table.add_row(f"{point['log_z']:.10g}", share, point["text"])
    return table


def _answer_table(query: str, rows: list[dict[str, Any]], with_evidence: bool) -> Table:
    examples = with_evidence and any(row["example"] not in ("", row["atom"]) for row in rows)
    leading = ["atom", "where", *(["example"] if examples else [])]
    table = _table(Text(query, style="bold"), *leading)
    table.add_column("count", justify="right", no_wrap=True)
    values = list(rows[0]["values"])
    wide = len(values) > MOST_VALUE_COLUMNS
    for heading in ["values", "P"] if wide else [f"P({_assignment(query, v)})" for v in values]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        example = [row["example"]] if examples else []
        lead = [row["atom"], row["where"], *example, count_text(row["count"])]
        texts = [probability_text(p) for p in row["values"].values()]
        if not wide:
            table.add_row(*lead, *texts)
            continue
        for k, (value, text) in enumerate(zip(row["values"], texts, strict=True)):
            table.add_row(*(lead if k == 0 else [""] * len(lead)), _assignment(query, value), text)
        table.add_section()
    return table


def _assignment(query: str, values: str) -> str:
    """Values as in the query: those of given atoms stand after a bar."""
    queried, bar, _ = query.partition("|")
    if not bar or "," not in values:
        return values
    count = queried.count("(") or 1 + queried.count("^") + queried.count(",")
    parts = values.split(",")
    given = ",".join(parts[count:])
    return ",".join(parts[:count]) + (f" | {given}" if given else "")


def _show_run(console: Console, result: dict[str, Any]) -> None:
    solver, regions = result["solver"], result["regions"]
    log_z = "undefined" if result["log_z"] is None else f"{result['log_z']:.10g}"
    console.print(f"log Z = {log_z}   {_regions_text(regions)}")
    if result["evidence"] is not None:
        console.print(_evidence_text(result["evidence"]))
    if "sum_over" in result:
        console.print(_sum_text(result["sum_over"]))
    good = solver["status"] == "converged"
    residual = "undefined" if solver["residual"] is None else f"{solver['residual']:.1e}"
    console.print(
        Text(
            f"{solver['status']} after {solver['iterations']} iterations of {solver['name']}, "
            f"residual {residual}, {solver['seconds']:.3f} s",
            style="green" if good else "bold red",
        )
    )
    console.print(f"verdict: {result['verdict']['text']}")
    shares = [point for point in result["minima"] if point["weight"] > 0]
    if len(shares) > 1:
        console.print(f"the answer mixes {len(shares)} minima; --minima shows them")
    if not good:
        console.print(Text(solver["advice"], style="red"))
    for note in result["notes"]:
        console.print(Text(f"note: {note}", style="yellow"))


def _regions_text(regions: dict[str, Any]) -> str:
    if not regions["canonical"]:
        return "no region is left: the remaining atoms are independent"
    return (
        f"{_counted(regions['canonical'], 'canonical region')} for "
        f"{count_text(regions['ground_regions'])} ground ones ({regions['family']}), "
        f"{_counted(regions['edges'], 'lifted edge')}"
    )


def _counted(number: int, noun: str) -> str:
    return f"{count_text(number)} {noun}{'s' * (number != 1)}"


def _evidence_text(evidence: dict[str, Any]) -> str:
    kinds = {"facts": "fact", "uncertain": "uncertain fact", "counted": "counted object"}
    parts = [_counted(evidence[key], word) for key, word in kinds.items() if evidence[key]]
    if evidence["closed"]:
        parts.append(f"closed world for {', '.join(evidence['closed'])}")
    ways = {"lifted": "by classes of objects", "ground": "grounded, then compressed"}
    return f"evidence: {', '.join(parts)}; {ways[evidence['via']]}"


def _sum_text(summed: dict[str, Any]) -> str:
    """The counts that were summed, and which counts are most likely."""
    if not summed["predicates"]:
        return str(summed["reason"])
    peaks = [peak for peak in summed["most_likely"] if peak["share"] >= SMALLEST_SHARE]
    listed = [f"{peak['counts']} ({peak['share']:.3g})" for peak in peaks[:MOST_PEAKS]]
    if len(peaks) > MOST_PEAKS:
        listed.append(f"{len(peaks) - MOST_PEAKS} more")
    text = (
        f"summed over {', '.join(summed['predicates'])}: {summed['counts_visited']} "
        f"counts visited, peaks (share around each) {', '.join(listed)}"
    )
    if summed["untrusted_share"] > 0:
        text += f"\nshare of counts that are not trustworthy: {summed['untrusted_share']:.2g}"
    return f"{text}\n{summed['reason']}" if summed["reason"] else text


def show_graph(result: dict[str, Any]) -> None:
    """The canonical regions and the lifted edges of a graph."""
    console = _console()
    sizes = ", ".join(f"{sort} = {count_text(n)}" for sort, n in result["domains"].items())
    console.print(f"lifted region graph, {result['family']}, {sizes}")
    regions = _table(Text("canonical regions", style="bold"), "", "atoms")
    for heading in ("n", "c"):
        regions.add_column(heading, justify="right")
    regions.add_column("")
    for region in result["regions"]:
        regions.add_row(
            str(region["region"]),
            " ".join(region["atoms"]),
            count_text(region["n"]),
            count_text(region["c"]),
            "outer" if region["outer"] else "",
        )
    console.print(regions)
    edges = _table(Text("lifted edges", style="bold"), "", "parent → child", "mapping")
    edges.add_column("κ", justify="right")
    edges.add_column("as a formula")
    for edge in result["edges"]:
        edges.add_row(
            str(edge["edge"]),
            f"{edge['parent']} → {edge['child']}",
            edge["mapping"],
            count_text(edge["kappa"]),
            edge["kappa_formula"],
        )
    console.print(edges)
    console.print(
        f"{len(result['regions'])} canonical regions stand for "
        f"{count_text(result['ground_regions'])} ground regions"
    )


def show_check(result: dict[str, Any]) -> None:
    """How lifted GBP compares with ground GBP and with exact inference."""
    console = _console()
    differences = result["differences"]
    compared = _table(
        Text("largest difference between lifted and ground beliefs", style="bold"), "iteration"
    )
    compared.add_column("difference", justify="right")
    worst = max(range(result["judged"]), key=differences.__getitem__)
    for iteration in sorted({*range(0, len(differences), 5), 1, 2, worst, len(differences) - 1}):
        if iteration < len(differences):
            compared.add_row(str(iteration), f"{differences[iteration]:.1e}")
    console.print(compared)
    marginals = _table(Text("marginals", style="bold"), "atom", "where", "value")
    for heading in ("lifted GBP", "exact", "error"):
        marginals.add_column(heading, justify="right")
    for row in result["rows"]:
        for value, lifted, exact in _values(row):
            marginals.add_row(
                row["atom"],
                row["where"],
                value,
                probability_text(lifted),
                "" if exact is None else probability_text(exact),
                "" if exact is None else f"{lifted - exact:+.1e}",
            )
    console.print(marginals)
    exact_log_z = result["exact_log_z"]
    exact_text = "" if exact_log_z is None else f", exact {exact_log_z:.10g}"
    log_z = "undefined" if result["log_z"] is None else f"{result['log_z']:.10g}"
    console.print(f"log Z = {log_z}{exact_text}")
    console.print(
        f"{result['lifted_regions']} canonical regions for "
        f"{count_text(result['ground_regions'])} ground regions"
    )
    if result["status"] != "converged":
        console.print(Text(f"{result['status']}: {result['advice']}", style="bold red"))
    if result["note"]:
        console.print(Text(result["note"], style="yellow"))
    verdict = "lifted equals ground at every iteration" if result["agrees"] else "lifted DIFFERS"
    console.print(Text(verdict, style="green" if result["agrees"] else "bold red"))


def show_sweep(records: list[dict[str, Any]], swept: list[str], output: str) -> int:
    """What a sweep over these quantities has written; the number is an exit code."""
    console = _console()
    status = {tuple(record[name] for name in swept): record["status"] for record in records}
    failed = sum(1 for one in status.values() if one != "converged")
    console.print(f"{len(status)} points, {len(records)} rows, written to {output}")
    if failed:
        console.print(
            Text(f"{failed} points did not converge; see the column status", style="bold red")
        )
    return 1 if failed == len(status) else 0


def show_reproduction(reproduction: liftgbp.Reproduction) -> None:
    """The claims of the paper with their verdicts, and what was written."""
    console = _console()
    claims = _table(Text("claims of the paper", style="bold"), "claim", "verdict")
    for claim in reproduction.claims:
        claims.add_row(claim.title, claim.verdict)
    console.print(claims)
    for path in reproduction.files:
        console.print(f"written: {path}")
    if reproduction.note:
        console.print(Text(f"note: {reproduction.note}", style="yellow"))


def _values(row: dict[str, Any]) -> Iterable[tuple[str, float, float | None]]:
    values = row["lifted"]
    # The second value of a Boolean atom says it all.
    shown = ["true"] if list(values) == ["false", "true"] else list(values)
    for value in shown:
        yield value, values[value], None if row["exact"] is None else row["exact"][value]


def probability_text(probability: float | None) -> str:
    """A probability with six digits, in scientific notation where those would hide it.

    >>> probability_text(0.25), probability_text(1.5e-9), probability_text(None)
    ('0.250000', '1.500e-09', 'undefined')
    """
    if probability is None or math.isnan(probability):
        return "undefined"
    if 0 < probability < 1e-5:
        return f"{probability:.3e}"
    return f"{probability:.6f}"


def count_text(count: int) -> str:
    """A whole number, rounded where it is too long to read.

    >>> count_text(1234567), count_text(10**30)
    ('1,234,567', '1e+30')
    """
    if abs(count) < LARGEST_WRITTEN_OUT:
        return f"{count:,}"
    # Counts may exceed the range of floats.
    return f"{Decimal(count).normalize(Context(prec=6)):g}".lower()


def _table(title: Text, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the main function: nothing is wrong."""
        raise BrokenPipeError


def _console() -> Console:
    return _Console(
        width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, markup=False
    )
