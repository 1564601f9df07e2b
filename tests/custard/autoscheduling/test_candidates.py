"""Which orders of loops and which formats are looked at, and which parts are computed first."""

import pytest

from custard.autoscheduling.candidates import formats_of, orders
from custard.autoscheduling.problem import follows
from tests.support.problems import problem, schedules

SPMM = "X(i,j) = A(i,k) * B(k,j)"


def test_all_orders_with_operands_stored_in_them():
    found = list(orders(problem(SPMM, "sam")))
    assert [";".join(one.schedule) for one in found] == [
        "reorder(i,j,k)", "reorder(i,k,j)", "reorder(j,i,k)", "reorder(j,k,i)", "reorder(k,i,j)",
        "reorder(k,j,i)",
    ]  # fmt: skip
    assert {name: str(form) for name, form in found[-1].formats.items()} == {
        "X": "ss:1,0", "A": "ss:1,0", "B": "ss:0,1",
    }  # fmt: skip
    assert all(map(follows, found))


def test_given_formats_stay():
    found = list(orders(problem(SPMM, given={"A": "ds", "B": "ds", "X": "dd"})))
    assert {one.schedule[-1] for one in found} == {"reorder(i,k,j)"}
    assert all(map(follows, found))


def test_formats_that_clash_leave_all_orders():
    found = list(orders(problem("X(i,j) = A(i,j) + B(j,i)", given={"A": "ds", "B": "ds"})))
    assert {one.schedule[-1] for one in found} == {"reorder(i,j)", "reorder(j,i)"}
    assert not any(map(follows, found))


def test_orders_of_many_loops_are_those_of_storage():
    text = "X(a,h) = A(a,b,c,d,e,f,g) * B(h,g,f,e,d,c,b)"
    given = {"A": "sssssss", "B": "sssssss:6,5,4,3,2,1,0"}
    (found,) = orders(problem(text, "sam", given=given))
    assert found.schedule == ("reorder(a,b,c,d,e,f,g,h)",)
    # The other way round, B clashes with A, and there are 8! orders.
    assert len(list(orders(problem(text, "sam", given={**given, "B": "sssssss"})))) == 1_000


def test_a_dense_result_where_it_takes_no_more_room():
    def results(entries):
        found = formats_of(problem(SPMM, "sam", entries=entries), ("i", "j", "k"))
        return {one["X"].levels for one in found}

    assert results(1_249) == {"ss"}
    assert results(1_250) == {"ss", "dd"}


@pytest.mark.parametrize("target", ["sam", "c"])
def test_a_product_with_a_sum_of_its_own_is_computed_before(target):
    found = schedules("X(i,j) = B(i,j) * C(i,k) * D(k,j)", target, extents=63)
    first = "reorder(i,j,k);precompute(C(i,k)*D(k,j),j,j,W)"
    assert next(one for one in found if one.endswith(",W)")) == first
    assert not [one for one in schedules(SPMM, target) if one.endswith(",W)")]


def test_a_scalar_and_one_loop():
    assert schedules("a = b * c") == [""]
    assert schedules("a = b(i) * c(i)", "sam", extents=63) == [""]
