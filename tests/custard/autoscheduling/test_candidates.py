"""Which schedules are looked at, and which are not."""

import pytest

from custard.autoscheduling.candidates import Problem, candidates, follows
from custard.ir import cin
from custard.language import notation
from custard.language.formats import parse_format
from custard.targets import target_of

SPMM = "X(i,j) = A(i,k) * B(k,j)"


def problem(text, target="c", extents=100, parts=1, given=None, dense=(), entries=10):
    program = cin.concretize(notation.parse(text))
    formats = {name: parse_format(form) for name, form in (given or {}).items()}
    sizes = dict.fromkeys(program.loops, extents)
    return Problem(program, formats, frozenset(dense), sizes, entries, target_of(target), parts)


def schedules(*args, **options):
    return [";".join(one.schedule) for one in candidates(problem(*args, **options))]


def test_all_orders_with_operands_stored_in_them():
    found = list(candidates(problem(SPMM, "sam")))
    assert [";".join(one.schedule) for one in found] == [
        "reorder(i,j,k)", "reorder(i,k,j)", "reorder(j,i,k)", "reorder(j,k,i)", "reorder(k,i,j)",
        "reorder(k,j,i)",
    ]  # fmt: skip
    assert {name: str(form) for name, form in found[-1].formats.items()} == {
        "X": "ss:1,0", "A": "ss:1,0", "B": "ss:0,1",
    }  # fmt: skip
    assert all(map(follows, found))


def test_given_formats_stay():
    found = list(candidates(problem(SPMM, given={"A": "ds", "B": "ds", "X": "dd"})))
    assert {one.schedule[-1] for one in found} == {"reorder(i,k,j)"}
    assert all(map(follows, found))


def test_formats_that_clash_leave_all_orders():
    found = list(candidates(problem("X(i,j) = A(i,j) + B(j,i)", given={"A": "ds", "B": "ds"})))
    assert {one.schedule[-1] for one in found} == {"reorder(i,j)", "reorder(j,i)"}
    assert not any(map(follows, found))


def test_orders_of_many_loops_are_those_of_storage():
    text = "X(a,h) = A(a,b,c,d,e,f,g) * B(h,g,f,e,d,c,b)"
    given = {"A": "sssssss", "B": "sssssss:6,5,4,3,2,1,0"}
    assert schedules(text, "sam", given=given) == ["reorder(a,b,c,d,e,f,g,h)"]
    # The other way round, B clashes with A, and there are 8! orders.
    assert len(schedules(text, "sam", given={**given, "B": "sssssss"})) == 1_000


def test_a_dense_result_where_it_takes_no_more_room():
    def results(entries):
        found = candidates(problem(SPMM, "sam", entries=entries))
        return {one.formats["X"].levels for one in found}

    assert results(1_249) == {"ss"}
    assert results(1_250) == {"ss", "dd"}


def test_tiles_are_of_dense_loops_and_for_dense_results():
    given = {"X": "dd", "A": "ds", "B": "dd"}
    found = [one for one in schedules(SPMM, given=given) if "split" in one]
    assert "split(j,j0,j1,32);reorder(j0,i,k,j1)" in found
    assert not [one for one in found if "split(k" in one]
    assert not [one for one in schedules(SPMM, given={**given, "X": "ds"}) if "split" in one]
    assert not [one for one in schedules(SPMM, given=given, extents=63) if "split" in one]


def test_only_the_outermost_loop_is_parallel_in_c():
    given = {"y": "d", "A": "ds", "x": "d"}
    found = schedules("y(i) = A(i,j) * x(j)", parts=2, given=given, extents=63)
    assert found == [
        "reorder(i,j)",
        "reorder(i,j);parallelize(i,CPUThread,NoRaces)",
        "reorder(i,j);fuse(i,j,f);pos(f,p,A);split(p,p0,p1,64);parallelize(p0,CPUThread,Atomics)",
        "reorder(i,j);fuse(i,j,f);pos(f,p,A);split(p,p0,p1,1024);parallelize(p0,CPUThread,Atomics)",
    ]
    columns = schedules("y(i) = A(i,j) * x(j)", parts=2, given={**given, "A": "ds:1,0"}, extents=63)
    assert columns[:2] == ["reorder(j,i)", "reorder(j,i);parallelize(j,CPUThread,Temporary)"]


def test_lanes_may_share_any_loop():
    found = schedules("y(i) = A(i,j) * x(j)", "sam", parts=4, given={"A": "ss"})
    assert found[:3] == [
        "reorder(i,j)",
        "reorder(i,j);parallelize(i,Lanes,4)",
        "reorder(i,j);parallelize(j,Lanes,4)",
    ]


@pytest.mark.parametrize("target", ["sam", "c"])
def test_a_product_with_a_sum_of_its_own_is_computed_before(target):
    found = schedules("X(i,j) = B(i,j) * C(i,k) * D(k,j)", target)
    first = "reorder(i,j,k);precompute(C(i,k)*D(k,j),j,j,W)"
    assert next(one for one in found if "precompute" in one) == first
    assert not [one for one in schedules(SPMM, target) if "precompute" in one]


def test_names_that_are_taken():
    found = schedules("y(f) = p(f,W) * x(W)", parts=2, given={"y": "d", "p": "ds", "x": "d"})
    assert "reorder(f,W);fuse(f,W,f_);pos(f_,p_,p);split(p_,p0,p1,64)" in found[2]


def test_a_scalar_and_one_loop():
    assert schedules("a = b * c") == [""]
    assert schedules("a = b(i) * c(i)", "sam") == [""]
