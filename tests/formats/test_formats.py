"""Networks in files: what is read, what is written, and what is refused."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import liftgbp
from liftgbp.evidence import Evidence, Problem
from liftgbp.ground.formats import (
    conditioned,
    load_network,
    read_fg,
    read_uai,
    read_uai_evidence,
    write_fg,
    write_network,
    write_uai,
)
from liftgbp.ground.grounding import FactorBlock, GroundNetwork, ground_network, merged
from liftgbp.model.model import Model
from liftgbp.oracle import reference
from liftgbp.support.errors import (
    CapacityError,
    ContradictionError,
    InputError,
    ModelError,
    QueryError,
)
from random_models import models, models_with_evidence
from random_networks import log_weights, log_z, networks

BOTH = pytest.mark.parametrize("extension", ["uai", "fg"])
ANY_TIME = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))

# A coin X, and Z in three values that leans on X; the factor over both lists Z first.
TWO_VARIABLES = """MARKOV
2
2 3
2
1 0
2 1 0

2
 1 3
6
 1 2
 0 5
 4 1e0
"""
# Z = Σ f(x) g(z, x) = 1·(1 + 0 + 4) + 3·(2 + 5 + 1) = 5 + 24.
TWO_VARIABLES_FG = """# the same network
2

1
0
2
2
0 1
1 3

# Z changes fastest, and g(1, 0) = 0 is not listed
2
1 0
3 2
5
0 1.0
2 4
3 2
5 1
4 5
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def scopes(network: GroundNetwork) -> list[list[int]]:
    return [scope for block in network.blocks for scope in block.scopes.tolist()]


def same_weights(one: GroundNetwork, other: GroundNetwork) -> None:
    left, right = log_weights(one), log_weights(other)
    assert left.shape == right.shape
    assert np.array_equal(np.isneginf(left), np.isneginf(right))
    alive = ~np.isneginf(left)
    assert np.allclose(left[alive], right[alive], rtol=1e-13, atol=1e-12)


# --- hand-written files


@pytest.mark.parametrize(
    ("name", "text"), [("net.uai", TWO_VARIABLES), ("net.fg", TWO_VARIABLES_FG)]
)
def test_a_network_of_two_variables(tmp_path: Path, name: str, text: str) -> None:
    network = load_network(written(tmp_path / name, text)).ground
    assert network.ranges.tolist() == [2, 3]
    assert scopes(network) == [[0], [0, 1]]
    assert log_z(network) == pytest.approx(math.log(29), abs=1e-14)
    potentials = np.exp(log_weights(network))
    assert potentials == pytest.approx(np.array([[1, 0, 4], [6, 15, 3]]))


def test_a_bayesian_network_sums_to_one(tmp_path: Path) -> None:
    text = "c rain and wet grass\nBAYES\n2 2 2 2  1 0  2 0 1\n2 0.8 0.2\n4 0.9 0.1 0.25 0.75\n"
    network = read_uai(written(tmp_path / "wet.uai", text))
    assert log_z(network) == pytest.approx(0.0, abs=1e-15)
    assert np.exp(log_weights(network))[1] == pytest.approx([0.05, 0.15])


def test_factors_lose_idle_variables_one_by_one_before_they_are_added_up(tmp_path: Path) -> None:
    # The first two tables cancel, but each depends on both variables; the third only on one.
    text = """MARKOV 3  2 2 2  4  2 0 1  2 1 0  2 0 2  0
    4 1 2 4 8   4 1 0.25 0.5 0.125   4 1 1 3 3   1 7"""
    network = read_uai(written(tmp_path / "net.uai", text))
    assert scopes(network) == [[0], [0, 1]]
    assert network.tables[1] == pytest.approx(np.zeros((2, 2)))
    assert network.ranges.tolist() == [2, 2, 2]
    assert network.log_constant == pytest.approx(math.log(7))
    assert log_z(network) == pytest.approx(math.log(7 * 2 * 2 * (1 + 3)))


def test_equal_tables_are_stored_once(tmp_path: Path) -> None:
    text = "MARKOV 3  2 2 2  2  2 0 1  2 1 2  4 1 2 3 4  4 1 2 3 4"
    assert len(read_uai(written(tmp_path / "net.uai", text)).tables) == 1


