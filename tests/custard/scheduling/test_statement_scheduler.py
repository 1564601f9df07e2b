import numpy as np
import pytest

import custard
from custard import UserError
from sam.support import c_compiler

SDDMM = "A(i,j) = B(i,j) * C(i,k) * D(k,j)"
SPGEMM = "A(i,j) = B(i,k) * C(k,j)"
MATVEC = "y(i) = A(i,j) * x(j)"
MTTKRP = "A(i,j) = B(i,k,l) * D(l,j) * C(k,j)"


def statements(expression, *schedule, formats=None):
    program = custard.compile(expression, formats, list(schedule))
    return [str(statement) for statement in program.statements]


def test_variables_used_only_in_a_part_are_reduced_in_the_part():
    assert statements(MTTKRP, "reorder(i,k,l,j)", "precompute(B(i,k,l)*D(l,j),j,j)") == [
        "forall(i) forall(k) forall(l) forall(j) workspace(i,j,k) = sum(l, B(i,k,l) * D(l,j))",
        "forall(i) forall(k) forall(j) A(i,j) = sum(k, workspace(i,j,k) * C(k,j))",
    ]


def test_a_variable_named_by_precompute_is_reduced_outside_of_the_part():
    assert statements(SPGEMM, "reorder(i,j,k)", "precompute(B(i,k)*C(k,j),k,k,w)") == [
        "forall(i) forall(j) forall(k) w(i,j,k) = B(i,k) * C(k,j)",
        "forall(i) forall(j) forall(k) A(i,j) = sum(k, w(i,j,k))",
    ]


def test_the_loop_of_a_workspace_may_have_its_own_name_and_commands():
    assert statements(
        SPGEMM, "reorder(i,k,j)", "precompute(B(i,k)*C(k,j),j,jw)", "split(jw,j0,j1,4)"
    ) == [
        "forall(i) forall(k) forall(j0) forall(j1) "
        "workspace(i,j0,j1) = sum(k, B(i,k) * C(k,j0,j1))",
        "forall(i) forall(j) A(i,j) = workspace(i,j)",
    ]


def test_a_derived_loop_may_be_named():
    assert statements("y(i) = a(i) * b(i)", "split(i,i0,i1,4)", "precompute(a(i)*b(i),i1,w)") == [
        "forall(i0) forall(w) workspace(i0,w) = a(i0,w) * b(i0,w)",
        "forall(i0) forall(i1) y(i0,i1) = workspace(i0,i1)",
    ]


def test_tiles_of_two_sizes_go_outside():
    (found,) = statements(SPGEMM, "reorder(i,k,j)", "tile(8,4)")
    loops = " ".join(f"forall({loop}{level})" for level in (2, 1, 0) for loop in "ikj")
    assert found == (
        f"{loops} A(i2,i1,i0,j2,j1,j0) = "
        "sum(k2, k1, k0, B(i2,i1,i0,k2,k1,k0) * C(k2,k1,k0,j2,j1,j0))"
    )
    assert statements(SPGEMM, "reorder(i,k,j)", "tile(8,4)", "reorder(j0,i0)") != [found]


def test_the_loops_of_tiles_get_names_that_are_free():
    (found,) = statements("y(i,i1) = A(i,i1)", "tile(4)")
    assert found.startswith("forall(i10) forall(i11) forall(i0) forall(i100) ")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("tile(4,4)", "a tile of 4 does not go into one of 4"),
        ("tile(0)", "must be a whole number from 1"),
        ("tile(i)", "must be a whole number"),
    ],
)
def test_mistakes_in_tiles(command, words):
    with pytest.raises(UserError, match=words):
        statements(SPGEMM, command)


def test_a_workspace_may_be_read_by_another_workspace():
    found = statements(
        "y(i) = a(i) * b(i) * c(i) + d(i)",
        "precompute(a(i)*b(i)*c(i),i,i)",
        "precompute(c(i)*a(i),i,i)",
    )
    assert [text.partition(") ")[2] for text in found] == [
        "workspace2(i) = c(i) * a(i)",
        "workspace(i) = b(i) * workspace2(i)",
        "y(i) = workspace(i) + d(i)",
    ]


