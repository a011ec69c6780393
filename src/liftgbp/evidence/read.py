"""Evidence from texts, files and tables, with closed predicates and counts of unnamed objects."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, cast

import numpy as np

from liftgbp.evidence.evidence import (
    Evidence,
    Known,
    Relation,
    SoftRelation,
    check_certain,
    vocabulary_of,
)
from liftgbp.evidence.fact_lines import read_facts
from liftgbp.evidence.fact_tables import is_table_file, matching_places, read_table, table_source
from liftgbp.evidence.numbering import (
    MergedStatements,
    Names,
    merge_statements,
    number_names,
    objects_of_terms,
    with_values,
)
from liftgbp.evidence.python_facts import python_facts
from liftgbp.evidence.stated_facts import (
    ListedObjects,
    Statements,
    unknown_predicate,
)
from liftgbp.model.ast import (
    BOOLEAN,
    And,
    Atom,
    Formula,
    Is,
    Not,
    Predicate,
    Variable,
    applied,
    rule_atoms,
)
from liftgbp.model.example_models import input_path
from liftgbp.model.model import Model, check_model
from liftgbp.model.parser import parse_query
from liftgbp.model.syntax import ParseTree, clean_source, parse_tree, read_source
from liftgbp.model.tree_reader import TreeReader, subtrees
from liftgbp.support.arrays import logs_of
from liftgbp.support.errors import (
    EvidenceError,
    Span,
    checked_flag,
    checked_texts,
    wrong_type,
)
from liftgbp.support.input_files import LARGEST_UNTRUSTED, is_file
from liftgbp.support.limits import Limits, limited


@limited("reading evidence")
def parse_evidence(
    model: Model,
    text: str,
    *,
    name: str = "<evidence>",
    closed: str | Iterable[str] = (),
    known: Iterable[str] = (),
    limits: Limits | None = None,
) -> Evidence:
    """The evidence that a text states, one fact per line; `name` is for messages.

    Atoms of `closed` predicates are false unless a fact says otherwise. `known` gives numbers of
    unnamed objects, as in `smokes(x)=3e5`.

    >>> import liftgbp
    >>> model = liftgbp.parse("smokes(person) \\n mood(person) : {low, high}")
    >>> evidence = liftgbp.parse_evidence(model, '''
    ...     smokes(Anna)
    ...     !smokes(Bob)
    ...     mood(Carl) = high   // many-valued
    ...     0.7 smokes(Carl)    // seen from afar
    ... ''')
    >>> evidence.names["person"]
    ('Anna', 'Bob', 'Carl')
    >>> evidence.hard["smokes"].args.tolist(), evidence.hard["smokes"].values.tolist()
    ([[0], [1]], [1, 0])
    """
    check_model(model)
    if not isinstance(name, str):
        raise wrong_type("name", "text", name)
    return _evidence(model, read_facts(model, clean_source(name, text)), closed, known)


@limited("reading evidence")
def load_evidence(
    model: Model,
    *sources: str | os.PathLike[str] | Mapping[str, Any],
    closed: str | Iterable[str] = (),
    known: Iterable[str] = (),
    queries: str | Iterable[str] = (),
    untrusted: bool = False,
    limits: Limits | None = None,
) -> Evidence:
    """The evidence of several sources together.

    A source is the path of a file of facts (`.db`, see `parse_evidence`), or a table for one
    predicate: `friends=friends.csv`, `friends=friends.parquet` or `friends=data.duckdb:table`.
    Its columns are the arguments in order; a last column may hold the truth value or the value.

    `closed="all"` closes every predicate with facts, except those that `queries` ask about.

    Columns may be chosen by name (`friends=people.csv[from,to]`), and a CSV file without a line of
    names is `friends=people.csv[header=no]`. A source may also be a mapping, as `infer` takes it.

    The name of a file is taken literally. `friends=glob:*.csv` stands for all files that match.
    Of strangers' files (`untrusted`), at most 16 MB are read each, and no views of databases.

    >>> import pathlib
    >>> import tempfile
    >>> import liftgbp
    >>> model = liftgbp.load("example:friends-smokers")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "facts.db").write_text("smokes(Anna)\\nfriends(Anna,Bob)\\n")
    ...     _ = pathlib.Path(folder, "people.csv").write_text("from,to\\nBob,Eve\\n")
    ...     liftgbp.load_evidence(model, f"{folder}/facts.db", f"friends={folder}/people.csv")
    <Evidence about friends-smokers: 3 facts, 0 uncertain, 0 counted objects>
    """
    check_model(model)
    untrusted = checked_flag("untrusted", untrusted)
    parts = [part for source in sources for part in _read(model, source, untrusted)]
    return _evidence(model, parts, closed, known, queries)


def stated_evidence(model: Model, given: object) -> Evidence:
    """The evidence that a value of Python states: a text, a path, a mapping, or a list of these."""
    check_model(model)
    return _evidence(model, list(_stated(model, given)), (), ())


_GIVEN = (
    "facts as text, a pathlib.Path, a mapping such as {'friends': table, 'smokes(Anna)': True}, a "
    "list of these, or Evidence"
)
_LIKE_A_FILE = re.compile(r"[^()\n]*\.(db|csv|tsv|parquet|pq|gz|duckdb|evid)(:\w+)?(\[.*\])?\s*")


def _stated(model: Model, given: object) -> Iterator[Statements | ListedObjects]:
    match given:
        case str():
            if _LIKE_A_FILE.fullmatch(given):
                raise EvidenceError(
                    f"evidence={given!r} is read as facts, not as the name of a file; read a file "
                    f"with load_evidence(model, {given!r})"
                )
            yield from read_facts(model, clean_source("<evidence>", given))
        case os.PathLike():
            yield from _read(model, given, untrusted=False)
        case Mapping():
            yield from python_facts(model, given)
        case list() | tuple():
            for one in given:
                yield from _stated(model, one)
        case Evidence():
            raise EvidenceError(
                "Evidence cannot be in a list with other evidence; pass it alone, or add facts to "
                "it with evidence.with_facts(...); infer also takes a list of Evidence alone"
            )
        case _:
            raise wrong_type("evidence", _GIVEN, given)


def _read(
    model: Model, source: str | os.PathLike[str] | Mapping[str, Any], untrusted: bool
) -> list[Statements | ListedObjects]:
    if isinstance(source, Mapping):
        return python_facts(model, source)
    path = input_path("evidence", source, EvidenceError)
    table = table_source(source) if isinstance(source, str) else None
    # A file may have an equals sign in its name.
    if table is not None and not is_file(path):
        predicate, place = table
        places = matching_places(place)
        return [part for one in places for part in read_table(model, predicate, one, untrusted)]
    if is_table_file(str(path)) and is_file(path):
        predicate = next(iter(model.predicates), "friends")
        raise EvidenceError(
            f"{source} is a table; say which predicate it is about, as in -e {predicate}={source}"
        )
    most = LARGEST_UNTRUSTED if untrusted else None
    return read_facts(model, read_source(path, error=EvidenceError, most=most))


def _evidence(
    model: Model,
    parts: Sequence[Statements | ListedObjects],
    closed: str | Iterable[str],
    known: Iterable[str],
    queries: str | Iterable[str] = (),
) -> Evidence:
    statements = [part for part in parts if isinstance(part, Statements)]
    listed = [part for part in parts if isinstance(part, ListedObjects)]
    notes = [note for part in statements for note in part.notes]
    parsed = map(parse_query, checked_texts("queries", queries))
    asked = frozenset(atom.predicate for query in parsed for atom in rule_atoms(query.rule))
    statements = with_values(model, statements)
    listed += objects_of_terms(model, statements)
    args, names = number_names(model, statements, listed)
    merged = merge_statements(model, names, statements, args)
    _check_one_value(model, names, merged)
    all_closed = model.closed | _checked_closed(model, closed, _closable(model, merged) - asked)
    evidence = Evidence(
        vocabulary_of(model),
        hard={name: _hard(part) for name, part in merged.items() if part.certain.any()},
        soft={
            name: _soft(part, len(model.predicates[name].values))
            for name, part in merged.items()
            if not part.certain.all()
        },
        closed=all_closed,
        known=tuple(parse_known(model, text) for text in checked_texts("known", known)),
        notes=(*_left_open(model, merged, all_closed | asked), *notes),
        names=names,
        origins=tuple(part.origin for part in statements),
        files=tuple(dict.fromkeys(_files(parts))),
    )
    check_certain(evidence)
    return evidence


def _files(parts: Iterable[Statements | ListedObjects]) -> Iterator[str]:
    """The files that statements are from; a table of a database has its name behind a colon."""
    for name in dict.fromkeys(part.origin.name for part in parts):
        for file in (name, name.rpartition(":")[0]):
            if file and is_file(file):
                yield str(Path(file).absolute())


def _hard(part: MergedStatements) -> Relation:
    sure = part if part.certain.all() else part.take(np.flatnonzero(part.certain))
    return Relation(sure.args, sure.values, places=sure.places)


def _soft(part: MergedStatements, values: int) -> SoftRelation:
    unsure = part.take(np.flatnonzero(~part.certain))
    others = (1 - unsure.chances) / (values - 1)
    potentials = np.repeat(others[:, None], values, axis=1)
    potentials[np.arange(len(unsure.values)), unsure.values] = unsure.chances
    return SoftRelation(unsure.args, logs_of(potentials), places=unsure.places)


def _check_one_value(model: Model, names: Names, merged: Mapping[str, MergedStatements]) -> None:
    """Refuse functions with two values for the same arguments."""
    for name, part in merged.items():
        sorts = model.predicates[name].sorts
        values: dict[tuple[int, ...], int] = {}
        for *args, value in part.args.tolist() if model.predicates[name].kind == "function" else ():
            known = values.setdefault(tuple(args), value)
            if known != value:
                term = applied(name, [names[s][k] for s, k in zip(sorts, args, strict=False)])
                one, other = names[sorts[-1]][known], names[sorts[-1]][value]
                raise EvidenceError(f"{term} has two values, {one} and {other}; drop one of them")


# --- closed predicates


EVERY = "all"
"""Instead of a predicate: all that have facts and are not asked about."""

MANY_FACTS = 20
"""Whoever states this many facts about a predicate, all of them true, may have meant all there are.
A dozen is what people write by hand about some objects among others."""


def _closable(model: Model, merged: Mapping[str, MergedStatements]) -> frozenset[str]:
    """The predicates with facts, none of them uncertain."""
    found = ((model.predicates[name], part) for name, part in merged.items())
    return frozenset(
        predicate.name
        for predicate, part in found
        if part.certain.all() and predicate.values == BOOLEAN and predicate.kind == "relation"
    )


def _left_open(
    model: Model, merged: Mapping[str, MergedStatements], settled: frozenset[str]
) -> Iterator[str]:
    for name in sorted(_closable(model, merged) - settled):
        facts = merged[name].values
        if len(facts) >= MANY_FACTS and facts.all():
            yield (
                f"all {len(facts)} facts about {name} are true, and its other atoms are unknown; "
                f"if they are false, close it (--closed {name}, or --closed {EVERY} for every "
                "predicate with facts that is not asked about)"
            )


def _checked_closed(
    model: Model, names: str | Iterable[str], every: frozenset[str]
) -> frozenset[str]:
    listed = set(checked_texts("closed", names))
    if EVERY in listed and EVERY not in model.predicates:
        listed = listed - {EVERY} | every
    for name in sorted(listed):
        if name not in model.predicates:
            raise EvidenceError(f"cannot close {name}: {unknown_predicate(model, name)}")
        values = model.predicates[name].values
        if values != BOOLEAN:
            raise EvidenceError(
                f"cannot close {name}: it takes the values {', '.join(values)}, and only a "
                "predicate with the values false and true can be closed"
            )
    return frozenset(listed)


# --- counts of unnamed objects


MAX_COUNT = 10**100
_SHAPE = "write what is known as in smokes(x) ^ !cancer(x) = 1000"


def parse_known(model: Model, text: str) -> Known:
    """How many unnamed objects have which values.

    >>> import liftgbp
    >>> model = liftgbp.parse("smokes(person) \\n mood(person) : {low, high}")
    >>> parse_known(model, "!smokes(x) ^ mood(x) = high = 3e5")
    Known(sort='person', values=(('smokes', 0), ('mood', 1)), count=300000)
    """
    formula, equals, count = text.rpartition("=")
    if not equals:
        raise EvidenceError(f"{text} does not say how many; {_SHAPE}")
    claims = dict[str, int]()
    variables = set[tuple[str, str]]()
    for atom, value, span in _claims(_formula(formula)):
        predicate, variable = _unary(model, atom, span)
        if value not in predicate.values:
            values = ", ".join(predicate.values)
            raise EvidenceError(f"{predicate.name} takes the values {values}", span)
        number = predicate.values.index(value)
        if claims.setdefault(predicate.name, number) != number:
            raise EvidenceError(f"{predicate.name} is given two values", span)
        variables.add((variable, predicate.sorts[0]))
    if len(variables) > 1:
        pairs = ", ".join(f"{name} is a {sort}" for name, sort in sorted(variables))
        raise EvidenceError(f"{formula.strip()} is about several objects ({pairs}); {_SHAPE}")
    ((_, sort),) = variables
    return Known(sort, tuple(claims.items()), _count(text, count))


def _formula(text: str) -> Formula:
    source = clean_source("<known>", text)
    reader = TreeReader(source, EvidenceError)
    tree = cast(ParseTree, parse_tree(source, "formula_text", EvidenceError))
    reader.check_nesting(tree)
    reader.refuse_expanded(tree)
    formula, *restrictions = subtrees(tree)
    if restrictions:
        raise reader.problem(f"restrictions are not allowed here; {_SHAPE}", restrictions[0])
    return reader.formula(formula)


def _claims(formula: Formula) -> Iterator[tuple[Atom, str, Span | None]]:
    match formula:
        case And(parts):
            for part in parts:
                yield from _claims(part)
        case Is(atom, value, span):
            yield atom, value, span
        case Not(Is(atom, "true", span)):
            yield atom, "false", span
        case _:
            raise EvidenceError(f"only values of atoms, joined by ^, are allowed here; {_SHAPE}")


def _unary(model: Model, atom: Atom, span: Span | None) -> tuple[Predicate, str]:
    """The predicate of an atom about one unnamed object, and the variable that stands for it."""
    predicate = model.predicates.get(atom.predicate)
    if predicate is None:
        raise EvidenceError(unknown_predicate(model, atom.predicate), span)
    if len(predicate.sorts) != 1 or len(atom.args) != 1:
        raise EvidenceError(
            f"{predicate} cannot be known about unnamed objects; use a predicate with one argument",
            span,
        )
    (term,) = atom.args
    if not isinstance(term, Variable):
        raise EvidenceError(
            f"{term} is an object; state facts about it in a file, and use a variable here", span
        )
    return predicate, term.name


def _count(text: str, written: str) -> int:
    try:
        count = Decimal(written.strip())
        # The bound is checked first: decimals with absurd exponents must not become integers.
        if 0 <= count <= MAX_COUNT and count == int(count):
            return int(count)
    except InvalidOperation:
        pass
    raise EvidenceError(
        f"the number of objects must be a whole number, got {written.strip() or 'none'} in {text}"
    )
