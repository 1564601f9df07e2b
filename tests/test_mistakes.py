"""Mistakes of a user: each gives one UserError, whose whole text stands here.

Through Python first, from the expression to the files, then through the command line. Other
refusals of single modules stand in their own tests.
"""

import subprocess
import sys

import numpy as np
import pytest

import custard
import sam
import sim
from custard.cli.command import main
from sam import io
from sam.dot import from_dot, to_dot
from sam.drawing import draw
from sam.support.errors import UserError
from sim.config.hardware import shipped

MATMUL = "X(i,j) = B(i,k) * C(k,j)"
MATVEC = "y(i) = A(i,j) * x(j)"
EXAMPLE = "hint: write, for example, X(i,j) = B(i,k) * C(k,j)"
LEVELS = (
    "d dense, s compressed, u compressed non-unique, q singleton, c singleton non-unique, "
    "h hashed, r range, o offset, b bitvector, l linked list, n run-length"
)
SHIPPED = f"shipped are {', '.join(shipped())}; or give a path to a YAML file"
EYE, ONES = np.eye(4), np.ones(4)
INPUTS = {"A": EYE, "x": ONES}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Every test in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)


def refused(call, *arguments, **options) -> str:
    with pytest.raises(UserError) as error:
        call(*arguments, **options)
    return str(error.value)


def text(*lines: str) -> str:
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        ("", ["the expression is empty", EXAMPLE]),
        ("X(i,j)", ["the expression has no =", "  X(i,j)", "  ^^^^^^", EXAMPLE]),
        ("y = x = z", [
            "the expression has a second =",
            "  y = x = z",
            "        ^",
            "hint: one expression makes one assignment",
        ]),
        ("y == x", [
            "== is not part of the notation",
            "  y == x",
            "    ^^",
            "hint: an assignment is written with = or +=",
        ]),
        (" = x", ["nothing stands before =", "   = x", "   ^", EXAMPLE]),
        ("3 = x", ["a number cannot be assigned to", "  3 = x", "  ^", EXAMPLE]),
        ("a + b = x", [
            "a + b is not one tensor, which is all that can stand before =",
            "  a + b = x",
            "  ^^^^^",
            EXAMPLE,
        ]),
        ("y(i) = x(i", ["this ( is never closed", "  y(i) = x(i", "          ^"]),
        ("y(i) = x(i))", ["this ) closes nothing", "  y(i) = x(i))", "             ^"]),
        ("y(i) = x(i) *", [
            "an operand is missing at the end", "  y(i) = x(i) *", "               ^",
        ]),
        ("y(i) = * x(i)", [
            "an operand is missing before *", "  y(i) = * x(i)", "         ^",
        ]),
        ("y(i) = x(i) z(i)", [
            "an operator is missing before z",
            "  y(i) = x(i) z(i)",
            "              ^",
            "hint: a product is written with *, as in 2 * B(i)",
        ]),
        ("y(i) = x(i) & z(i)", [
            "& is not part of the notation",
            "  y(i) = x(i) & z(i)",
            "              ^",
            "hint: an expression has + - * / and sum(j, ...)",
        ]),
        ("y(i) = x(i);", [
            "; is not part of the notation",
            "  y(i) = x(i);",
            "             ^",
            "hint: an expression is one assignment, and ends without ;",
        ]),
        ("y(i) = x(i), z", [
            ", is not expected here", "  y(i) = x(i), z", "             ^",
        ]),
        ("y(i) = x(i) ** 2", [
            "** is not part of the notation",
            "  y(i) = x(i) ** 2",
            "              ^^",
            "hint: a power is a product of equal factors: B(i) * B(i)",
        ]),
        ("y[i] = x[i]", [
            "[ is not part of the notation",
            "  y[i] = x[i]",
            "   ^",
            "hint: subscripts stand in parentheses: B(i,j)",
        ]),
        ("y(i) = A(i,)", ["a subscript is empty", "  y(i) = A(i,)", "             ^"]),
        ("y(i) = x(i*j)", [
            "j cannot stand in a subscript here",
            "  y(i) = x(i*j)",
            "             ^",
            "hint: a subscript is a sum of index variables times whole numbers, as in A(2*i+k-1,j)",
        ]),
        ("y(i) = x(i) + x(i,j)", [
            "x has 2 subscripts here and 1 in x(i)",
            "  y(i) = x(i) + x(i,j)",
            "                ^^^^^^",
        ]),
        ("y = sum(x(i))", [
            "sum has no variable to sum over",
            "  y = sum(x(i))",
            "      ^^^",
            "hint: write, for example, sum(j, B(i,j))",
        ]),
        ("y = 1e999", ["this number is too large", "  y = 1e999", "      ^^^^^"]),
        (None, [
            "the expression is None, not text",
            'hint: as in custard.compile("X(i,j) = B(i,k) * C(k,j)")',
        ]),
    ],
)  # fmt: skip
def test_expressions(expression, lines):
    assert refused(custard.compile, expression) == text(*lines)