def test_workspaces_with_all_coordinates_are_dense():
    program = custard.compile(
        SPGEMM,
        {"B": "ds:0,1", "C": "dd:0,1"},
        ["reorder(i,k,j)", "precompute(B(i,k)*C(k,j),j,j)"],
    )
    assert program.notes[0] == (
        "workspace(i,j) = sum(k, B(i,k) * C(k,j)) is computed before, stored as dd:0,1"
    )


OUTER = ["reorder(k,i,j)", "precompute(B(i,k)*C(k,j),k,kw,Y)", "reorder(i,k,j)"]


def test_a_workspace_may_have_a_format():
    """Its modes are those that the note tells; the linked list is written as the loops come."""
    program = custard.compile(SPGEMM, {"Y": "dls:0,2,1"}, OUTER)
    assert [str(statement) for statement in program.statements] == [
        "forall(kw) forall(i) forall(j) Y(i,j,kw) = B(i,kw) * C(kw,j)",
        "forall(i) forall(k) forall(j) A(i,j) = sum(k, Y(i,j,k))",
    ]
    assert program.notes == (
        "Y(i,j,k) = B(i,k) * C(k,j) is computed before, stored as dls:0,2,1",
        "B(i,kw), stored as ss:0,1, is transposed to 1,0 before the run",
        "Y(i,j,kw) is written in the order of the loops: its level at kw is a linked list",
    )
    B, C = np.arange(12).reshape(3, 4) % 5, np.arange(20).reshape(4, 5) % 3
    assert np.array_equal(program.run({"B": B, "C": C}).to_numpy(), B @ C)


@pytest.mark.parametrize(
    ("formats", "target", "what"),
    [
        ({"Y": "dl"}, "sam", "Y has 3 modes, but its format has 2 levels"),
        ({"Y": "drs"}, "sam", "level 1 of the result Y is range (r), which supports neither "
         "append nor insert"),
        ({"Z": "dls"}, "sam", "a format is given for Z, which the expression does not use"),
        ({"Y": "dls"}, "c", "Y has 1 mode, but its format has 3 levels"),
    ],
)  # fmt: skip
def test_mistakes_in_the_format_of_a_workspace(formats, target, what):
    with pytest.raises(UserError) as caught:
        custard.compile(SPGEMM, formats, OUTER, target)
    assert caught.value.what == what


def test_without_a_reorder_the_loops_are_in_the_order_of_storage():
    assert statements(SPGEMM, "split(j,j0,j1,4)")[0].startswith(
        "forall(i) forall(k) forall(j0) forall(j1) "
    )


def test_commands_follow_one_another():
    assert statements(
        SPGEMM, "split(i,i0,i1,4)", "divide(i1,i10,i11,2)", "reorder(k,i11)", "split(k,k0,k1,2)"
    ) == [
        "forall(i0) forall(i10) forall(k0) forall(k1) forall(j) forall(i11) "
        "A(i0,i10,i11,j) = sum(k0, k1, B(i0,i10,i11,k0,k1) * C(k0,k1,j))"
    ]


def test_a_name_that_is_taken_stands_for_the_new_loop():
    assert statements(SPGEMM, "split(i,i,j,4)", "reorder(j,i)") == [
        "forall(j0) forall(i0) forall(j) forall(k) A(i0,j0,j) = sum(k, B(i0,j0,k) * C(k,j))"
    ]


def test_a_workspace_is_written_with_the_variables_that_outer_loops_leave():
    parts = ["precompute(C(k,l)*D(l,j),j,j)", "precompute(workspace(j)*B(i,k),j,j)"]
    assert statements("A(i,j) = C(k,l) * D(l,j) * B(i,k)", *parts)[1:] == [
        "forall(i) forall(k) forall(j) workspace2(i,j) = sum(k, workspace(k,j) * B(i,k))",
        "forall(i) forall(j) A(i,j) = workspace2(i,j)",
    ]


