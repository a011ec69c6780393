"""Facts as text: what a line states, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from liftgbp.evidence import Evidence, Problem
from liftgbp.evidence.read import load_evidence, parse_evidence
from liftgbp.model.model import Model
from liftgbp.model.parser import parse
from liftgbp.model.writer import constant_text
from liftgbp.support.errors import EvidenceError, InputError

MODEL = parse("""
    Smokes(person)
    Friends(person, person)
    mood(person) : {low, mid, "very high"}
    coin : {heads, tails}
    rain
    at(person, place, time)
""")


def hard_facts(evidence: Evidence) -> set[tuple[str, tuple[str, ...], str]]:
    """The hard facts with names in the place of numbers."""
    model = evidence.vocabulary
    return {
        (
            name,
            tuple(
                evidence.names[sort][k]
                for sort, k in zip(model.predicates[name].sorts, objects, strict=True)
            ),
            model.predicates[name].values[value],
        )
        for name, relation in evidence.hard.items()
        for objects, value in zip(relation.args.tolist(), relation.values.tolist(), strict=True)
    }


def soft_facts(evidence: Evidence) -> dict[tuple[str, tuple[int, ...]], list[float]]:
    return {
        (name, tuple(objects)): np.exp(potentials).tolist()
        for name, relation in evidence.soft.items()
        for objects, potentials in zip(relation.args.tolist(), relation.log_potentials, strict=True)
    }


# --- what lines state


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("Smokes(Anna)", ("Smokes", ("Anna",), "true")),
        ("!Smokes(Anna)", ("Smokes", ("Anna",), "false")),
        ("  ! Smokes ( Anna )\t", ("Smokes", ("Anna",), "false")),
        ("Smokes(Anna) = false", ("Smokes", ("Anna",), "false")),
        ("Smokes(Anna) = True", ("Smokes", ("Anna",), "true")),
        ("!Smokes(Anna) = false", ("Smokes", ("Anna",), "true")),
        ("1 Smokes(Anna)", ("Smokes", ("Anna",), "true")),
        ("1.0 !Smokes(Anna)", ("Smokes", ("Anna",), "false")),
        ("0 Smokes(Anna)", ("Smokes", ("Anna",), "false")),
        ("0.0 coin = heads", ("coin", (), "tails")),
        ("Smokes(anna)", ("Smokes", ("anna",), "true")),
        ("Smokes(7)", ("Smokes", ("7",), "true")),
        ("Smokes(0.5)", ("Smokes", ("0.5",), "true")),
        ("Smokes(1e-3)", ("Smokes", ("1e-3",), "true")),
        ("Smokes(7a)", ("Smokes", ("7a",), "true")),
        ("Smokes(_x)", ("Smokes", ("_x",), "true")),
        ("Smokes(Émile)", ("Smokes", ("Émile",), "true")),
        ('Smokes("Anna")', ("Smokes", ("Anna",), "true")),
        ('Smokes("Lee, Anna // (!)")', ("Smokes", ("Lee, Anna // (!)",), "true")),
        (r'Smokes("the \"one\" \\")', ("Smokes", ('the "one" \\',), "true")),
        ('Friends("Anna Lee",Bob)', ("Friends", ("Anna Lee", "Bob"), "true")),
        ("Friends( Anna ,Bob)", ("Friends", ("Anna", "Bob"), "true")),
        ("at(Anna, Rome, 12)", ("at", ("Anna", "Rome", "12"), "true")),
        ("mood(Anna) = low", ("mood", ("Anna",), "low")),
        ('mood(Anna)="very high"', ("mood", ("Anna",), "very high")),
        ("rain", ("rain", (), "true")),
        ("!rain", ("rain", (), "false")),
        ("rain()", ("rain", (), "true")),
        ("coin = tails", ("coin", (), "tails")),
        ("Smokes(Anna) // since 1990", ("Smokes", ("Anna",), "true")),
        ("/* or not? */ Smokes(Anna) /* yes */", ("Smokes", ("Anna",), "true")),
    ],
)
def test_a_fact(line: str, fact: tuple[str, tuple[str, ...], str]) -> None:
    evidence = parse_evidence(MODEL, line)
    assert hard_facts(evidence) == {fact}
    assert not evidence.soft


def test_a_whole_text() -> None:
    evidence = parse_evidence(
        MODEL,
        "\ufeff// who is who\r\nSmokes(Anna)\r\n\r\n/* two\r\nlines */ !Friends(Bob,Anna)\r\n"
        "mood(Carl) = mid\r\n!rain\r\n   \r\nSmokes(Anna)\r\n",
        name="facts.db",
    )
    assert hard_facts(evidence) == {
        ("Smokes", ("Anna",), "true"),
        ("Friends", ("Bob", "Anna"), "false"),
        ("mood", ("Carl",), "mid"),
        ("rain", (), "false"),
    }
    assert evidence.names["person"] == ("Anna", "Bob", "Carl")
    assert [len(relation.args) for relation in evidence.hard.values()] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("line", "potentials"),
    [
        ("0.7 Smokes(Anna)", [0.3, 0.7]),
        ("0.7 !Smokes(Anna)", [0.7, 0.3]),
        (".25 Smokes(Anna) = false", [0.25, 0.75]),
        ("1e-3 Smokes(Anna)", [0.999, 0.001]),
        ("0.6 mood(Anna) = mid", [0.2, 0.6, 0.2]),
        ('0 mood(Anna) = "very high"', [0.5, 0.5, 0.0]),
    ],
)
def test_soft_evidence(line: str, potentials: list[float]) -> None:
    evidence = parse_evidence(MODEL, line)
    assert not evidence.hard
    ((_, found),) = soft_facts(evidence).items()
    assert found == pytest.approx(potentials)


def test_hard_and_soft_facts_about_one_predicate() -> None:
    evidence = parse_evidence(MODEL, "0.7 Smokes(Anna)\nSmokes(Bob)\n0.7 Smokes(Anna)\n")
    assert hard_facts(evidence) == {("Smokes", ("Bob",), "true")}
    assert list(soft_facts(evidence)) == [("Smokes", (0,))]


def test_arrays_are_for_reading() -> None:
    evidence = parse_evidence(MODEL, "Smokes(Anna)\n0.5 Smokes(Bob)")
    for array in (evidence.hard["Smokes"].args, evidence.soft["Smokes"].log_potentials):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


# --- names


def test_objects_are_numbered_by_the_model_and_then_by_appearance() -> None:
    model = parse("person = {Anna, Bob}\np(person)\nr(person, person)\nlives(person, city)\n1 p(Z)")
    text = "r(Eve, Bob)\np(Dora)\nlives(Dora, Rome)\nr(Carl, Z)\np(Fred)"
    problem = Problem.of(model, text)
    assert problem.model.constants("person") == (
        *("Anna", "Bob", "Z"),
        *("Eve", "Dora", "Carl", "Fred"),
    )
    assert problem.evidence.hard["r"].args.tolist() == [[3, 1], [5, 2]]
    assert problem.evidence.hard["p"].args.tolist() == [[4], [6]]
    assert problem.evidence.hard["lives"].args.tolist() == [[4, 0]]
    assert problem.model.mentioned == model.mentioned


@pytest.mark.parametrize(
    ("declaration", "notes"),
    [
        ("", ()),
        ("person = 5", ()),
        ("person = 2", ("evidence names C, A, B, so person grows from 2 to 3 objects",)),
        ("person = {B, C}", ("evidence names A, so person grows from 2 to 3 objects",)),
        ("person = {A, B, C}", ()),
        ("person = {A}\nperson = 5", ()),
        (
            "person = 3\n1 p(D)",
            ("evidence names C, A, B, so person grows from 3 to 4 objects",),
        ),
        ("1 p(D)", ()),
    ],
)
def test_notes_on_sorts_that_grow(declaration: str, notes: tuple[str, ...]) -> None:
    problem = Problem.of(parse(f"p(person)\n{declaration}"), "p(C)\np(A)\np(B)")
    assert problem.evidence.notes == notes


def test_long_notes_are_cut() -> None:
    text = "\n".join(f"p(P{k})" for k in range(100))
    (note,) = Problem.of(parse("*p(person)\nperson = 7"), text).evidence.notes
    assert note == "evidence names P0, P1, P2 and 97 more, so person grows from 7 to 100 objects"


def test_objects_of_a_sort_may_be_listed() -> None:
    model = parse("p(person)\nq(person, place)\nperson = {Zoe}")
    text = 'q(Dan, Kiel)\nperson = { Bob,"Mary Ann", Zoe } // here\np(Ann)\nplace={7}\np(Bob)'
    evidence = parse_evidence(model, text)
    whole = evidence.enlarge(model)
    assert whole.constants("person") == ("Zoe", "Bob", "Mary Ann", "Dan", "Ann")
    assert whole.constants("place") == ("7", "Kiel")
    assert hard_facts(evidence) == {
        ("p", ("Ann",), "true"),
        ("p", ("Bob",), "true"),
        ("q", ("Dan", "Kiel"), "true"),
    }


# --- errors

ERRORS = [
    ("persons = {A}", 1, "persons", "unknown sort persons; the model has person"),
    ("person = {A, }", 10, "{", "objects of a sort are listed like person = {Anna, Bob}"),
    ("Smokes(x) = 3e5", 13, "3e5", "not 3e5; to say how many objects are known, use --known"),
    ("Smokes(A) => rain", 12, ">", "formulas belong in the model"),
    ("?Smokes(A)", 1, "?", "nothing is known about an atom: leave it out"),
    ('person = {"\x07"}', 1, 'person = {"\x07"}', "cannot be printed"),
    # (line, column, marked text, part of the message)
    ("smokes(Anna)", 1, "smokes", "unknown predicate smokes; the model writes Smokes, and case"),
    ("Drinks(Anna)", 1, "Drinks", "unknown predicate Drinks; the model has Smokes, Friends, mood"),
    ("  0.5 !Drinks(A)", 8, "Drinks", "rain, at; declare it there, or drop its facts"),
    ("Friends(Anna)", 1, "Friends(Anna)", "Friends takes 2 arguments, got 1"),
    ("!Friends(A, B, C) // no", 2, "Friends(A, B, C)", "Friends takes 2 arguments, got 3"),
    ('Smokes("A","B,C")', 1, 'Smokes("A","B,C")', "Smokes takes 1 argument, got 2"),
    ("Smokes", 1, "Smokes", "Smokes takes 1 argument, got 0"),
    ("rain(Anna)", 1, "rain(Anna)", "rain takes 0 arguments, got 1"),
    ("mood(Anna) = High", 14, "High", "mood takes the values low, mid, very high, not High"),
    ("Smokes(Anna) = 1", 16, "1", "Smokes takes the values false, true, not 1"),
    ("mood(Anna)", 1, "mood(Anna)", "mood takes the values low, mid, very high; state one"),
    ("!mood(Anna) = low", 1, "!", "put the probability 0 in front"),
    ("1.5 Smokes(Anna)", 1, "1.5", "1.5 is not a probability; it must be between 0 and 1"),
    ("-0.1 Smokes(Anna)", 1, "-0.1", "-0.1 is not a probability"),
    ("1e999 Smokes(Anna)", 1, "1e999", "1e999 is not a probability"),
    ("Smokes(Anna", 12, "", "expected ',' or ')', got the end of the line"),
    ("Smokes(Anna))", 13, ")", "expected '=' or the end of the line, got ')'"),
    ("Smokes Anna", 8, "Anna", "expected '(', '=' or the end of the line, got 'Anna'"),
    ("Smokes(Anna).", 13, ".", "a fact has no period at its end"),
    ("Smokes(Anna) Smokes(Bob)", 14, "Smokes", "a line states one fact"),
    ("Smokes(Anna), Smokes(Bob)", 13, ",", "a line states one fact"),
    ("Smokes(Anna) ^ Smokes(Bob)", 14, "^", "a line states one fact"),
    ("Friends(Anna,)", 14, ")", "expected a constant, got ')'"),
    ("Friends(,Anna)", 9, ",", "expected a constant, got ','"),
    ("Smokes(C:3PO)", 9, ":", "characters than letters and digits in quotes"),
    ("---\nSmokes(B)", 1, "---", "put each into a file of its own"),
    ("0.7 Smokes(A) 0.7", 15, "0.7", "this fact has two probabilities"),
    ("Smokes(A) 1.7", 11, "1.7", "1.7 is not a probability"),
    ("Smokes('Anna')", 8, "'", 'names are quoted with "'),
    ('Smokes("Anna)', 8, '"Anna)', "the closing quote is missing"),
    ('Smokes("")', 8, '""', "a name in quotes cannot be empty"),
    ("mood(Anna) != low", 12, "!", "state the value that the atom has"),
    ("mood(Anna) =", 13, "", "expected a value, got the end of the line"),
    ("mood(Anna) = low mid", 18, "mid", "expected the end of the line, got 'mid'"),
    ("(Anna)", 1, "(", "expected a predicate, got '('"),
    ("0.7", 1, "0.7", "expected a predicate, got '0.7'"),
    ("!", 2, "", "expected a predicate, got the end of the line"),
    ("Smokes(Anna) /* for ever", 14, "/*", "this comment has no end"),
    ('Smokes("A\x07")', 1, 'Smokes("A\x07")', r"'A\x07' cannot be printed"),
    ("r(" + "1," * 60 + "!)", 123, "!", "expected a constant, got '!'"),
]


@pytest.mark.parametrize(("line", "column", "marked", "message"), ERRORS)
def test_errors_point_at_the_line(line: str, column: int, marked: str, message: str) -> None:
    with pytest.raises(EvidenceError) as caught:
        parse_evidence(MODEL, f"// first\n\nSmokes(Bob)\n{line}", name="facts.db")
    span = caught.value.span
    assert span is not None
    assert message in caught.value.message
    assert (span.line, span.column, span.text) == (4, column, marked)
    assert str(caught.value).startswith(f"facts.db:4:{column}: ")


@pytest.mark.parametrize(
    ("first", "second", "texts"),
    [
        ("Smokes(Anna)", "!Smokes(Anna)", ("Smokes(Anna)", "!Smokes(Anna)")),
        ("!rain", "rain", ("!rain", "rain")),
        ("mood(A) = low", "mood(A) = mid", ("mood(A) = low", "mood(A) = mid")),
        ("0.7 Smokes(A)", "0.6 Smokes(A)", ("0.7 Smokes(A)", "0.6 Smokes(A)")),
        ("0.7 Smokes(A)", "Smokes(A)", ("0.7 Smokes(A)", "Smokes(A)")),
        ("1 Smokes(A)", "0 Smokes(A)", ("Smokes(A)", "!Smokes(A)")),
        ('Friends("a b",C)', '!Friends("a b",C)', ('Friends("a b",C)', '!Friends("a b",C)')),
    ],
)
def test_contradictions(first: str, second: str, texts: tuple[str, str], tmp_path: Path) -> None:
    one, other = tmp_path / "one.db", tmp_path / "other.db"
    one.write_text(f"Smokes(X)\n {first}\nSmokes(Y)\n{first}\n", encoding="utf-8")
    other.write_text(f"Smokes(X)\n\n  {second}\n", encoding="utf-8")
    with pytest.raises(EvidenceError) as caught:
        load_evidence(MODEL, one, str(other))
    message = f"{texts[1]} contradicts {texts[0]} in {one}, line 2, column 2; drop one of them"
    assert caught.value.message == message
    assert str(caught.value).startswith(f"{other}:3:3: ")


def test_an_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"cannot read .*none\.db: No such file"):
        load_evidence(MODEL, tmp_path / "none.db")


# --- places


def test_places() -> None:
    text = "Smokes(Anna)\n\n  !Friends(Bob,Anna) // no\nrain\nrain\n0.5 Smokes(Bob)"
    evidence = parse_evidence(MODEL, text)
    wanted = {
        ("Smokes", (0,)): (1, 1, "Smokes(Anna)"),
        ("Friends", (1, 0)): (3, 3, "!Friends(Bob,Anna)"),
        ("rain", ()): (4, 1, "rain"),
        ("Smokes", (1,)): (6, 1, "0.5 Smokes(Bob)"),
    }
    for atom, place in wanted.items():
        span = evidence.place(*atom)
        assert span is not None
        assert (span.line, span.column, span.text) == place
    for unknown in [("Smokes", (2,)), ("Friends", (0, 1)), ("mood", (0,))]:
        assert evidence.place(*unknown) is None


# --- large files


@pytest.mark.slow
def test_many_facts(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 1000, (100_000, 2))
    signs = (pairs.sum(axis=1) % 2).tolist()
    path = tmp_path / "many.db"
    path.write_text(
        "\n".join(
            f"{'!' * sign}Friends(P{one},P{other})"
            for (one, other), sign in zip(pairs.tolist(), signs, strict=True)
        ),
        encoding="utf-8",
    )
    evidence = load_evidence(MODEL, path)
    relation = evidence.hard["Friends"]
    names = np.array(evidence.names["person"])
    found = np.char.lstrip(names[relation.args], "P").astype(int)
    assert set(map(tuple, found.tolist())) == set(map(tuple, pairs.tolist()))
    assert len(np.unique(found, axis=0)) == len(found)
    assert (relation.values == 1 - found.sum(axis=1) % 2).all()


# --- whatever facts are written, they are read

NAMES = st.one_of(
    st.sampled_from(["Anna", "bob", "7", "0.5", "1e3", "x", "v", "EXIST", "a b", 'say "no"', "\\"]),
    st.text(
        st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1, max_size=8
    ),
)


@st.composite
def fact_lists(draw: st.DrawFn) -> dict[tuple[str, tuple[str, ...]], str]:
    facts = {}
    for _ in range(draw(st.integers(0, 12))):
        predicate = draw(st.sampled_from(list(MODEL.predicates.values())))
        objects = tuple(draw(NAMES) for _ in predicate.sorts)
        facts[predicate.name, objects] = draw(st.sampled_from(predicate.values))
    return facts


@pytest.mark.slow
@st.composite
def written(draw: st.DrawFn, predicate: str, objects: tuple[str, ...], value: str) -> str:
    blank = st.sampled_from(["", "", " ", "\t"])
    comma = f"{draw(blank)},{draw(blank)}"
    arguments = comma.join(map(constant_text, objects))
    atom = f"{predicate}{draw(blank)}({draw(blank)}{arguments})" if objects else predicate
    if MODEL.predicates[predicate].values == ("false", "true") and draw(st.booleans()):
        return draw(blank) + (atom if value == "true" else f"!{atom}") + draw(blank)
    chance = draw(st.sampled_from(["", "1 ", "1.0 "]))
    shown = f'"{value}"' if " " in value else value
    return f"{chance}{atom}{draw(blank)}={draw(blank)}{shown}{draw(st.sampled_from(['', ' // x']))}"


# How long drawing takes says nothing here, and varies with the load of the machine.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), fact_lists())
def test_round_trip(data: st.DataObject, facts: dict[tuple[str, tuple[str, ...]], str]) -> None:
    lines = [data.draw(written(*atom, value)) for atom, value in facts.items()]
    repeated = data.draw(st.lists(st.sampled_from(lines), max_size=3)) if lines else []
    evidence = parse_evidence(MODEL, "\n".join([*lines, *repeated]))
    assert hard_facts(evidence) == {(*atom, value) for atom, value in facts.items()}
    for name, relation in evidence.hard.items():
        assert all(evidence.place(name, objects) for objects in relation.args.tolist())


@given(st.text(alphabet='Smokesrain(),!="\\ .7/*\n', max_size=30))
def test_no_text_breaks_the_reader(text: str) -> None:
    model: Model = parse("Smokes(person)\nrain")
    try:
        parse_evidence(model, text)
    except InputError as error:
        assert isinstance(error, EvidenceError)
        assert error.span is not None
        assert str(error)


# --- evidence at the door


def test_without_evidence_a_model_closes_its_closed_predicates() -> None:
    assert Evidence.of(parse("*p(thing)\nq(thing)")).closed == {"p"}
    assert not Evidence.of(parse("q(thing)"))


def test_stated_evidence_passes_the_door_unchanged() -> None:
    model = parse("q(thing)")
    evidence = parse_evidence(model, "q(A)")
    assert Evidence.of(model, evidence) is evidence
    assert Evidence.of(evidence.enlarge(model), evidence) is evidence


@pytest.mark.parametrize("other", ["q(thing)\n1 q(x)", "q(thing)\np", "q(thing)\n$w = 1"])
def test_evidence_fits_models_that_declare_its_predicates_alike(other: str) -> None:
    evidence = parse_evidence(parse("q(thing)\nr(thing)"), "q(A)")
    assert Evidence.of(parse(other), evidence) is evidence


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("q(thing,thing)", r"read for q\(thing\), and the model declares q\(thing, thing\)"),
        ("q(box)", r"read for q\(thing\), and the model declares q\(box\)"),
        ("*q(thing)", r"read for q\(thing\), and the model declares \*q\(thing\)"),
        ("q(thing) : {a, b}", r"the model declares q\(thing\) : {a, b}"),
        ("r(thing)", "does not fit the model: unknown predicate q; the model has r"),
    ],
)
def test_evidence_about_other_predicates_is_refused_at_the_door(other: str, message: str) -> None:
    evidence = parse_evidence(parse("q(thing)"), "q(A)")
    with pytest.raises(EvidenceError, match=message):
        Evidence.of(parse(other), evidence)


def test_evidence_that_names_objects_of_an_unknown_sort_is_refused() -> None:
    evidence = parse_evidence(parse("q(thing)\np"), "thing = {A}\np")
    with pytest.raises(EvidenceError, match="names objects of the sort thing, which the model"):
        Evidence.of(parse("p"), evidence)


# --- what other tools write


@pytest.mark.parametrize(
    "name", ["C-3PO", "Mary-Ann-Lee", "Kellogg's", "no.1", "2004-05-01", "-0.3"]
)
def test_names_that_need_no_quotes(name: str) -> None:
    evidence = parse_evidence(MODEL, f"Smokes({name})")
    assert hard_facts(evidence) == {("Smokes", (name,), "true")}


def test_a_probability_may_stand_behind_an_atom() -> None:
    before, after = (parse_evidence(MODEL, text) for text in ("0.7 Smokes(A)", "Smokes(A) 0.7"))
    assert np.array_equal(before.soft["Smokes"].log_potentials, after.soft["Smokes"].log_potentials)


def test_a_line_that_separates_nothing_is_ignored() -> None:
    assert hard_facts(parse_evidence(MODEL, "---\nrain\n---\n")) == {("rain", (), "true")}


# --- closing all predicates with facts


FACTS = "Friends(A,B)\n0.7 Smokes(A)\nat(A,Home,1)\nmood(A) = low\n"


def test_all_predicates_with_certain_facts_can_be_closed(tmp_path: Path) -> None:
    (tmp_path / "facts.db").write_text(FACTS)
    evidence = load_evidence(MODEL, tmp_path / "facts.db", closed="all")
    assert evidence.closed == {"Friends", "at"}
    queries = ["at(x,y,t) | rain"]
    evidence = load_evidence(MODEL, tmp_path / "facts.db", closed=["all"], queries=queries)
    assert evidence.closed == {"Friends"}
    formula = "EXIST x Friends(x,x)"
    assert load_evidence(MODEL, tmp_path / "facts.db", closed="all", queries=formula).closed == {
        "at"
    }


def test_a_predicate_named_all_is_one_predicate() -> None:
    model = parse("all(person)\nsmokes(person)")
    assert parse_evidence(model, "smokes(A)", closed=["all"]).closed == {"all"}


def test_many_true_facts_about_an_open_predicate_are_worth_a_note(tmp_path: Path) -> None:
    lines = [f"Friends(A,P{k})" for k in range(20)]
    (tmp_path / "facts.db").write_text("\n".join(lines))
    path = tmp_path / "facts.db"
    (note,) = load_evidence(MODEL, path).notes
    assert "all 20 facts about Friends are true" in note
    assert "--closed Friends" in note
    assert not load_evidence(MODEL, path, closed="all").notes
    assert not load_evidence(MODEL, path, queries="Friends(x,y)").notes
    assert not parse_evidence(MODEL, "\n".join([*lines, "!Friends(P1,A)"])).notes
    assert not parse_evidence(MODEL, "\n".join(lines[1:])).notes