def test_a_whole_number_of_many_digits_is_a_float():
    program = custard.compile(f"y = {10**23} * x")
    assert program.run({"x": 2}).to_numpy() == 2e23
    assert custard.compile(f"y = {2**63 - 1} * x").run({"x": 1}).to_numpy() == 2**63 - 1


FORMATS = 'hint: as in formats={"B": "ds:0,1", "C": "CSR"}'


@pytest.mark.parametrize(
    ("formats", "lines"),
    [
        ({"D": "ss"}, [
            "a format is given for D, which the expression does not use", "hint: one of X, B, C",
        ]),
        ({"B": "s"}, [
            "B has 2 modes, but its format has 1 level",
            "  s",
            "  ^",
            "hint: write 2 levels, as in ss:0,1",
        ]),
        ({"B": "sz"}, [
            "'z' is not a level format", "  sz", "   ^", f"hint: the level formats are {LEVELS}",
        ]),
        ({"B": "dense,compressed"}, [
            "dense,compressed is not a list of level formats",
            "  dense,compressed",
            "  ^^^^^^^^^^^^^^^^",
            "hint: each has a letter: write ds",
        ]),
        ({"B": "ss:0,0"}, [
            "mode 0 repeats in the mode order",
            "  ss:0,0",
            "       ^",
            "hint: each of the modes 0, 1 has one level",
        ]),
        ({"B": "ss:0,2"}, [
            "'2' is not a mode of a tensor with 2 modes",
            "  ss:0,2",
            "       ^",
            "hint: the modes are numbered 0, 1",
        ]),
        ({"B": "ss:0"}, [
            "the format has 2 levels, but its mode order has 1 mode",
            "  ss:0",
            "     ^",
            "hint: write 0,1 in the order of storage",
        ]),
        ({"B": "CRS"}, ["there is no format CRS", "  CRS", "  ^^^", "hint: did you mean CSR?"]),
        ({"B": "CSF(3)"}, ["B has 2 modes, but CSF(3) stores 3", "  CSF(3)", "  ^^^^^^"]),
        ({"B": "DIA"}, [
            "B has 2 modes, but DIA stores 3",
            "  DIA",
            "  ^^^",
            "hint: write B(k,i,j), and give it as sam.Tensor.of(B).diagonals()",
        ]),
        ({"X": "dr"}, [
            "level 1 of the result X is range (r), which supports neither append nor insert",
            "  dr:0,1",
            "   ^",
            "hint: the levels of a result are d dense, s compressed, u compressed non-unique, "
            "q singleton, c singleton non-unique, h hashed, b bitvector, l linked list",
        ]),
        ({"B": ("d", "s")}, ["the format of B is tuple, not text", FORMATS]),
        ({"B": None}, ["the format of B is None, not text", FORMATS]),
        ("B:ss", ["formats is 'B:ss', not a mapping from tensors", FORMATS]),
    ],
)  # fmt: skip
def test_formats(formats, lines):
    assert refused(custard.compile, MATMUL, formats) == text(*lines)


SCHEDULE = 'hint: as in schedule=["reorder(i,j)"]'