def test_variables_with_one_value_leave_the_scopes(tmp_path: Path) -> None:
    many = 70  # more than numpy has axes
    scope = " ".join(map(str, range(many + 1)))
    text = f"MARKOV {many + 1} {'1 ' * many} 2  1  {many + 1} {scope}  2 1 4"
    network = read_uai(written(tmp_path / "net.uai", text))
    assert scopes(network) == [[many]]
    assert network.tables[0] == pytest.approx([0, math.log(4)])


def test_labels_of_libdai_are_numbers_of_variables(tmp_path: Path) -> None:
    network = read_fg(written(tmp_path / "net.fg", "1\n\n1\n4\n3\n2\n0 1\n2 5\n"))
    assert network.ranges.tolist() == [1, 1, 1, 1, 3]
    assert log_z(network) == pytest.approx(math.log(6))


def test_a_network_without_factors(tmp_path: Path) -> None:
    network = read_uai(written(tmp_path / "net.uai", "MARKOV\n2\n2 3\n0\n"))
    assert (network.factors, log_z(network)) == (0, pytest.approx(math.log(6)))
    assert read_fg(written(tmp_path / "net.fg", "0\n")).ranges.tolist() == []


# --- there and back


@pytest.mark.slow
@BOTH
@ANY_TIME
@given(network=networks())
def test_writing_and_reading(
    extension: str, tmp_path_factory: pytest.TempPathFactory, network: GroundNetwork
) -> None:
    path = tmp_path_factory.mktemp("nets") / f"net.{extension}"
    write_network(network, path)
    again = load_network(path).ground
    same_weights(network, again)
    assert again.ranges.tolist() == network.ranges.tolist()


@pytest.mark.slow
@ANY_TIME
@given(network=networks(), data=st.data())
def test_conditioning_is_slicing_the_joint_table(
    network: GroundNetwork, data: st.DataObject
) -> None:
    values = {
        variable: data.draw(st.integers(0, length - 1))
        for variable, length in enumerate(network.ranges.tolist())
        if data.draw(st.booleans())
    }
    cut = tuple(
        slice(values[v], values[v] + 1) if v in values else slice(None)
        for v in range(len(network.ranges))
    )
    expected = log_weights(network)[cut]
    try:
        given_values = conditioned(network, values)
    except ContradictionError:
        assert np.all(np.isneginf(expected))
        return
    assert np.array_equal(np.isneginf(log_weights(given_values)), np.isneginf(expected))
    alive = ~np.isneginf(expected)
    assert np.allclose(log_weights(given_values)[alive], expected[alive], rtol=1e-13, atol=1e-11)
    assert not {v for scope in scopes(given_values) for v in scope} & values.keys()


def network_of(ground: reference.GroundModel) -> tuple[GroundNetwork, list[str]]:
    number = {atom: k for k, atom in enumerate(ground.atoms)}
    blocks = [
        FactorBlock(np.array([[number[atom] for atom in factor.scope]]), np.array([k]))
        for k, factor in enumerate(ground.factors)
    ]
    network = merged(
        np.array([ground.ranges[atom] for atom in ground.atoms]),
        blocks,
        [factor.log_table for factor in ground.factors],
        log_constant=ground.log_constant,
    )
    return network, list(map(str, ground.atoms))


def ground_of(network: GroundNetwork) -> reference.GroundModel:
    atoms = [reference.GroundAtom("v", (k,)) for k in range(len(network.ranges))]
    return reference.GroundModel(
        atoms=tuple(atoms),
        ranges=dict(zip(atoms, network.ranges.tolist(), strict=True)),
        factors=tuple(
            reference.GroundFactor(tuple(atoms[v] for v in scope), network.tables[table])
            for block in network.blocks
            for scope, table in zip(block.scopes, block.table_of, strict=True)
        ),
        log_constant=network.log_constant,
        sizes={},
        argument_sorts={},
        observed={},
    )


@pytest.mark.slow
@BOTH
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(model=models())
def test_files_of_relational_models_keep_the_exact_answers(
    extension: str, tmp_path_factory: pytest.TempPathFactory, model: Model
) -> None:
    try:
        ground = reference.ground(model, {"person": 2, "thing": 2})
        expected = reference.exact(ground)
    except (ContradictionError, CapacityError):
        assume(False)
    network, names = network_of(ground)
    path = tmp_path_factory.mktemp("nets") / f"net.{extension}"
    write_network(network, path, names)
    answer = reference.exact(ground_of(load_network(path).ground))
    assert answer.log_z == pytest.approx(expected.log_z, abs=1e-10)
    for one, other in zip(answer.marginals.values(), expected.marginals.values(), strict=True):
        assert np.allclose(one, other, rtol=0, atol=1e-10)


