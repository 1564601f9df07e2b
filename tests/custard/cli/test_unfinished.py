"""Commands whose run is ended by ``--max-cycles``."""

import json
from pathlib import Path

import pytest

from custard.cli.command import main
from sim.endless import OutOfCycles
from tests.support.command import MATMUL

MATRICES = ["-i", "B=@random(0.5)", "-i", "C=@random(0.5)", "--dims", "i=5,j=5,k=5"]
LATE = (
    "custard: the run is not done after 20 cycles, the limit that it was given\n"
    "hint: raise --max-cycles (max_cycles in Python, limits.cycles in a sweep)\n"
)


@pytest.mark.parametrize("graph", [False, True])
def test_the_report_has_the_cycles_before(folder, capsys, graph):
    """Of an expression and of a graph in a file."""
    program = [MATMUL]
    if graph:
        assert main([MATMUL, "--dot", "g.gv"]) == 0
        capsys.readouterr()
        program = ["sim", "g.gv"]
    assert main([*program, *MATRICES, "--max-cycles", "20", "--json", "run.json"]) == 2
    out, err = capsys.readouterr()
    assert err == LATE
    assert "note: the run is not done: all numbers are of its first 20 cycles" in out
    assert "20 cycles, 20 ns at 1 GHz" in out
    told = json.loads(Path("run.json").read_text())
    assert told["cycles"] == 20
    assert told["result"] is None
    assert main(["report", "run.json"]) == 2
    again, err = capsys.readouterr()
    assert again == out
    assert err == LATE.partition("hint")[0]


def test_the_result_of_a_sweep_has_the_cycles_before(folder, capsys):
    Path("s.yaml").write_text(
        f"expression: {MATMUL}\ninputs: {{B: '@random(0.5)', C: '@random(0.5)'}}\n"
        "dims: {i: 5, j: 5, k: 5}\nlimits: {cycles: 20}\n"
    )
    assert main(["sweep", "s.yaml"]) == 1
    [result] = Path("s").glob("*.json")
    capsys.readouterr()
    assert main(["report", str(result)]) == 1
    out, err = capsys.readouterr()
    assert "20 cycles, 20 ns at 1 GHz" in out
    assert err == LATE


def test_nothing_is_told_of_no_cycles(capsys):
    assert main([MATMUL, *MATRICES, "--max-cycles", "0"]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert "not done after 0 cycles" in err


def test_the_cycles_before_are_not_run_again_unless_somebody_asks(monkeypatch, capsys):
    """A table of several machines has the error alone."""
    monkeypatch.setattr(OutOfCycles, "reached", property(lambda late: pytest.fail("it was run")))
    assert main([MATMUL, *MATRICES, "--max-cycles", "20", "--set", "queues.depth=2,4"]) == 1
    assert "not done after 20 cycles" in capsys.readouterr().out


def test_files_about_the_run_are_not_written(folder, capsys):
    """Why blocks waited is known of runs that are done; the command says so."""
    files = ["--report", "r.html", "--vcd", "t.vcd"]
    assert main([MATMUL, *MATRICES, "--max-cycles", "20", "-q", *files]) == 2
    assert capsys.readouterr().err == (
        f"custard: --report, --vcd: nothing is written of a run that is not done\n{LATE}"
    )
    assert not Path("r.html").exists()
