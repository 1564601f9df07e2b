"""Trees: the rest of a tree where operands are absent, and changes of trees."""

from custard.to_c.expression import (
    Minus,
    Operand,
    Product,
    Scalar,
    Sum,
    Total,
    assumed,
    children,
    is_linear,
    mapped,
    negated,
    operand_of,
    operands,
    uses,
    walk,
    without,
)
from custard.to_c.loop_ir import BOOL, Var
from tests.support.kernel_trees import at, prepared


def tree(text, **formats):
    return prepared(text, formats).tree


def keys(node):
    return {one.slot.tensor: one.key for one in operands(node)}


def test_a_product_is_gone_with_a_factor_and_a_sum_with_all_terms():
    product = tree("y(i) = a(i) * b(i)")
    assert without(product, [keys(product)["a"]]) is None
    total = tree("y(i) = a(i) - b(i)")
    key = keys(total)
    left = without(total, [key["a"]])
    assert (left.terms[0].slot.tensor, left.minus) == ("b", (True,))
    assert isinstance(without(total, [key["b"]]), Operand)
    assert without(total, [key["a"], key["b"]]) is None


def test_a_denominator_stays_with_value_zero():
    quotient = tree("y(i) = 1 / a(i)")
    left = without(quotient, [keys(quotient)["a"]])
    assert left.denominator == Scalar(left.denominator.dtype, 0)


def test_linear_trees():
    found = tree("y(i) = sum(j, -a(i) * B(i,j))")
    assert is_linear(found, keys(found)["a"])
    added = tree("y(i) = a(i) + b(i)")
    assert not is_linear(added, keys(added)["a"])
    square = tree("y(i) = a(i) * b(i) * a(i)")
    assert not is_linear(square, keys(square)["a"])
    assert is_linear(square, keys(square)["b"])


def test_trees_are_changed_from_the_top():
    found = tree("y(i) = a(i) * b(i)")
    key = keys(found)["a"]
    number = Scalar(found.dtype, 3)
    new = mapped(found, lambda one: number if one == operand_of(found, key) else one)
    assert new.factors[0] == number
    assert mapped(found, lambda one: one) is found


def test_signs():
    found = negated(tree("y(i) = sum(j, B(i,j))"))
    assert isinstance(found, Total)
    assert isinstance(found.operand, Minus)
    assert isinstance(negated(tree("y(i) = a(i)")), Minus)


def test_a_condition_that_is_known_to_hold():
    there = Var("there", BOOL)
    found = tree("y(i) = a(i)")
    absent = at(found, present=there)
    assert assumed(absent, there).place.present is None
    assert assumed(absent, Var("other", BOOL)) is absent


def test_variables_and_parts():
    found = tree("y(i) = sum(j, A(i,j) * x(j)) + b(i)")
    assert uses(found, "j")
    assert not uses(found, "k")
    assert [type(node) for node in walk(found)][:3] == [Sum, Total, Product]
    assert [len(children(node)) for node in walk(found)][:3] == [2, 1, 2]