def pair(log_table: list[list[float]], **options: float) -> GroundNetwork:
    block = FactorBlock(np.array([[0, 1]]), np.array([0]))
    return merged(np.array([2, 2]), [block], [np.array(log_table)], **options)  # type: ignore[arg-type]


@BOTH
def test_potentials_beyond_doubles_become_several_factors(tmp_path: Path, extension: str) -> None:
    network = pair([[0.0, -1500.0], [-math.inf, 800.0]], log_constant=-5000.0)
    path = tmp_path / f"net.{extension}"
    write_network(network, path)
    same_weights(network, load_network(path).ground)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("constant", [0.0, 3.0, -699.0, 1e3, -1e3, 4000036215.5925384, -1e15])
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(network=networks())
def test_constants_are_one_factor_at_most(
    extension: str,
    constant: float,
    tmp_path_factory: pytest.TempPathFactory,
    network: GroundNetwork,
) -> None:
    network = replace(network, log_constant=constant)
    path = tmp_path_factory.mktemp("nets") / f"net.{extension}"
    write_network(network, path)
    read = load_network(path).ground
    if np.isneginf(log_z(network)):
        assert np.isneginf(log_z(read))
    else:
        assert log_z(read) == pytest.approx(log_z(network), rel=1e-12, abs=1e-9)
    factors = sum(copies_in_file(network.tables[t]) for b in network.blocks for t in b.table_of)
    touched = {v for block in network.blocks for v in block.scopes.ravel().tolist()}
    alone = len(network.ranges) - len(touched) if extension == "fg" else 0
    assert number_of_factors(path) <= factors + alone + 1


def copies_in_file(log_table: np.ndarray) -> int:
    finite = np.abs(log_table[np.isfinite(log_table)]).max(initial=0.0)
    return max(1, math.ceil(finite / 700))


def number_of_factors(path: Path) -> int:
    words = path.read_text().split()
    return int(words[2 + int(words[1])] if path.suffix == ".uai" else words[0])


@BOTH
@pytest.mark.parametrize(("atoms", "people"), [("p(person)", 10**20), ("p(a,b,c)", 10**100)])
def test_constants_beyond_all_numbers_are_refused(
    tmp_path: Path, extension: str, atoms: str, people: int
) -> None:
    sorts = "\n".join(f"{sort} = {people}" for sort in ("person", *"abc") if sort in atoms)
    model = liftgbp.parse(f"{sorts}\n{atoms}\nrain\n1 rain")
    path = tmp_path / f"net.{extension}"
    with pytest.raises(liftgbp.SizeError, match="export fewer objects"):
        liftgbp.export_network(model, path)
    assert not list(tmp_path.iterdir())


@BOTH
def test_a_constant_beyond_doubles_is_shared(tmp_path: Path, extension: str) -> None:
    """Other programs read doubles: where factors have room for the constant, all numbers are."""
    scopes = np.array([[k, k + 1] for k in range(50)])
    block = FactorBlock(scopes, np.zeros(50, dtype=np.int64))
    table = np.array([[1.0, 0.0], [0.0, -math.inf]])
    network = merged(np.full(51, 2), [block], [table], log_constant=9000.0)
    path = tmp_path / f"net.{extension}"
    write_network(network, path)
    assert number_of_factors(path) == 50
    assert np.isfinite([float(word) for word in path.read_text().split()[1:]]).all()
    read = load_network(path).ground
    assert read.log_constant + 50 * max(own.max() for own in read.tables) == pytest.approx(9050)


def test_the_text_of_a_network(tmp_path: Path) -> None:
    network = pair([[0.0, math.log(2.0)], [-math.inf, 0.0]], log_constant=math.log(8.0))
    write_uai(network, tmp_path / "net.uai")
    words = (tmp_path / "net.uai").read_text().split()
    assert words[:9] == ["MARKOV", "2", "2", "2", "2", "2", "0", "1", "1"]
    assert [float(word) for word in words[10:15]] == [4, 1, 2, 0, 1]
    assert [float(word) for word in words[15:]] == pytest.approx([2, 8, 8])
    write_fg(network, tmp_path / "net.fg")
    lines = (tmp_path / "net.fg").read_text().splitlines()
    assert lines == ["2", "", "2", "0 1", "2 2", "3", "0 1.0", "2 2.0", "3 1.0", "", *lines[10:]]


