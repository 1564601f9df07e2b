"""Where the values of variables lie in levels."""

import numpy as np

from custard.to_c.locating import bound, located_at, window
from custard.to_c.loop_ir import Const, Var
from custard.to_c.outputs import ScalarOutput
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
