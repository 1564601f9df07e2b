"""The command line: its output and files, every mistake's whole text, and the exit status."""

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from custard.cli.command import main
from custard.compiler import compile
from custard.language.commands import COMMANDS
from custard.to_sam.program import SamProgram
from sam.blocks import StreamError
from sam.io import read
from sam.support.errors import UserError
from sim.config.hardware import shipped
from tests.support.command import MATMUL, WEST


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
        "  config finite with queues.depth=2, engine simpy",
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


def test_the_examples_of_the_help_work(folder, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out.replace("\\\n", " ")
    examples = [line.strip() for line in text.splitlines() if line.startswith("    custard ")]
    assert len(examples) == 5
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
    rows = {line.partition(" ")[0]: line for line in reversed(lines)}  # the first of each word
    assert rows["d"].startswith("d dense full ordered unique compact ")
    assert rows["d"].endswith(" iterates_values locates inserts")
    assert rows["o"].startswith("o offset ordered unique branchless ")
    assert rows["-f=A:CSC"] == "-f=A:CSC compressed columns ds:1,0"
    assert rows["-f=A:COO"] == "-f=A:COO a list of coordinates uq:0,1, ucq:0,1,2"
    assert rows["-f=A:DIA"] == "-f=A:DIA the diagonals of a matrix dro:0,1,2"
    assert "-f=A:DIA A(k,i,j) sam.Tensor.of(A).diagonals()" in lines


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
        (
            ["run", "y = x(i)", "-i", "x=@dense"],
            "there is no command run\nhint: the expression comes first, as in custard 'y = x(i)'",
        ),
        (["explane", "y = x(i)"], "there is no command explane\nhint: did you mean explain?"),
        (
            ["sim", "y = x(i)"],
            "cannot read y = x(i): No such file or directory\n"
            "hint: custard 'y = x(i)' runs an expression",
        ),
        (["y = x(i)", "--input", "x=@random"], "there is no option --input\nhint: that is -i"),
        (
            ["y = x(i)", "--schedule=unroll(i,2)"],
            "there is no option --schedule=unroll(i,2)\nhint: that is -s",
        ),
        (["y = x(i)", "--chek"], "there is no option --chek\nhint: did you mean --check?"),
        (
            ["y", "=", "x(i)"],
            "= is one argument too many\nhint: put the expression in quotes",
        ),
        (
            ["y = x(i)", "-s", "split(i,i0,i1,4)", "unroll(i1,4)"],
            "unroll(i1,4) is one argument too many\nhint: each value has its -s: -s='unroll(i1,4)'",
        ),
        (
            ["y = x(i)", "-f=x:s", "y:"],
            "y: is one argument too many\nhint: each value has its -f: -f=y:",
        ),
        (
            ["-f=x:s", "y", "=", "x(i)"],
            "= is one argument too many\nhint: put the expression in quotes",
        ),
        (
            ["y = x(i)", "--check", "all"],
            "all is one argument too many\nhint: put the expression in quotes",
        ),
        (
            ["y = x(i)", "-i"],
            "argument -i: expected one argument\n"
            "hint: as in -i NAME=VALUE; custard --help lists the options",
        ),
        (
            ["y = x(i)", "--seed", "-1"],
            'argument --seed: "-1" is not a whole number of at least 0\n'
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
        (["y = x(i)", "--dims", "i"], '"i" is not an extent\nhint: --dims i=5, or --dims i=5,j=6'),
        (
            ["y = x(i)", "--dims", "i=5,j=-1"],
            '"j=-1" is not an extent\nhint: --dims i=5, or --dims i=5,j=6',
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
            '--set: unknown key "queues.dept"\nhint: did you mean depth?',
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
            '"x.tns" is not an input\nhint: NAME=VALUE, as in B=west0067.mtx or x=@random',
        ),
        (["y(i) = x(i)", "-i", "q=x.tns"], "the program has no input q\nhint: one of x"),
        (
            ["y(i) = min(A,x)"],
            "min is not a function here\n"
            "  y(i) = min(A,x)\n"
            "         ^^^^^^^^\n"
            "hint: an expression has + - * / and sum(j, ...); a tensor of this name has a format, "
            "as in -f=min:ss",
        ),
        (
            ["y(i) = rows(A,x)", "-i", "A=x.tns"],
            "the program has no input A\n"
            "hint: A indexes the tensor rows; an expression has no function but sum",
        ),
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
            "there is no generator @randon\n"
            "hint: a file needs a suffix, as in west0067.mtx; did you mean @random?",
        ),
        (
            ["y(i) = x(i)", "-i", "x=@random:0.1", "--dims", "i=8"],
            "there is no generator @random:0.1\n"
            "hint: a share stands in brackets, as in @random(0.1)",
        ),
        (
            ["y(i) = x(i)", "-i", "x=@random(2)", "--dims", "i=8"],
            "@random(2) does not give a share of all places\n"
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
            "cannot draw to g.jpg: its suffix is not that of a picture\n"
            "hint: one of .svg, .png, .pdf",
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


@pytest.mark.parametrize(
    ("words", "needless"),
    [
        (["--help"], "numpy scipy rich pydantic"),
        (
            [MATMUL, "--target", "c"],
            "scipy rich pydantic sim sam.blocks sam.dot importlib.metadata",
        ),
        (
            [MATMUL, "-i", "B=@random", "-i", "C=@random", "--dims", "i=2,j=2,k=2"],
            "scipy matplotlib pydot sam.dot sim.traces",
        ),
        (
            [
                MATMUL,
                *[
                    "-i",
                    "B=@random",
                    "-i",
                    "C=@random",
                    "--dims",
                    "i=2,j=2,k=2",
                    "--engine",
                    "compiled",
                ],
            ],
            "scipy matplotlib simpy sim.traces",
        ),
        (
            [MATMUL, "-s=reorder(k,i,j)", f"-i=B={WEST}", f"-i=C={WEST}"],
            "scipy matplotlib sim.traces",
        ),
    ],
)
def test_a_command_imports_what_it_needs(words, needless):
    script = f"""if True:
        import sys
        from custard.cli.command import main
        try:
            main({words!r})
        except SystemExit:
            pass
        print("imported", *{{*{needless.split()!r}}} & {{*sys.modules}})
    """
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (told.stderr, told.stdout.splitlines()[-1]) == ("", "imported")


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
