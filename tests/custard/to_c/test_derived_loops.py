"""Loops that a schedule derives, on target c: each schedule gives what numpy gives."""

import numpy as np
import pytest
import scipy.sparse as sp

import custard
from custard import UserError

MATVEC = "y(i) = A(i,j) * x(j)"
MATMUL = "X(i,j) = B(i,k) * C(k,j)"
ADDED = "X(i,j) = B(i,j) + C(i,j)"


def matrix(rows: int, columns: int, seed: int, density: float = 0.4) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.integers(1, 9, (rows, columns))
    return np.where(random.random((rows, columns)) < density, values, 0).astype(float)


@pytest.mark.parametrize("form", ["ds", "uq", "dh"])
@pytest.mark.parametrize(
    "schedule",
    [
        "split(i,i0,i1,4)",
        "split(j,j0,j1,3)",
        "divide(i,i0,i1,3)",
        "split(i,i0,i1,4);split(j,j0,j1,3);reorder(i0,j0,i1,j1)",
        "split(i,i0,i1,4);reorder(i1,i0)",
        "split(j,j0,j1,4);reorder(j1,i,j0)",
        "split(i,i0,i1,4);split(i1,i2,i3,3)",
        "split(i,i0,i1,2000000000);split(i1,i2,i3,1)",
        "divide(j,j0,j1,3);divide(j1,j2,j3,2);reorder(j2,i,j0,j3)",
        "fuse(i,j,f);split(f,f0,f1,7)",
        "fuse(i,j,f);split(f,f0,f1,7);reorder(f1,f0)",
        "split(i,i0,i1,4);fuse(i1,j,f);divide(f,f0,f1,3)",
        "tile(8,3)",
        "unroll(i,4)",
        "parallelize(i,CPUVector,NoRaces)",
        "bound(i,ib,23,MaxExact);split(ib,i0,i1,4);unroll(i1,4)",
    ],
)
def test_loops_derived_from_coordinates_compute_the_same(form, schedule):
    program = custard.compile(MATVEC, {"y": "d", "A": form, "x": "d"}, schedule, "c")
    for columns in (11, 1, 0):
        a, x = matrix(23, columns, 1), np.arange(1.0, columns + 1)
        np.testing.assert_array_equal(program.run({"A": a, "x": x}).to_numpy(), a @ x)


@pytest.mark.parametrize("result", ["dd", "ds", "ss"])
@pytest.mark.parametrize("last", ["", ";split(g,g0,g1,5)", ";parallelize(g,CPUThread,NoRaces)"])
def test_a_fused_loop_keeps_its_order_where_one_of_its_variables_is_summed_apart(result, last):
    """The sum of the b is computed first; C is stored by columns j, then rows i."""
    schedule = f"reorder(j,i,k);fuse(i,k,f);fuse(j,f,g){last}"
    formats = {"X": result, "C": "ds", "b": "d"}
    program = custard.compile("X(i,j) = C(j,i) * b(k)", formats, schedule, "c")
    c, b = matrix(7, 9, 1), np.arange(1.0, 5)
    for threads in (1, 3):
        found = program.run({"C": c, "b": b}, threads=threads)
        found.validate()
        np.testing.assert_array_equal(found.to_numpy(), 10 * c.T)


@pytest.mark.parametrize("form", ["s", "u"])
@pytest.mark.parametrize("split", ["split(p,p0,p1,3)", "split(p,p0,p1,100)", "divide(p,p0,p1,3)"])
@pytest.mark.parametrize("last", ["", ";reorder(p1,p0)", ";reorder(p1,p0);split(p0,q0,q1,2)"])
def test_positions_of_a_tensor_without_entries_leave_all_coordinates(form, split, last):
    formats = {"y": "d", "a": form, "b": "d"}
    schedule = f"pos(i,p,a);{split}{last}"
    program = custard.compile("y(i) = b(i) - a(i)", formats, schedule, "c")
    b = np.array([3.0, 0, 7, 5, 1])
    for a in (np.zeros(5), np.array([0.0, 0, 2, 0, 0]), np.arange(5.0)):
        np.testing.assert_array_equal(program.run({"a": a, "b": b}).to_numpy(), b - a)


