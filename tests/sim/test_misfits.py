"""Results whose coordinates and values do not fit together."""

from pathlib import Path

import numpy as np
import pytest

import sim
from custard.cli.command import main
from sam.dot import from_dot
from sam.support.errors import StreamError
from tests.support.published_text import dot

ENGINES = ("simpy", "compiled")
TRANS_MUL = Path(__file__).parents[1] / "sam" / "published_dot" / "mat_trans_mul.gv"


def with_dropper():
    """x(i) = b * C(j,i) * d(j) + e * f(i) with the dropper that the published compiler gives it.

    The dropper removes each i whose column of C meets nothing of d, although f may have an i there.
    """
    text = TRANS_MUL.read_text()
    text = text.replace('7 [type="fib', '27 [type="crddrop" outer="i" inner="j"]\n7 [type="fib', 1)
    old, new = '5 -> 7 [type="crd" comment=""]', '5 -> 27 [type="crd" comment="i"]'
    assert old in text
    new += '\n15 -> 27 [type="crd" comment="j"]\n27 -> 7 [type="crd" comment="outer-i"]'
    return text.replace(old, new)


def inputs(C):
    return {"b": 2.0, "C": C, "d": np.array([1.0, 0, 3]), "e": 5.0, "f": np.array([0.0, 4, 0, 6])}


@pytest.mark.parametrize("engine", ENGINES)
def test_coordinates_that_are_dropped_alone(engine):
    """Column 1 of C has an entry in row 1 only, where d has none; f has an entry there: 5 * 4."""
    graph = from_dot(with_dropper())
    C = np.array([[1.0, 0, 0, 7], [0, 2, 0, 0], [0, 0, 3, 0]])
    with pytest.raises(StreamError) as caught:
        sim.simulate(graph, inputs(C), engine=engine, validate=False)
    assert str(caught.value) == (
        "the arrays that the graph writes to x: it has 4 values for 3 positions: drop_i drops "
        "coordinates that have nothing inside, and their values are written all the same\n"
        "hint: connect unite_i.crd to write_x_i.in_crd, past drop_i"
    )
    whole = from_dot(TRANS_MUL.read_text())
    run = sim.simulate(whole, inputs(C), engine=engine, validate=False)
    np.testing.assert_array_equal(run.output.to_numpy(), [2, 20, 18, 44])


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_graph_is_right_where_nothing_is_dropped(engine):
    C = np.ones((3, 4))
    run = sim.simulate(from_dot(with_dropper()), inputs(C), engine=engine, validate=False)
    np.testing.assert_array_equal(run.output.to_numpy(), [8, 28, 8, 38])


def copy(edges):
    """A vector that is copied, with a dropper of zeros."""
    nodes = """
    1 fiberlookup index=i tensor=b mode=0 format=compressed root=true
    2 arrayvals tensor=b
    3 crddrop outer=i inner=vals vals=true
    4 fiberwrite index=i tensor=x mode=0 format=compressed
    5 fiberwrite mode=vals tensor=x
    """
    return from_dot(dot("x=s0,b=s0", nodes, f"1 3 crd in-i\n1 2 ref\n2 3 val in-vals\n{edges}"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("edges", "error"),
    [
        (
            "1 4 crd\n3 5 val inner-vals",
            "it has 2 values for 3 positions: drop_i drops values, and their coordinates are "
            "written all the same\nhint: connect drop_i.crd to write_x_i.in_crd",
        ),
        (
            "3 4 crd outer-i\n2 5 val",
            "it has 3 values for 2 positions: drop_i drops coordinates whose value is 0, and their "
            "values are written all the same\n"
            "hint: connect scan_b_i.crd to write_x_i.in_crd, past drop_i",
        ),
    ],
)
def test_zeros_that_are_dropped_from_one_stream(engine, edges, error):
    b = sim_vector()
    with pytest.raises(StreamError) as caught:
        sim.simulate(copy(edges), {"b": b}, engine=engine, validate=False)
    assert str(caught.value) == f"the arrays that the graph writes to x: {error}"


def sim_vector():
    """1, 0 (stored) and 3 at places 0, 1 and 2 of 4."""
    from sam import Tensor

    return Tensor.from_coo(np.array([[0, 1, 2]]), np.array([1.0, 0, 3]), (4,), "s")


def test_values_that_are_missing_are_not_taken_for_zeros():
    """No dropper is at fault: another vector's values are written."""
    nodes = """
    1 fiberlookup index=i tensor=b mode=0 format=compressed root=true
    2 fiberlookup index=j tensor=c mode=0 format=compressed root=true
    3 arrayvals tensor=c
    4 fiberwrite index=i tensor=x mode=0 format=compressed
    5 fiberwrite mode=vals tensor=x
    """
    graph = from_dot(dot("x=s0,b=s0,c=s0", nodes, "1 4 crd\n2 3 ref\n3 5 val"))
    given = {"b": np.array([1.0, 2]), "c": np.array([0.0, 5])}
    for engine in ENGINES:
        with pytest.raises(StreamError) as caught:
            sim.simulate(graph, given, engine=engine, validate=False)
        assert str(caught.value).endswith("x: it has 1 values for 2 positions")


def test_the_command_says_what_works(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SAM_VALIDATE", "0")
    path = tmp_path / "g.gv"
    path.write_text(with_dropper())
    words = ["-i", "C=@random(0.2)", "-i", "d=@random(0.3)", "-i", "f=@dense", "--dims", "i=9,j=9"]
    assert main(["sim", str(path), "-i", "b=2", "-i", "e=3", *words]) == 1
    error = capsys.readouterr().err
    assert error.endswith("\nhint: connect unite_i.crd to write_x_i.in_crd, past drop_i\n")
    assert error.count("hint") == 1
