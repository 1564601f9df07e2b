"""``custard.autoschedule``: the first choice, right results, and mistakes."""

import numpy as np
import pytest
import scipy.sparse

import custard
from custard import UserError
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler

TEXT = "X(i,j) = B(i,k) * C(k,j)"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SAM_CACHE", str(tmp_path))


def matrix(seed, rows, columns, density=0.1):
    random = np.random.default_rng(seed)
    return scipy.sparse.random_array((rows, columns), density=density, format="csr", rng=random)


def test_the_order_of_storage_ranks_first():
    given = dict.fromkeys("XBC", "CSR")
    inputs = {"B": matrix(1, 30, 40), "C": matrix(2, 40, 30)}
    found = custard.autoschedule(TEXT, inputs, given)
    assert [one.schedule for one in found] == [("reorder(i,k,j)",)]
    assert found[0].formats == {"X": "ds:0,1", "B": "ds:0,1", "C": "ds:0,1"}


def test_clashing_orders_are_ranked_only_if_no_order_agrees_with_storage():
    inputs = {"B": matrix(1, 30, 30), "C": matrix(2, 30, 30)}
    found = custard.autoschedule("X(i,j) = B(i,j) + C(j,i)", inputs, dict.fromkeys("XBC", "CSR"))
    assert {one.schedule for one in found} == {("reorder(i,j)",), ("reorder(j,i)",)}


@pytest.mark.parametrize("lanes", [1, 2])
def test_results_on_target_sam_are_right(lanes):
    b, c = matrix(1, 12, 9, 0.4), matrix(2, 9, 14, 0.4)
    found = custard.autoschedule(TEXT, {"B": b, "C": c}, lanes=lanes, most=100)
    # Of each order two formats of the result, each with one of three loops dealt to lanes, or in
    # equal shares of an operand that is stored by the outermost loop: one, or both at k.
    assert len(found) == (12 if lanes == 1 else 12 * (1 + 3) + 2 * (4 * 1 + 2 * 2))
    for one in found[::3]:
        np.testing.assert_allclose(one.program.run({"B": b, "C": c}, engine="simpy").to_numpy(),
                                   (b @ c).toarray())  # fmt: skip


@needs_compiler
def test_results_on_target_c_are_right():
    b, d = matrix(1, 12, 9, 0.4), np.arange(18.0).reshape(9, 2)
    text = "X(i,j) = B(i,j) * C(i,k) * D(j,k)"
    inputs = {"B": b, "C": np.arange(24.0).reshape(12, 2), "D": d}
    found = custard.autoschedule(text, inputs, target="c", threads=2, most=6)
    for one in found:
        np.testing.assert_allclose(one.program.run(inputs, threads=2).to_numpy(),
                                   b.toarray() * (inputs["C"] @ d.T))  # fmt: skip


def test_simulated_cycles_rank_first_and_are_kept(monkeypatch):
    inputs = {"B": matrix(1, 12, 9, 0.4), "C": matrix(2, 9, 14, 0.4)}
    found = custard.autoschedule(TEXT, inputs, simulate=3, engine="simpy")
    cycles = [one.measured for one in found]
    assert cycles[:3] == sorted(cycles[:3])
    assert cycles[3:] == [None] * 9
    assert found[0].measured == found[0].program.simulate(inputs, engine="simpy").cycles

    def fail(*_, **__):
        raise AssertionError("simulated again")

    monkeypatch.setattr("custard.to_sam.program.SamProgram.simulate", fail)
    again = custard.autoschedule(TEXT, inputs, simulate=3)
    assert [one.measured for one in again] == cycles
    with pytest.raises(AssertionError, match="simulated again"):
        custard.autoschedule(TEXT, inputs, simulate=3, config="finite")
    with pytest.raises(AssertionError, match="simulated again"):
        custard.autoschedule(TEXT, {**inputs, "C": 2 * inputs["C"]}, simulate=3)
    with pytest.raises(AssertionError, match="simulated again"):
        custard.autoschedule(TEXT, inputs, simulate=3, again=True)