@pytest.mark.parametrize(
    ("schedule", "lines"),
    [
        (["redorder(i)"], [
            "there is no scheduling command redorder",
            "  redorder(i)",
            "  ^^^^^^^^",
            "hint: did you mean reorder?",
        ]),
        (["reorder(i,i)"], [
            "reorder names i twice",
            "  reorder(i,i)",
            "            ^",
            "hint: name each loop once",
        ]),
        (["reorder(i,j"], ["this ( is never closed", "  reorder(i,j", "         ^"]),
        (["split(i,i0,i1)"], [
            "split takes 4 arguments, not 3",
            "  split(i,i0,i1)",
            "  ^^^^^^^^^^^^^^",
            "hint: write split(loop, outer loop, inner loop, factor)",
        ]),
        (["split(i,i0,i1,32)", "fuse(i1,k,f)"], [
            "i1 and k cannot be fused: X has i1 alone",
            "  fuse(i1,k,f)",
            "  ^^^^^^^^^^^^",
            "hint: fuse needs the levels of both variables one directly inside of the other in "
            "each tensor that has both; pos, then split, divides the entries of any tensor",
        ]),
        (["parallelize(i,CPUThread,NoRaces)"], [
            "target sam has no CPUThread, which is for target c",
            "  parallelize(i,CPUThread,NoRaces)",
            "                ^^^^^^^^^",
            "hint: parallelize(i,Lanes,4) has 4 copies of a part of the graph work side by side; "
            "--ignore-units passes the command over",
        ]),
        (["locate(B,k)"], [
            "B cannot be located at k: its level there is compressed",
            "  locate(B,k)",
            "  ^^^^^^^^^^^",
            "hint: a level that can locate is dense or hashed",
        ]),
        (["locate(X,i)"], [
            "X cannot be located into: it is stored as ss:0,1, and only dense and hashed "
            "levels can be",
            "  locate(X,i)",
            "  ^^^^^^^^^^^",
            "hint: store it as X:dd",
        ]),
        (["locate(B,j)"], [
            "locate names j, which is not a loop of B",
            "  locate(B,j)",
            "           ^",
            "hint: one of i, k",
        ]),
        (None, ["the schedule is None, not a list of commands", SCHEDULE]),
        ({"reorder": "ij"}, ["the schedule is dict, not a list of commands", SCHEDULE]),
        (["reorder(i,j)", 3], ["a command of the schedule is 3, not text", SCHEDULE]),
    ],
)  # fmt: skip
def test_schedules(schedule, lines):
    assert refused(custard.compile, MATMUL, schedule=schedule) == text(*lines)


def test_unknown_loops():
    assert refused(custard.compile, MATMUL, schedule="reorder(i,q)", strict=True) == text(
        "reorder names q, which is not a loop",
        "  reorder(i,q)",
        "            ^",
        "hint: one of i, j, k",
    )
    assert refused(custard.compile, "a = b", schedule="reorder(i)", strict=True) == text(
        "reorder names i, which is not a loop", "  reorder(i)", "          ^", "hint: there is none"
    )


def test_a_schedule_may_be_one_text():
    one, listed = "reorder(k,i,j)", ["reorder(k,i,j)"]
    assert (
        custard.compile(MATMUL, schedule=one).graph
        == custard.compile(MATMUL, schedule=listed).graph
    )


@pytest.mark.parametrize(
    ("dims", "lines"),
    [
        ({"z": 3}, [
            "dims gives an extent for z, which the expression does not use",
            "hint: one of i, j, k",
        ]),
        ({"i": -1}, ["dims gives i the extent -1, not a whole number of at least 0"]),
        ({"i": "5"}, ["dims gives i the extent '5', not a whole number of at least 0"]),
        ({"i": 2.5}, ["dims gives i the extent 2.5, not a whole number of at least 0"]),
        ([("i", 5)], ["dims is list, not a mapping from variables", 'hint: as in dims={"i": 5}']),
    ],
)  # fmt: skip
def test_dims(dims, lines):
    assert refused(custard.compile, MATMUL, dims=dims) == text(*lines)


def test_dims_may_be_integers_of_numpy():
    program = custard.compile("y(i) = 3", dims={"i": np.int64(2)})
    assert program.run().to_numpy().tolist() == [3, 3]
    assert type(program.dims["i"]) is int


