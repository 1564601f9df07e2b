"""The command line: what it prints and writes, every mistake's whole text, and the exit status."""

import json
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from rich.console import Console

from custard.cli import progress as progress_shown
from custard.cli.command import main
from custard.compiler import compile
from custard.language.commands import COMMANDS
from custard.to_c.program import CProgram
from custard.to_sam.program import SamProgram
from sam.blocks import StreamError
from sam.dot import from_dot
from sam.io import read
from sam.support import c_compiler as cc
from sam.support.errors import UserError
from sim.config.hardware import shipped

WEST = Path(__file__).parents[3] / "experiments" / "data" / "west0067.mtx"
MATMUL = "X(i,j) = B(i,k) * C(k,j)"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An own folder, with west0067.mtx and two vectors in it."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(WEST, tmp_path)
    Path("x.tns").write_text("1 1\n2 2\n4 5\n")
    Path("z.tns").write_text("1 3\n2 4\n")
    return tmp_path


def test_a_run_tells_program_machine_blocks_cycles_and_result(folder, capsys):
    arguments = ["y(i) = x(i) * z(i)", "-i", "x=x.tns", "-i", "z=z.tns", "--dims", "i=4"]
    assert main([*arguments, "--config", "finite", "--set", "queues.depth=2"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[:4] == [
        "y(i) = x(i) * z(i)",
        "  forall(i) y(i) = x(i) * z(i)",
        "  formats y s:0, x s:0, z s:0",
        "  config finite, engine simpy",
    ]
    assert [line.split()[0] for line in lines[6:11]] == [
        "scan_x_i",
        "scan_z_i",
        "intersect_i",
        "array_x",
        "array_z",
    ]
    assert lines[-3:] == [
        "y has the shape (4,), stored as s:0: 2 nonzeros",
        "  y(0) = 3.0",
        "  y(1) = 8.0",
    ]


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


def test_the_examples_of_the_help_work(folder, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out.replace("\\\n", " ")
    examples = [line.strip() for line in text.splitlines() if line.startswith("    custard ")]
    assert len(examples) == 4
    for example in examples:
        extra = ["--dims", "j=20"] if "X=" in example or "C=@random" in example else []
        assert main([*shlex.split(example)[1:], *extra]) == 0, example
    assert Path("sddmm.svg").read_text().startswith("<?xml")


def test_version_configs_and_formats(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == "custard 0.1.0\n"
    assert main(["configs"]) == 0
    lines = [line.strip().split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["finite", "queues of four tokens, every block one cycle"] in lines
    assert {name for name, *_ in lines} >= {"capstan", "gamma", "outerspace", "sigma"}
    assert main(["formats"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    rows = {line.partition(" ")[0]: line for line in lines}
    assert rows["d"].startswith("d dense full ordered unique compact ")
    assert rows["d"].endswith(" iterates_values locates inserts yes")
    assert rows["o"].startswith("o offset ordered unique branchless ")
    assert rows["-f=A:CSC"] == "-f=A:CSC compressed columns ds:1,0"
    assert rows["-f=A:COO"] == "-f=A:COO a list of coordinates uq:0,1, ucq:0,1,2"
    assert rows["-f=A:DIA"] == (
        "-f=A:DIA the diagonals of a matrix dro:0,1,2 A(k,i,j) sam.Tensor.of(A).diagonals()"
    )


def test_the_result_of_a_file_comes_back_from_a_file(folder, capsys):
    given = [MATMUL, "-f=B:CSR", "-i", "B=west0067.mtx", "-i", "C=@west0067.mtx"]
    assert main([*given, "-o", "X=x.mtx", "-o", "X=x.npz", "--check"]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "matches numpy",
        "X is in x.mtx",
        "X is in x.npz",
    ]
    west = scipy.sparse.csr_array(scipy.io.mmread(WEST))
    found = scipy.io.mmread("x.mtx")
    np.testing.assert_allclose(found.toarray(), (west @ west).toarray(), rtol=1e-12, atol=1e-12)
    assert not list(folder.glob(".*"))


def test_the_graph_is_written_and_drawn(folder):
    assert main([MATMUL, "--dot", "g.gv", "--draw", "g.svg"]) == 0
    assert Path("g.gv").read_text().startswith("digraph sam {")
    assert "intersecter" in Path("g.svg").read_text()


def test_graphs_that_run_in_turn_are_told_apart(folder, capsys):
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


def test_json_on_stdout_is_all_that_is_there(folder, capsys):
    given = ["y(i) = x(i) * z(i)", "-i", "x=x.tns", "-i", "z=z.tns", "-i=s=2", "--dims=i=4"]
    given[0] = "y(i) = s * x(i) * z(i)"
    assert main([*given, "-s=reorder(i)", "--set", "queues.depth=3", "--check", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    told = json.loads(out)
    assert told["expression"] == "y(i) = s * x(i) * z(i)"
    assert told["formats"] == {"y": "s:0", "s": ":", "x": "s:0", "z": "s:0"}
    assert (told["schedule"], told["loops"], told["notes"]) == (["reorder(i)"], ["i"], [])
    assert (told["dims"], told["seed"], told["engine"]) == ({"i": 4}, 0, "simpy")
    assert told["inputs"] == ["x=x.tns", "z=z.tns", "s=2"]
    assert told["config"]["queues"]["depth"] == 3
    assert sorted(told["versions"]) == ["numpy", "python", "sparse-abstract-machine"]
    assert told["versions"]["numpy"] == np.__version__
    assert told["matches_numpy"] is True
    assert told["seconds"] > 0
    assert told["compile_seconds"] == 0
    assert told["result"] == {
        "tensor": "y",
        "shape": [4],
        "format": "s:0",
        "dtype": "float64",
        "nnz": 2,
        "entries": 2,
        "nonzeros": 2,
        "first": [["0", "6.0"], ["1", "16.0"]],
    }
    for block in told["blocks"].values():
        spent = block["busy"] + block["memory"] + block["done"]
        spent += sum(block["starved"].values()) + sum(block["blocked"].values())
        assert block["kind"] == "root" or spent == told["cycles"]
    assert told["streams"]["scan_x_i.crd -> intersect_i.in_crd0"]["tokens"]["data"] == 3


def test_json_in_a_file_leaves_the_report(folder, capsys):
    assert main([MATMUL, "-i=B=west0067.mtx", "-i=C=west0067.mtx", "--json", "r.json"]) == 0
    assert "X has the shape (67, 67)" in capsys.readouterr().out
    assert json.loads(Path("r.json").read_text())["result"]["shape"] == [67, 67]


def test_json_of_what_is_only_compiled(capsys):
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


def test_random_tensors_depend_on_the_seed_alone(folder):
    given = [
        "y(i) = A(i,j) * x(j)",
        "-i",
        "x=@random(0.5)",
        "-i",
        "A=west0067.mtx",
        "-o",
        "y=y.tns",
    ]

    def result(*more: str) -> list[float]:
        assert main([*given, *more]) == 0
        return read("y.tns", (67,)).to_numpy().tolist()

    first = result()
    assert result() == first
    assert result("--seed", "0", "-f=x:d", "--config", "finite") == first
    assert result("--seed", "1") != first


def test_ctrl_c_leaves_no_traceback(folder, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(SamProgram, "simulate", interrupted)
    assert main(["a = x(i)", "-i", "x=x.tns"]) == 130
    assert capsys.readouterr() == ("", "custard: interrupted\n")


def test_a_stream_that_validation_refuses_leaves_no_traceback(folder, capsys, monkeypatch):
    def refused(*_, **__):
        raise StreamError("edge a.crd -> b.in_crd, token 1: 2 came, a coordinate above 3 was due")

    monkeypatch.setattr(SamProgram, "simulate", refused)
    assert main(["a = x(i)", "-i", "x=x.tns", "--validate"]) == 1
    assert capsys.readouterr() == (
        "",
        "custard: edge a.crd -> b.in_crd, token 1: 2 came, a coordinate above 3 was due\n"
        "hint: a block or the graph is at fault, not the command\n",
    )


def test_subscripts_in_tacos_way(folder, capsys):
    """As typed into the TACO web page: a declaration of x makes x_i an access of it."""
    arguments = ["y_i = x_i * z_{i}", "-i", "x=x.tns", "-i", "z=z.tns", "--dims", "i=4", "--check"]
    assert main([*arguments, "-f=y:d:0", "-f=x:s:0"]) == 0
    out, _ = capsys.readouterr()
    assert "  forall(i) y(i) = x(i) * z(i)\n  formats y d:0, x s:0, z s:0\n" in out
    assert "matches numpy" in out
    assert main(["y_i = x_i", "-f=y_i:", "-i", "x_i=3"]) == 0
    assert "y_i = 3" in capsys.readouterr().out


def test_a_loop_that_is_not_there_is_passed_over(folder, capsys):
    arguments = ["y(i) = x(i)", "-i", "x=x.tns", "-s=reorder(ii,i)", "--dims", "i=4"]
    assert main(arguments) == 0
    note = "  note: reorder passes over ii, which is not a loop: did you mean i?\n"
    assert note in capsys.readouterr().out


def test_a_reader_that_goes_away_is_no_mistake():
    command = (
        f"from custard.cli.command import main; import sys; sys.exit(main([{MATMUL!r}, '--json']))"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    run.stdout.close()
    assert run.stderr.read() == b""
    assert run.wait() == 1


def test_progress_is_for_terminals_and_long_runs(monkeypatch):
    progress = progress_shown.Progress()
    monkeypatch.setattr(progress_shown.time, "perf_counter", lambda: progress.started + 2)
    progress(8192)
    assert progress.status is None
    progress.console = Console(stderr=True, force_terminal=True)
    with progress:
        progress(8192)
        assert progress.status.status == "8,192 cycles, 4,096 cycles/s"


def test_that_kernels_are_compiled_is_shown_at_once_on_terminals(monkeypatch):
    progress = progress_shown.Progress()
    progress.compiling(12)
    assert progress.status is None
    progress.console = Console(stderr=True, force_terminal=True)
    progress.compiling(12)
    assert progress.status.status == "compiling 12 kernels, once on this machine"
    monkeypatch.setattr(progress_shown.time, "perf_counter", lambda: 1000.0)
    progress.compiling(0)
    assert (progress.status, progress.started) == (None, 1000.0)


X, Z = ["-i", "x=x.tns"], ["-i", "z=z.tns"]
BIG = "1000000000"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [],
            "the following arguments are required: EXPRESSION\n"
            "hint: custard --help lists the options",
        ),
        (["configz"], "there is no command configz\nhint: did you mean configs?"),
        (["y = x(i)", "--chek"], "there is no option --chek\nhint: did you mean --check?"),
        (
            ["y", "=", "x(i)"],
            "= is one argument too many\nhint: put the expression in quotes",
        ),
        (
            ["y = x(i)", "-i"],
            "argument -i: expected one argument\nhint: custard --help lists the options",
        ),
        (
            ["y = x(i)", "--seed", "-1"],
            'argument --seed: "-1" is no whole number of at least 0\n'
            "hint: custard --help lists the options",
        ),
        (["y = x(i"], "this ( is never closed\n  y = x(i\n       ^"),
        (["y = x(i)", "-f=x:s", "-f=x:d"], "two formats are given for x"),
        (
            ["y = x(i)", "-s=redorder(i)"],
            "there is no scheduling command redorder\n  redorder(i)\n  ^^^^^^^^\n"
            "hint: did you mean reorder?",
        ),
        (["y = x(i)", "--target", "x"], "unknown target x\nhint: one of sam, c"),
        (["y = x(i)", "--dims", "i"], '"i" is no extent\nhint: --dims i=5, or --dims i=5,j=6'),
        (
            ["y = x(i)", "--dims", "i=5,j=-1"],
            '"j=-1" is no extent\nhint: --dims i=5, or --dims i=5,j=6',
        ),
        (
            ["y = x(i)", "--dims", "k=1"],
            "dims gives an extent for k, which the expression does not use\nhint: one of i",
        ),
        (
            ["y = x(i)", "--config", "finit"],
            'there is no config "finit"\nhint: did you mean finite? shipped are '
            f"{', '.join(shipped())}; or give a path to a YAML file",
        ),
        (
            ["y = x(i)", "--set", "queues.dept=8"],
            'overrides: unknown key "queues.dept"\nhint: did you mean depth?',
        ),
        (
            ["y = x(i)", "-i", "x=x.tns", "--engine", "simp"],
            "unknown engine simp\nhint: did you mean simpy?",
        ),
        (
            ["y(i) = x(i) * z(i)", "-i", "x=x.tns"],
            "no input is given for z\nhint: -i z=@random, or name a file",
        ),
        (
            ["y(i) = x(i) * z(i)", "--check"],
            "no input is given for x, z\nhint: -i x=@random -i z=@random, or name a file",
        ),
        (
            ["y(i) = x(i)", "-i", "x.tns"],
            '"x.tns" gives no input\nhint: NAME=VALUE, as in B=west0067.mtx or x=@random',
        ),
        (["y(i) = x(i)", "-i", "q=x.tns"], "the program has no input q\nhint: one of x"),
        (["y(i) = x(i)", "-i", "x=x.tns", "-i", "x=1"], "two inputs are given for x"),
        (
            ["y(i) = x(i)", "-i", "x=no.mtx"],
            "cannot read no.mtx: No such file or directory",
        ),
        (
            ["y(i) = x(i)", "-i", "x=west0067.mtx"],
            "x has 1 mode in the program, and west0067.mtx has 2 modes",
        ),
        (["y(i) = x(i)", "-i", "x=3"], "x has 1 mode in the program, and 3 has 0 modes"),
        (
            ["y(i) = x(i)", "-i", "x=@random"],
            "no input fixes the extent of i\nhint: --dims i=8",
        ),
        (
            ["y(i,j) = x(i)", "-i", "x=x.tns"],
            "no input fixes the extent of j\nhint: --dims j=8",
        ),
        (
            ["y(i) = x(i)", "-i", "x=@randon", "--dims", "i=8"],
            "nothing is called @randon\n"
            "hint: did you mean @random?; a file needs a suffix, as in west0067.mtx",
        ),
        (
            ["y(i) = x(i)", "-i", "x=@random(2)", "--dims", "i=8"],
            "@random(2) is not a share of all places\n"
            "hint: @random(SHARE), with a number from 0 to 1, as in @random(0.02)",
        ),
        (
            ["y = A(i,j)", "-i", "A=@random", "--dims", f"i={BIG},j={BIG}"],
            "A=@random would have 1e+17 entries, more than 1e+08\n"
            "hint: give fewer, as in A=@random(1e-12)",
        ),
        (
            ["y(i) = x(i)", *X, "-o", "x=y.tns"],
            "x is not the result\nhint: write -o y=y.tns",
        ),
        (
            ["y(i) = x(i)", *X, "-o", "y"],
            '"y" names no file\nhint: NAME=FILE, as in y=result.tns',
        ),
        (
            ["y(i) = x(i)", *X, "-o", "y=no/y.tns"],
            "cannot write no/y.tns: there is no folder no",
        ),
        (
            ["y(i) = x(i)", "--dot", "no/g.gv"],
            "cannot write no/g.gv: there is no folder no",
        ),
        (
            ["y(i) = x(i)", "--draw", "g.jpg"],
            "cannot draw to g.jpg: its suffix tells no format\nhint: one of .svg, .png, .pdf",
        ),
        (
            ["y(i,j) = x(i)", *X, "--dims", f"j={BIG}", "--check"],
            "the check would need an array of 4.0e+09 places in dense numpy, more than 1e+08\n"
            "hint: leave out --check, or check on smaller inputs",
        ),
        (
            ["y(i) = x(i) + z(i)", *X, *Z, "--check"],
            "the extent of i is 4 by mode 0 of x and 2 by mode 0 of z",
        ),
    ],
)
def test_mistakes(folder, capsys, arguments, message):
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"custard: {message}\n"


# Target c

SPMV = ["y(i) = A(i,j) * x(j)", "-f=y:d", "-f=A:CSR", "-f=x:d", "--target", "c"]
WITH = ["-i", "A=west0067.mtx", "-i", "x=@dense"]
needs_compiler = pytest.mark.skipif(not cc.available(), reason="needs a C compiler")


def test_without_inputs_the_source_is_printed(capsys):
    assert main(SPMV) == 0
    out, err = capsys.readouterr()
    assert err == ""
    program = compile("y(i) = A(i,j) * x(j)", {"y": "d", "A": "CSR", "x": "d"}, target="c")
    assert out == program.source


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("--target c -o x.tns", "x.tns is an input, and would be lost"),
        ("--dot ./x.tns", "./x.tns is an input, and would be lost"),
        ("--json y.txt --dot y.txt", "two outputs go to y.txt"),
        ("--json y.tns -o y=y.tns", "two outputs go to y.tns"),
        ("--dot ''", "cannot write .: Is a directory"),
        (
            "--target c -o y.tns",
            "the C source would go to y.tns, which is named as a tensor's file is\n"
            "hint: write -o y=y.tns for the result",
        ),
    ],
)
def test_no_output_replaces_another_or_an_input(folder, capsys, options, error):
    before = Path("x.tns").read_text()
    assert main(["y(i) = 2 * x(i)", "-i", "x=x.tns", *shlex.split(options)]) == 2
    assert capsys.readouterr().err == f"custard: {error}\n"
    assert Path("x.tns").read_text() == before
    assert not Path("y.tns").exists()


def test_the_result_may_replace_an_input(folder, capsys):
    assert main(["x(i) += x(i)", "-i", "x=x.tns", "-o", "x=x.tns"]) == 0
    assert Path("x.tns").read_text() == "1 2.0\n2 4.0\n4 10.0\n"


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
def test_everything_at_once(folder, capsys):
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
    monkeypatch.setattr(CProgram, "bind", _wrong(CProgram.bind))
    assert main([*SPMV, *WITH, "--check"]) == 1
    assert capsys.readouterr().err.startswith("custard: the result at (")


def _wrong(bind):
    """Inputs of which one value is another."""

    def changed(program, inputs, threads=None):
        values = inputs["x"].to_numpy()
        values[0] += 1
        return bind(program, {**inputs, "x": values}, threads)

    return changed


@needs_compiler
def test_fast_math_is_for_speed(folder, capsys):
    assert main([*SPMV, *WITH, "--fast-math", "--check", "--json", "r.json"]) == 0
    assert "-ffinite-math-only" in json.loads(Path("r.json").read_text())["flags"]


@pytest.mark.parametrize(
    "options",
    [
        ["--config", "finite"],
        ["--set", "queues.depth=2"],
        ["--engine", "auto"],
        ["--validate"],
        ["--dot", "g.gv"],
        ["--draw", "g.svg"],
    ],
)
def test_options_of_target_sam(folder, capsys, options):
    assert main([*SPMV, *options]) == 2
    assert capsys.readouterr().err == (
        f"custard: {options[0]} has no meaning on target c\nhint: it is for target sam\n"
    )
    assert not list(folder.glob("g.*"))


@pytest.mark.parametrize("option", ["--time", "--fast-math"])
def test_options_of_target_c(capsys, option):
    assert main(["y = x(i)", option]) == 2
    assert capsys.readouterr().err == (
        f"custard: {option} has no meaning on target sam\nhint: it is for target c\n"
    )


def test_a_compiler_that_is_missing(folder, capsys, monkeypatch):
    monkeypatch.setenv("CC", "/nonexistent")
    assert main([*SPMV, *WITH, "--drop-zeros"]) == 2
    assert main([*SPMV, "-o", "kernel.c"]) == 0
    assert capsys.readouterr().err == (
        "custard: the C compiler /nonexistent, which CC names, is not found\n"
    )


@pytest.mark.parametrize("target", ["sam", "c"])
def test_from_stdin_to_stdout(folder, target):
    command = [sys.executable, "-m", "custard", "y(i) = A(i,j)", "--target", target]
    tensor = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1.5\n2 1 nan\n"
    run = subprocess.run([*command, "-i", "A=-", "-o", "y=-"], input=tensor, capture_output=True)
    assert (run.returncode, run.stderr) == (0, b"")
    assert run.stdout.startswith(b"%%MatrixMarket tensor ")
    again = subprocess.run(
        [sys.executable, "-m", "custard", "z(i) = 2 * y(i)", "-i", "y=-", "-o", "z=z.npy"],
        input=run.stdout,
        capture_output=True,
    )
    assert again.returncode == 0
    np.testing.assert_array_equal(np.load("z.npy"), [3, np.nan])


def test_stdout_takes_one_output(folder, capsys):
    assert main(["y(i) = x(i)", "-i", "x=x.tns", "-o", "y=-", "--json", "-"]) == 2
    assert "two outputs go to stdout" in capsys.readouterr().err


def test_the_home_folder(folder, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(folder))
    assert main(["y(i) = x(i)", "-i", "x=~/x.tns", "-o", "y=~/y.tns"]) == 0
    assert Path("y.tns").read_text() == "1 1.0\n2 2.0\n4 5.0\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-cuda"], "-cuda is an option of the TACO tool, not of custard\nhint: this version has"),
        (["-help"], "-help is an option of the TACO tool, not of custard\nhint: --help lists"),
        (["-print-kernels"], "-print-kernels is an option of the TACO tool"),
        (["-t=A:float"], "-t is an option of the TACO tool"),
    ],
)
def test_options_of_taco_are_answered(capsys, options, message):
    assert main([MATMUL, *options]) == 2
    assert capsys.readouterr().err.startswith(f"custard: {message}")


def test_tacos_colons_are_understood(tmp_path, capsys):
    source, result = tmp_path / "b.tns", tmp_path / "x.tns"
    source.write_text("1 2 3.0\n2 1 4.0\n")
    words = ["x(i) = B(i,j) * c(j)", f"-i=B:{source}", "-g=c:d", f"-o=x:{result}", "-d=j:2"]
    assert main(words) == 0
    assert result.exists()
    assert "matches" not in capsys.readouterr().err


def test_a_misspelt_command_has_the_nearest_as_a_hint(capsys):
    assert main(["swep", "s.yaml"]) == 2
    assert (
        capsys.readouterr().err == "custard: there is no command swep\nhint: did you mean sweep?\n"
    )


def test_quiet_prints_nothing(tmp_path, capsys):
    result = tmp_path / "x.tns"
    source = tmp_path / "b.tns"
    source.write_text("1 2 3.0\n2 1 4.0\n")
    words = [
        "x(i) = B(i,j) * c(j)",
        "-i",
        f"B={source}",
        "-i",
        "c=@dense",
        "-o",
        f"x={result}",
        "-q",
    ]
    assert main(words) == 0
    assert capsys.readouterr().out == ""
    assert result.exists()


def test_the_help_needs_no_numpy():
    code = "import sys; from custard.cli.command import main; main(['--help'])"
    check = "; assert not {'numpy', 'scipy', 'rich', 'pydantic'} & {*sys.modules}"
    script = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass{check}"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode == 0


def test_every_command_says_which_target_takes_it():
    """No hint names a target that does not take the command: the table decides."""
    arguments = {
        "split": "(i,i0,i1,4)",
        "bound": "(i,i0,4,MaxExact)",
        "unroll": "(i,4)",
        "assemble": "(X,Append)",
        "bitvector": "(B,k)",
        "skip": "(B,k)",
        "divide": "(i,i0,i1,4)",
        "fuse": "(i,k,f)",
        "pos": "(k,p,B)",
        "tile": "(8)",
        "parallelize": "(i,CPUThread,NoRaces)",
    }
    for name, signature in COMMANDS.items():
        for target in ("sam", "c"):
            if target in signature.targets or name not in arguments:
                continue
            with pytest.raises(UserError) as caught:
                compile(MATMUL, schedule=name + arguments[name], target=target)
            assert f"target {target} does not take {name}" in str(caught.value)
            assert f"target {target} takes {name}" not in str(caught.value)
            others = f"target {' and '.join(signature.targets)} takes {name}"
            assert (others in str(caught.value)) == bool(signature.targets)