@pytest.mark.parametrize("target", ["sam", "c"])
@pytest.mark.parametrize("unit", ["Lanes", "CPUThread", "CPUVector", "GPUBlock", "GPUThread"])
def test_units_that_the_target_lacks_are_ignored_if_asked_for(target, unit):
    command = f"parallelize(i0,{unit},{4 if unit == 'Lanes' else 'Atomics'})"
    schedule = ["split(i,i0,i1,2)", command]
    has = {"sam": ("Lanes",), "c": ("CPUThread", "CPUVector")}[target]
    if unit not in has:
        with pytest.raises(UserError, match=f"target {target} has no {unit}, which is for "):
            custard.compile(SPGEMM, None, schedule, target)
    program = custard.compile(SPGEMM, None, schedule, target, ignore_units=True)
    note = f"{command} is passed over: target {target} has no {unit}"
    assert (note in program.notes) == (unit not in has)
    b = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(program.run({"B": b, "C": b.T}).to_numpy(), b @ b.T)


@pytest.mark.parametrize("command", ["parallelize(i,GPUBlock,NoRaces)", "unroll(i,4)"])
def test_ignored_commands_may_name_a_loop_that_was_split(command):
    program = custard.compile(SPGEMM, None, ["split(i,i0,i1,2)", command], ignore_units=True)
    assert any(note.startswith(f"{command} is passed over: ") for note in program.notes)


@pytest.mark.parametrize("command", ["parallelize(l,GPUBlock,NoRaces)", "unroll(l,4)"])
def test_ignored_commands_of_an_unknown_loop_are_refused(command):
    with pytest.raises(UserError, match="names l, which is not a loop"):
        custard.compile(SPGEMM, None, command, ignore_units=True)


def test_pos_leaves_a_loop_that_scans_positions_anyway():
    assert statements(SDDMM, "pos(j,p,B)", "coord(p,c)") == [
        "forall(i) forall(k) forall(c) A(i,c) = sum(k, B(i,c) * C(i,k) * D(k,c))"
    ]


def test_equal_shares_of_entries_are_a_loop_of_one_tensor():
    shares = ("fuse(i,j,f)", "pos(f,p,A)", "split(p,p0,p1,4)")
    assert statements(MATVEC, *shares) == [
        "forall(p0) forall(i) forall(j) y(i) = sum(p0, j, A(p0,i,j) * x(j))"
    ]
    assert statements(MATVEC, *shares, "reorder(p1,p0)") == [
        "forall(i) forall(j) forall(p0) y(i) = sum(p0, j, A(p0,i,j) * x(j))"
    ]
    assert statements(MATVEC, "pos(j,p,A)", "divide(p,p0,p1,2)") == [
        "forall(i) forall(p0) forall(p1) y(i) = sum(p0, p1, A(p0,i,p1) * x(p1))"
    ]
    assert statements(MATVEC, *shares, "split(p1,q0,q1,2)", "split(p0,a,b,3)") == [
        "forall(a) forall(b) forall(q0) forall(i) forall(j) "
        "y(i) = sum(q0, b, a, j, A(a,b,q0,i,j) * x(j))"
    ]


