"""Where sums stand: at the smallest part that has all uses, and outside of products."""

import pytest

from custard.ir.concretization import right_side
from custard.ir.summation import hoisted, with_sum
from custard.language import notation


def value(text):
    """The right side as it is written: nothing is summed that the text does not sum."""
    return right_side(notation.parse(f"y = {text}"))


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("a(i) * b(j)", "a(i) * sum(j, b(j))"),
        ("a(j) * b(j)", "sum(j, a(j) * b(j))"),
        ("a(j) + b(i)", "sum(j, a(j)) + b(i)"),
        ("a(j) / b(i)", "sum(j, a(j)) / b(i)"),
        ("a(j) / b(j)", "sum(j, a(j) / b(j))"),
        ("-a(j)", "-sum(j, a(j))"),
        ("sum(k, A(j,k))", "sum(k, j, A(j,k))"),  # inside of the other sum
        # The sum over an access has the type of its product; its sign does not.
        ("- -a(j) * b(i)", "sum(j, --a(j)) * b(i)"),
        ("-(a(j) * a(j)) * b(i)", "-sum(j, a(j) * a(j)) * b(i)"),
    ],
)
def test_a_sum_stands_at_the_smallest_part_that_has_all_uses(text, due):
    assert str(with_sum(value(text), "j")) == due


@pytest.mark.parametrize(
    ("text", "due"),
    [
        # Another factor has i too: entries that it lacks need not be summed.
        ("b(i) * sum(j, A(i,j))", "sum(j, b(i) * A(i,j))"),
        ("b * sum(j, A(i,j))", "b * sum(j, A(i,j))"),
        ("sum(j, A(i,j)) * sum(k, B(i,k))", "sum(j, A(i,j)) * sum(k, B(i,k))"),
        ("c(i) + b(i) * sum(j, A(i,j))", "c(i) + sum(j, b(i) * A(i,j))"),
        ("a(i) / 2 * sum(j, B(i,j))", "sum(j, (a(i) / 2) * B(i,j))"),
        ("a(i) / c * sum(j, B(i,j))", "(a(i) / c) * sum(j, B(i,j))"),
    ],
)
def test_the_only_sum_of_a_product_goes_out_of_it(text, due):
    assert str(hoisted(value(text))) == due