def test_names_of_variables_stand_beside_the_network(tmp_path: Path) -> None:
    write_uai(pair([[0.0, 1.0], [1.0, 0.0]]), tmp_path / "net.uai", ["p(Anna)", "r(Anna, Bob)"])
    text = (tmp_path / "net.atoms.csv").read_text(encoding="utf-8")
    assert text == 'variable,atom\n0,p(Anna)\n1,"r(Anna, Bob)"\n'
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.atoms.csv", "net.uai"]


@BOTH
def test_files_that_cannot_be_written(tmp_path: Path, extension: str) -> None:
    network = pair([[0.0, 1.0], [1.0, 0.0]])
    (tmp_path / f"dir.{extension}").mkdir()
    written(tmp_path / "plain", "")
    for path in (
        tmp_path / f"dir.{extension}",
        tmp_path / "nowhere" / f"net.{extension}",
        tmp_path / "plain" / f"net.{extension}",
    ):
        with pytest.raises(InputError, match="cannot write"):
            write_network(network, path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"dir.{extension}", "plain"]


def test_extensions() -> None:
    with pytest.raises(InputError, match=r"net\.bif: its extension must be \.uai or \.fg"):
        load_network("net.bif")


@BOTH
def test_files_that_cannot_be_read(tmp_path: Path, extension: str) -> None:
    with pytest.raises(InputError, match=r"cannot read .* No such file"):
        load_network(tmp_path / f"nothing.{extension}")
    with pytest.raises(InputError, match=r"cannot read .* null byte"):
        load_network(f"nothing\0.{extension}")
    (tmp_path / f"bytes.{extension}").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        load_network(tmp_path / f"bytes.{extension}")


# --- gzipped files

GZIPPED = pytest.mark.parametrize("extension", ["uai.gz", "fg.gz"])


@GZIPPED
def test_gzipped_files(tmp_path: Path, extension: str) -> None:
    network = pair([[0.0, 1.0], [-math.inf, 0.5]], log_constant=2.0)
    path, plain = tmp_path / f"net.{extension}", tmp_path / f"plain.{extension.removesuffix('.gz')}"
    write_network(network, path, ["p", "q"])
    write_network(network, plain)
    assert gzip.decompress(path.read_bytes()) == plain.read_bytes()
    same_weights(load_network(path).ground, network)
    assert (tmp_path / "net.atoms.csv").exists()
    again = tmp_path / f"again.{extension}"
    write_network(network, again)
    assert again.read_bytes() == path.read_bytes()


def test_gzipped_evidence(tmp_path: Path) -> None:
    network = read_uai(written(tmp_path / "net.uai", TWO_VARIABLES))
    path = tmp_path / "net.uai.evid.gz"
    path.write_bytes(gzip.compress(b"1 1 2\n"))
    assert read_uai_evidence(path, network) == {1: 2}


