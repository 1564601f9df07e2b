"""Reading the programs of a corpus."""

import json

import numpy as np
import pytest

from experiments.taco_programs import attempts, entries, inputs
from experiments.taco_programs.entries import Entry

SPMV = 'taco "y(i)=A(i,j)*x(j)" -f=y:d:0 -f=A:ds:0,1 -f=x:d:0'


def test_a_line():
    entry = entries.read_line(SPMV + ' -s="split(i,i0,i1,32)" -s=reorder(i0,j)')
    assert entry.expression == "y(i)=A(i,j)*x(j)"
    assert entry.formats == ("y:d:0", "A:ds:0,1", "x:d:0")
    assert entry.schedule == ("split(i,i0,i1,32)", "reorder(i0,j)")


@pytest.mark.parametrize("line", ["y(i)=x(i)", 'taco "y(i)=x(i)" -t=y:int', 'gcc "a" -f=y:d:0'])
def test_texts_that_are_no_command_line(line):
    with pytest.raises(ValueError, match="not a line of the corpus"):
        entries.read_line(line)


@pytest.mark.parametrize(
    ("schedule", "commands"),
    [
        ((), "none"),
        (("",), "none"),
        (("reorder(j,i)",), "reorder"),
        (("reorder(j,i)", "reorder(i,j)"), "reorder"),
        (("reorder(j,i)", "unroll(j,4)"), "other"),
    ],
)
def test_commands_of_a_schedule(schedule, commands):
    assert Entry("", "", (), schedule).commands == commands


def test_lines_are_read_once(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text(f"{SPMV}\n\n{SPMV} -s=reorder(i,j)\n{SPMV}\n{SPMV} -s='reorder(i,j)'\n")
    found, beyond = entries.read(path)
    assert [entry.schedule for entry in found] == [(), ("reorder(i,j)",)]
    assert beyond == {}


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("a(i) = b(i) + b(i)", ""),
        ("a = 3", ""),
        ("a(i) = b(i) * c", ""),
        ("where(a = c, c = b(i))", "several statements"),
        ("a(i) = b(i[2:4:1])", "windows"),
        ("a(i[{1,3,5}]) = b(i)", "index sets"),
        ("a(i) = cast<double>(b(i))", "casts"),
        ("a(i) = sqrt((b(i) * c))", "functions and custom operators"),
        ("a(i) = b(i) * (i * 3)", "index variables as values"),
        ("a(i) Or= b(i)", "other assignments"),
    ],
)
def test_expressions_beyond_the_grammar(expression, kind):
    assert entries.beyond_grammar(expression, {"a", "b", "c"}) == kind


def test_tests_of_taco(tmp_path):
    path = tmp_path / "tests.json"
    case = {
        "inputs": {"Inputs": [], "b": [[[0], "(1,2)"], [[3], "(4,0)"]]},
        "expected": {"a": [[[0], "(2,4)"], [[3], "(8,0)"]]},
    }
    test = {
        "expr": "a(i) = b(i) + b(i)",
        "formats": "a:s:0 b:s:0 unused:scalar",
        "source_test": "types",
        "notes": "a dtype float complex; b dtype float complex; c dtype int32_t",
        "cases": [case],
    }
    path.write_text(json.dumps([test, {**test, "expr": "a(i) = exp(b(i))"}]))
    [entry], beyond = entries.read(path)
    assert beyond == {"functions and custom operators": ["a(i) = exp(b(i))"]}
    assert entry.formats == ("a:s:0", "b:s:0")
    assert entry.types == {"a": "complex64", "b": "complex64", "c": "int32"}
    [found] = inputs.cases(entry, inputs.parsed(entry))
    assert found.extents == {"i": 4}
    np.testing.assert_array_equal(found.inputs["b"], np.array([1 + 2j, 0, 0, 4], "complex64"))
    assert found.inputs["b"].dtype == "complex64"
    np.testing.assert_array_equal(found.due, [2 + 4j, 0, 0, 8])
    assert attempts.attempt(entry).outcome == "right"