@pytest.mark.parametrize("form", ["ds", "ss", "uq"])
@pytest.mark.parametrize(
    "schedule",
    [
        "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,8)",
        "fuse(i,j,f);pos(f,p,A);divide(p,p0,p1,5)",
        "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,8);reorder(p1,p0)",
        "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,2000000000);reorder(p1,p0)",
        "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,8);fuse(p0,p1,g)",
        "pos(j,p,A);split(p,p0,p1,2)",
        "pos(i,p,A);split(p,p0,p1,3)",
        "pos(i,p,A);coord(p,c);split(c,c0,c1,3)",
    ],
)
def test_loops_over_positions_compute_the_same(form, schedule):
    program = custard.compile(MATVEC, {"y": "d", "A": form, "x": "d"}, schedule, "c")
    for rows in (23, 1, 0):
        a, x = matrix(rows, 11, 2), np.arange(1.0, 12)
        a[3:9] = 0
        np.testing.assert_array_equal(program.run({"A": a, "x": x}).to_numpy(), a @ x)


def test_a_tile_of_positions_has_as_many_entries_as_it_is_told():
    """All of a row of 64 entries, and of 64 rows of one, is shared out alike."""
    schedule = "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,16)"
    program = custard.compile(MATVEC, {"y": "d", "A": "ds", "x": "d"}, schedule, "c")
    assert "parent_int32_t(A_segments1" in program.source
    a = sp.csr_array(np.vstack([np.ones((1, 64)), np.eye(64)]))
    found = program.run({"A": a, "x": np.ones(64)}).to_numpy()
    np.testing.assert_array_equal(found, [64, *[1] * 64])


@pytest.mark.parametrize("result", ["ds", "ss", "sd"])
@pytest.mark.parametrize(
    "schedule",
    [
        "split(i,i0,i1,4)",
        "split(i,i0,i1,4);split(j,j0,j1,3)",
        "split(i,i0,i1,4);split(j,j0,j1,3);reorder(i0,j0,i1,j1)",
        "split(i,i0,i1,4);reorder(i1,i0)",
        "fuse(i,j,f);split(f,f0,f1,5)",
        "fuse(i,j,f);pos(f,p,B);split(p,p0,p1,5)",
        "fuse(i,j,f);pos(f,p,B);split(p,p0,p1,5);fuse(p0,p1,g)",
        "pos(j,p,B);split(p,p0,p1,2)",
        "pos(j,p,C);divide(p,p0,p1,2)",
    ],
)
def test_merged_operands_and_appended_results(result, schedule):
    b, c = matrix(13, 9, 3), matrix(13, 9, 4)
    program = custard.compile(ADDED, {"X": result, "B": "ds", "C": "ss"}, schedule, "c")
    found = program.run({"B": b, "C": c})
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), b + c)


@pytest.mark.parametrize("result", ["ds", "dd"])
@pytest.mark.parametrize(
    "schedule",
    [
        "split(k,k0,k1,3);reorder(k0,i,j,k1)",
        "split(i,i0,i1,3);split(k,k0,k1,3);split(j,j0,j1,3);reorder(i0,j0,k0,i1,k1,j1)",
        "fuse(i,k,f);pos(f,p,B);split(p,p0,p1,4)",
        "fuse(i,k,f);pos(f,p,B);split(p,p0,p1,4);reorder(p0,p1,j)",
        "reorder(k,i,j);split(i,i0,i1,2)",
    ],
)
def test_products_of_matrices(result, schedule):
    b, c = matrix(7, 11, 5), matrix(11, 8, 6)
    program = custard.compile(MATMUL, {"X": result, "B": "ds", "C": "ds"}, schedule, "c")
    found = program.run({"B": b, "C": c})
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), b @ c)


def test_guards_are_left_out_where_a_loop_counts_to_a_constant():
    program = custard.compile(MATVEC, {"A": "dd"}, "split(j,j0,j1,4);reorder(j1,i,j0)", "c")
    assert "for (int64_t j1 = 0; j1 < 4; j1++)" in program.source


