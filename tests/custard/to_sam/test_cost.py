"""The estimate of cycles, against those that are simulated."""

from itertools import permutations

import numpy as np
import pytest

import custard
from custard.autoscheduling.fibers import InputFibers
from custard.ir import cin
from custard.ir.concretization import concretize
from custard.language import notation
from custard.language.formats import Format
from custard.to_sam.cost import cycles
from sam.tensor import Tensor


def random(seed, *shape, density=0.2):
    values = np.random.default_rng(seed).random(shape)
    return Tensor.from_numpy(np.where(values < density, values, 0.0), "s" * len(shape))


def estimated(text, inputs, order, lanes=None):
    """The estimate, and the program, with all tensors compressed in the order of the loops."""
    program = concretize(notation.parse(text))
    formats = {}
    for node in (program.target, *cin.walk(program.value)):
        if isinstance(node, cin.Access):
            modes = sorted(range(len(node.variables)), key=lambda m: order.index(node.variables[m]))
            formats[node.tensor] = Format("s" * len(modes), tuple(modes))
    schedule = [f"reorder({','.join(order)})"] if len(order) > 1 else []
    schedule += [f"parallelize({loop},Lanes,{count})" for loop, count in (lanes or {}).items()]
    made = custard.compile(text, formats, schedule)
    fibers = InputFibers(inputs, made.extents(inputs))
    plain = cin.reordered(program, order)
    return cycles(plain, formats, fibers, lanes), made


def test_costs_worked_out_by_hand():
    """Row 0 of B has columns 0 and 1, row 1 has column 1; x has them all."""
    inputs = {"B": Tensor.from_numpy(np.array([[1, 1], [0, 1]]), "ss")}
    inputs["x"] = Tensor.from_numpy(np.ones(2), "s")
    found, _ = estimated("y(i) = B(i,j) * x(j)", inputs, "ij")
    # x is scanned for each of two rows: 4 coordinates, 2 stop tokens. Two loops have their latency.
    assert found == 6 + 2 * 12


CASES = {
    "x(i) = B(i,j) * c(j)": {"B": random(1, 40, 30), "c": random(2, 30)},
    "X(i,j) = B(i,k) * C(k,j)": {"B": random(3, 30, 20), "C": random(4, 20, 30)},
    "X(i,j) = B(i,j) + C(i,j)": {"B": random(5, 30, 30), "C": random(6, 30, 30)},
    "x(i) = b(i) - C(i,j) * d(j)": {"b": random(7, 30), "C": random(8, 30, 40), "d": random(9, 40)},
}


@pytest.mark.parametrize("text", CASES)
def test_costs_are_near_the_simulated_cycles(text):
    inputs = CASES[text]
    loops = concretize(notation.parse(text)).loops
    for order in permutations(loops):
        found, program = estimated(text, inputs, order)
        assert found == pytest.approx(program.simulate(inputs, engine="simpy").cycles, rel=0.15)


@pytest.mark.parametrize(
    ("text", "order", "loop"),
    [
        ("X(i,j) = B(i,k) * C(k,j)", "ikj", "i"),
        ("X(i,j) = B(i,k) * C(k,j)", "ikj", "k"),
        ("X(i,j) = B(i,k) * C(k,j)", "kij", "k"),  # a reducer takes from both lanes at once
        ("x(i) = B(i,j) * c(j)", "ji", "j"),
    ],
)
def test_lanes(text, order, loop):
    found, program = estimated(text, CASES[text], order, {loop: 2})
    due = program.simulate(CASES[text], engine="simpy").cycles
    assert found == pytest.approx(due, rel=0.2)


def test_sums_that_the_writer_adds_up_are_dimensions_of_reducers_outside():
    """The reducer over the lanes of k gives a value for each i, l and j: 4 x 5 x 3 at most."""
    program = concretize(notation.parse("X(i,j) = B(i,k,l) * D(l,j)"))
    inputs = {"B": Tensor.from_numpy(np.ones((4, 6, 5)), "sss"), "D": random(1, 5, 3, density=2)}
    formats = {"X": Format("dd", (0, 1)), "B": Format("sss", (1, 0, 2)), "D": Format("ss", (0, 1))}
    fibers = InputFibers(inputs, {"i": 4, "j": 3, "k": 6, "l": 5})
    plain = cin.reordered(program, "kilj")
    few = cycles(plain, formats, fibers, {"k": 6})
    # 360 products in six lanes; the reducer gives 60 values, and does so after it took them.
    assert 60 + 60 <= few <= 60 + 60 + 2 * 24 + 4 * 12