def test_targets():
    assert (
        refused(custard.compile, MATMUL, target="ptx") == "unknown target ptx\nhint: one of sam, c"
    )


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"strict": True, "schedule": "reorder(j,i)"}, [
            "A(i,j), stored as ds:0,1, is transposed to 1,0 before the run",
            "hint: write the format A:ds:1,0, or drop strict to let the compiler do it",
        ]),
        ({"schedule": "parallelize(i,GPUBlock,NoRaces)"}, [
            "target c has no GPUBlock, which is for GPUs",
            "  parallelize(i,GPUBlock,NoRaces)",
            "                ^^^^^^^^",
            "hint: parallelize(i,CPUThread,NoRaces) shares the loop out to threads; "
            "--ignore-units passes the command over",
        ]),
        ({"formats": {"y": "r"}}, [
            "level 0 of the result y is range (r), which supports neither append nor insert",
        ]),
    ],
)  # fmt: skip
def test_programs_on_target_c(options, lines):
    assert refused(custard.compile, MATVEC, target="c", **options).startswith(text(*lines))


def test_fast_math_on_target_sam():
    assert refused(custard.compile, MATVEC, fast_math=True) == text(
        "fast_math has no meaning on target sam", "hint: it is for target c"
    )


@pytest.mark.parametrize(
    ("expression", "schedule", "lines"),
    [
        (MATMUL, ["reorder(i,j,k)"], [
            "C(k,j), stored as ss:0,1, is transposed to 1,0 before the run",
            "hint: write the format C:ss:1,0, or drop strict to let the compiler do it",
        ]),
        ("X(i,j) = A(i,j)", ["reorder(j,i)"], [
            "A(i,j), stored as ss:0,1, is transposed to 1,0 before the run",
            "hint: write the format A:ss:1,0, or drop strict to let the compiler do it",
        ]),
        ("X(i,j) = A(i,j) + A(j,i)", [], [
            "A(j,i), stored as ss:0,1, is transposed to 1,0 before the run",
            "hint: drop strict to let the compiler do it",
        ]),
    ],
)  # fmt: skip
def test_strict(expression, schedule, lines):
    found = refused(custard.compile, expression, schedule=schedule, strict=True)
    assert found == text(*lines)


def test_the_format_that_strict_names_is_enough():
    custard.compile(MATMUL, {"C": "ss:1,0"}, ["reorder(i,j,k)"], strict=True)


TENSORS = "hint: a number, nested lists, a numpy array, scipy.sparse or sam.Tensor"


@pytest.mark.parametrize(
    ("inputs", "lines"),
    [
        (None, ["no input is given for A, x"]),
        ({"A": EYE}, ["no input is given for x"]),
        ({**INPUTS, "xx": ONES}, ["the program has no input xx", "hint: did you mean x?"]),
        ({"A": ONES, "x": ONES}, ["A has 2 modes in the program, and its input has 1 mode"]),
        ({"A": EYE, "x": np.ones(5)}, [
            "the extent of j is 4 by mode 1 of A and 5 by mode 0 of x",
        ]),
        ({"A": EYE, "x": "x.mtx"}, [
            "x: str is not a tensor", f"{TENSORS}; sam.io.read reads a file",
        ]),
        ({"A": EYE, "x": None}, ["x: NoneType is not a tensor", TENSORS]),
        ({"A": EYE, "x": ["a", "b"]}, ["x: values of the type <U1 are not numbers"]),
        ({"A": EYE, "x": [1, 10**30]}, [
            "x: the value 1000000000000000000000000000000 does not fit in 64 bits",
        ]),
        (EYE, ["the inputs are ndarray, not a mapping from names", 'hint: as in {"B": B, "C": C}']),
    ],
)  # fmt: skip
def test_inputs(inputs, lines):
    assert refused(custard.compile(MATVEC).run, inputs) == text(*lines)


def test_modules_that_hints_name_are_there():
    """In a process that has imported no more than a user's program."""
    code = "import custard, sam, sim; sam.io.read, sam.dot.from_dot"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.stderr == b""


def test_extents():
    assert refused(custard.compile("y(i,j) = x(i)").run, {"x": ONES}) == text(
        "no input fixes the extent of j", 'hint: give it in dims, as in dims={"j": 8}'
    )
    assert refused(custard.compile(MATVEC, dims={"j": 5}).run, INPUTS) == (
        "the extent of j is 5 by dims and 4 by mode 1 of A"
    )
    assert refused(custard.compile("x(i) = A(i,i)").run, {"A": np.ones((2, 3))}) == (
        "the extent of i is 2 by mode 0 of A and 3 by mode 1 of A"
    )


