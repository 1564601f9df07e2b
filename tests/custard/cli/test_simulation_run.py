"""``custard EXPRESSION`` on target sam."""

import json
from pathlib import Path

from custard.cli.command import main
from sam.dot import from_dot
from tests.support.command import MATMUL


def test_the_graph_is_written_and_drawn(folder):
    assert main([MATMUL, "--dot", "g.gv", "--draw", "g.svg"]) == 0
    assert Path("g.gv").read_text().startswith("digraph sam {")
    assert "intersecter" in Path("g.svg").read_text()


def test_graphs_that_run_in_turn_have_files_of_their_own(folder, capsys):
    arguments = ["y(i) = a * x(i) * z(i)", "-i", "a=2", "-i", "x=x.tns", "-i", "z=z.tns"]
    arguments += ["--dims", "i=4", "-s", "precompute(x(i)*z(i),i,i,T)", "--check"]
    assert main([*arguments, "--dot", "g.gv", "--json", "run.json"]) == 0
    out, _ = capsys.readouterr()
    told = json.loads(Path("run.json").read_text())
    first, second = told["graphs"]
    assert told["cycles"] == first["cycles"] + second["cycles"]
    assert first["title"] == "T(i) = x(i) * z(i)"
    assert {f"T.{name}" for name in first["blocks"]} < {*told["blocks"]}
    assert f"graph 1 of 2, {first['cycles']} cycles" in out
    assert "matches numpy" in out
    assert from_dot(Path("g.gv").read_text()).result.slot.tensor == "y"
    assert from_dot(Path("g.T.gv").read_text()).result.slot.tensor == "T"


def test_without_inputs_the_program_is_only_compiled(capsys):
    assert main([MATMUL, "-s=reorder(j,i,k)", "-f=X:CSR"]) == 0
    out, _ = capsys.readouterr()
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[:6] == [
        MATMUL,
        "  forall(j) forall(i) forall(k) X(i,j) = sum(k, B(i,k) * C(k,j))",
        "  formats X ds:0,1, B ss:0,1, C ss:0,1",
        "  compiled, not run: no inputs are given",
        "  note: C(k,j), stored as ss:0,1, is transposed to 1,0 before the run",
        "  note: X(i,j) is written as ds:1,0, then stored as ds:0,1",
    ]
    assert "level scanner       4" in lines


def test_a_program_without_inputs_runs(capsys):
    assert main(["y(i) = 3", "--dims", "i=2", "--check"]) == 0
    assert "y(1) = 3" in capsys.readouterr().out