def test_unroll_asks_the_compiler():
    program = custard.compile(MATVEC, {"A": "dd", "x": "d"}, "unroll(j,4)", "c")
    assert "#pragma GCC unroll 4\n" in program.source


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        ("bound(i,ib,3,MaxExact)", None),
        ("bound(i,ib,3,MaxConstraint)", None),
        ("bound(i,ib,1,MinExact)", None),
        ("bound(i,ib,1,MinConstraint)", None),
        ("bound(i,ib,0,MinConstraint)", None),
        ("bound(i,ib,0,MinExact)", "i has its first value at 1, and bound says at 0"),
        ("bound(i,ib,0,MaxExact)", "i has 3 values, and bound says that there are 0"),
        ("bound(i,ib,4,MaxExact)", "i has 3 values, and bound says that there are 4"),
        ("bound(i,ib,2,MaxConstraint)", "i has 3 values, and bound says that there are 2 at most"),
        ("bound(i,ib,2,MinExact)", "i has its first value at 1, and bound says at 2"),
        ("bound(i,ib,2,MinConstraint)",
         "i has its first value at 1, and bound says not before at 2"),
    ],
)  # fmt: skip
def test_bounds_are_checked_when_inputs_are_there(bound, message):
    a = np.array([[0.0, 0], [1, 0], [0, 2]])
    program = custard.compile(MATVEC, {"A": "ds", "x": "d"}, bound, "c")
    if message is None:
        assert program.run({"A": a, "x": np.ones(2)}).to_numpy().tolist() == [0, 1, 2]
        return
    with pytest.raises(UserError) as error:
        program.run({"A": a, "x": np.ones(2)})
    number = bound.split(",")[2]
    place = " " * bound.index(number)
    holds = message.split(" ")[2] if "values" in message else "1"
    hint = f"{bound.replace(number, holds)} holds of these inputs"
    assert str(error.value) == f"{message}\n  {bound}\n  {place}^\nhint: {hint}"


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("split(i,i0,i1,4);bound(i1,ib,5,MaxExact)",
         "i1 has 4 values, and bound says that there are 5"),
        ("pos(j,p,A);split(p,p0,p1,4);bound(p0,pb,5,MaxExact)",
         "bound cannot set the extent of p0, which is the number of positions of A"),
        ("pos(j,p,A);split(p,p0,p1,4);bound(p1,pb,0,MinExact)",
         "bound cannot tell the first value of p1, which goes over positions of A"),
        ("pos(j,p,A);pos(p,q,A)", "p goes over positions already, those of A"),
        ("pos(i,p,x)", "x has no loop i"),
        ("coord(i,p)", "coord needs a loop over positions, and i goes over coordinates"),
        ("fuse(j,i,f)", "fuse needs i directly inside of j, and the loops are i, j"),
        ("parallelize(i,Lanes,4)", "target c has no Lanes, which is for target sam"),
    ],
)  # fmt: skip
def test_preconditions(schedule, message):
    with pytest.raises(UserError) as error:
        custard.compile(MATVEC, {"A": "ds", "x": "d"}, schedule, "c")
    assert str(error.value).split("\n")[0] == message


def test_under_strict_a_loop_over_positions_is_no_inner_loop_of_fuse():
    schedule = "pos(j,p,A);split(p,p0,p1,2);fuse(i,p0,f)"
    with pytest.raises(UserError) as error:
        custard.compile(MATVEC, {"A": "ds", "x": "d"}, schedule, "c", strict=True)
    assert str(error.value) == (
        "fuse cannot have p0 as the inner loop: it goes over the positions of A, whose number "
        f"differs among the values of the outer loop\n  {schedule}\n{' ' * 37}^^\n"
        "hint: fuse loops over coordinates, and take the fused loop to positions with pos"
    )


def test_a_level_that_does_not_number_its_entries_has_no_positions():
    with pytest.raises(UserError) as error:
        custard.compile(MATVEC, {"A": "dh"}, "pos(j,p,A)", "c")
    assert str(error.value) == (
        "pos cannot take j to the positions of A: its level there is hashed, which does not number "
        "its entries in order\n  pos(j,p,A)\n          ^\n"
        "hint: a level that does is dense or compressed or compressed non-unique or singleton or "
        "singleton non-unique"
    )


