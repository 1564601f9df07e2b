"""``custard sim``: graphs of DOT files, ours and the published compiler's, run by the command."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import custard
from custard.cli.command import main
from sam import io
from sam.dot import from_dot, to_dot

ROOT = Path(__file__).parents[3]
WEST = str(ROOT / "experiments" / "data" / "west0067.mtx")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "spmv.gv", tmp_path)


def test_a_published_graph_runs(capsys):
    assert main(["sim", "spmv.gv", "-i", f"B={WEST}", "-i", "c=@dense", "-o", "x=x.tns"]) == 0
    told = capsys.readouterr().out
    assert "spmv.gv, a graph of 12 blocks" in told
    assert "formats B ss:0,1, c s:0" in told
    assert "scan_B_j" in told
    assert "x is in x.tns" in told
    main(["x(i) = B(i,j) * c(j)", "-i", f"B={WEST}", "-i", "c=@dense", "-q", "-o", "x=y.tns"])
    first, second = (io.read(name, [67]).to_numpy() for name in ("x.tns", "y.tns"))
    np.testing.assert_array_equal(first, second)


def test_our_own_graph_has_the_cycles_of_its_program(capsys):
    words = ["-i", f"B={WEST}", "-i", "c=@random", "--config", "finite", "--set", "queues.depth=3"]
    main(["x(i) = B(i,j) * c(j)", *words, "--dot", "g.gv", "--json"])
    of_program = json.loads(capsys.readouterr().out)
    assert main(["sim", "g.gv", *words, "--json"]) == 0
    of_graph = json.loads(capsys.readouterr().out)
    for part in ("cycles", "blocks", "result", "tokens", "expression"):
        assert of_graph[part] == of_program[part]


def test_the_record_of_a_graph_can_be_reported(capsys):
    words = ["-i", f"B={WEST}", "-i", "c=@dense", "--set", "queues.depth=4"]
    main(["sim", "spmv.gv", *words, "--json", "r.json", "-q"])
    capsys.readouterr()
    assert main(["report", "r.json"]) == 0
    told = capsys.readouterr().out
    assert "spmv.gv, a graph of 12 blocks" in told
    assert "  config ideal with queues.depth=4, engine simpy\n" in told


def test_dialects_are_written(capsys):
    main(["x(i) = B(i,j) * c(j)", "--dot", "p.gv", "--dot-dialect", "published"])
    graph = custard.compile("x(i) = B(i,j) * c(j)").graph
    assert Path("p.gv").read_text() == to_dot(graph, "published")
    assert main(["sim", "p.gv", "--dot", "ours.gv", "--draw", "g.svg"]) == 0
    assert from_dot(Path("ours.gv").read_text()) == graph
    assert Path("g.svg").read_text().count('class="node"') == 13 + 3


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["nothing.gv"], "cannot read nothing.gv: No such file or directory"),
        (
            ["spmv.gv"],
            "no input is given for B, c\nhint: -i B=@random -i c=@random, or name a file",
        ),
        (
            ["spmv.gv", "-i", "b=@random"],
            "the program has no input b\nhint: did you mean B?",
        ),
        (["spmv.gv", "--check"], "there is no option --check\n"),
        (
            ["bad.gv"],
            'bad.gv: node "1" of type sort has no counterpart among our blocks\n'
            "hint: one of fiberlookup",
        ),
        (
            ["spmv.gv", "--dot", "x.gv", "--dot-dialect", "sam"],
            "there is no DOT dialect sam\nhint: one of custard, published",
        ),
        (
            ["spmv.gv", "-i", "B=@random", "-i", "c=@random"],
            "no input fixes the extent of i\nhint: --dims i=8",
        ),
        (
            ["spmv.gv", "-o", "y=y.tns", "-i", "B=@random", "-i", "c=@random"],
            "y is not the result\nhint: write -o x=y.tns",
        ),
    ],
)
def test_mistakes(words, error, capsys):
    Path("bad.gv").write_text('digraph SAM { comment="x=s0" 1 [type=sort] }')
    assert main(["sim", *words]) == 2
    assert capsys.readouterr().err.startswith(f"custard: {error}")


def test_extents_that_no_input_fixes(capsys):
    words = ["-i", "B=@random", "-i", "c=@random", "--dims", "i=5,j=7"]
    assert main(["sim", "spmv.gv", *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["shape"] == [5]


def test_a_graph_with_an_unknown_kind_is_told_in_few_words(capsys):
    main(["x(i) = B(i,j) * c(j)", "--dot", "p.gv"])
    text = Path("p.gv").read_text()
    capsys.readouterr()
    for kind, told in (("levelscanner", "levelscanner\nhint: did you mean level_scanner?"),
                       ("s" * 1000, "sss")):  # fmt: skip
        Path("q.gv").write_text(text.replace('"level_scanner"', f'"{kind}"', 1))
        words = ["-i", "B=@random", "-i", "c=@random", "--dims", "i=5,j=7"]
        assert main(["sim", "q.gv", *words]) == 2
        error = capsys.readouterr().err
        assert f"is of the unknown kind {told}" in error
        assert len(error) < 600