def test_an_input_that_its_format_cannot_hold():
    program = custard.compile(MATVEC, {"A": "dq"})
    assert refused(program.run, {"A": np.ones((2, 2)), "x": np.ones(2)}) == text(
        "A: the level cannot be stored as singleton: position 0 above it has 2 coordinates, not 1",
        "  dq",
        "   ^",
    )


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"engine": "compile"}, ["unknown engine compile", "hint: did you mean compiled?"]),
        ({"engine": None}, ["unknown engine None", "hint: one of auto, simpy, compiled"]),
        ({"config": "finit"}, [
            'there is no config "finit"',
            f"hint: did you mean finite? {SHIPPED}",
        ]),
        ({"config": "no.yaml"}, ['cannot read the config "no.yaml": No such file or directory']),
        ({"config": 3}, [
            "the config is int, not a name, a path or a mapping",
            'hint: as in config="finite" or config={"queues": {"depth": 4}}',
        ]),
        ({"config": {"queues": {"dept": 3}}}, [
            'config: unknown key "queues.dept"', "hint: did you mean depth?",
        ]),
        ({"config": {"blocks": {"kinds": {"redcer": {}}}}}, [
            'config: unknown key "blocks.kinds.redcer"', "hint: did you mean reducer?",
        ]),
        ({"config": {"queues": {"depth": "deep"}}}, [
            'config: queues.depth is "deep"; it must be a whole number of at least 1, or '
            '"unbounded"',
        ]),
        ({"overrides": {"depth": 3}}, [
            'overrides: unknown key "depth"', "hint: did you mean queues.depth?",
        ]),
        ({"overrides": {"queues.depth": np.float64(3)}}, [
            'overrides: queues.depth is 3.0; it must be a whole number of at least 1, or '
            '"unbounded"',
        ]),
        ({"overrides": {3: 1}}, [
            "overrides has the key 3, which is not text", 'hint: as in "queues.depth"',
        ]),
        ({"overrides": "queues.depth=1"}, [
            "overrides is str, not a mapping from keys",
            'hint: as in overrides={"queues.depth": 8}',
        ]),
        ({"overrides": {"blocks.names.scan_A_k.latency_cycles": 2}}, [
            'blocks.names sets "scan_A_k", and the graph has no such block',
            "hint: did you mean scan_A_j?",
        ]),
        ({"overrides": {"queues.names.array_x.in_re.depth": 2}}, [
            'queues.names sets "array_x.in_re", and the graph has no such queue',
            "hint: did you mean array_x.in_ref?",
        ]),
        ({"config": {"queues": {"names": {"scan_A_i.rf -> scan_A_j.in_ref": {"depth": 2}}}}}, [
            'queues.names sets "scan_A_i.rf -> scan_A_j.in_ref", and the graph has no such queue',
            "hint: did you mean scan_A_i.ref -> scan_A_j.in_ref?",
        ]),
    ],
)  # fmt: skip
def test_machines(options, lines):
    assert refused(custard.compile(MATVEC).run, INPUTS, **options) == text(*lines)


def test_the_machine_that_was_meant_is_named():
    """A machine has kinds that this graph lacks; integers may be numpy's; names may be ports."""
    overrides = {
        "queues.depth": np.int64(8),
        "blocks.kinds.repeater.latency_cycles": np.int32(2),
        "blocks.names.scan_x_i.latency_cycles": 3,
        "queues.names.array_x.in_ref.depth": 1,
        "queues.names.scan_x_i.ref -> array_x.in_ref.latency_cycles": 4,
    }
    run = sim.simulate(custard.compile("y(i) = x(i)").graph, {"x": ONES}, overrides=overrides)
    assert run.config["queues"]["depth"] == 8
    assert type(run.config["queues"]["depth"]) is int


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize(
    ("level", "lines"),
    [
        ("d", [
            "there is no memory for x(i), which is 4503599627370496, stored as d",
            "hint: compressed levels instead of dense ones",
        ]),
        ("b", [
            "there is no memory for the arrays that the graph stores",
            "hint: compressed levels instead of dense or bitvector ones, or smaller inputs",
        ]),
    ],
)  # fmt: skip
def test_a_result_for_which_there_is_no_memory(engine, level, lines):
    program = custard.compile("x(i) = b(i,j)", {"x": level})
    b = sam.Tensor.from_coo([[3], [0]], [2.0], (2**52, 1))
    assert refused(program.run, {"b": b}, engine=engine) == text(*lines)


