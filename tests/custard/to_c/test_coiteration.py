"""Which operands a loop iterates over, and which it locates."""

import pytest

from custard.language.commands import parse_schedule
from custard.to_c import lattice
from custard.to_c.coiteration import coiteration
from custard.to_c.expression import mapped
from custard.to_c.lattice import ALWAYS, All, Any, Has
from custard.to_c.loop_ir import BOOL, Var
from sam.support.errors import UserError
from tests.support.kernel_trees import at, prepared


def searched(text, formats, variable="i", schedule=(), **more):
    found = prepared(text, formats, **more)
    choices = {one.arguments: one for one in parse_schedule(schedule)}
    return found, coiteration(found.tree, variable, found.storage, choices)


def key(found, tensor):
    return found.operand(tensor).key


def test_sparse_factors_are_intersected():
    found, where = searched("y(i) = a(i) * b(i)", {"a": "s", "b": "s"})
    assert where.formula == All((Has(key(found, "a")), Has(key(found, "b"))))
    assert where.located == frozenset()
    assert not where.conditional


def test_sparse_terms_are_united():
    found, where = searched("y(i) = a(i) + b(i)", {"a": "s", "b": "s"})
    assert where.formula == Any((Has(key(found, "a")), Has(key(found, "b"))))


def test_full_levels_do_not_iterate():
    found, where = searched("y(i) = a(i) * b(i)", {"a": "s", "b": "d"})
    assert where.formula == Has(key(found, "a"))
    found, where = searched("y(i) = a(i) + b(i)", {"a": "s", "b": "d"})
    assert lattice.is_dense(where.formula)


def test_a_hash_table_is_located_where_another_factor_iterates():
    found, where = searched("y(i) = a(i) * b(i)", {"a": "h", "b": "s"})
    assert where.located == {key(found, "a")}
    assert where.formula == Has(key(found, "b"))


def test_a_sum_of_hash_tables_is_located_where_another_factor_iterates():
    formats = {"a": "h", "b": "h", "c": "s"}
    found, where = searched("y(i) = (a(i) + b(i)) * c(i)", formats)
    assert where.located == {key(found, "a"), key(found, "b")}
    assert where.formula == Has(key(found, "c"))
    # All of its terms must be.
    found, where = searched("y(i) = (a(i) + b(i)) * c(i)", {**formats, "b": "s"})
    assert where.located == frozenset()


def test_a_hash_table_alone_iterates():
    found, where = searched("y(i) = a(i)", {"a": "h"})
    assert where.formula == Has(key(found, "a"))


def test_a_schedule_has_levels_scanned():
    found, where = searched("y(i) = a(i) * b(i)", {"a": "d", "b": "s"}, schedule=["coiterate(a,i)"])
    assert where.formula == All((Has(key(found, "a")), Has(key(found, "b"))))


def test_a_level_that_cannot_be_located():
    with pytest.raises(UserError):
        searched("y(i) = a(i) * b(i)", {"a": "s", "b": "s"}, schedule=["locate(a,i)"])


def test_zero_over_zero_is_everywhere():
    _, where = searched("y(i) = 1 / a(i)", {"a": "s"})
    assert lattice.is_dense(where.formula)


def test_a_factor_that_may_be_absent_is_tested_inside():
    found = prepared("y(i) = a(i) * B(j,i)", {"a": "d", "B": "ds"})
    absent = found.operand("a")
    there = Var("there", BOOL)
    tree = mapped(found.tree, lambda one: at(absent, present=there) if one is absent else one)
    where = coiteration(tree, "i", found.storage, {})
    assert where.conditional


def test_variables_that_a_tree_lacks_leave_it_everywhere():
    _, where = searched("y(i) = a(i)", {"a": "s"}, variable="k")
    assert where.formula == ALWAYS
