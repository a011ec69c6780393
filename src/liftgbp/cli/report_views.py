"""The views of graphs, checks, sweeps and reproductions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import liftgbp
from liftgbp.cli.opinion_views import show_comparison
from liftgbp.cli.terminal import Terminal, count_text, counted, log_text


def show_graph(result: dict[str, Any]) -> None:
    """Print the canonical regions and the lifted edges of a graph."""
    terminal = Terminal()
    sizes = "".join(f", {sort} = {count_text(n)}" for sort, n in result["domains"].items())
    terminal.say(f"lifted region graph, {result['family']}{sizes}")
    regions = (
        (
            str(region["region"]),
            " ".join(region["atoms"]),
            count_text(region["n"]),
            count_text(region["c"]),
            "outer" if region["outer"] else "",
        )
        for region in result["regions"]
    )
    headings = ("", "atoms", "n", "c", "")
    terminal.table("canonical regions", headings, regions, prose=["atoms"], lead="region {}")
    edges = (
        (
            str(edge["edge"]),
            f"{edge['parent']} → {edge['child']}",
            edge["mapping"],
            count_text(edge["kappa"]),
            edge["kappa_formula"],
        )
        for edge in result["edges"]
    )
    terminal.table(
        "lifted edges",
        ("", "parent → child", "mapping", "κ", "as a formula"),
        edges,
        prose=["mapping", "as a formula"],
        left=["parent → child"],
        lead="edge {}",
    )
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
    atoms = (
        (
            name,
            count_text(found.facts.get(name, 0)),
            count_text(found.unknown[name]) if name in found.unknown else "closed",
        )
        for name in dict.fromkeys((*found.facts, *found.unknown))
    )
    about = ("predicate", "facts", "unknown atoms")
    terminal.table("evidence", about, atoms, left=["predicate"])
    if found.via == "lifted":
        classes = ", ".join(f"{sort}: {count_text(n)}" for sort, n in found.classes.items())
        terminal.say(f"classes of objects: {classes}")
        terminal.say(f"factors over classes: about {count_text(found.parfactors)}")
        if found.refused:
            terminal.say(f"factor scopes alone do not do: {found.refused}", "yellow")
        _show_stages(terminal, found)
        return
    rules = (
        (
            "" if rule.line is None else str(rule.line),
            rule.text,
            count_text(rule.substitutions),
            *(
                ("" if rule.exact else "at most ") + count_text(k)
                for k in (rule.visited, rule.factors)
            ),
            str(rule.width),
        )
        for rule in found.rules
    )
    headings = ("line", "rule", "substitutions", "visited", "factors", "atoms of a factor")
    terminal.table("grounding", headings, rules, prose=["rule"], left=["line"], lead="line {}")
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
    facts = ((name, count_text(number)) for name, number in found.facts.items())
    terminal.table("evidence", ("predicate", "facts"), facts, left=["predicate"])
    _show_stages(terminal, found)
    terminal.say(f"{found.needs} in all")
    terminal.say(found.advice)


def _show_stages(terminal: Terminal, found: liftgbp.Forecast | liftgbp.EngineForecast) -> None:
    """How much there is in each stage."""
    if found.stages:
        rows = (list(stage.cells.values()) for stage in found.stages)
        terminal.table("stages", list(found.stages[0].cells), rows, left=["stage", "what"])


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
    worst = max(range(result["judged"]), key=differences.__getitem__)
    told = sorted({*range(0, len(differences), 5), 1, 2, worst, len(differences) - 1})
    rows = ((str(k), f"{differences[k]:.1e}") for k in told if k < len(differences))
    title = "largest difference between lifted and ground beliefs"
    terminal.table(title, ("iteration", "difference"), rows)
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
    claims = ((claim.title, claim.verdict) for claim in reproduction.claims)
    headings = ("claim", "verdict")
    terminal.table("claims of the paper", headings, claims, prose=headings)
    for path in reproduction.files:
        terminal.say(f"written: {path}")
    if reproduction.note:
        terminal.say(f"note: {reproduction.note}", "yellow")


def show_examples(about: Mapping[str, str]) -> None:
    """Print what the models are about that come with liftgbp."""
    rows = ((f"example:{name}", sentence) for name, sentence in about.items())
    Terminal().table("examples", ("model", "about"), rows, prose=["about"], left=["model"])
