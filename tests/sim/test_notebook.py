"""Runs, programs and tensors as notebooks show them, and as records."""

import re
from dataclasses import asdict

import numpy as np
import pytest

import custard
from sam.tensor import Tensor


@pytest.fixture(scope="module")
def run():
    program = custard.compile("y(i) = A(i,j) * x(j)", {"A": "ss", "x": "s"})
    return program.simulate({"A": np.eye(3), "x": np.ones(3)})


def test_records_have_all_cycles_and_tokens(run):
    records = run.block_records()
    assert [one["block"] for one in records] == list(run.blocks)
    for one in records:
        spent = (one[state] for state in ("busy", "starved", "blocked", "memory", "done"))
        assert sum(spent) == run.cycles
    streams = run.stream_records()
    assert sum(one["data"] + one["stop"] + one["done"] + one["empty"] for one in streams) == (
        run.tokens
    )


def test_records_are_tables_of_pandas(run):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    assert pandas.DataFrame(run.critical_path)["cycles"].sum() == run.cycles
    assert list(pandas.DataFrame(run.block_records())["block"]) == list(run.blocks)
    assert pandas.DataFrame(run.stream_records())["peak"].min() >= 0


def test_the_path_is_plain_data(run):
    told = [asdict(part) for part in run.critical_path]
    assert set(told[0]) == {"block", "cause", "cycles", "stream", "memory", "array"}


def test_a_run(run):
    text = run._repr_html_()
    assert f"{run.cycles:,} cycles on ideal" in text
    assert "multiply" in text


def test_a_program():
    program = custard.compile("y(i) = A(i,j) * x(j)", schedule="reorder(i,j)")
    text = program._repr_html_()
    assert "reorder(i,j)" in text
    assert "forall(i)" in text


def test_tensors():
    text = Tensor.of(np.array([[0, 2.5], [3, 0]]))._repr_html_()
    cells = re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", text)
    assert cells[-6:] == ["0", "", "2.5", "1", "3", ""]
    assert "a scalar" in Tensor.of(np.float64(2))._repr_html_()
    assert "1,992 more" in Tensor.of(np.ones(2000))._repr_html_()
    assert "The first entries" in Tensor.of(np.zeros((0, 40)))._repr_html_()
