"""The outcomes of the programs of a corpus."""

from dataclasses import replace

import numpy as np
import pytest

import custard
from custard import UserError
from custard.to_sam.program import SamProgram
from experiments.taco_programs import attempts, entries
from experiments.taco_programs.attempts import Result
from sam.support import c_compiler as cc
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler

SPMV = 'taco "y(i)=A(i,j)*x(j)" -f=y:d:0 -f=A:ds:0,1 -f=x:d:0'


@pytest.mark.parametrize("engine", ["simpy", "both"])
@pytest.mark.parametrize(
    "line",
    [
        'taco "Z_m=A_km*B_k" -f=Z:d:0 -f=A:s:0 -f=B:s:0',
        'taco "Z_{m}=A_{k,m}*B_k" -f=Z:d:0 -f=A:ss:0,1 -f=B:s:0',
        'taco "A(i,i)=B(i,j)*C(j,i)" -f=A:dd:0,1 -f=B:ds:0,1 -f=C:ds:0,1',
        'taco "A(i,i)+=B(i,j)" -f=A:uq:0,1 -f=B:ds:0,1',
        'taco "y(i)=A(i,j)*x(j)" -f=y:d:0 -f=A:ds:0,1 -f=x:d:0 -s=reorder(in,out)',
    ],
)
def test_ways_to_write(line, engine):
    if engine == "both" and not cc.available():
        pytest.skip("there is no C compiler")
    assert attempts.attempt(entries.read_line(line), engine=engine) == Result(
        line, "right", seconds=pytest.approx(0, abs=60)
    )


def test_right():
    result = attempts.attempt(entries.read_line(SPMV))
    assert (result.outcome, result.reason) == ("right", "")


def test_a_variable_that_no_input_fixes():
    assert (
        attempts.attempt(entries.read_line('taco "y(i,j)=x(j)" -f=y:ds -f=x:s')).outcome == "right"
    )


def test_wrong(monkeypatch):
    monkeypatch.setattr(attempts, "evaluate", lambda _, inputs, dims: inputs["A"].sum(axis=1) + 0.5)
    result = attempts.attempt(entries.read_line('taco "y(i)=A(i,j)" -f=y:d:0 -f=A:ds:0,1'))
    assert result.outcome == "wrong"
    assert "the result at (0) is" in result.reason
    assert "on random inputs with i=" in result.reason


def test_refused():
    result = attempts.attempt(entries.read_line(SPMV + " -s=unroll(i,4)"))
    assert result.outcome == "refused"
    assert result.reason.startswith("target sam does not take unroll")
    assert "^^^^^" in result.detail
    assert result.evaluable


def test_units_that_are_ignored():
    entry = entries.read_line(SPMV + " -s=parallelize(i,GPUBlock,NoRaces)")
    assert (
        attempts.attempt(entry).reason
        == "target sam has no GPUBlock, which is for GPUs: there is no target cuda yet"
    )
    assert attempts.attempt(replace(entry, ignore_units=True)).outcome == "right"


def test_refused_and_beyond_the_evaluator():
    assert not attempts.attempt(entries.read_line('taco "y(i)=A(i,j)*A(j)"')).evaluable


def test_crashed(monkeypatch):
    def evaluate(*_):
        raise KeyError("k'")

    monkeypatch.setattr(attempts, "evaluate", evaluate)
    result = attempts.attempt(entries.read_line(SPMV))
    assert result.outcome == "crashed"
    assert result.reason == 'KeyError in test_attempts.evaluate: "k\'"'
    assert "Traceback" in result.detail


def test_too_long(monkeypatch):
    def evaluate(*_):
        while True:
            pass

    monkeypatch.setattr(attempts, "evaluate", evaluate)
    monkeypatch.setattr(attempts, "SECONDS", 0.2)
    result = attempts.attempt(entries.read_line(SPMV))
    assert (result.outcome, result.reason) == ("crashed", "no result in 0.2 seconds")


@pytest.mark.parametrize(
    ("found", "due", "text"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-12], ""),
        ([1.0, np.nan], [1.0, np.nan], ""),
        ([np.inf], [-np.inf], ""),
        ([1.0, 2.0], [1.0, 3.0], "the result at (1) is 2.0, and numpy's is 3.0"),
        ([1.0], [np.nan], "the result at (0) is 1.0, and numpy's is nan"),
        ([1.0], [1.0, 2.0], "the result has the shape (1,), and numpy's has (2,)"),
        (4.0, 5.0, "the result is 4.0, and numpy's is 5.0"),
    ],
)
def test_difference(found, due, text):
    assert attempts.difference(np.array(found), np.array(due)) == text


# Both engines


def _spmv_run():
    program = custard.compile("y(i)=A(i,j)*x(j)")
    return program.simulate({"A": np.eye(3), "x": np.ones(3)}, engine="simpy")


def _block(run, **changes):
    return replace(
        run, blocks={**run.blocks, "scan_A_i": replace(run.blocks["scan_A_i"], **changes)}
    )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda run: run, ""),
        (
            lambda run: replace(run, cycles=21),
            "the engines differ: 20 cycles on simpy, 21 on compiled",
        ),
        (lambda run: _block(run, fired=1), "the engines differ in the statistics of scan_A_i: "),
        (lambda run: replace(run, streams={}), "the engines differ in the statistics of "),
        (
            lambda run: replace(run, output=Tensor.of(np.zeros(3)).convert("s", (0,))),
            "the engines differ in the values of the result",
        ),
        (
            lambda run: replace(run, output=Tensor.of(np.ones(3)).convert("d", (0,))),
            "the engines differ in the format of the result",
        ),
        (
            lambda run: UserError("full"),
            "the engines differ: a result on simpy, full on compiled",
        ),
    ],
)
def test_differences_between_engines(change, text):
    run = replace(_spmv_run(), cycles=20)
    found = attempts.engines_differ(run, change(run))
    assert found.startswith(text)
    assert bool(found) == bool(text)


def test_engines_that_refuse_in_the_same_words_agree():
    assert attempts.engines_differ(UserError("full"), UserError("full")) == ""


@needs_compiler
def test_an_entry_on_both_engines(monkeypatch):
    assert attempts.attempt(entries.read_line(SPMV), engine="both").outcome == "right"
    simulate = SamProgram.simulate

    def late(program, inputs, engine):
        run = simulate(program, inputs, engine=engine)
        return replace(run, cycles=run.cycles + (engine == "compiled"))

    monkeypatch.setattr(SamProgram, "simulate", late)
    result = attempts.attempt(entries.read_line(SPMV), engine="both")
    assert result.outcome == "wrong"
    assert result.reason.startswith("the engines differ: ")