def test_a_deadlock_at_a_small_depth():
    """The dropper needs the coordinates of a whole row before it takes that of the row."""
    program = custard.compile(MATVEC, {"A": "ss", "x": "s"})
    given = {"A": [[1, 0], [1, 0], [1, 0]], "x": [0, 1]}
    found = refused(program.run, given, overrides={"queues.depth": 1})
    assert found == text(
        "deadlock after cycle 3: 4 blocks wait for each other",
        "  scan_A_i waits for room on scan_A_i.crd -> drop_i.in_outer (full, 1 token)",
        "  drop_i waits for a token on intersect_j.crd -> drop_i.in_inner_crd (empty)",
        "  intersect_j waits for a token on scan_A_j.crd -> intersect_j.in_crd0 (empty)",
        "  scan_A_j waits for a token on scan_A_i.ref -> scan_A_j.in_ref (empty)",
        "hint: make the full queues deeper, as in --set queues.depth=64",
    )


def test_values_of_a_type_without_the_operation():
    program = custard.compile("y(i) = a(i) - b(i)")
    assert refused(program.run, {"a": ONES > 0, "b": ONES > 1}) == text(
        "subtract has no meaning for bool values", "hint: convert the inputs to int64 first"
    )


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_reducer_that_is_too_small(engine):
    program = custard.compile(MATMUL, schedule="reorder(k,i,j)")
    given = {"B": np.ones((2, 2)), "C": np.ones((2, 2))}
    overrides = {"blocks.kinds.reducer.capacity": 3}
    found = refused(program.run, given, overrides=overrides, engine=engine).splitlines()
    assert "has room for 3 entries, and the sum needs more" in found[0]
    assert found[1:] == [
        "hint: raise blocks.capacity, or reorder the loops so that the sum is further in"
    ]


DOT = to_dot(custard.compile("y(i) = x(i)").graph)
FED = '  "array_x" -> "write_y_vals" [source_port="val", target_port="in_val"'


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("digraph sam {", "digraph sam (", [
            "the text is not DOT: line 1 cannot be read", "  digraph sam (", "              ^",
        ]),
        ('kind="array"', 'kind="aray"', [
            "node array_x is of the unknown kind aray", "hint: did you mean array?",
        ]),
        ('source_port="val"', 'source_port="vals"', [
            "edge array_x.vals -> write_y_vals.in_val names an unknown output port of array_x",
            "hint: did you mean val?",
        ]),
        ('target_port="in_val"', 'target_port="in_crd"', [
            "edge array_x.val -> write_y_vals.in_crd names an unknown input port of write_y_vals",
            "hint: did you mean in_val?",
        ]),
        (FED, f"//{FED}", ["input write_y_vals.in_val has no producer"]),
        ('"array_x" -> "write_y_vals"', '"aray_x" -> "write_y_vals"', [
            'edge "aray_x" -> "write_y_vals": there is no node "aray_x"',
        ]),
    ],
)  # fmt: skip
def test_graphs(old, new, lines):
    changed = DOT.replace(old, new, 1)
    assert changed != DOT
    assert refused(lambda: sim.simulate(from_dot(changed), {"x": ONES})) == text(*lines)


def test_other_objects_than_graphs():
    assert refused(sim.simulate, custard.compile(MATVEC), INPUTS) == text(
        "SamProgram is not a graph", "hint: program.graph, or sam.dot.from_dot(text)"
    )


