"""Programs on target sam."""

import numpy as np
import pytest

import custard
from custard import UserError

MATVEC = "y(i) = A(i,j) * x(j)"
A, X = np.array([[0, 1.0], [2.0, 3.0]]), np.array([10.0, 1.0])


def test_a_program_describes_its_blocks():
    program = custard.compile(MATVEC)
    assert program.described()["primitives"]["intersecter"] == 1
    (picture,) = program.shown()["graphs"]
    assert picture.startswith("<?xml") or "<svg" in picture
    assert "<svg" in program._repr_svg_()


def test_a_run_has_the_result_and_the_cycles():
    program = custard.compile(MATVEC)
    run = program.simulate({"A": A, "x": X}, engine="simpy")
    assert run.output.to_numpy().tolist() == [1.0, 23.0]
    assert program.run({"A": A, "x": X}).to_numpy().tolist() == [1.0, 23.0]
    assert run.cycles > 0
    assert run.about["expression"] == MATVEC


def test_graphs_that_run_in_turn():
    program = custard.compile(
        "y(i) = A(i,j) * x(j) * x(j)", schedule=["precompute(x(j)*x(j),j,j,w)"]
    )
    assert len(program.graphs) == 2
    assert [stage.tensor for stage in program.stages] == ["w", "y"]
    assert {slot.tensor for slot in program.slots} == {"A", "x"}
    run = program.simulate({"A": A, "x": X}, engine="simpy")
    assert run.output.to_numpy().tolist() == (A @ (X * X)).tolist()
    assert run.cycles == sum(part.cycles for part in run.parts)


def test_several_machines():
    program = custard.compile(MATVEC)
    runs = program.simulate_many({"A": A, "x": X}, ["ideal", "finite"], engine="simpy")
    assert [run.output.to_numpy().tolist() for run in runs] == [[1.0, 23.0]] * 2
    assert runs[0].cycles <= runs[1].cycles


def test_queues_are_sized():
    sizing = custard.compile(MATVEC).size_queues({"A": A, "x": X})
    assert sizing.cycles == sizing.fewest
    assert sizing.words <= sizing.unbounded_words


def test_inputs_that_do_not_fit():
    with pytest.raises(UserError) as caught:
        custard.compile(MATVEC).run({"A": A, "x": np.ones(3)})
    assert caught.value.what == "the extent of j is 2 by mode 1 of A and 3 by mode 0 of x"