@GZIPPED
def test_gzipped_files_that_are_damaged(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"net.{extension}"
    write_network(pair([[0.0, 1.0], [1.0, 0.0]]), path)
    whole = path.read_bytes()
    for damaged in (b"MARKOV", whole[:20], whole[:-4], whole[:12] + b"\xff" * 9 + whole[21:]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"cannot read .* not a complete gzip file"):
            load_network(path)
    path.write_bytes(gzip.compress(b"\xff\xfe"))
    with pytest.raises(InputError, match="not UTF-8"):
        load_network(path)


@BOTH
def test_lines_may_end_as_on_windows(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"net.{extension}"
    text = TWO_VARIABLES if extension == "uai" else TWO_VARIABLES_FG
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert log_z(load_network(path).ground) == pytest.approx(math.log(29), abs=1e-14)
    path.write_bytes((text + "x\n").replace("\n", "\r\n").encode())
    with pytest.raises(ModelError, match="there is more text after") as caught:
        load_network(path)
    assert str(caught.value).splitlines()[-2:] == ["  x", "  ^"]


def test_places_in_gzipped_files(tmp_path: Path) -> None:
    path = tmp_path / "net.uai.gz"
    path.write_bytes(gzip.compress(b"MARKOV\n1\n2\n1\n1 0\n2\n1 x\n"))
    with pytest.raises(ModelError, match="expected a number, got x") as caught:
        load_network(path)
    assert str(caught.value).startswith(f"{path}:7:3: ")


# --- mistakes

HEAD = "MARKOV\n2\n2 2\n1\n2 0 1\n"


@pytest.mark.parametrize(
    ("text", "place", "message", "pointed"),
    [
        ("", "1:1", "the file ends where the kind of the network", ""),
        ("MAKROV\n1\n", "1:1", "a network starts with MARKOV or BAYES, got MAKROV", "MAKROV"),
        ("MARKOV\ntwo\n", "2:1", "expected the number of variables, got two", "two"),
        ("MARKOV\n-1\n", "2:1", "expected the number of variables, got -1", "-1"),
        ("MARKOV\n2\n2 0\n1\n", "3:3", "a variable has at least one value", "0"),
        ("MARKOV\n999999999\n2\n", "3:2", "the file ends where the number of values", ""),
        ("MARKOV\n2\n2 2\n1\n2 0 2\n", "5:5", "there is no variable 2; .* are 0 to 1", "2"),
        ("MARKOV\n2\n2 2\n1\n2 1 1\n", "5:5", "variable 1 occurs twice in this factor", "1"),
        (HEAD + "3\n1 2 3\n", "6:1", "table 0 has 3 entries, but .* need 2 x 2 = 4", "3"),
        (HEAD + "4\n1 2 3\n", "7:6", "the file ends where an entry of table 0 should be", ""),
        (HEAD + "4\n1 2 -3 4\n", "7:5", "-3 is negative; potentials are 0 or more", "-3"),
        (HEAD + "4\n1 x 3 4\n", "7:3", "expected a number, got x", "x"),
        (HEAD + "4\n1 nan 3 4\n", "7:3", "expected a number, got nan", "nan"),
        (HEAD + "4\n1 inf 3 4\n", "7:3", "expected a number, got inf", "inf"),
        (HEAD + "4\n1 2 3 4\n5\n", "8:1", "there is more text after the last table", "5"),
        (HEAD + "4\n0 0 0 0\n", "7:1", "this table is 0 everywhere", "0"),
    ],
)
def test_mistakes_in_uai(tmp_path: Path, text: str, place: str, message: str, pointed: str) -> None:
    path = written(tmp_path / "net.uai", text)
    with pytest.raises((ModelError, ContradictionError), match=message) as caught:
        read_uai(path)
    assert str(caught.value).startswith(f"{path}:{place}: ")
    assert caught.value.span is not None
    assert caught.value.span.text.strip() == pointed
    assert str(caught.value).splitlines()[-1].strip().startswith("^")


FG = "1\n\n2\n0 1\n2 3\n"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("# nothing\n", "1:1", "the file ends where the number of factors should be"),
        ("1\n\n2\n0 0\n2 2\n", "4:3", "variable 0 occurs twice in this factor"),
        ("1\n\n1\n99999999999\n2\n", "4:1", "label 99999999999 is too large"),
        ("1\n\n1\n0\n0\n", "5:1", "a variable has at least one value"),
        ("2\n\n1\n0\n2\n1\n0 1\n\n1\n0\n3\n", "11:1", "variable 0 has 3 values here, but 2 above"),
        ("1\n\n2\n0 1\n99999 99999\n", "3:1", "the table of factor 0 has 9999800001 entries"),
        (FG + "2\n0 1\n", "7:4", "the file ends where an entry of factor 0 should be"),
        (FG + "1\n6 1\n", "7:1", "factor 0 has the entries 0 to 5"),
        (FG + "2\n1 1\n1 2\n", "8:1", "entry 1 is listed twice"),
        (FG + "1\n1 -1\n", "7:3", "-1 is negative; potentials are 0 or more"),
        (FG + "1\nx 1\n", "7:1", "expected the index of an entry, got x"),
        (FG + "0\n", "6:1", "this table is 0 everywhere"),
        (FG + "1\n1 1\n7 # why\n", "8:1", "there is more text after the last factor"),
    ],
)
def test_mistakes_in_fg(tmp_path: Path, text: str, place: str, message: str) -> None:
    path = written(tmp_path / "net.fg", text)
    with pytest.raises((ModelError, ContradictionError, CapacityError), match=message) as caught:
        read_fg(path)
    assert str(caught.value).startswith(f"{path}:{place}: ")