@pytest.mark.parametrize(
    ("schedule", "note"),
    [
        ("pos(j,p,A);fuse(i,p,f)", "p goes over coordinates, as it is fused"),
        ("pos(j,p,A);split(p,p0,p1,2);fuse(i,p0,f)", "p goes over coordinates, as p0 is fused"),
        ("split(j,j0,j1,2);pos(j1,p,A)", "p goes over coordinates, as j1 was split before"),
        ("pos(j,p,A);split(p,p0,p1,2);reorder(p0,i,p1)",
         "p goes over coordinates, as the positions of A there are known only inside of i"),
        ("split(i,i0,i1,2);unroll(i,2)", "unroll(i,2) is passed over, as i is i0, i1 now"),
    ],
)  # fmt: skip
def test_notes(schedule, note):
    a = matrix(5, 7, 8)
    program = custard.compile(MATVEC, {"A": "ds", "x": "d"}, schedule, "c")
    assert note in program.notes
    found = program.run({"A": a, "x": np.ones(7)}).to_numpy()
    np.testing.assert_array_equal(found, a.sum(axis=1))


def test_positions_of_a_tensor_that_went_into_a_workspace():
    """The values go through a workspace over j: the loops that read it have no positions of A."""
    schedule = ["pos(j,jpos,A)", "split(jpos,jpos0,jpos1,3)", "reorder(i,jpos0,k,jpos1)"]
    formats = {"Y": "ds", "A": "ds", "X": "dd"}
    program = custard.compile("Y(i,j) = A(i,j) * X(i,k) * X(j,k)", formats, schedule, target="c")
    a, x = matrix(9, 9, 3), matrix(9, 4, 4)
    a[2] = 0
    found = program.run({"A": a, "X": x})
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), a * (x @ x.T))


@pytest.mark.parametrize("result", ["dd", "ds"])
@pytest.mark.parametrize(
    "schedule",
    [
        "pos(k,p,B);fuse(p,j,f);split(f,f0,f1,3)",
        "pos(k,p,B);fuse(p,j,f);split(f,f0,f1,3);reorder(f1,f0)",
        "pos(k,p,B);split(p,p0,p1,4);fuse(p1,j,f);split(f,f0,f1,3);reorder(i,p0,f1,f0)",
        "pos(k,p,B);split(p,p0,p1,4);fuse(p0,p1,f);fuse(f,j,g);split(g,g0,g1,3)",
        "pos(k,p,B);split(p,p0,p1,4);reorder(i,p0,j,p1);fuse(j,p1,f);split(f,f0,f1,3)",
        "pos(k,p,B);split(p,p0,p1,4);reorder(i,p0,j,p1);fuse(j,p1,f);fuse(p0,f,g);split(g,g0,g1,3)",
        "fuse(i,k,f);pos(f,p,B);split(p,p0,p1,7);fuse(p1,j,g);split(g,g0,g1,5);reorder(p0,g1,g0);"
        "parallelize(p0,CPUThread,Atomics)",
    ],
)
def test_loops_over_positions_that_are_fused(result, schedule):
    b, c = matrix(7, 11, 5), matrix(11, 5, 6)
    program = custard.compile(MATMUL, {"X": result, "B": "ds", "C": "dd"}, schedule, "c")
    found = program.run({"B": b, "C": c}, threads=3)
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), b @ c)


@pytest.mark.parametrize("columns", [0, 1, 5])
@pytest.mark.parametrize("schedule", ["split(j,j0,j1,4)", "pos(j,p,A);split(p,p0,p1,2)"])
def test_rows_without_any_tile_are_empty(columns, schedule):
    program = custard.compile("X(i,j) = A(i,j)", {"X": "ds", "A": "ds"}, schedule, "c")
    assert "resized_zero(X->segments1" in program.source
    a = matrix(40, columns, 5)
    found = program.run({"A": a})
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), a)