def test_a_sum_over_shares_stands_where_each_point_is_in_one_share():
    positions = ("pos(i,p,b)", "split(p,s,t,2)")
    for value, due in [
        ("b(i) * c(i)", "sum(s, b(s,t) * c(t))"),
        ("b(i) * b(i)", "sum(s, b(s,t) * b(s,t))"),
        ("-(b(i) + b(i) * c(i))", "sum(s, -(b(s,t) + b(s,t) * c(t)))"),
        ("b(i) / c(i)", "sum(s, b(s,t) / c(t))"),
        ("b(i) * (b(i) / b(i))", "sum(s, b(s,t)) * (sum(s, b(s,t)) / sum(s, b(s,t)))"),
    ]:
        (found,) = statements(f"y(i) = {value}", *positions)
        assert found == f"forall(s) forall(t) y(t) = {due}"
    (found,) = statements("y(i) = A(i,j) * A(i,k)", "pos(i,p,A)", "split(p,s,t,2)")
    assert found.endswith("y(t) = sum(s, sum(j, A(s,t,j)) * sum(k, A'(t,k)))")
    (found,) = statements("y(i) = A(i,j) * A(k,j)", "pos(j,p,A)", "split(p,s,t,2)")
    assert found.endswith("y(i) = sum(s, t, k, A(s,i,t) * A'(k,t))")


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("form", ["ds", "ss", "dd", "sd"])
@pytest.mark.parametrize(
    "schedule",
    [
        "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,4)",
        "fuse(i,j,f);pos(f,p,A);divide(p,p0,p1,3);parallelize(p0,Lanes,3)",
        "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,8);split(p1,q0,q1,2);reorder(q0,p0,q1)",
        "pos(j,p,A);split(p,p0,p1,2);reorder(p0,i,p1)",
        "pos(i,p,A);split(p,p0,p1,4);parallelize(p0,Lanes,2)",
        "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,4);precompute(A(i,j)*x(j),j,j,w)",
    ],
)
def test_shares_give_the_same_values(engine, form, schedule):
    if engine == "compiled" and not c_compiler.available():
        pytest.skip("there is no C compiler")
    random = np.random.default_rng(1)
    program = custard.compile(MATVEC, {"A": form, "x": "d"}, schedule)
    for rows in (9, 1, 0):
        a = random.integers(1, 9, (rows, 7)) * (random.random((rows, 7)) < 0.4)
        x = random.integers(1, 9, 7)
        assert np.array_equal(program.run({"A": a, "x": x}, engine=engine).to_numpy(), a @ x)


def test_shares_of_entries_balance_lanes_that_rows_do_not():
    """One row of 256 entries and 16 of one: a lane has all of the long row, or a quarter of all."""
    a = np.zeros((17, 256))
    a[0], a[np.arange(1, 17), np.arange(1, 17)] = 1, 2
    cycles = []
    for schedule in (
        "parallelize(i,Lanes,4)",
        "fuse(i,j,f);pos(f,p,A);divide(p,p0,p1,4);parallelize(p0,Lanes,4)",
    ):
        program = custard.compile(MATVEC, {"A": "ss", "x": "d"}, schedule)
        run = program.simulate({"A": a, "x": np.arange(256.0)})
        assert np.array_equal(run.output.to_numpy(), a @ np.arange(256.0))
        cycles.append(run.cycles)
    assert cycles[0] > 2 * cycles[1]


def test_a_loop_that_was_split_before_is_shared_out_by_coordinates():
    program = custard.compile(MATVEC, {}, "split(j,j0,j1,4);pos(j1,p,A);split(p,p0,p1,2)")
    assert (
        "p goes over coordinates, as the loop was split before, or does not go through levels one "
        "below the other" in program.notes
    )
    a = np.arange(21.0).reshape(3, 7)
    assert np.array_equal(program.run({"A": a, "x": np.ones(7)}).to_numpy(), a.sum(axis=1))