HEADER = "%%MatrixMarket matrix coordinate real general\n"
SUFFIXES = "hint: one of .mtx, .ttx, .tns, .smtx, .npz, .npy"


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("no.mtx", None, ["cannot read no.mtx: No such file or directory"]),
        ("folder.mtx", "folder", ["cannot read folder.mtx: Is a directory"]),
        ("a.mxt", "", [
            'cannot tell the format of a.mxt: ".mxt" is not a known suffix',
            "hint: did you mean .mtx?",
        ]),
        ("a", "", ["cannot tell the format of a: it has no suffix", SUFFIXES + ", .mat, .hb"]),
        ("a.mtx", "hello\n", [
            "a.mtx does not begin with %%MatrixMarket",
            "hint: %%MatrixMarket matrix coordinate real general",
        ]),
        ("a.mtx", HEADER + "2 2 1\n1 1 one\n", [
            'a.mtx, line 3: "one" is not a value of the type float64', "  1 1 one", "      ^^^",
        ]),
        ("a.mtx", HEADER + "2 2 1\n-1 1 1\n", [
            "a.mtx, line 3: the coordinate -1 is outside: coordinates count from 1",
            "  -1 1 1",
            "  ^^",
        ]),
        ("a.mtx", HEADER + "2 2 1\n3 1 1\n", [
            "a.mtx, line 3: the coordinate 3 is outside: mode 0 has the extent 2",
            "  3 1 1",
            "  ^",
        ]),
        ("a.mtx", HEADER + "2 2 1\n1 x 1\n", [
            'a.mtx, line 3: "x" is not a coordinate', "  1 x 1", "    ^",
        ]),
        ("a.mtx", HEADER + "2 2 1\n1 1\n", [
            "a.mtx, line 3: expected 3 numbers, not 2", "  1 1", "  ^^^",
        ]),
        ("a.mtx", HEADER + "2 2 2\n1 1 1\n", [
            "a.mtx, line 2: the sizes say 2 entries, and 1 entry is listed", "  2 2 2", "  ^^^^^",
        ]),
        ("a.tns", "1 1 2\n1 2\n", [
            "a.tns, line 2: expected 3 numbers, not 2", "  1 2", "  ^^^",
        ]),
        ("a.tns", "", [
            "a.tns has no entries, so its shape is not known",
            "hint: give it: sam.io.read(path, shape=(3, 4)), or --dims i=3,j=4",
        ]),
        ("a.npz", "zzz", ["a.npz is not a numpy file"]),
        ("a.npy", "zzz", ["a.npy is not a numpy file"]),
        ("a.npy", np.array(["a"]), ["a.npy: values of the type <U1 are not numbers"]),
    ],
)  # fmt: skip
def test_files_that_are_read(tmp_path, name, content, lines):
    if isinstance(content, np.ndarray):
        np.save(name, content)
    elif content == "folder":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_text(content)
    assert refused(io.read, name) == text(*lines)


@pytest.mark.parametrize(
    ("name", "data", "lines"),
    [
        ("y.txt", ONES, [
            'cannot tell the format of y.txt: ".txt" is not a known suffix',
            "hint: did you mean .ttx?",
        ]),
        ("y.mtx", ONES, [
            "y.mtx: a .mtx file holds a matrix, and this tensor has 1 mode",
            "hint: write a .ttx, .tns or .npz file",
        ]),
        ("y.smtx", EYE * 2, [
            "y.smtx: a .smtx file holds the pattern of a matrix: every value is 1",
            "hint: write a .mtx file",
        ]),
        ("y.tns", ONES * 1j, [
            "y.tns: a .tns file has no complex values", "hint: write a .ttx file",
        ]),
        ("no/y.tns", ONES, ["cannot write no/y.tns: there is no folder no"]),
        ("y.tns", "ones", ["str is not a tensor", f"{TENSORS}; sam.io.read reads a file"]),
    ],
)  # fmt: skip
def test_files_that_are_written(tmp_path, name, data, lines):
    assert refused(io.write, name, data) == text(*lines)
    assert not list(tmp_path.iterdir())


def test_pictures(tmp_path):
    graph = custard.compile("y(i) = x(i)").graph
    assert refused(draw, graph, "g.jpg") == text(
        "cannot draw to g.jpg: its suffix is not that of a picture", "hint: one of .svg, .png, .pdf"
    )
    assert refused(draw, graph, "no/g.svg") == "cannot write no/g.svg: there is no folder no"
    assert not list(tmp_path.iterdir())


