"""Models, evidence and networks that nobody would write on purpose."""

from __future__ import annotations

import gzip
import re
from random import Random

TAME_NUMBERS = (
    "0",
    "1",
    "-1",
    "0.5",
    "1.4",
    "-2.3",
    "0.7",
    "200",
    "1e-300",
    "log(2)",
    "1/|person|",
    "2*$a-1",
)
NUMBERS = (*TAME_NUMBERS, "1e3", "1e308", "1e999", "-0", "nan", "inf", "1/0", "log(0)", "|person|",
           "$a", "00012",
           "9" * 40)  # fmt: skip
ODD_TOKENS = ("(", ")", "{", "}", "[", "]", "|", "||", ",", ".", "...", "!", "^", "v", "=>", "<=>",
              "=", "!=",
              "+", "-", "*", "/", "$", "$a", "EXIST", "FORALL", "distinct", "parfactor", ":",
              "#include", '"', "'",
              "//", "/*", "*/", "\\", "\n", "\t", "\0", "\x1b[31m", ":smile:", "[bold]", "é", "⟨",
              "\u202e", "\ufeff",
              "x", "y", "person", "p", "Anna", "p(x)", "r(x,y)", "1e400", "-", "@", "%s", "{0}",
              ";", "&", "~",
              *NUMBERS)  # fmt: skip
VARIABLES = ("x", "y", "z", "u", "w", "a", "b", "c")
NAMES = ("Anna", "Bob", "Carl", '"Mary Ann"', "7", '":smile:"')


def model_text(random: Random, *, tame: bool = False) -> str:
    """A model; a tame one is nearly always correct."""
    vocabulary = _Vocabulary(random, tame)
    lines = vocabulary.declarations() + [
        vocabulary.rule() for _ in range(random.choice((0, 1, 1, 2, 2, 3, 5)))
    ]
    if random.random() < 0.02:
        lines = lines + lines[-1:] * 300
    text = "\n".join(lines) + "\n"
    return mutated(text, random) if not tame and random.random() < 0.5 else text


class _Vocabulary:
    """The predicates of a random model, and rules about them."""

    def __init__(self, random: Random, tame: bool) -> None:
        self._random = random
        self._tame = tame
        self._sorts = ["person", "place"][: random.choice((1, 1, 1, 2))]
        self._constants = random.sample(NAMES, random.choice((0, 0, 1, 2, 4)))
        self._predicates: dict[str, tuple[list[str], list[str]]] = {}
        for name in random.sample(
            ("p", "q", "r", "s", "mood", "e"), random.choice((1, 2, 2, 3, 4))
        ):
            arity = random.choice((0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4, 8))
            values = ["low", "mid", "High"][: random.choice((0, 0, 0, 2, 3))]
            self._predicates[name] = ([random.choice(self._sorts) for _ in range(arity)], values)

    def declarations(self) -> list[str]:
        random = self._random
        lines = []
        for sort in self._sorts:
            kind = random.random()
            if self._constants and kind < 0.5 and sort == "person":
                lines.append(f"{sort} = {{{', '.join(self._constants)}}}")
            elif kind < 0.7:
                size = random.choice(
                    (0, 1, 2, 3, 4, 5, 6, 10, 14, 20, 100, 1000, 10**6, 10**9, 10**100)
                )
                lines.append(f"{sort} = {size}")
            elif kind < 0.75:
                lines.append(f"{sort} = {{1,...,{random.choice((3, 20, 300, 3000))}}}")
            elif self._tame:
                lines.append(f"{sort} = {random.choice((1, 2, 3, 4, 5, 6))}")
        for name, (sorts, values) in self._predicates.items():
            head = f"{name}({', '.join(sorts)})" if sorts else name
            closed = "*" if random.random() < 0.1 and not values else ""
            lines.append(closed + head + (f" : {{{', '.join(values)}}}" if values else ""))
        if self._tame or random.random() < 0.3:
            lines.append(f"$a = {'0.3' if self._tame else random.choice(NUMBERS)}")
        return lines

    def rule(self) -> str:
        random = self._random
        if random.random() < 0.1:
            atoms = [self._atom() for _ in range(random.choice((1, 2, 3)))]
            entries = ", ".join(random.choice(("0", "1", "2.5", "1e-9", "$a", "-1", "1e300"))
                                for _ in range(random.choice((1, 2, 3, 4, 6, 8, 9))))  # fmt: skip
            return f"parfactor {', '.join(atoms)}{self._restriction()} : [{entries}]"
        formula = self._formula(random.choice((0, 1, 1, 2, 2, 3)))
        if random.random() < 0.25:
            return f"{formula}{self._restriction()}."
        weight = random.choice(TAME_NUMBERS if self._tame else NUMBERS)
        return f"{weight} {formula}{self._restriction()}"

    def _restriction(self) -> str:
        usual = ("", "", "", " | distinct")
        return self._random.choice(
            usual if self._tame else (*usual, " | x != y", " | x = y", " | x != Anna")
        )

    def _formula(self, depth: int) -> str:
        random = self._random
        if depth == 0:
            return self._literal()
        left, right = self._formula(depth - 1), self._formula(random.randrange(depth))
        kind = random.random()
        if kind < 0.08:
            return f"{random.choice(('EXIST', 'FORALL'))} {random.choice(VARIABLES)} ({left})"
        if kind < 0.12:
            return f"!({left})"
        return f"({left} {random.choice(('^', 'v', '=>', '<=>'))} {right})"

    def _literal(self) -> str:
        random = self._random
        if random.random() < 0.05 and not self._tame:
            left, sign = random.choice(VARIABLES[:3]), random.choice(("=", "!="))
            return f"{left} {sign} {random.choice((*VARIABLES[:3], *NAMES))}"
        name = random.choice(list(self._predicates))
        values = self._predicates[name][1]
        sign = "!" if random.random() < 0.3 else ""
        value = f" = {random.choice(values)}" if values and random.random() < 0.9 else ""
        return sign + self._atom(name) + value

    def _atom(self, name: str | None = None) -> str:
        random = self._random
        name = name or random.choice(list(self._predicates))
        width = random.choice((2, 2, 3, 3, 8))
        arguments = []
        for sort in self._predicates[name][0]:
            if random.random() < 0.08:
                arguments.append(random.choice(self._constants or NAMES))
                continue
            sign = "+" if random.random() < 0.03 else ""
            # In a tame model, a variable is of one sort.
            mark = "_" if self._tame and sort == "place" else ""
            arguments.append(sign + random.choice(VARIABLES[:width]) + mark)
        return f"{name}({','.join(arguments)})" if arguments else name


