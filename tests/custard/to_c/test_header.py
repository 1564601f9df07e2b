"""The comment at the head of a C file."""

import re

import pytest

import custard
from custard.to_c.header import documented


def lines(expression, formats, flags=("-O3",), prefix="", **more):
    program = custard.compile(expression, formats, target="c", **more)
    return documented(program.lowered, flags, prefix).header


def test_a_header_has_the_expression_and_the_command_to_compile():
    found = lines("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSR", "x": "d"})
    assert found[0] == "y(i) = A(i,j) * x(j)"
    assert "    A:ds:0,1" in found
    assert "    cc -O3 kernel.c -o kernel.so" in found


def test_each_format_is_explained_once():
    found = lines("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSR", "x": "d"})
    assert sum(line.startswith("d, dense: ") for line in found) == 1
    assert sum(line.startswith("s, compressed: ") for line in found) == 1
    assert not any(line.startswith("h, ") for line in found)


def test_a_result_that_is_assembled_has_to_be_released():
    text = " ".join(lines("X(i,j) = B(i,j)", {"X": "CSR", "B": "CSR"}, prefix="copy"))
    assert "copy_compute() makes the arrays of X, which copy_release() frees." in text


def test_a_dense_result_belongs_to_the_caller():
    text = " ".join(lines("y(i) = x(i)", {"y": "d", "x": "s"}))
    assert "release() frees nothing." in text


def test_notes_stand_above():
    found = lines("y(i) = A(j,i)", {"y": "d", "A": "CSR"}, schedule=["reorder(i,j)"])
    assert any(line.startswith("Note: A(j,i), stored as ds:0,1, is transposed") for line in found)


def test_lines_are_not_too_long():
    found = lines("y(i) = A(i,j) * x(j)", {"A": "hh"}, flags=("-f" + "x" * 30,) * 6)
    assert max(map(len, found)) <= 104


@pytest.mark.parametrize(
    ("expression", "formats"),
    [
        # Q and the second A are transposed before the run, X is converted after it.
        ("X(i,j) = A(i,j) * P(i,k) * Q(k,j)", {"X": "CSR", "A": "CSR", "P": "dd", "Q": "dd"}),
        ("X(i,j) = A(i,j) + A(j,i)", {"X": "CSR", "A": "CSR"}),
        ("X(i,j) = 2 * A(i,j)", {"X": "hh", "A": "CSC"}),
        ("y(i) = A(i,i) * x(i)", {"y": "d", "A": "CSR", "x": "s"}),
    ],
)
def test_formats_are_those_of_the_structs(expression, formats):
    header = custard.compile(expression, formats, target="c").linkable("k").header
    declared = re.findall(r"^//     (\w+:[a-z]+:[0-9,]+)$", header, re.M)
    structs = re.findall(r"^// (\w+)\(.*\), ([a-z]+:[0-9,]+)$", header, re.M)
    assert declared == [f"{name}:{storage}" for name, storage in structs]
    assert structs


def test_storage_is_told_of_the_access():
    formats = {"X": "CSR", "A": "CSR", "P": "dd", "Q": "dd"}
    program = custard.compile("X(i,j) = A(i,j) * P(i,k) * Q(k,j)", formats, target="c")
    assert "// Q(k,j), dd:1,0\n" in program.source
    (note,) = (note for note in program.notes if "Q" in note)
    assert note == "Q(k,j), stored as dd:0,1, is transposed to 1,0 before the run"


def test_another_storage_of_the_result_is_noted():
    program = custard.compile("X(i,j) = 2 * A(i,j)", {"X": "hh", "A": "CSR"}, target="c")
    assert program.notes == ("X(i,j) is computed as ss:0,1, and stored as hh:0,1 after the run",)