GIVEN = ["-i", "A=@random(0.5)", "-i", "x=@dense", "--dims", "i=4,j=4"]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["y(i) = x(i"], ["this ( is never closed", "  y(i) = x(i", "          ^"]),
        ([MATVEC, "-f=D:CSR"], [
            "the expression has no tensor D", "  D:CSR", "  ^", "hint: one of y, A, x",
        ]),
        ([MATVEC, "-f=A:s"], [
            "A has 2 modes, but its format has 1 level",
            "  A:s",
            "    ^",
            "hint: write 2 levels, as in ss:0,1",
        ]),
        ([MATVEC, "--strict", "-s=reorder(i,q)"], [
            "reorder names q, which is not a loop",
            "  reorder(i,q)",
            "            ^",
            "hint: one of i, j",
        ]),
        ([MATVEC, "--strict", "-s=reorder(j,i)"], [
            "A(i,j), stored as ss:0,1, is transposed to 1,0 before the run",
            "hint: write the format A:ss:1,0, or drop strict to let the compiler do it",
        ]),
        ([MATVEC, "--dims", "i=5", "--dims", "j=2,i=6"], [
            "--dims gives i the extent 5, and then 6",
        ]),
        ([MATVEC, "--target", "cuda"], ["unknown target cuda", "hint: one of sam, c"]),
        ([MATVEC, "--engine", "compile"], [
            "unknown engine compile", "hint: did you mean compiled?",
        ]),
        ([MATVEC, "--engine", ""], ["unknown engine ", "hint: one of auto, simpy, compiled"]),
        ([MATVEC, *GIVEN, "--set", "queues.depth"], [
            '"queues.depth" sets nothing', "hint: KEY=VALUE, as in queues.depth=8",
        ]),
        ([MATVEC, *GIVEN, "--set", "depth=8"], [
            'overrides: unknown key "depth"', "hint: did you mean queues.depth?",
        ]),
        ([MATVEC, *GIVEN, "--set", "blocks.names.scan_A_k.latency_cycles=2"], [
            'blocks.names sets "scan_A_k", and the graph has no such block',
            "hint: did you mean scan_A_j?",
        ]),
        ([MATVEC, *GIVEN, "-o", "y=y"], [
            "cannot tell the format of y: it has no suffix", SUFFIXES,
        ]),
        ([MATVEC, *GIVEN, "-o", "y=y.mtx"], [
            "y.mtx: a .mtx file holds a matrix, and this tensor has 1 mode",
            "hint: write a .ttx, .tns or .npz file",
        ]),
        ([MATVEC, *GIVEN, "-o", "A=y.tns"], ["A is not the result", "hint: write -o y=y.tns"]),
        ([MATVEC, *GIVEN, "--json", "no/r.json"], [
            "cannot write no/r.json: there is no folder no",
        ]),
        ([MATVEC, "--dot", "."], ["cannot write .: it is a folder"]),
        ([MATVEC, "--draw", "g.gif"], [
            "cannot draw to g.gif: its suffix is not that of a picture",
            "hint: one of .svg, .png, .pdf",
        ]),
        ([MATVEC, "-i", "A=no.mtx", "-i", "x=@dense"], [
            "cannot read no.mtx: No such file or directory",
        ]),
        ([MATVEC, "-i", "A=bad.mtx", "-i", "x=@dense"], [
            'bad.mtx, line 3: "one" is not a value of the type float64', "  1 1 one", "      ^^^",
        ]),
        ([MATVEC, "-i", "A=@random"], [
            "no input is given for x", "hint: -i x=@random, or name a file",
        ]),
        ([MATVEC, "-i", "A=@random", "-i", "x=@random", "--dims", "i=4"], [
            "no input fixes the extent of j", "hint: --dims j=8",
        ]),
    ],
)  # fmt: skip
def test_the_command_line(tmp_path, capsys, arguments, lines):
    (tmp_path / "bad.mtx").write_text(HEADER + "2 2 1\n1 1 one\n")
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "custard: " + text(*lines) + "\n")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.mtx"]


@pytest.mark.parametrize(
    "where", [["-o", "y=y.mtx"], ["-o", "y=no/y.tns"], ["--json", "no/r.json"], ["--draw", "g.gif"]]
)
def test_files_that_cannot_be_written_are_refused_before_the_run(monkeypatch, where):
    def run(*_, **__):
        raise AssertionError

    monkeypatch.setattr("custard.to_sam.program.SamProgram.simulate", run)
    assert main([MATVEC, *GIVEN, *where]) == 2
