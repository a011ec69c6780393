"""The view of a best world."""

from __future__ import annotations

from typing import Any

from liftgbp.cli.terminal import Column, Sheet, Terminal, count_text, counted
from liftgbp.support.texts import some_of

Result = dict[str, Any]

MOST_BLOCKS = 30
"""The most blocks of a table on the screen."""

SHOWN_ATOMS = 200
"""So many atoms without objects, or variables of networks, are named."""


def show_world(result: Result, numbers: str) -> None:
    """Print whether the world is proven to be best, its rules, and what is true in it.

    `numbers` says how many atoms are true.
    """
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
    if numbers:
        terminal.say(numbers)
    _show_atoms(terminal, result["true"], result["true_numbers"])
    if result["undecided"]:
        number = result["undecided_number"]
        named = some_of(result["undecided"], number=number)
        verb = "differs" if number == 1 else "differ"
        terminal.say(f"{counted(number, 'atom')} {verb} between best worlds: {named}")
    for note in result["notes"]:
        terminal.say(f"note: {note}")
    terminal.say(f"{result['seconds']:.2g} s, seed {result['seed']}")


def _show_atoms(terminal: Terminal, true: dict[str, list[str]], numbers: dict[str, int]) -> None:
    """A list for each query, and one for all atoms without objects."""
    single = [atom for query, atoms in true.items() if "(" not in query for atom in atoms]
    if single:
        terminal.say(some_of(single, SHOWN_ATOMS))
    for query, atoms in true.items():
        if not atoms:
            terminal.say(f"{query}: none is true")
        elif "(" in query:
            # A title would be folded to the width of the list.
            cut = numbers[query] > len(atoms)
            part = f": the first {len(atoms)} of {count_text(numbers[query])}" if cut else ""
            terminal.say(f"{query}{part}", "bold")
            sheet = Sheet("", [Column("true", prose=True)])
            for atom in atoms:
                sheet.add(atom)
            terminal.show(sheet)


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
