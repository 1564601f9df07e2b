"""``custard explain`` and the files about a run: output, content, and every mistake."""

import json
import shutil
from pathlib import Path

import pytest

from custard.cli.command import main

ROOT = Path(__file__).parents[3]
WEST = ROOT / "experiments" / "data" / "west0067.mtx"
SPMV = ["y(i) = A(i,j) * x(j)", "-f=A:CSR", "-f=x:d", "-i", "A=west0067.mtx", "-i", "x=@dense"]

OF_GRAPH = ["-i", "B=west0067.mtx", "-i", "c=@dense", "--config", "finite"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(WEST, tmp_path)
    return tmp_path


def test_explain(capsys):
    assert main(["explain", *SPMV, "--config", "finite"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    first, *others = out.splitlines()
    assert first == "369 cycles, 98 %: reduce_j sums up; parallelize(i,Lanes,2) would save 46 %"
    assert "what would save cycles" in others
    assert "cycles that this graph cannot go below on this machine" in others


def test_explain_as_json(capsys):
    assert main(["explain", *SPMV, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cycles"] == sum(cause["cycles"] for cause in told["causes"])
    assert {"sentence", "what_ifs", "bounds", "notes"} <= set(told)
    assert told["expression"] == SPMV[0]
    assert told["inputs"] == ["A=west0067.mtx", "x=@dense"]
    assert told["config"]["name"] == "ideal"


@pytest.mark.parametrize("words", [[*SPMV, "--config", "finite"], ["spmv.gv", *OF_GRAPH]])
def test_an_explanation_in_a_file_is_printed_again(capsys, words):
    """With what it is of ahead: a run on a memory that is shared."""
    shutil.copy(ROOT / "examples" / "spmv.gv", ".")
    shared = ["--set", "memory.levels=[{name: DRAM, latency_cycles: 20}]"]
    assert main(["explain", *words, *shared, "--json", "e.json"]) == 0
    printed = capsys.readouterr().out
    assert main(["report", "e.json"]) == 0
    heading, found = capsys.readouterr().out.split("\n\n", 1)
    assert found == printed
    title, _, inputs = heading.splitlines()
    assert title == json.loads(Path("e.json").read_text())["expression"]
    assert title in ("y(i) = A(i,j) * x(j)", "x(i)=B(i,j)*c(j)", "spmv.gv")
    assert inputs.endswith(("=west0067.mtx, x=@dense", "=west0067.mtx, c=@dense"))


def test_files_about_a_run(capsys):
    pytest.importorskip("perfetto", reason="perfetto is not installed")
    files = ["--report", "r.html", "--trace", "t.pftrace", "--vcd", "t.vcd", "--window", "10:90"]
    assert main([*SPMV, *files]) == 0
    out = capsys.readouterr().out
    for line in ("the report is in r.html", "the trace is in t.pftrace", "the trace is in t.vcd"):
        assert line in out
    for name in ("r.html", "t.pftrace", "t.vcd"):
        assert Path(name).stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["explain", *SPMV, "--target", "c"],
            "custard: explain has no meaning on target c\nhint: it is for target sam\n",
        ),
        (
            [*SPMV, "--target", "c", "--report", "r.html"],
            "custard: --report has no meaning on target c\nhint: it is for target sam\n",
        ),
        (
            [SPMV[0], "--report", "r.html"],
            "custard: --report is for a run, and no inputs are given\nhint: -i NAME=FILE\n",
        ),
        (
            [*SPMV, "--trace", "t.vcd"],
            "custard: --trace writes .pftrace files, and t.vcd has another suffix\n",
        ),
        (
            [*SPMV, "--window", "1:2"],
            "custard: --window needs a trace, and none is asked for\nhint: --trace FILE\n",
        ),
        (
            [*SPMV, "--vcd", "t.vcd", "--window", "2"],
            'custard: "2" is not a window of cycles\nhint: as in --window 1000:2000\n',
        ),
        (
            [*SPMV, "--report", "-"],
            "custard: - is stdout, where only results and JSON are written\n"
            "hint: /dev/stdout is a file\n",
        ),
        ([*SPMV, "--report", "."], "custard: cannot write .: it is a folder\n"),
        (
            [*SPMV, "--report", "a.html", "--vcd", "a.html"],
            "custard: two outputs go to a.html\n",
        ),
    ],
)
def test_mistakes(capsys, arguments, message):
    assert main(arguments) == 2
    assert capsys.readouterr().err == message
    assert not Path("r.html").exists()


def test_a_graph_of_a_dot_file_is_explained(capsys):
    """The published SpMV: in each row of B the scanner of c goes through all 67 places."""
    shutil.copy(ROOT / "examples" / "spmv.gv", ".")
    words = ["spmv.gv", "-i", "B=west0067.mtx", "-i", "c=@dense", "--config", "finite"]
    assert main(["explain", *words]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first == (
        "4,565 cycles, 100 %: intersect_j compares, and finds 294 matches in 4,557 firings; "
        "scan_c_j skipping as intersect_j asks would save 80 %"
    )
    assert '         scan_c_j: "skips": true' in others
    assert main(["sim", *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cycles"] == 4565


def test_a_graph_of_our_own_has_the_explanation_of_its_program(capsys):
    """It has no other loop orders and formats, as it has no expression."""
    words = ["-i", "A=west0067.mtx", "-i", "x=@dense", "--set", "queues.depth=1"]
    assert main([SPMV[0], "-f=A:CSR", "-f=x:d", "--dot", "g.gv"]) == 0
    capsys.readouterr()
    found = []
    for program in (SPMV[:3], ["g.gv"]):
        assert main(["explain", *program, *words, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    of_program, of_graph = found
    assert of_graph["causes"] == of_program["causes"]
    assert of_graph["bounds"] == of_program["bounds"]
    of_machine = [one for one in of_program["what_ifs"] if one["how"][0].startswith("--set")]
    assert of_graph["what_ifs"] == of_machine != []


def test_files_about_the_run_of_a_graph(capsys):
    shutil.copy(ROOT / "examples" / "spmv.gv", ".")
    files = ["--report", "r.html", "--vcd", "t.vcd", "--window", "10:90"]
    assert main(["sim", "spmv.gv", "-i", "B=west0067.mtx", "-i", "c=@random", *files]) == 0
    out = capsys.readouterr().out
    for line in ("the report is in r.html", "the trace is in t.vcd"):
        assert line in out
    assert "scan_c_j skipping as intersect_j asks" in Path("r.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-s", "skip(c,j)"], "-s is for an expression, and spmv.gv is a graph\n"),
        (["-f", "B:CSR"], "-f is for an expression, and spmv.gv is a graph\n"),
        (["--strict"], "--strict is for an expression, and spmv.gv is a graph\n"),
        (["--target", "c"], "explain has no meaning on target c\nhint: it is for target sam\n"),
        (["--report", "r.html"], "--report has no meaning with custard explain\n"),
        ([], "no input is given for B, c\nhint: -i B=@random -i c=@random, or name a file\n"),
        (["--set", "queues.depth=1,2"], "only one machine can be used here, and --set gives 2\n"),
    ],
)
def test_mistakes_beside_a_graph(capsys, words, message):
    shutil.copy(ROOT / "examples" / "spmv.gv", ".")
    assert main(["explain", "spmv.gv", *words]) == 2
    assert capsys.readouterr().err.startswith(f"custard: {message}")


def test_a_graph_in_the_place_of_an_expression(capsys):
    for words in (["g.gv"], ["size", "g.dot"], ["auto", "g.gv"]):
        assert main(words) == 2
        name = words[-1]
        assert capsys.readouterr().err == (
            f"custard: {name} is a graph, and an expression is needed here\n"
            f"hint: custard sim {name} runs it\n"
        )


@pytest.mark.parametrize(
    ("words", "kind", "hint"),
    [
        (["a.mtx.gz"], "the file of a tensor", "-i A=a.mtx.gz gives it to a tensor A"),
        (["size", "s.yaml"], "a YAML file", "custard sweep s.yaml runs it, if it is a sweep"),
        (["explain", "r.json"], "a JSON file", "custard report r.json prints it, if it is a "),
    ],
)
def test_a_file_in_the_place_of_an_expression(capsys, words, kind, hint):
    assert main(words) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"custard: {words[-1]} is {kind}, and an expression is needed here"
    assert second.startswith(f"hint: {hint}")


def test_the_page_of_a_graph_without_a_title_has_the_name_of_its_file():
    shutil.copy(ROOT / "examples" / "spmv.gv", ".")
    words = ["-i", "B=@dense", "-i", "c=@dense", "--dims", "i=3,j=2", "--report", "r.html", "-q"]
    assert main(["sim", "spmv.gv", *words]) == 0
    assert "<h1>spmv.gv</h1>" in Path("r.html").read_text()


@pytest.mark.parametrize("command", [[], ["explain"], ["size"], ["auto"]])
@pytest.mark.parametrize("place", ["no/x.json", "."])
def test_a_place_for_json_is_looked_at_before_the_run(capsys, monkeypatch, command, place):
    monkeypatch.setattr("sim.simulation.bind", lambda *_: pytest.fail("it has run"))
    assert main([*command, *SPMV, "--json", place]) == 2
    assert capsys.readouterr().err.startswith(f"custard: cannot write {place}: ")


def test_a_place_for_a_config_is_looked_at_before_the_run(capsys, monkeypatch):
    monkeypatch.setattr("sim.simulation.bind", lambda *_: pytest.fail("it has run"))
    assert main(["size", *SPMV, "--save", "no/c.yaml"]) == 2
    assert capsys.readouterr().err == "custard: cannot write no/c.yaml: there is no folder no\n"