@pytest.mark.parametrize(
    ("expression", "schedule", "what"),
    [
        (SPGEMM, "split(l,l0,l1,2)", "split names l, which is not a loop"),
        (SPGEMM, "split(i,i0,i0,2)", "split names i0 twice"),
        (SPGEMM, "fuse(i,k,f)", "i and k cannot be fused: A has i alone"),
        (SPGEMM, "fuse(i,j,f)", "fuse needs j directly inside of i, and the loops are i, k, j"),
        (SPGEMM, "fuse(i,i,f)", "fuse names i twice"),
        ("x(i) = A(i,i,j)", "fuse(i,j,f)", "i and j cannot be fused: x has i alone"),
        ("x = A(i,i,j)", "fuse(i,j,f)", "i and j cannot be fused: A has one of them twice"),
        ("x = A(j,i)", "reorder(i,j);fuse(i,j,f)",
         "i and j cannot be fused: A is stored as ss:0,1, j outside of i"),
        ("x = A(i,k,j)", "reorder(i,j,k);fuse(i,j,f)",
         "i and j cannot be fused: A is stored as sss:0,1,2, with other levels between theirs"),
        (SPGEMM, "pos(k,p,D)", "pos names D, which is not a tensor"),
        (SPGEMM, "pos(k,p,A)", "A has no loop k"),
        ("x = a(i) + b(i)", "pos(i,p,a)",
         "pos cannot take i to the positions of a: the loop also goes through coordinates that "
         "a does not store"),
        (SPGEMM, "pos(k,p,B);tile(4)",
         "tile cannot work on p, a loop over the positions of B"),
        (SPGEMM, "pos(k,p,B);fuse(i,p,f)",
         "fuse cannot work on p, a loop over the positions of B"),
        (MATVEC, "fuse(i,j,f);split(f,f0,f1,4)", "i and j cannot be fused: y has i alone"),
        (MATVEC, "fuse(i,j,f);pos(f,p,A)", "i and j cannot be fused: y has i alone"),
        (MATVEC, "fuse(i,j,f);pos(f,p,x)", "x has no loop f"),
        (MATVEC, "reorder(j,i);fuse(j,i,f);pos(f,p,A)", "A has no loop f"),
        (MATVEC, "fuse(i,j,f);pos(f,p,A);split(p,p0,p1,4);bound(p1,b,4,MaxExact)",
         "bound names p1, which stands for the loops i, j"),
        (MATVEC, "fuse(i,j,f);pos(f,p,A);parallelize(p,Lanes,4)",
         "i and j cannot be fused: y has i alone"),
        (SPGEMM, "coord(k,p)", "coord needs a loop over positions, and k goes over coordinates"),
        (SPGEMM, "pos(k,p,B);pos(p,q,C);coord(p,r)",
         "p goes over positions already, those of B"),
        (SPGEMM, "precompute(B(i,k)*D(k,j),j,j)",
         "B(i,k)*D(k,j) does not occur in sum(k, B(i,k) * C(k,j))"),
        (SPGEMM, "precompute(B(i,k),j,j)", "B(i,k) does not use j"),
        (SPGEMM, "precompute(B(i,k),l,l)", "precompute names l, which is not a loop"),
        (SPGEMM, "precompute(B(i,k),k,j)", "precompute names j, which is or was a loop already"),
        (SPGEMM, "precompute(B(i,k),k,k,C)", "C is a tensor already"),
        (SPGEMM, "precompute(B(i,k)*,k,k)", "an operand is missing at the end"),
        ("y = sum(i, sum(j, A(i,j))) + b(i)", "fuse(i,j,f)",
         "i and j cannot be fused: a sum goes over i alone"),
        (SPGEMM, "unroll(k,4)", "target sam does not take unroll: a graph has no loop bodies to "
         "repeat; parallelize(LOOP, Lanes, N) has copies of it work side by side"),
        (MATVEC, "fuse(i,j,f);pos(f,p,A);divide(p,p0,p1,2);bound(p0,b,2,MaxExact)",
         "bound cannot set the extent of p0, which is the number of positions of A"),
        (MATVEC, "fuse(i,j,f);pos(f,p,A);divide(p,p0,p1,2);split(p0,q0,q1,2);"
         "bound(q0,b,2,MaxConstraint)",
         "bound cannot set the extent of q0, which is the number of positions of A"),
        (MATVEC, "fuse(i,j,f);pos(f,p,A);divide(p,p0,p1,2);split(p0,q0,q1,2);"
         "bound(q1,b,0,MinConstraint)",
         "bound cannot tell the first value of q1, which goes over positions of A"),
        (SPGEMM, "assemble(A,Insert)", "target sam does not take assemble: the writers of a "
         "graph always append, or insert where a format does"),
        (SPGEMM, "parallelize(i,CPUThread,NoRaces)",
         "target sam has no CPUThread, which is for target c"),
        (SPGEMM, "parallelize(i,GPUWarp,NoRaces)",
         "target sam has no GPUWarp, which is for GPUs: there is no target cuda yet"),
        (SPGEMM, "parallelize(i,Lanes,NoRaces)",
         "parallelize needs a number of lanes for Lanes, not NoRaces"),
        (SPGEMM, "parallelize(i,CPUThread,4)",
         "parallelize needs a race strategy for CPUThread, not 4"),
        (SPGEMM, "parallelize(l,Lanes,4)", "parallelize names l, which is not a loop"),
        (SPGEMM, "parallelize(i,Lanes,1000)", "parallelize takes 256 lanes at most, not 1000"),
    ],
)  # fmt: skip
def test_mistakes(expression, schedule, what):
    with pytest.raises(UserError) as caught:
        custard.compile(expression, schedule=schedule.split(";"))
    assert caught.value.what == what
    assert caught.value.source is not None
    assert caught.value.span is not None


