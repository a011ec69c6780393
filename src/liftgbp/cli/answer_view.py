"""The view of answers: trust first, then probabilities, then what else is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import liftgbp
from liftgbp.cli.advice import doubts
from liftgbp.cli.block_view import show_blocks, show_used
from liftgbp.cli.opinion_views import bounds_lines, show_comparison
from liftgbp.cli.terminal import (
    Column,
    Entry,
    Sheet,
    Terminal,
    count_text,
    counted,
    log_text,
    probability_text,
    with_error,
)

MOST_ROWS = 50
"""At most this many rows of one answer are printed."""

MOST_PEAKS = 4
SMALLEST_SHARE = 1e-4
"""At most this many of the most likely counts are listed, and none with a smaller share."""

MOST_VALUE_COLUMNS = 4
"""More values than this go below each other."""

Result = dict[str, Any]


def show_answers(
    result: Result,
    rows: Sequence[liftgbp.Answer],
    blocks: Sequence[liftgbp.BlockStructure],
    *,
    advice: str = "",
    growth: bool = False,
    minima: bool = False,
    verbose: bool = False,
    top: int | None = None,
) -> None:
    """Print how the answers stand, the answers, and how they were found.

    `growth` shows the answers of all regions that were tried. `advice` is a command that may give a
    trusted answer, `top` the number of rows asked for.
    """
    terminal = Terminal()
    most_rows = MOST_ROWS if top is None else top
    _show_trust(terminal, result, advice)
    show_used(terminal, result)
    for query, group in groupby(rows, key=lambda row: row.query):
        found = list(group)
        counts = [row for row in found if isinstance(row, liftgbp.CountAnswer)]
        for row in counts[:most_rows]:
            _show_count(terminal, row)
        if not counts:
            terminal.show(*_answer_sheets(query, found[:most_rows], result["evidence"] is not None))
        _show_more(terminal, len(found), most_rows)
    if not rows:
        terminal.say("no rows: none has a probability of at least --min")
    show_blocks(terminal, blocks)
    parts = [part["minima"] for part in result.get("parts", ()) if part["minima"]]
    if minima and parts:
        for number, points in enumerate(parts, start=1):
            terminal.show(_minima_sheet(points, f" in part {number}"))
    elif minima and result["minima"]:
        terminal.show(_minima_sheet(result["minima"]))
    elif minima:
        terminal.say("no minima to show: " + _why_no_minima(result))
    if "growth" in result and (growth or verbose):
        terminal.show(_growth_sheet(result["growth"], rows))
        terminal.say(f"no larger regions: {result['growth']['end']}")
    _show_run(terminal, result, verbose)
    if "second_opinion" in result:
        show_comparison(result["second_opinion"])


def _show_more(terminal: Terminal, rows: int, shown: int) -> None:
    if rows > shown:
        terminal.say(f"... and {rows - shown:,} more rows; --top {rows} or --json shows them all")


def _show_count(terminal: Terminal, row: liftgbp.CountAnswer) -> None:
    """How many objects satisfy a formula: where the probability lies, in a line or two."""
    where = f", {row.where}" if row.where else ""
    beside = f" (for each of {count_text(row.count)}{where})" if row.count > 1 else where
    terminal.say(f"{row.atom}{beside}")
    if math.isnan(row.mean):
        terminal.say("  the condition is impossible")
        return
    if ("true",) in row.values:
        terminal.say(f"  probability {probability_text(row['true'])}")
    spread = "" if row.spread is None else f", spread {row.spread:.6g}"
    low, middle, high = row.quantiles
    terminal.say(
        f"  count: mean {row.mean:.6g}{spread}; median {middle}, between {low} and {high} with "
        "probability 0.9"
    )


# --- trust


def _show_trust(terminal: Terminal, result: Result, advice: str) -> None:
    if result["trusted"]:
        terminal.say(f"{result['standing']}: {result['because']}", "green")
    colour = "yellow" if result["standing"] == "unconfirmed" else "bold red"
    for line in doubts(result, advice):
        terminal.say(line, colour)


# --- tables


def _answer_sheets(query: str, rows: list[liftgbp.Answer], with_evidence: bool) -> list[Sheet]:
    """Values beside each other if they are few, and below each other, which is narrower."""
    few = len(rows[0].values) <= MOST_VALUE_COLUMNS
    examples = with_evidence and any(row.example not in ("", row.atom) for row in rows)
    forms = (False, True) if few else (True,)
    return [_answer_sheet(query, rows, examples, below) for below in forms]


def _answer_sheet(query: str, rows: list[liftgbp.Answer], examples: bool, below: bool) -> Sheet:
    columns = [Column("atom", prose=True), Column("where", prose=True)]
    columns += [Column("example", prose=True)] * examples
    columns.append(Column("count", right=True))
    values = map(rows[0].assignment_text, rows[0].values)
    probabilities = ["P"] if below else [f"P({value})" for value in values]
    columns_of_values = [Column(heading, right=True) for heading in probabilities]
    sheet = Sheet(query, columns + [Column("values")] * below + columns_of_values)
    for row in rows:
        lead = [row.atom, row.where, *([row.example] * examples), count_text(row.count)]
        cells = [
            (row.assignment_text(key), with_error(p, row.error_of(key)))
            for key, p in row.values.items()
        ]
        named = zip([column.heading for column in columns[1:]], lead[1:], strict=True)
        fields = [(name, text) for name, text in named if text]
        entry = Entry(row.atom, fields + [(f"P({value})", text) for value, text in cells])
        if below:
            blank = [""] * len(lead)
            block = [
                [*(blank if k else lead), value, text] for k, (value, text) in enumerate(cells)
            ]
        else:
            block = [[*lead, *(text for _, text in cells)]]
        sheet.add_block(block, entry)
    return sheet


def _growth_sheet(growth: dict[str, Any], rows: Sequence[liftgbp.Answer]) -> Sheet:
    """One line per family of regions, the chosen one marked."""
    shown = rows[:MOST_VALUE_COLUMNS]
    last = [row.assignment_text(list(row.values)[-1]) for row in shown]
    atoms = [f"P({row.atom} {value})" for row, value in zip(shown, last, strict=True)]
    lines = []
    for step in growth["steps"]:
        found = {
            (row["query"], row["atom"], row["where"]): probability_text(row["values"][-1]["p"])
            for row in step["answers"]
        }
        texts = [found.get((row.query, row.atom, row.where), "") for row in shown]
        remark = "chosen" if step["chosen"] else "" if step["standing"] != "refused" else "refused"
        lines.append((step["family"], log_text(step["log_z"]), *texts, remark))
    headings = ("regions", "log Z", *atoms, "")
    return Sheet.of("growing regions", headings, lines, left=["regions"])


def _minima_sheet(minima: list[dict[str, Any]], where: str = "") -> Sheet:
    rows = (
        (
            log_text(point["log_z"]),
            f"{point['weight']:.4f}" if point["weight"] else "",
            point["text"],
        )
        for point in minima
    )
    title = f"stationary points of the free energy{where}"
    return Sheet.of(title, ("log Z", "share", "what"), rows, prose=["what"], lead="log Z {}")


def _why_no_minima(result: Result) -> str:
    if result["verdict"]["kind"] == liftgbp.Kind.EXACT.value:
        return "the answer is exact; --no-exact approximates it"
    if "sum_over" in result:
        return "each count has its own"
    if result["solver"]["name"] == liftgbp.Algorithm.FLOODING.value:
        return "flooding finds one stationary point at most; --solver descent looks for all"
    return "the regions share no atoms, so there is one solution"


# --- the run


def _show_run(terminal: Terminal, result: Result, verbose: bool) -> None:
    terminal.say(f"log Z = {log_text(result['log_z'], result.get('log_z_error'))}")
    if "bounds" in result:
        for line in bounds_lines(result["bounds"]):
            terminal.say(line)
    if result["evidence"] is not None:
        terminal.say(_evidence_text(result["evidence"]))
    if "sum_over" in result:
        terminal.say(_sum_over_text(result["sum_over"]))
    shares = [point for point in result["minima"] if point["weight"] > 0]
    if len(shares) > 1:
        terminal.say(f"the answer mixes {len(shares)} minima; --minima shows them")
    if verbose:
        _show_details(terminal, result)
    for note in result["notes"]:
        terminal.say(f"note: {note}", "yellow")


def _show_details(terminal: Terminal, result: Result) -> None:
    solver, verdict = result["solver"], result["verdict"]
    residual = "undefined" if solver["residual"] is None else f"{solver['residual']:.1e}"
    terminal.say(f"regions: {_regions_text(result['regions'])}")
    terminal.say(
        f"solver: {solver['name']}, {solver['status']} after "
        f"{counted(solver['iterations'], 'iteration')}, residual {residual}, "
        f"{solver['seconds']:.3f} s"
    )
    terminal.say(f"verdict: {verdict['text']}")
    if verdict["entropy"] is not None and verdict["entropy_bound"] is not None:
        terminal.say(
            f"entropy: {verdict['entropy']:.6g}, at most {verdict['entropy_bound']:.6g} is possible"
        )


def _regions_text(regions: dict[str, Any]) -> str:
    if not regions["canonical"]:
        return "none is left, since the remaining atoms are independent"
    return (
        f"{counted(regions['canonical'], 'canonical region')} for "
        f"{count_text(regions['ground_regions'])} ground ones ({regions['family']}), "
        f"{counted(regions['edges'], 'lifted edge')}"
    )


def _evidence_text(evidence: dict[str, Any]) -> str:
    kinds = {"facts": "fact", "uncertain": "uncertain fact", "counted": "counted object"}
    parts = [counted(evidence[key], word) for key, word in kinds.items() if evidence[key]]
    if evidence["closed"]:
        parts.append(f"closed world for {', '.join(evidence['closed'])}")
    ways = {"lifted": "by classes of objects", "ground": "grounded, then compressed"}
    # Steps in time and orders of numbers are computed; nobody stated them.
    told = f"evidence: {', '.join(parts)}" if parts else "no evidence"
    return f"{told}; {ways[evidence['via']]}"


def _sum_over_text(summed: dict[str, Any]) -> str:
    """Which counts were summed over, and which are most likely."""
    if not summed["predicates"]:
        return str(summed["choice"])
    peaks = [peak for peak in summed["most_likely"] if peak["share"] >= SMALLEST_SHARE]
    listed = [f"{peak['counts']} ({peak['share']:.3g})" for peak in peaks[:MOST_PEAKS]]
    if len(peaks) > MOST_PEAKS:
        listed.append(f"{len(peaks) - MOST_PEAKS} more")
    text = (
        f"summed over {', '.join(summed['predicates'])}: {summed['counts_visited']} counts "
        f"visited, peaks (share around each) {', '.join(listed)}"
    )
    if summed["untrusted_share"] > 0:
        text += f"\nshare of counts that are refused: {summed['untrusted_share']:.2g}"
    return f"{text}\n{summed['choice']}" if summed["choice"] else text
