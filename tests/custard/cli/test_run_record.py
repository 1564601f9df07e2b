"""Records of programs and their runs."""

import json
from dataclasses import replace

import numpy as np

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