@pytest.mark.parametrize(
    ("schedule", "note"),
    [
        ("split(i,i,i1,2)", "the loop i of split(i,i,i1,2) is called i0, as there was one i"),
        ("fuse(i,j,i);split(i,i0,i1,5)",
         "the loop i of fuse(i,j,i) is called i0, as there was one i"),
        ("split(i,j,i1,2);split(j,j,i,2)",
         "the loop j of split(i,j,i1,2) is called j0, as there was one j"),
    ],
)  # fmt: skip
def test_a_name_that_is_taken_stands_for_the_new_loop(schedule, note):
    a = matrix(5, 7, 8)
    program = custard.compile(MATVEC, {"A": "ds", "x": "d"}, schedule, "c")
    assert note in program.notes
    found = program.run({"A": a, "x": np.ones(7)}).to_numpy()
    np.testing.assert_array_equal(found, a.sum(axis=1))
    with pytest.raises(UserError, match="which is or was a loop already"):
        custard.compile(MATVEC, {"A": "ds", "x": "d"}, schedule, "c", strict=True)


def test_a_sum_that_has_one_of_two_fused_loops_leaves_the_other():
    """The second sum has l and not i: its loops are those of l, then the loop over i."""
    program = custard.compile(
        "X(l,i) = B(k) * D(i) + C(k,l)",
        {"X": "ss", "B": "s", "C": "ss"},
        "fuse(l,i,f);split(f,g,h,4)",
        "c",
    )
    b, c, d = matrix(1, 5, 3)[0], matrix(5, 4, 4), matrix(1, 6, 5)[0]
    found = program.run({"B": b, "C": c, "D": d})
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), b.sum() * d + c.sum(axis=0)[:, None])


@pytest.mark.parametrize(
    "schedule",
    [
        "pos(j,p,C);split(p,p0,p1,3)",
        "pos(j,p,C);divide(p,p0,p1,2)",
        "pos(j,p,C);split(p,p0,p1,4);split(p1,q0,q1,2)",
        "pos(i,p,C);split(p,p0,p1,3)",
        "fuse(i,j,f);pos(f,p,C);split(p,p0,p1,3);parallelize(p0,CPUThread,Atomics)",
        "fuse(i,j,f);pos(f,p,C);divide(p,p0,p1,3)",
    ],
)
def test_coordinates_of_others_where_a_fiber_has_no_positions(schedule):
    """Empty rows of C, or an empty C, have a tile for the coordinates of B."""
    b = np.arange(12.0).reshape(3, 4)
    formats = {"X": "ds", "B": "dd", "C": "ss" if "pos(i" in schedule else "ds"}
    program = custard.compile("X(i,j) = B(i,j) + C(i,j)", formats, schedule, "c")
    for row in ([4.0, 0, 3, 2], [0.0, 0, 0, 0]):
        c = np.array([[0.0] * 4, row, [0.0] * 4])
        np.testing.assert_array_equal(program.run({"B": b, "C": c}).to_numpy(), b + c)


@pytest.mark.parametrize(
    "schedule",
    [
        "split(i,i0,i1,2);reorder(i1,i0,j);fuse(i1,i0,f)",
        "split(i,i0,i1,2);reorder(i1,i0,j);fuse(i1,i0,f);split(f,f0,f1,3)",
        "split(j,j0,j1,2);reorder(i,j1,j0);fuse(j1,j0,f)",
        "split(i,i0,i1,2);split(j,j0,j1,2);reorder(i0,j0,i1,j1);fuse(i0,j0,f)",
        "split(i,i0,i1,2);reorder(i0,j,i1);fuse(j,i1,f)",
    ],
)
def test_fused_tiles_that_are_out_of_order_go_through_a_workspace(schedule):
    a = matrix(7, 9, 3)
    for result in ("ds", "uq"):
        program = custard.compile("X(i,j) = A(i,j)", {"X": result, "A": "ds"}, schedule, "c")
        found = program.run({"A": a})
        found.validate()
        np.testing.assert_array_equal(found.to_numpy(), a)


@pytest.mark.parametrize("levels", ["ds", "ss"])
def test_a_tensor_without_entries_has_no_tiles_but_its_result_has_rows(levels):
    schedule = "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,4)"
    formats = {"X": "ds", "A": levels}
    program = custard.compile("X(i,j) = A(i,j)", formats, schedule, "c")
    found = program.run({"A": np.zeros((8, 5))})
    found.validate()
    assert (found.shape, found.nnz) == ((8, 5), 0)
