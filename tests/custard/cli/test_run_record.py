"""Records of programs and their runs."""

import json
import time
from dataclasses import replace

import numpy as np

import custard
from custard.cli import run_record
from custard.cli.command import main
from custard.to_sam.program import SamProgram


def test_the_record_of_a_compiled_program(capsys):
    assert main(["a = B(i)", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["primitives"] == {"array": 1, "level_scanner": 1, "level_writer": 1, "reducer": 1}
    assert "cycles" not in told


def test_a_wrong_result_fails_the_check(folder, capsys, monkeypatch):
    simulate = SamProgram.simulate

    def wrong(*arguments, **options):
        run = simulate(*arguments, **options)
        output = replace(run.output, values=run.output.values + np.array([0, 0.5]))
        return replace(run, output=output)

    monkeypatch.setattr(SamProgram, "simulate", wrong)
    given = ["y(i) = x(i) * z(i)", "-i", "x=x.tns", "-i", "z=z.tns", "--dims", "i=4", "--check"]
    assert main(given) == 1
    out, err = capsys.readouterr()
    assert "matches numpy" not in out
    assert err == "custard: the result at (1) is 8.5, and numpy's is 8.0\n"
    assert main([*given, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["matches_numpy"] is False


def test_runs_on_several_machines_share_the_time_until_they_are_found(monkeypatch):
    program = custard.compile("y(i) = x(i)", dims={"i": 4})
    run = program.simulate({"x": np.arange(4.0)})

    def found(self, inputs, machines, *, finished, **options):
        time.sleep(0.04)
        finished(0, run)
        finished(1, run)
        time.sleep(0.06)
        finished(2, run)

    monkeypatch.setattr(SamProgram, "simulate_many", found)
    seconds = {}
    run_record.simulate_many(
        program, [], ["x=@dense"], [], lambda n, record: seconds.update({n: record["seconds"]})
    )
    assert seconds[0] == seconds[1] >= 0.02
    assert seconds[2] >= 0.06
    assert sum(seconds.values()) < 1