@needs_compiler
def test_measured_seconds_rank_first():
    inputs = {"A": matrix(1, 300, 200), "x": np.ones(200)}
    found = custard.autoschedule("y(i) = A(i,j) * x(j)", inputs, target="c", time=2, threads=1)
    assert [one.measured is None for one in found] == [False, False, *[True] * (len(found) - 2)]
    assert 0 < found[0].measured <= found[1].measured


@pytest.mark.parametrize("target", ["sam", "c"])
@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("a = 2 * b", {"b": 3.0}),
        ("y(i) = A(i,j) * x(j)", {"A": np.zeros((3, 4)), "x": np.zeros(4)}),
        ("y(i) = A(i,j) * x(j)", {"A": np.zeros((0, 4)), "x": np.zeros(4)}),
        ("y(i) = A(i,i) + x(i)", {"A": np.eye(3), "x": np.ones(3)}),
        ("y(i) = x(i+1) * w(j)", {"x": np.ones(5), "w": np.ones(2)}),
        ("X(i,j) = A(i,j) / (1 + b(j))", {"A": np.eye(3), "b": np.ones(3)}),
        ("A(i,j) += A(i,j) * x(j)", {"A": np.eye(3), "x": np.ones(3)}),
    ],
)
def test_the_first_choice_gives_the_result_of_the_plain_program(target, text, inputs):
    found = custard.autoschedule(text, inputs, target=target, threads=1 if target == "c" else None)
    plain = custard.compile(text, target=target).run(inputs)
    np.testing.assert_allclose(found[0].program.run(inputs).to_numpy(), plain.to_numpy())


@pytest.mark.parametrize("target", ["sam", "c"])
@pytest.mark.parametrize("rows", [2**40, 2**61])
def test_huge_extents(target, rows):
    places = np.array([[0, 2**35, rows - 1], [0, 3, 5]])
    inputs = {"A": Tensor.from_coo(places, np.ones(3), (rows, 10)), "x": np.ones(10)}
    found = custard.autoschedule("y(i) = A(i,j) * x(j)", inputs, target=target, threads=2, lanes=2)
    assert found[0].formats["A"] in ("ss:0,1", "ss:1,0", "ds:1,0")
    assert found[0].program.run(inputs).nnz == 3


def test_a_number_in_every_place():
    found = custard.autoschedule("x(i) = 2", {}, target="c", dims={"i": 5}, threads=2)
    assert {one.formats["x"] for one in found} == {"s:0"}


def test_the_command_of_a_schedule():
    inputs = {"B": matrix(1, 12, 9), "C": matrix(2, 9, 14)}
    found = custard.autoschedule(TEXT, inputs, dict.fromkeys("XBC", "CSR"))
    assert found[0].command(["-i", "B=a b.mtx"]) == (
        "custard 'X(i,j) = B(i,k) * C(k,j)' -f=X:ds:0,1 -f=B:ds:0,1 -f=C:ds:0,1 "
        "'-s=reorder(i,k,j)' -i 'B=a b.mtx'"
    )


@pytest.mark.parametrize(
    ("options", "due"),
    [
        ({"time": 2}, "time has no meaning on target sam\nhint: it is for target c"),
        (
            {"simulate": 2, "target": "c"},
            "simulate has no meaning on target c\nhint: it is for target sam",
        ),
        ({"lanes": 0}, "lanes is 0, not a whole number of at least 1"),
        ({"simulate": -1}, "simulate is -1, not a whole number of at least 0"),
        ({"most": 1.5}, "most is 1.5, not a whole number of at least 1"),
        ({"target": "cuda"}, "unknown target cuda\nhint: one of sam, c"),
    ],
)
def test_mistakes(options, due):
    with pytest.raises(UserError) as caught:
        custard.autoschedule(TEXT, {"B": np.eye(2), "C": np.eye(2)}, **options)
    assert str(caught.value) == due
