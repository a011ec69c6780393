"""Facts from text, one per line, as in Alchemy's `.db` files.

A line is one match of a regular expression; only a line that does not match is taken apart, to say
what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from liftgbp.evidence.stated_facts import (
    FactFile,
    ListedObjects,
    Statements,
    unknown_predicate,
    wrong_arity,
)
from liftgbp.model.ast import BOOLEAN, Predicate, applied
from liftgbp.model.model import Model
from liftgbp.model.syntax import without_comments
from liftgbp.support.errors import EvidenceError, Source, comma_list
from liftgbp.support.limits import checkpoint

# --- the syntax of a line


# Possessive quantifiers and atomic groups: a name such as 12 matches in two ways, so a line of many
# such names that ends in a mistake would match in very many ways. Frequent kinds come first.
_NUMBER = r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?"
_PLAIN, _QUOTED = r"[^\W\d]\w*+", r'"(?:\\.|[^"\\])++"'
_INSIDE = r"(?:[-.']++\w++)*+"  # what names may have inside without quotes, as in Mary-Ann
_NUMBER_NAME = r"-?(?:\d++(?:\.\d++)?|\.\d++)(?:[eE][+-]?\d++)?(?![\w'-])(?!\.\w)"
_NAME = rf"(?>{_PLAIN}{_INSIDE}|{_QUOTED}|{_NUMBER_NAME}|\w++{_INSIDE})"

NAMES = re.compile(_NAME)
FACT = re.compile(
    rf"\s*+(?:(?P<chance>{_NUMBER})\s++)?"
    r"(?:(?P<negation>!)\s*+)?"
    rf"(?P<atom>(?P<predicate>{_PLAIN})"
    rf"(?:\s*+\(\s*+(?P<arguments>{_NAME}(?>\s*+,\s*+{_NAME})*+)?\s*+\))?)\s*+"
    rf"(?:=\s*+(?P<value>{_NAME})\s*+)?"
    rf"(?:(?<=[\s)])(?P<after>{_NUMBER})\s*+)?"  # a probability may stand behind the atom, too
)
# The value of a function: in front of it as here, or behind it like any value.
VALUE = re.compile(
    rf"\s*+(?P<value>{_NAME})\s*+=\s*+(?P<predicate>{_PLAIN})\s*+"
    rf"\(\s*+(?P<arguments>{_NAME}(?>\s*+,\s*+{_NAME})*+)?\s*+\)\s*+"
)
# A term of a function among the arguments of an atom.
_TERM = re.compile(rf"(?<=[(,\s])({_PLAIN})\s*+\(\s*+({_NAME}(?>\s*+,\s*+{_NAME})*+)\s*+\)")
_UNKNOWN = re.compile(r"\s*(\?)\s*[^\W\d]")
_SEPARATOR = re.compile(r"\s*-{3,}\s*")

# A line that lists objects of a sort, as some tools write it above the facts.
OBJECTS = re.compile(
    rf"\s*+(?P<sort>{_PLAIN})\s*+=\s*+\{{\s*+(?P<names>{_NAME}(?>\s*+,\s*+{_NAME})*+)\s*+\}}\s*+"
)

# The parts of a fact, each with the blanks after it.
_BEGINNING = re.compile(rf"\s*(?:{_NUMBER}\s+)?(?:!\s*)?")
_PREDICATE = re.compile(r"[^\W\d]\w*\s*")
_OPENING, _COMMA, _CLOSING, _EQUALS = (re.compile(rf"{c}\s*") for c in (r"\(", ",", r"\)", "="))
_ONE_NAME = re.compile(rf"{_NAME}\s*")
_CHANCE = re.compile(rf"{_NUMBER}\s*")

_FOUND = re.compile(r'"[^"]*"?|\d+\.\d+|\w+|\S')
_HINTS = tuple(
    (re.compile(pattern), hint)
    for pattern, hint in (
        (r"\.\s*$", "a fact has no period at its end"),
        (r'""', "a name in quotes cannot be empty"),
        (r'"(?![^"]*")', "the closing quote is missing"),
        (r"'", 'names are quoted with "'),
        (r"\{", "objects of a sort are listed like person = {Anna, Bob}"),
        (r"(?<==)>", "a fact is a single atom; formulas belong in the model"),
        (r"!=", "state the value that the atom has"),
        (r"[,;^&]|\w", "a line states one fact"),
        (r"[-.:/@+#!]", "put a name with other characters than letters and digits in quotes"),
    )
)


def plain_name(name: str) -> str:
    """The name without its quotes, if it has any."""
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name.startswith('"') else name


def malformed(line: str) -> tuple[str, int, int]:
    """What is wrong with a line that is not a fact, and the columns (from 0) to point at.

    >>> malformed("Friends(Anna, Bob")
    ("expected ',' or ')', got the end of the line", 17, 18)
    """
    line = line.rstrip()
    if unknown := _UNKNOWN.match(line):
        return (
            "? says that nothing is known about an atom: leave it out, and do not close its "
            "predicate",
            *unknown.span(1),
        )
    column, expected = _where_it_ends(line)
    found = _FOUND.match(line, column)
    if found is None:
        return f"expected {expected}, got the end of the line", column, column + 1
    hint = next((f"; {hint}" for pattern, hint in _HINTS if pattern.match(line, column)), "")
    return f"expected {expected}, got '{found[0]}'{hint}", column, found.end()


def _where_it_ends(line: str) -> tuple[int, str]:
    """The column up to which a line can be read, and what is expected there."""
    column = 0

    def takes(piece: re.Pattern[str]) -> bool:
        nonlocal column
        found = piece.match(line, column)
        column = column if found is None else found.end()
        return found is not None

    takes(_BEGINNING)
    if not takes(_PREDICATE):
        return column, "a predicate"
    expected = "'(', '=' or the end of the line"
    if takes(_OPENING):
        if not takes(_ONE_NAME):
            return column, "a constant"
        while takes(_COMMA):
            if not takes(_ONE_NAME):
                return column, "a constant"
        if not takes(_CLOSING):
            return column, "',' or ')'"
        expected = "'=' or the end of the line"
    if takes(_CHANCE):
        return column, "the end of the line"
    if not takes(_EQUALS):
        return column, expected
    expected = "the end of the line" if takes(_ONE_NAME) else "a value"
    return column, expected


# --- reading the facts of a text


# Probability, negation and value of a fact, as they are written.
_Claim: TypeAlias = tuple[str | None, str | None, str | None]


def read_atoms(model: Model, atoms: Sequence[str]) -> list[Statements]:
    """The atoms that texts name, one each, whatever value they may have."""
    for atom in atoms:
        if "\n" in atom:
            raise EvidenceError(f"{atom!r} must be one ground atom")
    read = read_facts(model, Source("<evidence>", "\n".join(atoms)), valued=False)
    return [part for part in read if isinstance(part, Statements)]


def read_facts(
    model: Model, source: Source, *, valued: bool = True
) -> list[Statements | ListedObjects]:
    """The objects that a text lists, and its facts by predicate, which are `valued` or atoms."""
    file = FactFile(source, _lines(source))
    listed: list[ListedObjects] = []
    batches: dict[str, _Batch] = {}
    functions = any(predicate.kind == "function" for predicate in model.predicates.values())
    separators: list[int] = []
    for row, line in enumerate(file.lines):
        checkpoint()
        found = FACT.fullmatch(line) or (_function_line(model, line) if functions else None)
        if found is None:
            if _SEPARATOR.fullmatch(line):
                separators.append(row)
            elif line and not line.isspace():
                listed.append(_listed_objects(model, file, row))
            continue
        name = found["predicate"]
        batch = batches.get(name)
        if batch is None:
            if name not in model.predicates:
                message = f"{unknown_predicate(model, name)}; declare it there, or drop its facts"
                raise _problem(file, row, message, "predicate")
            batch = batches[name] = _Batch(model.predicates[name], file)
        batch.rows.append(row)
        arguments, value = found["arguments"] or "", found["value"]
        if batch.predicate.kind == "function" and value is not None:
            arguments, value = ",".join(filter(None, (arguments, value))), None
        batch.arguments.append(arguments)
        if found.re is VALUE:
            batch.claims.append((None, None, value))
            continue
        if not valued:
            batch.claims.append((None, None, batch.predicate.values[-1]))
            continue
        if found["chance"] and found["after"]:
            raise _problem(file, row, "this fact has two probabilities; drop one", "after")
        chance = found["chance"] or found["after"]
        batch.claims.append((chance, found["negation"], value))
    _check_separators(file, separators)
    return [*listed, *(batch.statements() for batch in batches.values())]


def _function_line(model: Model, line: str) -> re.Match[str] | None:
    """A line that states the value of a function, or has terms of functions as arguments."""
    found = VALUE.fullmatch(line)
    if found is not None:
        known = model.predicates.get(found["predicate"])
        return found if known is not None and known.kind == "function" else None

    def named(term: re.Match[str]) -> str:
        return '"' + applied(term[1], map(plain_name, NAMES.findall(term[2]))) + '"'

    opening = line.find("(") + 1
    return FACT.fullmatch(line[:opening] + _TERM.sub(named, line[opening - 1 :])[1:])


def _check_separators(file: FactFile, rows: list[int]) -> None:
    """Refuses a line `---` between facts: those before and after it are about different worlds."""
    if not rows:
        return
    separators = set(rows)
    other = [r for r, line in enumerate(file.lines) if line.strip() and r not in separators]
    row = next((row for row in rows if other and other[0] < row < other[-1]), None)
    if row is not None:
        message = "--- separates databases about different worlds; put each into a file of its own"
        raise file.problem(row, message)


def _listed_objects(model: Model, file: FactFile, row: int) -> ListedObjects:
    """The objects that a line lists, if it does not state a fact."""
    found = OBJECTS.fullmatch(file.lines[row])
    if found is None:
        raise file.problem(row, *malformed(file.lines[row]))
    sort = found["sort"]
    if sort not in model.sorts:
        message = f"unknown sort {sort}; the model has {comma_list(model.sorts)}"
        raise file.problem(row, message, *found.span("sort"))
    return ListedObjects(
        sort, [plain_name(name) for name in NAMES.findall(found["names"])], file, row
    )


def _lines(source: Source) -> list[str]:
    """The lines of a text, with blanks instead of comments."""
    if "/*" in source.text:
        return without_comments(source, EvidenceError, keep_lines=True).split("\n")
    lines = source.text.split("\n")
    if "//" in source.text:
        for row, line in enumerate(lines):
            if "//" in line:
                lines[row] = without_comments(Source(source.name, line))
    return lines


@dataclass(frozen=True, eq=False, slots=True)
class _Batch:
    """The facts about one predicate, as parallel lists."""

    predicate: Predicate
    file: FactFile
    rows: list[int] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    claims: list[_Claim] = field(default_factory=list)

    def statements(self) -> Statements:
        columns = self._columns()
        # Facts differ mostly in their arguments, so each different claim is read only once.
        meanings: dict[_Claim, tuple[int, float]] = {}
        for row, claim in zip(self.rows, self.claims, strict=True):
            if claim not in meanings:
                meanings[claim] = _meaning(self.predicate, self.file, row, claim)
        found = np.array([meanings[claim] for claim in self.claims])
        rows = np.array(self.rows, np.int64)
        values = found[:, 0].astype(np.int64)
        return Statements(self.predicate, columns, values, found[:, 1], self.file, rows)

    def _columns(self) -> tuple[list[str], ...]:
        """The names of objects, one column per argument."""
        if any('"' in arguments for arguments in self.arguments):
            found = list(map(NAMES.findall, self.arguments))
            self._check_arity(list(map(len, found)))
            names = [plain_name(name) for names in found for name in names]
        else:
            # No name contains a comma, so all facts can be split at once.
            self._check_arity([text.count(",") + (text != "") for text in self.arguments])
            names = list(map(str.strip, ",".join(self.arguments).split(",")))
        arity = len(self.predicate.sorts)
        return tuple(names[argument::arity] for argument in range(arity))

    def _check_arity(self, counts: list[int]) -> None:
        wrong = np.flatnonzero(np.array(counts) != len(self.predicate.sorts))
        if len(wrong):
            message = wrong_arity(self.predicate, counts[wrong[0]])
            raise _problem(self.file, self.rows[wrong[0]], message, "atom")


def _meaning(predicate: Predicate, file: FactFile, row: int, claim: _Claim) -> tuple[int, float]:
    """The number of the value that is claimed, and its probability."""
    chance, negation, value = claim
    boolean = predicate.values == BOOLEAN
    values = ", ".join(predicate.values)
    if value is None and not boolean:
        message = f"{predicate.name} takes the values {values}; state one after an equals sign"
        raise _problem(file, row, message, "atom")
    name = "true" if value is None else plain_name(value)
    if boolean:
        name = name.lower()  # other tools write True and False
    if name not in predicate.values:
        message = f"{predicate.name} takes the values {values}, not {name}"
        if name[0].isdigit():
            message += "; to say how many objects are known, use --known (known=[...] in Python)"
        raise _problem(file, row, message, "value")
    if negation and not boolean:
        message = f"to say that the value is not {name}, put the probability 0 in front of the atom"
        raise _problem(file, row, message, "negation")
    probability = 1.0 if chance is None else float(chance)
    if not 0 <= probability <= 1:
        message = f"{chance} is not a probability; it must be between 0 and 1"
        found = FACT.fullmatch(file.lines[row])
        raise _problem(file, row, message, "chance" if found and found["chance"] else "after")
    number = predicate.values.index(name)
    if negation:
        number = 1 - number
    if probability == 0 and len(predicate.values) == 2:
        return 1 - number, 1.0
    return number, probability


def _problem(file: FactFile, row: int, message: str, part: str) -> EvidenceError:
    """The error that points at a part of a line, by its name in the regular expression."""
    found = FACT.fullmatch(file.lines[row])
    return file.problem(row, message, *(found.span(part) if found else ()))
