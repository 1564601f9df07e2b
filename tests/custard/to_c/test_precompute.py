"""Parts of an expression that go through workspaces, on target c."""

import numpy as np
import pytest

import custard
from custard import UserError
from tests.custard.to_c.test_derived_loops import matrix

MATMUL = "X(i,j) = A(i,k) * B(k,j)"


@pytest.mark.parametrize("result", ["dd", "ds", "ss"])
@pytest.mark.parametrize(
    "schedule",
    [
        "precompute(A(i,k)*B(k,j),j,j)",
        "reorder(i,k,j);precompute(A(i,k)*B(k,j),j,jw,W);parallelize(i,CPUThread,NoRaces)",
        "precompute(A(i,k)*B(k,j),k,k)",
        "precompute(A(i,k),k,kw)",
        "precompute(A(i,k)*B(k,j),j,jw);split(i,i0,i1,4);unroll(jw,4)",
        "split(j,j0,j1,4);precompute(A(i,k)*B(k,j),j,jw)",
    ],
)
def test_products(result, schedule):
    a, b = matrix(13, 17, 3), matrix(17, 11, 4)
    program = custard.compile(MATMUL, {"X": result, "A": "ds", "B": "ds"}, schedule, "c")
    found = program.run({"A": a, "B": b}, threads=2)
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), a @ b)


@pytest.mark.parametrize(
    ("form", "strategy", "told"),
    [("ds", "Insert", True), ("ds", "Append", False), ("dd", "Insert", False)],
)
def test_insert_has_a_note_where_the_result_is_appended_to(form, strategy, told):
    formats, schedule = {"X": form, "A": "ds", "B": "ds"}, f"reorder(i,k,j);assemble(X,{strategy})"
    notes = custard.compile(MATMUL, formats, schedule.split(";"), "c").notes
    assert any("X is appended to in its order" in note for note in notes) == told


def test_a_workspace_has_no_positions_for_pos():
    a, x = matrix(13, 17, 3), np.arange(1.0, 18)
    schedule = (
        "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,8);precompute(A(i,j)*x(j),f,f);"
        "parallelize(p0,CPUThread,Atomics)"
    )
    formats = {"y": "d", "A": "ds", "x": "d"}
    program = custard.compile("y(i) = A(i,j) * x(j)", formats, schedule, "c")
    found = program.run({"A": a, "x": x}, threads=2)
    np.testing.assert_array_equal(found.to_numpy(), a @ x)


def test_a_workspace_may_be_read_by_another_workspace():
    a, b = matrix(9, 7, 5), matrix(9, 7, 6)
    schedule = "precompute(A(i,j)+B(i,j),j,j);precompute(A(i,j),j,j)"
    program = custard.compile("X(i,j) = A(i,j) + B(i,j)", dict.fromkeys("XAB", "ds"), schedule, "c")
    np.testing.assert_array_equal(program.run({"A": a, "B": b}).to_numpy(), a + b)


@pytest.mark.parametrize(
    ("form", "policy"),
    [
        ("d", "dense"),
        ("s", "coord"),
        ("u", "coord"),
        ("h", "hash"),
        ("bucket", "bucket"),
        ("Coord", "coord"),
    ],
)
def test_the_format_of_a_workspace_tells_its_kind(form, policy):
    schedule = "reorder(i,k,j);precompute(A(i,k)*B(k,j),j,jw,W)"
    formats = {"X": "ds", "A": "ds", "B": "ds"}
    program = custard.compile(MATMUL, {**formats, "W": form}, schedule, "c")
    assert f"X(i,j) goes through a {policy} workspace over j: dense scattering" in program.notes
    a, b = matrix(5, 6, 7), matrix(6, 8, 8)
    np.testing.assert_array_equal(program.run({"A": a, "B": b}).to_numpy(), a @ b)
    same = custard.compile(MATMUL, formats, schedule.replace("jw,W", f"jw,W:{form}"), "c")
    assert same.notes == program.notes


def test_several_variables():
    """The workspace is over all of them, where the others are bound."""
    schedule = "reorder(k,i,j);precompute(A(i,k)*B(k,j),{i,j},{iw,jw},W:hash);split(i,i0,i1,2)"
    program = custard.compile(MATMUL, {"X": "ss", "A": "ds:1,0", "B": "ds"}, schedule, "c")
    assert "X(i,j) goes through a hash workspace over i, j: sparse scattering" in program.notes
    a, b = matrix(5, 6, 7), matrix(6, 8, 8)
    np.testing.assert_array_equal(program.run({"A": a, "B": b}).to_numpy(), a @ b)


def test_a_workspace_of_a_workspace_is_read_only_where_it_has_a_coordinate():
    c, d = matrix(5, 6, 7), np.arange(6.0)
    schedule = "precompute(C(i,j),i,iw,V:bucket);precompute(C(i,j),{j,i},{j,i},W:bucket)"
    formats = {"X": "ds", "C": "ds", "D": "s"}
    program = custard.compile("X(i,j) = 2 * C(i,j) - (C(i,j) - D(j))", formats, schedule, "c")
    np.testing.assert_array_equal(program.run({"C": c, "D": d}).to_numpy(), c + d)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("precompute(A(i,j),j,jw)",
         "A(i,j) does not occur in sum(k, A(i,k) * B(k,j))"),
        ("precompute(A(i,k),j,jw)", "A(i,k) does not use j"),
        ("precompute(A(i,k),x,jw)", "precompute names x, which is not a loop"),
        ("precompute(A(i,k),k,kw,B)", "B is a tensor already"),
        ("precompute(A(i,k),{i,k},k,W)", "precompute names 2 loops and 1 workspace loops"),
        ("precompute(A(i,k),{i,i},{a,b},W)", "the loop of precompute has i twice"),
        ("precompute(A(i,k),{i,},{a,b},W)",
         "the loop of precompute must be a name, or some in braces, not {i,}"),
        ("precompute(A(i,k),{i,k},{a,b},2)", "the workspace of precompute must be a name, not 2"),
        ("precompute(A(i,k),k,kw,W:b)",
         "the workspace W cannot be b: its levels are all dense, all hashed, or those of a list of "
         "coordinates"),
        ("precompute(A(i,k),{i,k,kw,W)", "this { is never closed"),
        ("precompute(A(i,k},k,kw,W)", "this ( is never closed"),
        ("assemble(A,Append)", "assemble names A, and the result is X"),
        ("precompute(A(i,k),k,kw,W);split(kw,k0,k1,4)",
         "split names kw, the loop of a workspace, which stays as it is"),
    ],
)  # fmt: skip
def test_preconditions(schedule, message):
    with pytest.raises(UserError) as error:
        custard.compile(MATMUL, {"A": "ds"}, schedule, "c")
    assert str(error.value).split("\n")[0] == message


@pytest.mark.parametrize("strategy", ["Append", "Insert"])
def test_assemble_changes_no_result(strategy):
    a, b = matrix(5, 6, 7), matrix(6, 8, 8)
    schedule = ["reorder(i,k,j)", f"assemble(X,{strategy})", "parallelize(i,CPUThread,NoRaces)"]
    program = custard.compile(MATMUL, dict.fromkeys("XAB", "ds"), schedule, "c")
    found = program.run({"A": a, "B": b}, threads=3)
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), a @ b)
