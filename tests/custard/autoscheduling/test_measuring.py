"""Measurements of programs, and what is not measured again."""

import os
import signal
import time

import numpy as np
import pytest

import custard
from custard.autoscheduling.autoscheduler import MeasuringMachine
from custard.autoscheduling.measuring import measured
from custard.to_c.call import Bound
from sam.tensor import Tensor
from tests.support.compiler import needs_compiler

MATVEC = "y(i) = A(i,j) * x(j)"
INPUTS = {"A": Tensor.of(np.eye(4)).convert("ds"), "x": Tensor.of(np.ones(4))}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SAM_CACHE", str(tmp_path))


def test_cycles_are_those_of_the_simulation():
    program = custard.compile(MATVEC, {"A": "ds", "x": "d"})
    told = []
    machine = MeasuringMachine(engine="simpy")
    (cycles,) = measured([program], INPUTS, machine, False, told.append)
    assert cycles == program.simulate(INPUTS, engine="simpy").cycles
    assert told == ["0 of 1 schedules simulated"]
    assert measured([program], INPUTS, machine, False, told.append) == [cycles]
    assert len(told) == 1
    assert measured([program], INPUTS, machine, True, told.append) == [cycles]
    assert len(told) == 2


@needs_compiler
def test_kernels_are_timed_in_turns():
    formats = {"y": "d", "A": "CSR", "x": "d"}
    program = custard.compile(MATVEC, formats, target="c")
    told = []
    (seconds,) = measured([program], INPUTS, MeasuringMachine(asked_threads=1), False, told.append)
    assert 0 < seconds < 1
    assert told[0] == "0 of 1 kernels compiled"
    assert told[1] == "1 kernels timed, 0 times each"


@needs_compiler
def test_after_an_interrupt_no_kernel_is_timed(monkeypatch):
    """In a notebook, the thread that times the kernels would go on."""
    runs = []

    def seconds(bound):
        runs.append(bound)
        if len(runs) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        return 0.05

    monkeypatch.setattr(Bound, "seconds", seconds)
    program = custard.compile(MATVEC, {"y": "d", "A": "CSR", "x": "d"}, target="c")
    machine = MeasuringMachine(asked_threads=1)
    with pytest.raises(KeyboardInterrupt):
        measured([program], INPUTS, machine, False, lambda _: None)
    time.sleep(0.3)
    assert len(runs) <= 4


def test_nothing_to_measure():
    assert measured([], INPUTS, MeasuringMachine(), False, print) == []
