"""Trees of kernels: types, slots, and what is merged."""

import numpy as np
import pytest

from custard.to_c.builder import Types
from custard.to_c.expression import Minus, Operand, Product, Quotient, Scalar, Sum, Total, walk
from tests.support.kernel_trees import prepared


def test_a_product_is_summed_where_its_variable_ends():
    tree = prepared("X(i,j) = B(i,k) * C(k,j)", {"B": "ds", "C": "ds"}).tree
    assert isinstance(tree, Total)
    assert (tree.variables, tree.free) == (("k",), frozenset("ij"))
    assert isinstance(tree.operand, Product)
    assert [factor.slot.tensor for factor in tree.operand.factors] == ["B", "C"]


def test_types_are_numpys():
    types = Types({"a": np.dtype("int32"), "b": np.dtype("float32")})
    tree = prepared("y(i) = a(i) * b(i)", {}, types=types).tree
    assert tree.dtype == np.result_type("int32", "float32")
    tree = prepared("y(i) = a(i) / a(i)", {}, types=types).tree
    assert (isinstance(tree, Quotient), tree.dtype) == (True, np.dtype("float64"))


WHOLE = Types(dict.fromkeys("abc", np.dtype("int32")))


def test_brackets_of_one_type_are_merged_with_their_signs():
    tree = prepared("y(i) = a(i) - (b(i) - c(i))", {}, types=WHOLE).tree
    assert isinstance(tree, Sum)
    assert [term.slot.tensor for term in tree.terms] == ["a", "b", "c"]
    assert tree.minus == (False, True, False)


def test_brackets_of_floats_are_merged_where_a_sum_begins():
    tree = prepared("y(i) = a(i) - (b(i) - c(i))", {}).tree
    assert [type(term) for term in tree.terms] == [Operand, Sum]
    tree = prepared("y(i) = (a(i) - b(i)) - c(i)", {}).tree
    assert [type(term) for term in tree.terms] == [Operand] * 3


def test_a_number_in_brackets_is_added_in_the_type_of_the_sum_before_it():
    tree = prepared("y(i) = a(i) - (2 + c(i))", {}, types=WHOLE).tree
    assert len(tree.terms) == 3
    assert 2 not in tree.steps  # a number is no type of its own within the sum


def test_brackets_of_another_type_stay():
    types = Types({"b": np.dtype("int32"), "c": np.dtype("int32")})
    tree = prepared("y(i) = a(i) + (b(i) + c(i))", {}, types=types).tree
    assert [type(term) for term in tree.terms] == [Operand, Sum]


def test_a_sum_is_made_in_the_type_of_the_product_around_it():
    """As numpy.einsum has it: the integers are multiplied as floats before they are summed."""
    types = Types({"B": np.dtype("int32")})
    tree = prepared("y(i) = B(i,j) * C(i,k)", {}, types=types).tree
    total = next(one for one in walk(tree) if isinstance(one, Total) and one.variables == ("j",))
    assert (type(total), total.dtype) == (Total, np.dtype("float64"))
    assert isinstance(total.operand, Product)


def test_signs_go_under_sums():
    tree = prepared("y(i) = -sum(j, B(i,j))", {}).tree
    assert isinstance(tree, Total)
    assert isinstance(tree.operand, Minus)


def test_numbers_and_repeated_tensors():
    found = prepared("y(i) = 2 * x(i) * x(i)", {})
    number, *others = found.tree.factors
    assert number == Scalar(2, 2)
    assert len({(one.key, one.slot) for one in others}) == 1


def test_sums_have_operands_of_their_own():
    tree = prepared("y(i) = x(i) + x(i) * sum(j, A(i,j)) * sum(j, A(i,j))", {"A": "ds"}).tree
    found = [one for one in walk(tree) if isinstance(one, Operand)]
    assert len({one.key for one in found if one.slot.tensor == "x"}) == 1
    assert len({one.key for one in found if one.slot.tensor == "A"}) == 2


@pytest.mark.parametrize(
    ("text", "everywhere"),
    [("a(i) * b(i)", False), ("a(i) / 2", False), ("a(i) / b(i)", True), ("1 / a(i) * b(i)", True)],
)
def test_zero_over_zero_is_no_zero(text, everywhere):
    assert prepared(f"y(i) = {text}", {}).tree.everywhere == everywhere
