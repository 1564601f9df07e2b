"""Where the values of variables lie in levels."""

import numpy as np
import pytest

import custard
from custard.to_c.locating import bound, located_at, window
from custard.to_c.loop_ir import Const, Var
from custard.to_c.outputs import ScalarOutput
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.interpreted import evaluated
from tests.support.kernel_trees import prepared


def output(**variables):
    found = ScalarOutput(dtype=np.dtype(float), var=Var("sum"))
    for name, value in variables.items():
        found = found.bind(name, Const(value))
    return found


def test_levels_whose_variables_are_bound_are_located():
    found = prepared("y(i) = A(i,j)", {"A": "dd"})
    tree = bound(found.storage, found.tree, output(i=2))
    place = next(iter(tree.operand.place.coordinates))
    assert place == Const(2)
    tree = bound(found.storage, found.tree, output(i=2, j=3))
    names = {"A->size0": 5, "A->size1": 4}
    assert evaluated(tree.operand.place.position, names) == 2 * 4 + 3
    assert tree.operand.left == ()


def test_a_computed_subscript_opens_a_window():
    found = prepared("y(i) = x(2*i + k - 1) * f(k)", {"x": "d", "f": "d"}, loops="ki")
    operand = found.operand("x")
    opened = window(found.storage, operand, output(k=2))
    assert (opened.scale, evaluated(opened.rest, {})) == (2, 1)
    assert window(found.storage, found.operand("f"), output()) is None


def test_places_outside_are_absent():
    found = prepared("y(i) = x(i + k) * f(k)", {"x": "d", "f": "d"}, loops="ki")
    operand = found.operand("x")
    for i, inside in ((0, True), (3, True), (4, False)):
        place = located_at(found.storage, operand, Const(i), output(k=2))
        assert evaluated(place.present, {"x->size0": 6}) == inside
        assert evaluated(place.position, {"x->size0": 6}) == i + 2


@pytest.mark.parametrize(
    "schedule", ["locate(x,j)", "split(j,j0,j1,2);locate(x,j1)", "reorder(j,i);locate(x,j)"]
)
def test_a_level_that_is_searched_for_every_coordinate_may_lack_some(schedule):
    """Nothing is read where it lacks the coordinate."""
    formats = {"y": "d", "A": "dd", "x": "h"}
    program = custard.compile("y(i) = A(i,j) * x(j)", formats, schedule, "c")
    x = Tensor.from_numpy(np.array([0.0, 2, 0, 3, 0]), "h")
    assert ">= 0" in program.source
    a = np.arange(15.0).reshape(3, 5)
    np.testing.assert_array_equal(program.run({"A": a, "x": x}).to_numpy(), a @ [0, 2, 0, 3, 0])


def test_a_workspace_of_sorted_keys_is_not_located_in():
    """The loop over positions of D has found i before the sum over k is read."""
    with pytest.raises(UserError, match=r"come to i before w, which is stored as singleton"):
        custard.compile(
            "X(i,j) = -(B(i) + C(i,i) + D(i,j,k))",
            {"X": "dd", "B": "d", "C": "dd", "D": "ddd"},
            "reorder(j,k,i);pos(i,i0p,D);tile(1)",
            "c",
        )