def test_a_precomputed_part_cannot_have_only_one_of_two_fused_loops():
    with pytest.raises(UserError, match="has l0 alone, which f fuses with k"):
        custard.compile(
            "y(i) = A(i,k,l)",
            schedule=["split(l,l0,l1,2)", "fuse(k,l0,f)", "precompute(A(i,k,l),l1,w)"],
        )


def test_parallelize_over_one_lane_or_none_changes_nothing():
    plain = custard.compile(SPGEMM, schedule="reorder(i,k,j)").graph
    for command in ("parallelize(i,NotParallel,NoRaces)", "parallelize(i,Lanes,1)"):
        assert custard.compile(SPGEMM, schedule=f"reorder(i,k,j);{command}").graph == plain


@pytest.mark.parametrize("command", ["unroll(k,4)", "assemble(A,Insert)"])
def test_commands_about_loop_bodies_and_stores_are_passed_over_with_the_units(command):
    with pytest.raises(UserError) as caught:
        custard.compile(SPGEMM, schedule=command)
    name = command.partition("(")[0]
    assert caught.value.hint == (f"target c takes {name}; --ignore-units passes the command over")
    found = custard.compile(SPGEMM, schedule=command, ignore_units=True)
    assert found.notes[-1].startswith(f"{command} is passed over: ")
    assert found.cin.loops == custard.compile(SPGEMM).cin.loops


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_tiles_are_fused_in_a_sum_that_has_the_variable_again(engine):
    program = custard.compile(
        "X(i,j) = B(j,i) * sum(j, C(j,i))",
        {"B": "dd", "C": "ss:1,0"},
        ["reorder(i,j)", "divide(j,j0,j1,2)", "fuse(j0,j1,f)"],
    )
    b, c = np.arange(1.0, 16).reshape(5, 3), np.arange(-7.0, 8).reshape(5, 3)
    run = program.simulate({"B": b, "C": c}, engine=engine)
    assert np.array_equal(run.output.to_numpy(), (b * c.sum(axis=0)).T)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_shares_inside_of_the_rest_of_an_entry_may_be_split_as_coordinates(engine):
    shares = ["pos(j,p,B)", "split(p,p0,p1,2)", "reorder(p1,p0,i)"]
    program = custard.compile("y(i) = B(i,j)", schedule=[*shares, "divide(p1,x,y0,2)"])
    why = "the positions of B there are known only inside of i"
    assert f"p1 goes over coordinates, as {why}" in program.notes
    b = np.arange(20.0).reshape(4, 5) % 3
    run = program.simulate({"B": b}, engine=engine)
    assert np.array_equal(run.output.to_numpy(), b.sum(axis=1))


@pytest.mark.parametrize("form", ["ddd", "sss"])
def test_shares_may_be_shared_out_below_loops_that_are_fused_later(form):
    schedule = "pos(k,p,B);split(p,a,b,3);fuse(i,j,f);split(b,c,d,2)"
    values = np.arange(30.0).reshape(2, 3, 5) % 7
    run = custard.compile("x = B(i,j,k)", {"B": form}, schedule).simulate({"B": values})
    assert run.output.to_numpy() == values.sum()