def mutated(text: str, random: Random) -> str:
    """The text with a few tokens lost, repeated, exchanged or made up."""
    tokens = re.findall(r"\w+|\s+|[^\w\s]", text) or [""]
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        place = random.randrange(len(tokens))
        kind = random.random()
        if kind < 0.25:
            del tokens[place]
        elif kind < 0.4:
            tokens.insert(place, tokens[random.randrange(len(tokens))])
        elif kind < 0.55:
            other = random.randrange(len(tokens))
            tokens[place], tokens[other] = tokens[other], tokens[place]
        elif kind < 0.93:
            tokens.insert(place, random.choice(ODD_TOKENS))
        elif kind < 0.96:
            tokens.insert(place, random.choice(("(", "!", "p(x) ^ ", "-", "EXIST x ")) * 3000)
        else:
            tokens.insert(place, "a" * 100_000)
        tokens = tokens or [""]
    return "".join(tokens)


def facts_text(random: Random) -> str:
    """A file of facts."""
    lines = []
    for _ in range(random.choice((0, 1, 3, 10))):
        arguments = ",".join(random.choice(NAMES) for _ in range(random.choice((0, 1, 1, 2, 2, 3))))
        atom = random.choice(("p", "q", "r", "s", "e", "mood")) + f"({arguments})"
        lines.append(random.choice(("", "", "!", "0.7 ", "?")) + atom
                     + random.choice(("", "", " = low", " = High", "=5", " 0.3")))  # fmt: skip
    text = "\n".join(lines) + "\n"
    return mutated(text, random) if random.random() < 0.4 else text


def table_bytes(random: Random) -> bytes:
    """A .csv file, or something that only claims to be a table."""
    if random.random() < 0.15:
        return random.choice(
            (b"", b"PAR1", b"\0" * 100, b"\xff\xfe\x00", b"PAR1" + b"\1" * 99 + b"PAR1")
        )
    width = random.choice((1, 2, 2, 3))
    end = random.choice(("\n", "\r\n"))
    cells = (*NAMES, "Anna", "", "NULL", "0.5", "a" * 40, "é")
    rows = [["from", "to", "weight"][:width]]
    rows += [random.choices(cells, k=width) for _ in range(random.choice((0, 1, 5, 40)))]
    text = end.join(",".join(row) for row in rows) + random.choice(("", end))
    if random.random() < 0.03:
        text += "x" * 3_000_000
    return (mutated(text, random) if random.random() < 0.3 else text).encode()


def network_text(random: Random) -> str:
    """A .uai file."""
    cards = [random.choice((1, 2, 2, 2, 3, 5)) for _ in range(random.choice((1, 2, 4, 6, 9)))]
    scopes = [random.sample(range(len(cards)), min(len(cards), random.choice((0, 1, 2, 2, 3))))
              for _ in range(random.choice((0, 1, 4, 10)))]  # fmt: skip
    lines = [
        random.choice(("MARKOV", "MARKOV", "BAYES")),
        str(len(cards)),
        " ".join(map(str, cards)),
        str(len(scopes)),
    ]
    lines += [" ".join(map(str, (len(scope), *scope))) for scope in scopes]
    for scope in scopes:
        entries = 1
        for variable in scope:
            entries *= cards[variable]
        lines += ["", str(entries)]
        lines.append(
            " ".join(
                random.choice(("0", "1", "0.5", "2", "1e-9", "30", "1e300")) for _ in range(entries)
            )
        )
    text = "\n".join(lines) + "\n"
    return mutated(text, random) if random.random() < 0.4 else text


def factor_graph_text(random: Random) -> str:
    """A .fg file of libDAI."""
    blocks = []
    for _ in range(random.choice((0, 1, 3, 6))):
        scope = random.sample(range(6), random.choice((1, 2, 2, 3)))
        entries = [
            f"{place} {random.choice(('0', '1', '0.3', '2', '1e9'))}"
            for place in range(2 ** len(scope))
        ]
        blocks.append("\n".join((str(len(scope)), " ".join(map(str, scope)),
                                 " ".join("2" for _ in scope),
                                 str(len(entries)), *entries)))  # fmt: skip
    text = f"{len(blocks)}\n\n" + "\n\n".join(blocks) + "\n"
    return mutated(text, random) if random.random() < 0.4 else text


def packed(data: bytes, random: Random) -> bytes:
    """Compressed, and sometimes torn."""
    whole = gzip.compress(data, mtime=0)
    return whole if random.random() < 0.5 else whole[: random.randrange(len(whole))]