# --- evidence


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "observed"),
    [
        ("2 0 1 1 2\n", {0: 1, 1: 2}),
        ("1\n2 0 1 1 2\n", {0: 1, 1: 2}),
        ("1 1 0", {1: 0}),
        ("1\n1 1 0", {1: 0}),
        ("0\n", {}),
        ("1\n0\n", {}),
        ("2 0 1 0 1", {0: 1}),
    ],
)
def test_evidence_files(tmp_path: Path, text: str, observed: dict[int, int]) -> None:
    network = read_uai(written(tmp_path / "net.uai", TWO_VARIABLES))
    assert read_uai_evidence(written(tmp_path / "net.uai.evid", text), network) == observed


def test_the_partition_function_given_evidence(tmp_path: Path) -> None:
    network = read_uai(written(tmp_path / "net.uai", TWO_VARIABLES))
    observed = read_uai_evidence(written(tmp_path / "net.uai.evid", "1 0 1"), network)
    assert log_z(conditioned(network, observed)) == pytest.approx(math.log(24))
    assert log_z(conditioned(network, {1: 2})) == pytest.approx(math.log(4 + 3))


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "the file ends where the number of observed variables should be"),
        ("1 2 0", "1:3", "there is no variable 2; the variables are 0 to 1"),
        ("1 1 3", "1:5", "variable 1 has the values 0 to 2, not 3"),
        ("2 1 1\n 1 2", "2:4", "variable 1 was observed to be 1 before"),
        ("2 1 1", "1:6", "the file ends where an observed variable and its value should be"),
        ("1 1 1 0 1", "1:7", "there is more text after the list of observed variables"),
    ],
)
def test_mistakes_in_evidence(tmp_path: Path, text: str, place: str, message: str) -> None:
    network = read_uai(written(tmp_path / "net.uai", TWO_VARIABLES))
    path = written(tmp_path / "net.uai.evid", text)
    with pytest.raises(ModelError, match=message) as caught:
        read_uai_evidence(path, network)
    assert str(caught.value).startswith(f"{path}:{place}: ")


def test_values_that_a_network_has_not(tmp_path: Path) -> None:
    network = read_uai(written(tmp_path / "net.uai", TWO_VARIABLES))
    with pytest.raises(QueryError, match="no variable 2; the variables are 0 to 1"):
        conditioned(network, {2: 0})
    with pytest.raises(QueryError, match="variable 1 has the values 0 to 2, not 3"):
        conditioned(network, {1: 3})


def test_blocks_without_factors() -> None:
    empty = FactorBlock(np.zeros((0, 2), np.int64), np.zeros(0, np.int64))
    network = GroundNetwork(np.array([2, 3]), (empty,), ())
    assert log_z(conditioned(network, {0: 1})) == pytest.approx(math.log(3))


def test_impossible_evidence(tmp_path: Path) -> None:
    network = read_uai(written(tmp_path / "net.uai", TWO_VARIABLES))
    with pytest.raises(
        ContradictionError, match=r"values 0 = 0, 1 = 1 are impossible in the factor over .* 0, 1"
    ):
        conditioned(network, {0: 0, 1: 1})


# --- what the grounder gives


@pytest.mark.slow
@BOTH
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=models_with_evidence(most=3))
def test_files_of_models_with_evidence_keep_the_exact_answers(
    extension: str,
    tmp_path_factory: pytest.TempPathFactory,
    drawn: tuple[Model, dict[str, int], Evidence],
) -> None:
    model, domain, evidence = drawn
    try:
        expected = reference.exact(reference.ground(model, domain, evidence), cap=2**12)
        network = ground_network(Problem.of(model, evidence, domain))
    except (ContradictionError, CapacityError):
        assume(False)
    path = tmp_path_factory.mktemp("nets") / f"net.{extension}"
    write_network(network, path)
    answer = reference.exact(ground_of(load_network(path).ground))
    assert answer.log_z == pytest.approx(expected.log_z, abs=1e-9)
    assert network.atoms is not None
    predicates = list(model.predicates)
    for probabilities, predicate, args in zip(
        answer.marginals.values(), network.atoms.predicate, network.atoms.args, strict=True
    ):
        objects = tuple(obj for obj in args.tolist() if obj >= 0)
        atom = reference.GroundAtom(predicates[predicate], objects)
        assert np.allclose(probabilities, expected.marginals[atom], rtol=0, atol=1e-9), atom


