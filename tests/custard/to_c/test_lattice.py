"""Merge lattices, with the points worked out by hand as in the formats paper, Section 4.1."""

import pytest

from custard.to_c import lattice
from custard.to_c.lattice import ALWAYS, All, Any, Has, When, conjunction, disjunction
from custard.to_c.loop_ir import BOOL, Op, Var

b, c, d = Has(1), Has(2), Has(3)
p, q = (When(Var(name, BOOL)) for name in "pq")
MANY = 100


def points(formula, most=MANY):
    found = lattice.points(formula, most)
    return None if found is None else [set(point) for point in found]


@pytest.mark.parametrize(
    ("formula", "due"),
    [
        (b, [{1}]),
        (ALWAYS, [set()]),
        # b(i) * c(i): both, or nothing is left to do.
        (conjunction([b, c]), [{1, 2}]),
        # b(i) + c(i): both, then the rest of either.
        (disjunction([b, c]), [{1, 2}, {1}, {2}]),
        (disjunction([b, c, d]), [{1, 2, 3}, {1, 2}, {1, 3}, {2, 3}, {1}, {2}, {3}]),
        # (b(i) + c(i)) * d(i)
        (conjunction([disjunction([b, c]), d]), [{1, 2, 3}, {1, 3}, {2, 3}]),
        # b(i) * c(i) + d(i): where only one of b and c is, it does not count.
        (disjunction([conjunction([b, c]), d]), [{1, 2, 3}, {1, 2}, {3}]),
        # (b(i) + c(i)) * (b(i) + d(i))
        (
            conjunction([disjunction([b, c]), disjunction([b, d])]),
            [{1, 2, 3}, {1, 2}, {1, 3}, {2, 3}, {1}],
        ),
        # b(i) + 2: the whole dimension, with b or without.
        (disjunction([b, ALWAYS]), [{1}, set()]),
        # (b(i) + 2) * c(i): c, with b or without.
        (conjunction([disjunction([b, ALWAYS]), c]), [{1, 2}, {2}]),
        # An operand that is there twice is one.
        (disjunction([b, b]), [{1}]),
        (conjunction([b, b]), [{1}]),
    ],
)
def test_points(formula, due):
    assert points(formula) == due


def test_what_is_left_where_some_operands_have_no_coordinates():
    product, union = conjunction([b, c]), disjunction([b, c])
    assert lattice.among(product, {1}) is None
    assert lattice.among(union, {1}) == b
    assert lattice.among(disjunction([product, d]), {1, 3}) == d
    assert lattice.among(conjunction([union, d]), {1, 3}) == conjunction([b, d])
    assert lattice.among(ALWAYS, set()) == ALWAYS


def test_an_operand_is_used_where_those_are_that_it_meets():
    product = conjunction([b, c])
    assert lattice.where_used(product, 1) == product
    assert lattice.where_used(disjunction([b, c]), 1) == ALWAYS
    # b(i) * c(i) + d(i)
    mixed = disjunction([product, d])
    assert lattice.where_used(mixed, 1) == product
    assert lattice.where_used(mixed, 3) == ALWAYS
    # (b(i) * c(i) + b(i)) * d(i), and b(i) * c(i) + b(i) * d(i)
    outer = conjunction([disjunction([product, b]), d])
    assert lattice.where_used(outer, 1) == lattice.where_used(outer, 3) == outer
    assert lattice.where_used(outer, 2) == conjunction([outer, product])
    other = conjunction([b, d])
    assert lattice.where_used(disjunction([product, other]), 1) == disjunction([product, other])


def test_too_many_points():
    union = disjunction([b, c, d])
    assert len(points(union, 7)) == 7
    assert points(union, 6) is None
    assert points(conjunction([union, Has(4)]), 6) is None


@pytest.mark.parametrize(
    ("formula", "dense"),
    [
        (ALWAYS, True),
        (b, False),
        (p, False),
        (Any((b, ALWAYS)), True),
        (All((b, ALWAYS)), False),
        (All((Any((b, ALWAYS)), Any((c, ALWAYS)))), True),
        (Any((b, All((c, ALWAYS)))), False),
    ],
)
def test_whether_the_whole_dimension_is_iterated_over(formula, dense):
    assert lattice.is_dense(formula) is dense


def test_conjunctions_leave_out_parts_that_always_hold():
    assert conjunction([]) == ALWAYS
    assert conjunction([ALWAYS, ALWAYS]) == ALWAYS
    assert conjunction([ALWAYS, b]) == b
    assert conjunction([b, c]) == All((b, c))
    assert conjunction([b, c, b]) == All((b, c))
    assert conjunction([b, b]) == b


def test_conditions_are_tested_inside_if_another_part_iterates():
    assert conjunction([p, b]) == b
    assert conjunction([p, q]) == When(Op("&&", (p.condition, q.condition), BOOL))
    assert conjunction([p, ALWAYS]) == p


def test_disjunctions_have_each_part_once():
    assert disjunction([b, b]) == b
    assert disjunction([b, c, b]) == Any((b, c))
    assert disjunction([p, p]) == p


def test_conditions_can_be_replaced():
    formula = Any((All((b, Any((p, c)))), q))
    due = Any((All((b, Any((d, c)))), d))
    assert lattice.replaced(formula, lambda _: d) == due


def test_operands_that_are_iterated_over_are_listed_once():
    assert lattice.iterated(Any((All((c, b)), c, p, ALWAYS, d))) == [2, 1, 3]
    assert lattice.iterated(ALWAYS) == []


@pytest.mark.parametrize(
    ("formula", "due"),
    [
        # b(i) * c(i) + d(i): b and c are merged with d where they meet.
        (disjunction([conjunction([b, c]), d]), disjunction([Has(12), d])),
        # (b(i) * c(i) + d(i)) * e(i)
        (
            conjunction([disjunction([conjunction([b, c]), d]), Has(4)]),
            conjunction([disjunction([Has(12), d]), Has(4)]),
        ),
        # b(i) * c(i) + b(i) * d(i): b may be there without c.
        (disjunction([conjunction([b, c]), conjunction([b, d])]), None),
        (conjunction([b, c]), None),
        (disjunction([b, c]), None),
        (disjunction([conjunction([disjunction([b, c]), d]), Has(4)]), None),
    ],
)
def test_operands_that_a_union_has_only_together(formula, due):
    found = lattice.with_joint_operands(formula, lambda keys: int("".join(map(str, keys))))
    assert found == (formula if due is None else due)
