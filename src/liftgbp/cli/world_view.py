"""The view of a best world."""

from __future__ import annotations

from typing import Any

from liftgbp.cli.terminal import Column, Sheet, Terminal, count_text, counted

Result = dict[str, Any]

MOST_BLOCKS = 30
"""The most blocks of a table on the screen."""


def show_world(result: Result) -> None:
    """Print whether the world is proven to be best, its rules, and what is true in it."""
    terminal = Terminal()
    if result["proven"]:
        terminal.say(f"proven: {result['reason']}", "green")
    else:
        terminal.say(f"NOT PROVEN: {result['reason']}", "bold red")
    if "check" in result:
        agrees = result["check"]["agrees"]
        text = f"checked: {result['check']['sentence']}"
        terminal.say(text, "green" if agrees else "bold red")
    known = not result["proven"] and result["upper"] is not None
    upper = f"; no world has more than {result['upper']:.10g}" if known else ""
    terminal.say(f"score {result['score']:.10g}{upper}")
    _show_structure(terminal, result["structure"])
    _show_rules(terminal, result["rules"])
    numbers = result["numbers"]
    if numbers:
        named = ", ".join(f"{count_text(number)} of {name}" for name, number in numbers.items())
        terminal.say(f"true atoms: {named}")
    for query, atoms in result["true"].items():
        sheet = Sheet(query, [Column("true", prose=True)])
        for atom in atoms:
            sheet.add(atom)
        if atoms:
            terminal.show(sheet)
        else:
            terminal.say(f"{query}: none is true")
    undecided = result["undecided"]
    if undecided:
        terminal.say(
            f"{counted(len(undecided), 'atom')} differ between best worlds: {', '.join(undecided)}"
        )
    for note in result["notes"]:
        terminal.say(f"note: {note}")
    terminal.say(f"{result['seconds']:.2g} s, seed {result['seed']}")


def _show_structure(terminal: Terminal, structure: Result | None) -> None:
    if structure is None:
        return
    for line in structure["words"]:
        terminal.say(line)
    blocks = structure["blocks"]
    if not len({block["sort"] for block in blocks}) < len(blocks) <= MOST_BLOCKS:
        return
    columns = [Column("block"), Column("sort"), Column("objects", right=True)]
    sheet = Sheet("blocks", [*columns, Column("shape"), Column("true of each", prose=True)])
    for block in blocks:
        true = ", ".join(block["true"])
        objects = count_text(block["objects"])
        sheet.add(block["name"], block["sort"], objects, block["shape"], true)
    terminal.show(sheet)


def _show_rules(terminal: Terminal, rules: list[Result]) -> None:
    if not rules:
        return
    headings = ("satisfied", "violated", "score")
    columns = [Column("rule", prose=True), *(Column(name, right=True) for name in headings)]
    sheet = Sheet("rules", columns)
    for rule in rules:
        counts = [
            "" if rule[name] is None else count_text(rule[name])
            for name in ("satisfied", "violated")
        ]
        sheet.add(rule["rule"], *counts, f"{rule['score']:.10g}")
    terminal.show(sheet)
