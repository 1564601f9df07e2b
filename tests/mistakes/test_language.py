"""Mistakes in expressions, formats, schedules, extents and targets."""

import numpy as np
import pytest

import custard
from tests.support.mistakes import EXAMPLE, LEVELS, MATMUL, MATVEC, refused, text


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
            "target c has no GPUBlock, which is for GPUs: there is no target cuda yet",
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