def test_a_variable_with_one_value_has_it(tmp_path: Path) -> None:
    path = tmp_path / "net.uai"
    path.write_text("MARKOV\n3\n1 3 1\n1\n2 0 1\n3\n1 2 3\n")
    answers = liftgbp.infer(liftgbp.load_network(path))
    for single in ("x0", "x2"):
        (row,) = answers.query(single)
        assert row.values == {("0",): 1.0, ("1",): 0.0}
    (row,) = answers.query("x1")
    assert list(row.values.values()) == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert answers.log_z == pytest.approx(math.log(6))


def test_networks_print_themselves(tmp_path: Path) -> None:
    network = load_network(written(tmp_path / "net.uai", TWO_VARIABLES))
    assert (network.variables, network.factors) == (2, 2)
    assert repr(network).endswith("net.uai: 2 variables, 2 factors>")
    assert str(network).splitlines()[1:] == [
        "variables x0 to x1: 1 with 2 values, 1 with 3 values",
        "factors: 1 over 1 variable, 1 over 2 variables",
    ]
    empty = load_network(written(tmp_path / "empty.fg", "0\n"))
    assert str(empty).splitlines()[1:] == ["variables: none", "factors: none"]


def test_evidence_about_a_network_is_checked(tmp_path: Path) -> None:
    network = load_network(written(tmp_path / "net.uai", TWO_VARIABLES))
    assert network.observed() == {}
    assert network.observed({1: 0}) == {1: 0}
    with pytest.raises(QueryError, match="there is no variable 7"):
        network.observed({7: 0})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["net.uai.gz", "net.fg.gz"])
def test_packed_networks_are_unpacked_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("liftgbp.support.input_files.LARGEST_UNPACKED", 2**25)
    text = {"net.uai.gz": TWO_VARIABLES, "net.fg.gz": "0\n"}[name]
    for blanks, default, strangers in ((2**23, True, True), (2**24, True, False), (2**25, 0, 0)):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode() + b" " * blanks))
        for untrusted, fits in ((False, default), (True, strangers)):
            if fits:
                load_network(path, untrusted=untrusted)
                continue
            most = "16 MB unpacked$" if untrusted else "32 MB unpacked; unpack it first$"
            with pytest.raises(InputError, match=f"more than {most}"):
                load_network(path, untrusted=untrusted)


def test_strangers_networks_are_read_up_to_a_limit(tmp_path: Path) -> None:
    path = written(tmp_path / "net.uai", TWO_VARIABLES + " " * 2**24)
    assert load_network(path).variables == 2
    with pytest.raises(InputError, match=r"cannot read .*net\.uai: it has more than 16 MB$"):
        load_network(path, untrusted=True)


def test_devices_are_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("liftgbp.support.input_files.LARGEST_UNPACKED", 2**22)
    (tmp_path / "zero.uai").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="it has more than 4 MB"):
        load_network(tmp_path / "zero.uai")


@pytest.mark.parametrize(
    "text", ["MARKOV 1 1000000000 0", f"MARKOV 1 {2**20 + 1} 0", f"MARKOV 70 {f'{2**20} ' * 70} 0"]
)
def test_variables_with_too_many_values_are_refused(tmp_path: Path, text: str) -> None:
    """A few bytes would otherwise become gigabytes of names of values."""
    with pytest.raises(CapacityError, match=r"net\.uai: .* values, more than \d+$"):
        load_network(written(tmp_path / "net.uai", text))
    assert load_network(written(tmp_path / "net.uai", f"MARKOV 1 {2**20} 0")).variables == 1


def test_evidence_of_strangers_is_read_up_to_a_limit(tmp_path: Path) -> None:
    path = written(tmp_path / "net.uai", TWO_VARIABLES)
    evidence = written(tmp_path / "net.uai.evid", "1 0 0" + " " * 2**24)
    assert load_network(path).observed(evidence) == {0: 0}
    with pytest.raises(InputError, match=r"net\.uai\.evid: it has more than 16 MB$"):
        load_network(path, untrusted=True).observed(evidence)
