"""Answers as a whole: the card of a notebook, and everything for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from liftgbp.lift.regions import FACTOR_SCOPES
from liftgbp.pictures.cards import BAD, DOUBTFUL, GOOD, MOST_ROWS, badge, bar, folded, note, table
from liftgbp.pictures.markup import Content, Markup
from liftgbp.posterior import BlockStructure, Posterior, Provenance, Result, Standing
from liftgbp.posterior.answer import Answer
from liftgbp.report.cards_of_answers import body_of, headline_of
from liftgbp.report.rows_shown import largest_change, rows_table
from liftgbp.report.trust import flaw_text, reason_of, standing_text
from liftgbp.report.wording import ADVICE, growth_end, solver_text, verdict_text
from liftgbp.solve import Kind, Point, Verdict
from liftgbp.support.errors import QueryError, counted

if TYPE_CHECKING:
    from liftgbp.report.answers import Answers


def card_of(answers: Answers, first: Sequence[Answer]) -> Iterator[Content]:
    """What the card of answers shows: trust, the first rows, blocks, minima and notes."""
    yield _badge(answers)
    yield rows_table(first[:MOST_ROWS], more=len(first) > MOST_ROWS)
    for structure in answers.blocks[:1]:
        yield note(f"objects differ: {headline_of(structure)}")
        yield from body_of(structure) or ()
    minima = answers.minima
    if sum(point.weight > 0 for point in minima) > 1:
        yield folded(f"{len(minima)} stationary points of the free energy", points_table(minima))
    if answers.bounds is not None:
        yield note(f"proven: {answers.bounds.text}")
    sample = answers.posterior.provenance.sample
    error = f" ± {sample.log_z_error:.2g}" if sample is not None and sample.log_z_error else ""
    yield note(f"log Z = {answers.result.log_z:.10g}{error}; {answers.used}")
    yield from map(note, answers.notes)


def _badge(answers: Answers) -> Markup:
    """How far to trust the answers: green, amber or red."""
    posterior = answers.posterior
    if posterior.standing is Standing.REFUSED:
        return badge(BAD, f"refused: {answers.reason}")
    colour = GOOD if posterior.trusted else DOUBTFUL
    return badge(colour, f"{posterior.standing.value}: {standing_text(posterior)}")


def points_table(points: Sequence[Point]) -> Markup:
    """Stationary points, each with its share and what it is."""
    if not points:
        return note("no stationary points to show")
    rows = [
        (
            f"{point.log_z:.10g}",
            bar(point.weight) if point.weight else "",
            f"{point.weight:.4f}" if point.weight else "",
            verdict_text(point.verdict),
        )
        for point in points
    ]
    return table(("log Z", "", "share", "what it is"), rows, numbers=[0, 2])


def made_of(posterior: Posterior) -> str:
    """What answers were made of, in words."""
    made, words = posterior.provenance, _methods(posterior)
    return f"sum over {', '.join(made.sums.predicates)}; {words}" if made.sums.predicates else words


def _methods(posterior: Posterior) -> str:
    made, is_exact = posterior.provenance, posterior.verdict.kind is Kind.EXACT
    if made.sample is not None:
        return f"sampled ({counted(made.sample.chains, 'chain')}, R-hat {made.sample.r_hat:.2f})"
    if made.parts:
        number = f"{len(made.parts)} independent parts"
        if is_exact:
            return f"exact ({number})"
        others = [part for part in made.parts if part.verdict.kind is not Kind.EXACT]
        used = ", ".join(dict.fromkeys(map(made_of, others)))
        exact = len(made.parts) - len(others)
        if exact:
            return f"{used}; {counted(exact, 'independent part')} exactly"
        return f"{number}: {used}"
    if is_exact:
        return solver_text(posterior.result.solver)
    family, words = posterior.graph.family, [*map(_with_share, made.blocks[:1])]
    if made.communities:
        several = len(made.communities) > 1
        what = f"{len(made.communities)} communities" if several else "a community"
        words.append(f"minima of {what}")
    regions = "factor scopes" if family == FACTOR_SCOPES else f"regions {family}"
    return "; ".join([*words, regions])


def _with_share(blocks: BlockStructure) -> str:
    """Blocks in words, with their share if it is the smaller part of an answer."""
    return blocks.summary if blocks.share > 0.5 else f"{blocks.summary} (share {blocks.share:.1g})"


# --- for JSON


def answers_as_dict(answers: Answers, queries: Sequence[str]) -> dict[str, object]:
    """Everything that a program may want to know."""
    posterior, result = answers.posterior, answers.result
    graph, made = posterior.graph, posterior.provenance
    rows = posterior.rows_for(queries)
    return {
        "model": posterior.model.name,
        "domains": posterior.sizes,
        "standing": posterior.standing.value,
        "trusted": posterior.trusted,
        "because": standing_text(posterior),
        "reason": answers.reason,
        "flaw": flaw_text(posterior),
        "remedies": [
            {"python": ADVICE[remedy].python, "options": ADVICE[remedy].options}
            for remedy in answers.remedies
        ],
        "evidence": _evidence(posterior),
        "regions": {
            "family": str(graph.family),
            "canonical": len(graph.regions),
            "edges": len(graph.edges),
            "ground_regions": graph.ground_regions,
        },
        "solver": {
            "name": solver_text(result.solver),
            "status": result.status.value,
            "iterations": result.iterations,
            "residual": finite(result.residual),
            "seconds": posterior.seconds,
        },
        "verdict": verdict_as_dict(result.verdict),
        "minima": _minima(result),
        "log_z": finite(result.log_z),
        **_sample(made),
        **({} if made.bounds is None else {"bounds": made.bounds.log_z_as_dict()}),
        "blocks": [structure.as_dict() for structure in made.blocks],
        "effort": _effort(posterior, rows, queries) if made.effort else None,
        "notes": list(answers.notes),
        "answers": [row.as_dict() for row in rows],
        **({"growth": _growth(posterior, queries)} if made.growth else {}),
        **({"parts": list(map(_part, made.parts))} if made.parts else {}),
        **({"sum_over": made.sums.as_dict()} if made.sums.predicates or made.sums.choice else {}),
    }


def _sample(made: Provenance) -> dict[str, object]:
    """The sample that the answers are read from, if they are."""
    if made.sample is None:
        return {}
    error = made.sample.log_z_error
    return {
        "log_z_error": None if error is None else finite(error),
        "sample": {
            "chains": made.sample.chains,
            "sweeps": made.sample.sweeps,
            "r_hat": finite(made.sample.r_hat),
        },
    }


def _minima(result: Result) -> list[dict[str, object]]:
    return [
        {"log_z": finite(p.log_z), "weight": p.weight, **verdict_as_dict(p.verdict)}
        for p in result.points
    ]


def _part(part: Posterior) -> dict[str, object]:
    return {
        "log_z": finite(part.result.log_z),
        "standing": part.standing.value,
        "trusted": part.trusted,
        "verdict": verdict_as_dict(part.verdict),
        "minima": _minima(part.result),
    }


def verdict_as_dict(verdict: Verdict) -> dict[str, object]:
    """A verdict for JSON."""
    return {
        "text": verdict_text(verdict),
        "residual": finite(verdict.residual),
        "curvature": verdict.curvature,
        "broken_curvature": verdict.broken_curvature,
        "kind": verdict.kind.value,
        "proven": verdict.proven,
        "bits": verdict.bits,
        "entropy": finite(verdict.entropy),
        "entropy_bound": finite(verdict.entropy_bound),
        "count_margin": finite(verdict.count_margin),
        "log_z_bound": finite(verdict.log_z_bound),
        "log_z_ceiling": finite(verdict.log_z_ceiling),
        "plausible": verdict.plausible,
    }


def _evidence(posterior: Posterior) -> dict[str, object] | None:
    known, predicates = posterior.reader.problem.evidence, posterior.model.predicates
    if not known:
        return None
    return {
        "via": posterior.via,
        "facts": sum(len(r.args) for name, r in known.hard.items() if predicates[name].is_stated),
        "uncertain": sum(len(relation.args) for relation in known.soft.values()),
        "counted": sum(counted.count for counted in known.known),
        "closed": sorted(name for name in known.closed if predicates[name].is_stated),
    }


def _effort(
    posterior: Posterior, rows: Sequence[Answer], queries: Sequence[str]
) -> dict[str, object]:
    """The level of effort; the answers of the least effort, and what changed most."""
    made, quick = posterior.provenance, None
    if made.plain is not None:
        before = _rows_if_any(made.plain, queries)
        change = largest_change(rows, before)
        quick = {
            **_step(made.plain, before),
            "change": None if change is None else change.as_dict(),
        }
    return {"level": made.effort, "used": made_of(posterior), "quick": quick}


def _step(posterior: Posterior, rows: Sequence[Answer]) -> dict[str, object]:
    return {
        "log_z": finite(posterior.result.log_z),
        "standing": posterior.standing.value,
        "trusted": posterior.trusted,
        "reason": reason_of(posterior),
        "answers": [row.as_dict() for row in rows],
    }


def _growth(posterior: Posterior, queries: Sequence[str]) -> dict[str, object]:
    made = posterior.provenance
    return {
        "steps": [
            {
                "family": str(step.graph.family),
                "chosen": step.reader is posterior.reader,
                "status": step.result.status.value,
                "seconds": step.seconds,
                **_step(step, _rows_if_any(step, queries)),
            }
            for step in made.growth
        ],
        "end": growth_end(made.growth_stop),
    }


def _rows_if_any(posterior: Posterior, queries: Sequence[str]) -> Sequence[Answer]:
    """The rows that answer queries, or none where the regions are too small for them."""
    try:
        return posterior.rows_for(queries)
    except QueryError:
        return ()


def finite(number: float) -> float | None:
    """A number for JSON, which knows no infinity."""
    return number if math.isfinite(number) else None
