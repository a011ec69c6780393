"""Texts that are wrong, where the error points and what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from liftgbp.model.parser import load, parse, parse_query
from liftgbp.support.errors import InputError, ModelError, QueryError

# The statements under test stand in line 2 and below.
DECLARED = "p(person) /**/ \nr(person,person)\nmood(person) : {low, high}\nrain\n"

NEEDS_WEIGHT = "a formula needs a weight in front or a period at its end"
OPERATOR = "expected an operator (^, v, =>, <=>)"
SIZE = "must be a whole number from 1 to 1e100"
RESERVED = "is a reserved word; choose another name"
OR_OR_BAR = "'or' is written v, and restrictions such as x != y follow |"
BOUND = "is bound by a quantifier; restrictions are about free variables"
AFTER_BAR = "occurs only after the bar; use it in the formula"
DOTS = "... goes between a whole number and a larger one"

# (text, column of the error in line 5, length of the marked text, part of the message)
IN_ONE_LINE: list[tuple[str, int, int, str]] = [
    # --- syntax
    ("1.4 p(x", 8, 1, "expected ')' or ',', got the end of the text"),
    ("1.4 p(x) p(y)", 10, 1, f"{OPERATOR} or the end of the line, got 'p'"),
    ("1.4 p(x) ^", 11, 1, "expected a formula, got the end of the text"),
    ("1.4 p(x) ^ // more", 11, 1, "expected a formula, got the end of the text"),
    ("1.4 (p(x)) => )", 15, 1, "expected a formula, got ')'"),
    ("1.4", 4, 1, "expected a formula or an arithmetic operator, got the end of the text"),
    ("1.4 * p(x)", 7, 1, "expected a number, got 'p'"),
    ("1.4/|person p(x)", 13, 1, "expected '|', got 'p'"),
    ("1.4 p(^)", 7, 1, "expected a variable, a constant or ')', got '^'"),
    ("1.4 p(x) | ", 11, 1, "expected a variable or a constant, got the end of the text"),
    ("1.4 p(x) | x", 13, 1, "expected '=', got the end of the text"),
    ("1.4 EXIST y", 12, 1, "expected a formula or ',', got the end of the text"),
    ("1.4 EXIST 1 p(x)", 11, 1, "expected a name, got '1'"),
    ("city = ", 7, 1, "expected a name, a number or '{', got the end of the text"),
    ("city = {A B}", 11, 1, "expected ',' or '}', got 'B'"),
    ("parfactor p(x) p(y)", 16, 1, "expected ',', ':' or '|', got 'p'"),
    ("parfactor p(x) : 1", 18, 1, "expected '[', got '1'"),
    ("parfactor p(x) : [1, ]", 22, 1, "expected a number, got ']'"),
    ("parfactor p(x) : [1 2]", 21, 1, "expected an arithmetic operator, ',' or ']', got '2'"),
    ("m(person) : low", 1, 9, "or a predicate before its values {a, b}"),
    ("#include other.mln", 10, 5, "expected a name in quotes, got 'other'"),
    ("#define", 1, 7, "#define is not supported: drop the line if"),
    ("§", 1, 1, "expected a statement, got '§'"),
    ("rain \x07", 6, 1, r"got '\x07'"),
    ("1.4 high = mood(x)", 12, 7, "mood takes 1 argument, got 2"),
    ("$alpha", 7, 1, "expected a formula or an arithmetic operator, got the end of the text"),
    ("$alpha = ", 9, 1, "expected a number, got the end of the text"),
    ("$alpha = x", 10, 1, "expected a number, got 'x'"),
    ("$alpha = 1 p(x)", 12, 1, "expected an arithmetic operator or the end of the line, got 'p'"),
    ("1.4 $alpha p(x)", 5, 6, "expected a formula or an arithmetic operator, got '$alpha'"),
    ("1.4 p($alpha)", 7, 6, "expected a variable, a constant or ')', got '$alpha'"),
    ("$ alpha p(x)", 1, 1, "expected a statement, got '$'; a named weight is written like $alpha"),
    ("1.4*$2 p(x)", 5, 1, "expected a number, got '$'; a named weight is written like $alpha"),
    ("p(x). .", 7, 1, "expected '|' or the end of the line, got '.'"),
    # --- other notations
    ("1.4 p(x) and p(y)", 10, 3, "'and' is written ^"),
    ("1.4 p(x) || p(y)", 11, 1, "'or' is written v"),
    ("1.4 p(x) or p(y)", 10, 2, "'or' is written v"),
    ("1.4 p(x) V p(y)", 10, 1, "'or' is written v"),
    ("1.4 p(x) | p(y), rain", 22, 1, "expected ',' or '=>', got the end"),
    ("1.4 r(x,y) | x != y, p(y)", 26, 1, OR_OR_BAR),
    ("parfactor p(x) | p(y) : [1, 2]", 16, 1, "expected ',', ':' or '|', got '|'"),
    ("1.4 r(x,y) | x <= y", 14, 6, "<= compares numbers in formulas of a model only"),
    ("+1 p(x)", 1, 1, "a positive number is written without +"),
    ("1.4 not p(x)", 9, 1, "'not' is written !"),
    ("1.4 p(x) -> p(y)", 11, 1, "'implies' is written =>"),
    ("1.4 p(x) ⇔ p(y)", 10, 1, "equivalence is written <=>"),
    ("1.4 x == y ^ r(x,y)", 8, 1, "equality is written ="),
    ("1.4 ∃y p(y)", 5, 1, "this quantifier is written EXIST"),
    ("1.4 ∀y p(y)", 5, 1, "this quantifier is written FORALL"),
    ("1.4 p(x!)", 7, 2, "marks of uniqueness (person!) belong in declarations only"),
    ("h(person!) : {a, b}", 3, 7, "marks of uniqueness are for predicates that are false or true"),
    ("1.4 p(x), p(y)", 15, 1, "expected ',' or '=>', got the end of the text"),
    ("*s(person) : {a, b}", 1, 19, "only a predicate with the values false and true can"),
    ("*r(person)", 1, 10, "r was declared as r(person, person) in a.mln, line 2"),
    ("*exist(person)", 1, 14, f"exist {RESERVED}"),
    ("*s(person).", 1, 10, "a star before an atom stands for both signs"),
    ('1.4 p("")', 7, 1, "a name in quotes cannot be empty"),
    ('#include ""', 10, 1, "a name in quotes cannot be empty"),
    ("1.4 p('Anna')", 7, 1, 'names are quoted with "'),
    ('1.4 p("Anna)', 7, 1, "the closing quote is missing"),
    ("1.4 p(x) /* for ever", 10, 2, "this comment has no end; close it with */"),
    # --- sorts
    ("person = 0", 10, 1, f"the size of person {SIZE}, got 0"),
    ("person = -5", 10, 2, f"the size of person {SIZE}, got -5"),
    ("person = 2.5", 10, 3, f"the size of person {SIZE}, got 2.5"),
    ("person = 1e999999999", 10, 11, f"the size of person {SIZE}, got 1e999999999"),
    ("person = 1e-9999999999999999999", 10, 22, f"the size of person {SIZE}, got 1e-99"),
    ("person = {Anna, Bob, Anna}", 22, 4, "Anna is listed twice"),
    ("person = {1, 2, 1, ..., 3}", 17, 1, "1 is listed twice"),
    ("person = {3, A, 1, ..., 5}", 20, 3, "3 is listed twice"),
    ("person = {1, 3, ..., 9}", 17, 3, "it continues 1, 2 but not 1, 3"),
    ("person = {A, 1, 2, 4, ..., 9}", 23, 3, "it continues 2, 3 but not 2, 4"),
    ("person = {3, 1, ..., 5}", 17, 3, "it continues 3, 4 but not 3, 1"),
    ("person = {1, ..., 3, 4, 6, ..., 9}", 28, 3, "it continues 4, 5 but not 4, 6"),
    ('person = {A, ""}', 14, 1, "a name in quotes cannot be empty"),
    ("person = {Anna, bob}", 17, 3, 'formulas would read bob as a variable; write Bob or "bob"'),
    ("person = {1, ..., 1}", 14, 3, DOTS),
    ("person = {A, ..., B}", 14, 3, DOTS),
    ("person = {..., 3}", 11, 3, DOTS),
    ("person = {1, ...}", 14, 3, DOTS),
    ("person = {1, ..., 1e9}", 14, 3, "a range can name at most 1000000 objects"),
    ("p(x) = {A, B}", 1, 4, "a sort has a plain name"),
    # --- predicates
    ("r(person)", 1, 9, "r was declared as r(person, person) in a.mln, line 2"),
    ("p(person) : {a, b}", 1, 18, "p was declared with values false, true in a.mln, line 1"),
    ("m : {a}", 1, 7, "m needs at least two values"),
    ("m : {a, b, a}", 12, 1, "a is listed twice"),
    ("distinct(person)", 1, 16, f"distinct {RESERVED}"),
    ("exist(person)", 1, 5, f"exist {RESERVED}"),
    ("  FORALL(person, person)", 3, 6, f"FORALL {RESERVED}"),
    ("parfactor(person)", 1, 9, f"parfactor {RESERVED}"),
    ("parfactor", 1, 9, f"parfactor {RESERVED}"),
    ("exist : {a, b}", 1, 5, f"exist {RESERVED}"),
    ("inf", 1, 3, f"inf {RESERVED}"),
    ("NaN", 1, 3, f"NaN {RESERVED}"),
    ("inf(person)", 1, 11, f"inf {RESERVED}"),
    ("inf = 3", 1, 3, f"inf {RESERVED}"),
    ("nan = {A, B}", 1, 3, f"nan {RESERVED}"),
    ("q(exist)", 1, 8, f"exist {RESERVED}"),
    # --- rules
    ("q(1)", 1, 4, "unknown predicate q"),
    ("x != 3", 1, 1, "the sort of variable x is unknown"),
    ("1.4 p(x).", 9, 1, "a formula with a weight is not hard; drop its weight or this period"),
    ("1.4 r(x,y) | distinct.", 22, 1, "a formula with a weight is not hard"),
    ("1.4 p(+Anna)", 7, 5, "Anna is a constant; + expands variables"),
    ("1.4 EXIST X p(X)", 11, 1, "X is a constant; variables start with a lower-case letter"),
    ("1.4 FORALL z p(x)", 12, 1, "variable z does not occur in the formula"),
    ("1.4 p(x) | mood(x) = low", 12, 13, "a restriction compares variables and constants"),
    ("1.4 p(x) | rain != x", 12, 9, "rain is a predicate; a restriction compares variables"),
    ("1 EXIST x p(x) | x != Anna", 18, 1, f"x {BOUND}"),
    ("1 p(y) ^ !(FORALL x p(x)) | y != x", 34, 1, f"x {BOUND}"),
    ("1 p(x) | x != z", 15, 1, f"z {AFTER_BAR}"),
    ("1 p(x) | y != z", 10, 1, f"y {AFTER_BAR}"),
    ("p(x) | z = Anna.", 8, 1, f"z {AFTER_BAR}"),
    ("parfactor p(x) | x != z : [1, 2]", 23, 1, f"z {AFTER_BAR}"),
    ("1 " + 120 * "!" + "p(x)", 1, 126, "this is nested more than 100 levels deep"),
    ("1" + 120 * "+1" + " p(x)", 1, 246, "this is nested more than 100 levels deep"),
    # --- weights and potentials
    ("inf p(x)", 1, 3, "inf is not a finite number; a formula that must hold is written without"),
    ("-inf p(x)", 2, 3, "inf is not a finite number"),
    ("2 * NaN (p(x))", 5, 3, "NaN is not a finite number"),
    ("Infinity !p(x)", 1, 8, "Infinity is not a finite number"),
    ("1e999 p(x)", 1, 5, "1e999 is not a finite number"),
    ("2*1e300*1e300 p(x)", 1, 13, "2*1e300*1e300 is not a finite number"),
    ("1/(2-2) p(x)", 1, 7, "division by zero"),
    ("1/|city| p(x)", 3, 6, "unknown sort city; the model has person"),
    ("parfactor rain : [1, -2]", 22, 2, "a potential cannot be negative"),
    ("parfactor rain : [1, 2*(3-4)]", 22, 7, "a potential cannot be negative"),
    ("parfactor rain : [1, inf]", 22, 3, "inf is not a finite number"),
    ("parfactor p(+x) : [1, 2]", 13, 2, "+ expands variables of formulas only"),
    ("$alpha = 2*|person|", 12, 8, "the value of $alpha must be a number, without domain sizes"),
    ("$alpha = 1 + $beta", 14, 5, "without domain sizes and named weights"),
    ("$alpha = 1/0", 10, 3, "division by zero"),
    ("$alpha = 1e999", 10, 5, "1e999 is not a finite number"),
    ("$alpha = -inf", 11, 3, "inf is not a finite number"),
    ("2*$beta/|person| p(x)", 3, 5, "unknown weight $beta; the model declares none"),
    ("parfactor rain : [1, 1/$beta]", 24, 5, "unknown weight $beta; the model declares none"),
    # --- what the model itself checks points into the text, too
    ("1.4 s(x)", 5, 4, "unknown predicate s; the model declares p, r, mood, rain"),
    ("1.4 p(x) ^ r(x)", 12, 4, "r takes 2 arguments, got 1"),
    ("1.4 mood(x)", 5, 7, "mood takes the values low, high; write mood(x) = low"),
    ("1.4 mood(x) = medium", 5, 16, "mood takes the values low, high"),
    ("1.4 p(x) ^ y = z", 12, 1, "the sort of variable y is unknown; use it in an atom"),
    ("1.4 p(x) ^ A = B", 12, 5, "A and B are both constants"),
    ("parfactor p(x), rain : [1, 2]", 1, 29, "the table has 2 entries, but its atoms need 2 x 2"),
]


@pytest.mark.parametrize(("text", "column", "length", "message"), IN_ONE_LINE)
def test_error_in_one_line(text: str, column: int, length: int, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse(DECLARED + text, "a.mln")
    span = caught.value.span
    assert span is not None
    assert message in caught.value.message
    assert (span.line, span.column, span.end - span.start) == (5, column, length)
    assert str(caught.value).startswith(f"a.mln:5:{column}: {caught.value.message}\n")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("1 (rain\n2 rain", (6, 1), f"{OPERATOR} or ')', got '2'; the '(' of line 5 is still open"),
        ("parfactor rain : [1,\n2\n\n1 rain", (8, 1), "the '[' of line 5 is still open"),
        ("1 rain =>\n\n1 rain", (7, 3), "expected '=', got 'rain'"),
        ("1 !\n1 rain", (5, 4), "expected a formula, got the end of the line"),
        ("1 ! // not\n1 rain", (5, 4), "expected a formula, got the end of the line"),
        ("1 EXIST y\nrain", (5, 10), "expected a formula or ',', got the end of the line"),
        ("rain2\n\n/* a\nb */ 1 )\nrain3", (8, 8), "got ')'"),
        ("1 rain\r\n1 )", (6, 3), "got ')'"),
        (
            "city = 3\ncity = {A}\ncity = 4",
            (7, 1),
            "city was declared with size 3 in a.mln, line 5",
        ),
        (
            "city = {A}\ncity = {B}",
            (6, 1),
            "city was declared with other constants in a.mln, line 5",
        ),
        (
            "$alpha = 1\n $beta p(x)\n$Beta = 2",
            (6, 2),
            "unknown weight $beta; the model declares $alpha, $Beta",
        ),
        (
            "$alpha = 1.4\n $alpha = 1.5",
            (6, 2),
            "$alpha was declared as 1.4 in a.mln, line 5",
        ),
        ("1 rain ^\n$alpha rain", (6, 1), "expected a formula, got '$alpha'"),
        ("1 (rain\n$alpha = 1", (6, 1), "the '(' of line 5 is still open"),
        ("rain\nrain(person)", (6, 1), "rain was declared as rain in a.mln, line 4"),
    ],
)
def test_error_across_lines(text: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse(DECLARED + text, "a.mln")
    span = caught.value.span
    assert span is not None
    assert message in caught.value.message
    assert (span.line, span.column) == place


def test_the_whole_message() -> None:
    with pytest.raises(ModelError) as caught:
        parse("friends(person, person)\n\tsmokes(person)\n\t1.4 smokes(x) ^ friends(x)", "s.mln")
    assert str(caught.value) == (
        "s.mln:3:18: friends takes 2 arguments, got 1\n"
        "  \t1.4 smokes(x) ^ friends(x)\n"
        "  \t                ^~~~~~~~~~"
    )


def test_v_is_reserved_where_it_joins_no_formulas() -> None:
    with pytest.raises(ModelError) as caught:
        parse("v(person)", "a.mln")
    assert str(caught.value).startswith(f"a.mln:1:1: v {RESERVED}\n")


def test_restrictions_may_speak_of_leading_foralls() -> None:
    rule, same = parse("p(person)\n1 FORALL x p(x) | x != Anna\n1 p(x) | x != Anna").rules
    assert rule == same


def test_parentheses_may_be_nested_without_limit() -> None:
    assert len(parse(f"p(person)\n1 {5000 * '('}p(x){5000 * ')'}").rules) == 1


# --- files


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin, binary = tmp_path / "latin.mln", tmp_path / "binary.mln"
    latin.write_bytes("p(é)".encode("latin-1"))
    binary.write_bytes(b"p(x)\0")
    for path, reason in (
        (tmp_path / "none.mln", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (tmp_path / "a\0b", "embedded null byte"),
        (latin, "it is not UTF-8 text"),
        (binary, "it is a binary file"),
    ):
        with pytest.raises(ModelError) as caught:
            load(path)
        assert str(caught.value) == f"cannot read {path}: {reason}"


def test_include_that_cannot_be_read(tmp_path: Path) -> None:
    main = tmp_path / "main.mln"
    main.write_text('p(person)\n  #include "none.mln" // missing')
    with pytest.raises(ModelError) as caught:
        load(main)
    assert str(caught.value) == (
        f"{main}:2:3: cannot read {tmp_path / 'none.mln'}: No such file or directory\n"
        '    #include "none.mln" // missing\n'
        "    ^~~~~~~~~~~~~~~~~~~"
    )


def test_include_cycle(tmp_path: Path) -> None:
    for name, text in {
        "main.mln": '#include "a.mln"',
        "a.mln": 'p(person)\n#include "b.mln"',
        "b.mln": '\n\n#include "./a.mln"',
    }.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ModelError) as caught:
        load(tmp_path / "main.mln")
    span = caught.value.span
    assert caught.value.message == "these files include each other: a.mln -> b.mln -> a.mln"
    assert span is not None
    assert (span.source.name, span.line, span.column) == (str(tmp_path / "b.mln"), 3, 1)


def test_a_file_that_includes_itself(tmp_path: Path) -> None:
    (tmp_path / "a.mln").write_text('#include "a.mln"')
    with pytest.raises(ModelError, match=r"include each other: a\.mln -> a\.mln"):
        load(tmp_path / "a.mln")
    with pytest.raises(ModelError, match=r"include each other: a\.mln -> a\.mln"):
        parse('#include "a.mln"', str(tmp_path / "text.mln"))


def _chain_of_includes(folder: Path, levels: int) -> Path:
    for level in range(levels):
        (folder / f"{level}.mln").write_text(f'rain\n  #include "{level + 1}.mln"')
    (folder / f"{levels}.mln").write_text("1 rain")
    return folder / "0.mln"


def test_includes_may_be_a_hundred_levels_deep(tmp_path: Path) -> None:
    assert len(load(_chain_of_includes(tmp_path, 100)).rules) == 1


def test_includes_that_are_too_deep(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        load(_chain_of_includes(tmp_path, 2000))
    span = caught.value.span
    assert caught.value.message == "files include each other more than 100 levels deep"
    assert span is not None
    assert (span.source.name, span.line, span.column) == (str(tmp_path / "100.mln"), 2, 3)


def test_errors_in_included_files_point_there(tmp_path: Path) -> None:
    (tmp_path / "main.mln").write_text('#include "rules.mln"')
    (tmp_path / "rules.mln").write_text("p(person)\n1 p(x, y)")
    with pytest.raises(ModelError) as caught:
        load(tmp_path / "main.mln")
    assert str(caught.value).startswith(f"{tmp_path / 'rules.mln'}:2:3: p takes 1 argument, got 2")


# --- queries


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("p(+x)", 3, "+ expands variables of formulas only"),
        ("", 1, "expected a name, got the end of the text"),
        ("p(x) |", 7, "expected a name, got the end of the text"),
        ("p(x) p(y)", 6, "expected ',', '^', '|' or the end of the text, got 'p'"),
        ("p(x).", 5, "expected ',', '|' or the end of the text, got '.'"),
        ("p(x) | p(y) | distinct", 13, "got '|'"),
        ("1.4 p(x)", 5, "expected '=', got 'p'"),
        ("$alpha", 1, "expected a name, got '$alpha'"),
        ("p(x) /* y", 6, "this comment has no end"),
        ("p(x) ^ " + 120 * "!" + "p(x)", 1, "nested more than 100 levels deep"),
    ],
)
def test_query_error(text: str, column: int, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    span = caught.value.span
    assert span is not None
    assert message in caught.value.message
    assert (span.source.name, span.line, span.column) == ("<query>", 1, column)


# --- whatever is typed, the answer is a model or a pointed error

PIECES = st.sampled_from(
    [
        *("p(x)", "r(x,y)", "rain", "person", "x", "v", "Anna", "1", "2.5", '"a b"', "|person|"),
        *("(", ")", "[", "]", "{", "}", ",", ".", "...", ":", "|", "+", "-", "*", "/", "\n"),
        *("^", " v ", "=>", "<=>", "!", "=", "!=", "EXIST", "FORALL", "distinct", "parfactor"),
        *("#include", "inf", "// c\n", "/* c */", "/*", '"', "&", "\\", "\0", " ", "$a", "$"),
    ]
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=10), st.sampled_from(["", " "]))
def test_any_text(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    for read in (lambda: parse(DECLARED + text), lambda: parse_query(text)):
        try:
            read()
        except InputError as error:
            assert "\n" in str(error)


# --- long texts


LONG = 300_000
LONG_MISTAKES = {
    "quotes that are never closed": '1 p("' + '\\"' * LONG + ")",
    "blanks in what is no declaration": "a" + " " * LONG + "b ^",
    "blanks in what is no probability": "P(" + " " * LONG + "(",
    "quantified variables": "1 EXIST " + ",".join(f"y{i}" for i in range(3000)) + " p(y0)",
    "universal variables": "FORALL " + ",".join(f"y{i}" for i in range(3000)) + " p(y0).",
    "quantifiers inside each other": "1 " + "EXIST x,y,z (p(x) ^ " * 40 + "p(u)" + ")" * 40,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", LONG_MISTAKES.values(), ids=LONG_MISTAKES)
def test_long_mistakes_are_refused_at_once(text: str) -> None:
    """Time that grew with the square of the length would be hours here."""
    with pytest.raises(ModelError):
        parse("p(person)\n" + text)


@pytest.mark.slow
def test_long_chains_of_comparisons() -> None:
    """The sort of each variable follows from that of the next one."""
    count = 2000
    chain = " ^ ".join(f"x{i} != x{i + 1}" for i in range(count))
    model = parse(f"p(person)\n1 {chain} ^ p(x{count})")
    sorts = model.variable_sorts(model.rules[0])
    assert sorts == {f"x{i}": "person" for i in range(count + 1)}


def test_long_lists_of_ranges() -> None:
    count = 3000
    ranges = ", ".join(f"{5 * i}, ..., {5 * i + 3}" for i in range(count))
    (sort,) = parse(f"number = {{{ranges}}}").sorts.values()
    assert len(sort.constants) == 4 * count


# --- long lines and names

LONG = "a" * 10**6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "shown", "marked"),
    [
        (
            "p(t)\n1 " + "p(x) ^ " * 10**3 + "!q(y)" + " ^ p(x)" * 10**3,
            "p(x) ^ !q(y) ^ p(x)",
            "q(y)",
        ),
        ("p(t)\n1 !q(y)" + " ^ p(x)" * 10**3, "  1 !q(y) ^ p(x)", "q(y)"),
        ("p(t)\n1 " + "p(x) ^ " * 10**3 + "!q(y)\r\n1 p(x)", "p(x) ^ !q(y)\n", "q(y)"),
        (f"p(t)\n1 p(x) ^ {LONG}(x)", "  1 p(x) ^ aaa", None),
    ],
)
def test_of_a_long_line_what_is_around_the_place_is_shown(
    text: str, shown: str, marked: str | None
) -> None:
    with pytest.raises(ModelError, match="unknown predicate") as caught:
        parse(text)
    assert shown in str(caught.value)
    assert len(str(caught.value)) < 1000
    line, marks = str(caught.value).split("\n")[-2:]
    assert len(line) <= 2 + 3 + 200 + 3
    start, end = marks.index("^"), len(marks)
    assert end <= len(line)
    if marked is not None:
        assert line[start:end] == marked


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        f"{LONG} p(x)",
        f"1 p({LONG}",
        f"t = {{{LONG}, {LONG}}}",
        "9" * 10**6 + " p(x)",
        f'#include "{LONG}"',
    ],
)
def test_messages_have_a_largest_length(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(f"p(t)\n{text}\n")
    assert len(str(caught.value)) < 1500


@pytest.mark.slow
def test_of_many_names_the_first_and_the_last_are_shown() -> None:
    declared = "\n".join(f"p{k}(t)" for k in range(20_000))
    with pytest.raises(
        ModelError, match=r"unknown predicate q; the model declares p0, p1, "
    ) as caught:
        parse(f"{declared}\n1 q(x)")
    assert caught.value.message.endswith("p19999")
    assert len(caught.value.message) < 4000
