"""Values of trees, in numpy's types."""

import numpy as np
import pytest

from custard.to_c.expression import mapped
from custard.to_c.loop_ir import BOOL, Call, Const, Op, Var
from custard.to_c.values import adding, arithmetic, c_type, concrete, number, presence, value
from tests.support.interpreted import evaluated
from tests.support.kernel_trees import at, prepared


@pytest.mark.parametrize(
    ("dtype", "name"),
    [("bool", "bool"), ("int32", "int32_t"), ("float32", "float"), ("complex64", "float complex")],
)
def test_c_types(dtype, name):
    assert c_type(np.dtype(dtype)).name == name
    assert concrete(2.5) == np.dtype("float64")


def test_constants_wrap_around():
    assert number(2**31, np.dtype("int32")).value == -(2**31)
    assert number(-1, np.dtype("int64")).value == -1
    assert number(2, np.dtype("bool")).value is True
    assert number(1, np.dtype("float32")).value == 1.0


def test_booleans_are_joined_and_complex_numbers_multiplied_by_a_function():
    flags = Const(True, BOOL), Const(False, BOOL)
    assert arithmetic("add", *flags, np.dtype(bool)) == Op("|", flags, BOOL)
    assert adding(np.dtype(bool)) == "|"
    assert adding(np.dtype(float)) == "+"
    left = Const(1.0, c_type(np.dtype("complex64")))
    found = arithmetic("multiply", left, left, np.dtype("complex64"))
    assert isinstance(found, Call)
    assert found.function == "multiply_float_complex"


def computed(text, names):
    """The value of an expression, given the value of each name."""
    found = prepared(text, {})

    def arrays(operand):
        return Var(operand.slot.tensor)

    result, _ = value(found.tree, arrays)
    return evaluated(result, {name: [one] for name, one in names.items()})


def test_values_are_computed_from_left_to_right():
    assert computed("y = a - b + c * 2", {"a": 7.0, "b": 2.0, "c": 3.0}) == 11.0
    assert computed("y = -(a / b)", {"a": 1.0, "b": 4.0}) == -0.25


def test_an_absent_term_counts_as_zero():
    found = prepared("y = a + b", {})
    absent = at(found.operand("a"), present=Var("there", BOOL))
    tree = mapped(found.tree, lambda one: absent if one == found.operand("a") else one)
    result, _ = value(tree, lambda operand: Var(operand.slot.tensor))
    names = {"a": [5.0], "b": [2.0]}
    assert evaluated(result, {**names, "there": True}) == 7.0
    assert evaluated(result, {**names, "there": False}) == 2.0


def test_where_trees_are_present():
    there = Var("there", BOOL)
    product = prepared("y = a * b", {})
    absent = at(product.operand("a"), present=there)

    def changed(found):
        return mapped(found.tree, lambda one: absent if one == found.operand("a") else one)

    assert presence(product.tree) is None
    assert presence(changed(product)) == there
    assert presence(changed(prepared("y = a + b", {}))) is None
    assert presence(changed(prepared("y = 1 / b * a", {}))) is None
