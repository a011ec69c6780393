"""The views of graphs, checks, sweeps and reproductions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import liftgbp
from liftgbp.cli.opinion_view import show_comparison
from liftgbp.cli.terminal import (
    Column,
    Sheet,
    Terminal,
    count_text,
    counted,
    log_text,
)


def show_graph(result: dict[str, Any]) -> None:
    """Print the canonical regions and the lifted edges of a graph."""
    terminal = Terminal()
    sizes = "".join(f", {sort} = {count_text(n)}" for sort, n in result["domains"].items())
    terminal.say(f"lifted region graph, {result['family']}{sizes}")
    numbers = [Column(heading, right=True) for heading in ("n", "c")]
    columns = [Column(""), Column("atoms", prose=True), *numbers, Column("")]
    regions = Sheet("canonical regions", columns, lead="region {}")
    for region in result["regions"]:
        regions.add(
            str(region["region"]),
            " ".join(region["atoms"]),
            count_text(region["n"]),
            count_text(region["c"]),
            "outer" if region["outer"] else "",
        )
    terminal.show(regions)
    columns = [Column(""), Column("parent → child"), Column("mapping", prose=True)]
    columns += [Column("κ", right=True), Column("as a formula", prose=True)]
    edges = Sheet("lifted edges", columns, lead="edge {}")
    for edge in result["edges"]:
        edges.add(
            str(edge["edge"]),
            f"{edge['parent']} → {edge['child']}",
            edge["mapping"],
            count_text(edge["kappa"]),
            edge["kappa_formula"],
        )
    terminal.show(edges)
    terminal.say(
        f"{counted(len(result['regions']), 'canonical region')} for "
        f"{counted(result['ground_regions'], 'ground region')}"
    )


def show_forecast(found: liftgbp.Forecast) -> None:
    """Print how large the stages of a run would be."""
    terminal = Terminal()
    sizes = ", ".join(f"{sort} = {count_text(n)}" for sort, n in found.sizes.items())
    way = "by classes of objects" if found.via == "lifted" else "grounded, then compressed"
    terminal.say(f"{found.model} ({sizes}), {way}")
    atoms = Sheet("evidence", [Column("predicate"), *_numbers("facts", "unknown atoms")], lead="{}")
    for name in dict.fromkeys((*found.facts, *found.unknown)):
        facts, unknown = found.facts.get(name, 0), found.unknown.get(name)
        atoms.add(name, count_text(facts), "closed" if unknown is None else count_text(unknown))
    terminal.show(atoms)
    if found.via == "lifted":
        classes = ", ".join(f"{sort}: {count_text(n)}" for sort, n in found.classes.items())
        terminal.say(f"classes of objects: {classes}")
        terminal.say(f"factors over classes: about {count_text(found.parfactors)}")
        _show_stages(terminal, found)
        return
    columns = [Column("line"), Column("rule", prose=True)]
    columns += _numbers("substitutions", "visited", "factors", "atoms of a factor")
    rules = Sheet("grounding", columns, lead="line {}")
    for rule in found.rules:
        about = "" if rule.exact else "at most "
        rules.add(
            "" if rule.line is None else str(rule.line),
            rule.text,
            count_text(rule.substitutions),
            about + count_text(rule.visited),
            about + count_text(rule.factors),
            str(rule.width),
        )
    terminal.show(rules)
    _show_stages(terminal, found)
    terminal.say(
        f"{counted(found.factors, 'factor')} in all; their regions take about "
        f"{found.gigabytes:.1f} GB"
    )
    if found.engine:
        terminal.say(
            "That is more than this machine has: with tables as evidence and a folder -o, "
            f"--engine {found.engine} needs less",
            "yellow",
        )


def show_engine_forecast(found: liftgbp.EngineForecast) -> None:
    """Print how large the stages of a run on an engine would be."""
    terminal = Terminal()
    sizes = ", ".join(f"{sort} = {count_text(n)}" for sort, n in found.sizes.items())
    terminal.say(f"{found.model} ({sizes}), {found.family} on {found.engine}")
    facts = Sheet("evidence", [Column("predicate"), *_numbers("facts")], lead="{}")
    for name, number in found.facts.items():
        facts.add(name, count_text(number))
    terminal.show(facts)
    terminal.show(_stage_sheet(found))
    terminal.say(f"{found.needs} in all")
    terminal.say(found.advice)


def _show_stages(terminal: Terminal, found: liftgbp.Forecast) -> None:
    """How much there is in each stage, or why there would be none."""
    if found.refused:
        terminal.say(f"factor scopes alone do not do: {found.refused}", "yellow")
    if found.stages:
        terminal.show(_stage_sheet(found))


def _stage_sheet(found: liftgbp.Forecast | liftgbp.EngineForecast) -> Sheet:
    first, *headings = found.stages[0].cells
    columns = [Column(name, right=name != "what") for name in headings]
    sheet = Sheet("stages", [Column(first), *columns], lead="{}")
    for own in found.stages:
        sheet.add(*own.cells.values())
    return sheet


def _numbers(*headings: str) -> list[Column]:
    return [Column(heading, right=True) for heading in headings]


def show_check(result: dict[str, Any]) -> None:
    """Print answers beside a second opinion, and whether they agree."""
    terminal = Terminal()
    terminal.say(result["sentence"], "green" if result["agrees"] else "bold red")
    terminal.say(f"used: {result['used']}")
    smaller = result["domains"] != result["compared_domains"]
    for doubt in result["doubts"]:
        terminal.say(f"NOT TRUSTED {doubt}" if smaller else f"NOT TRUSTED: {doubt}", "bold red")
    if result["comparison"] is not None:
        show_comparison(result["comparison"], sentence=False)


def show_messages(result: dict[str, Any]) -> None:
    """Print how lifted message passing compares with ground message passing."""
    terminal = Terminal()
    if result["agrees"]:
        terminal.say("lifted equals ground at every iteration", "green")
    else:
        terminal.say("lifted DIFFERS from ground", "bold red")
    differences = result["differences"]
    columns = [Column("iteration", right=True), Column("difference", right=True)]
    compared = Sheet("largest difference between lifted and ground beliefs", columns)
    worst = max(range(result["judged"]), key=differences.__getitem__)
    for iteration in sorted({*range(0, len(differences), 5), 1, 2, worst, len(differences) - 1}):
        if iteration < len(differences):
            compared.add(str(iteration), f"{differences[iteration]:.1e}")
    terminal.show(compared)
    terminal.say(f"log Z = {log_text(result['log_z'])}")
    terminal.say(
        f"{counted(result['lifted_regions'], 'canonical region')} for "
        f"{counted(result['ground_regions'], 'ground region')}"
    )
    if liftgbp.Status(result["status"]) is not liftgbp.Status.CONVERGED:
        terminal.say(f"{result['status']}: {result['reason']}", "bold red")


def show_reproduction(reproduction: liftgbp.Reproduction) -> None:
    """Print the claims of the paper with their verdicts, and which files were written."""
    terminal = Terminal()
    claims = Sheet(
        "claims of the paper", [Column("claim", prose=True), Column("verdict", prose=True)]
    )
    for claim in reproduction.claims:
        claims.add(claim.title, claim.verdict)
    terminal.show(claims)
    for path in reproduction.files:
        terminal.say(f"written: {path}")
    if reproduction.note:
        terminal.say(f"note: {reproduction.note}", "yellow")


def show_examples(about: Mapping[str, str]) -> None:
    """Print what the models are about that come with liftgbp."""
    sheet = Sheet("examples", [Column("model"), Column("about", prose=True)])
    for name, sentence in about.items():
        sheet.add(f"example:{name}", sentence)
    Terminal().show(sheet)
