"""``custard EXPRESSION`` on target c."""

import ctypes
import json
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from custard.cli.command import main
from custard.compiler import compile
from custard.to_c.call import Bound
from custard.to_c.program import CProgram
from sam.io import read
from tests.support.command import SPMV, WEST, WITH, wrong
from tests.support.compiler import needs_compiler


def test_without_inputs_the_source_is_printed(capsys):
    assert main(SPMV) == 0
    out, err = capsys.readouterr()
    assert err == ""
    program = compile("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSR", "x": "d"}, target="c")
    assert out == program.source


def test_the_source_goes_to_a_file(folder, capsys):
    assert main([*SPMV, "-o", "kernel.c"]) == 0
    assert capsys.readouterr().out == "the C source is in kernel.c\n"
    assert Path("kernel.c").read_text().startswith("// y(i) = A(i,j) * x(j)\n")


def test_the_source_and_its_header_have_a_prefix(folder, capsys):
    assert main([*SPMV, "--prefix", "spmv", "-o", "spmv.c", "-o", "spmv.h"]) == 0
    assert capsys.readouterr().out == "the C source is in spmv.c\nthe C header is in spmv.h\n"
    assert "int spmv_compute(struct spmv_y *y, " in Path("spmv.c").read_text()
    assert "int spmv_compute(struct spmv_y *y, " in Path("spmv.h").read_text()
    assert main(["y(i) = A(i,j) * x(j)", "--prefix", "spmv"]) == 2
    assert capsys.readouterr().err == (
        "custard: --prefix has no meaning on target sam\nhint: it is for target c\n"
    )


@needs_compiler
def test_a_run_in_c_tells_the_program_and_the_result(folder, capsys):
    assert main([*SPMV, *WITH, "--check"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[:3] == [
        "y(i) = A(i,j) * x(j)",
        "  forall(i) forall(j) y(i) = sum(j, A(i,j) * x(j))",
        "  formats y d:0, A ds:0,1, x d:0",
    ]
    assert lines[3].startswith("  compiled to C by ")
    assert lines[5] == "y has the shape (67,), stored as d:0: 67 nonzeros"
    assert lines[6].startswith("  y(0) = ")
    assert lines[-2:] == ["  ...", "matches numpy"]


@needs_compiler
def test_a_run_in_c_tells_why_one_thread_does_the_work(folder, capsys, monkeypatch):
    assert main([*SPMV, *WITH, "--threads", "2"]) == 0
    assert "note: one thread does the work: the schedule shares no loop" in capsys.readouterr().out
    monkeypatch.setattr("custard.to_c.call.has_threads", lambda: False)
    shared = ["-s", "parallelize(i,CPUThread,NoRaces)"]
    assert main([*SPMV, *WITH, *shared, "--threads", "2"]) == 0
    assert "note: the C compiler has no OpenMP: one thread" in capsys.readouterr().out


@needs_compiler
def test_all_outputs_of_a_run_in_c_at_once(folder, capsys):
    files = ["-o", "kernel.c", "-o", "y=y.tns", "--json", "r.json"]
    assert main([*SPMV, *WITH, *files, "--check", "--time"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("the C source is in kernel.c\n")
    assert out.endswith("matches numpy\ny is in y.tns\n")
    assert "ns for each of the 294 entries of A\n" in out
    told = json.loads(Path("r.json").read_text())
    west = scipy.sparse.csr_array(scipy.io.mmread(WEST))
    assert told["target"] == "c"
    assert told["matches_numpy"] is True
    assert "-O3" in told["flags"]
    times = told["times"]
    assert 0 < times["minimum"] <= times["median"]
    assert times["runs"] >= 7
    assert times["nanoseconds_per_entry"] == pytest.approx(1e9 * times["median"] / west.nnz)
    assert told["result"]["nonzeros"] == np.count_nonzero(read("y.tns", (67,)).to_numpy())
    # The report of the file is that of the run.
    assert main(["report", "r.json"]) == 0
    report = capsys.readouterr().out
    assert report in out


@needs_compiler
def test_json_takes_the_place_of_the_report(folder, capsys):
    assert main([*SPMV, *WITH, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["shape"] == [67]
    assert main([*SPMV, "--json"]) == 0
    assert "result" not in json.loads(capsys.readouterr().out)


@needs_compiler
def test_a_program_without_inputs_runs_in_c(capsys):
    assert main(["y = 2 * 3", "--target", "c"]) == 0
    assert capsys.readouterr().out.endswith("y = 6\n")


@needs_compiler
def test_a_wrong_result_in_c_fails_the_check(folder, capsys, monkeypatch):
    monkeypatch.setattr(CProgram, "bind", wrong(CProgram.bind))
    assert main([*SPMV, *WITH, "--check"]) == 1
    assert capsys.readouterr().err.startswith("custard: the result at (")


@needs_compiler
def test_fast_math_is_for_speed(folder, capsys):
    assert main([*SPMV, *WITH, "--fast-math", "--check", "--json", "r.json"]) == 0
    assert "-ffinite-math-only" in json.loads(Path("r.json").read_text())["flags"]


def test_a_missing_compiler_is_a_mistake(folder, capsys, monkeypatch):
    monkeypatch.setenv("CC", "/nonexistent")
    assert main([*SPMV, *WITH, "--drop-zeros"]) == 2
    assert main([*SPMV, "-o", "kernel.c"]) == 0
    assert capsys.readouterr().err == (
        "custard: the C compiler /nonexistent, which CC names, is not found\n"
    )


@pytest.mark.parametrize("timed", [False, True])
def test_ctrl_c_ends_a_kernel_that_runs(folder, capsys, monkeypatch, timed):
    sleeps = lambda bound: ctypes.CDLL(None).sleep(5)  # noqa: E731
    monkeypatch.setattr(Bound, "seconds" if timed else "run", sleeps)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.perf_counter()
    assert main([*SPMV, *WITH, "-o", "y=y.npy", "--time"]) == 130
    assert time.perf_counter() - started < 4
    assert capsys.readouterr().err == "custard: interrupted\n"
    assert not Path("y.npy").exists()
