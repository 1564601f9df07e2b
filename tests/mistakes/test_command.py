"""Mistakes on the command line."""

import pytest

from custard.cli.command import main
from tests.support.mistakes import HEADER, MATVEC, SUFFIXES, text

GIVEN = ["-i", "A=@random(0.5)", "-i", "x=@dense", "--dims", "i=4,j=4"]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["y(i) = x(i"], ["this ( is never closed", "  y(i) = x(i", "          ^"]),
        ([MATVEC, "-f=D:CSR"], [
            "the expression has no tensor D", "  D:CSR", "  ^", "hint: one of y, A, x",
        ]),
        ([MATVEC, "-f=A:s"], [
            "A has 2 modes, but its format has 1 level",
            "  A:s",
            "    ^",
            "hint: write 2 levels, as in ss:0,1",
        ]),
        ([MATVEC, "--strict", "-s=reorder(i,q)"], [
            "reorder names q, which is not a loop",
            "  reorder(i,q)",
            "            ^",
            "hint: one of i, j",
        ]),
        ([MATVEC, "--strict", "-s=reorder(j,i)"], [
            "A(i,j), stored as ss:0,1, is transposed to 1,0 before the run",
            "hint: write the format A:ss:1,0, or drop strict to let the compiler do it",
        ]),
        ([MATVEC, "--dims", "i=5", "--dims", "j=2,i=6"], [
            "--dims gives i the extent 5, and then 6",
        ]),
        ([MATVEC, "--target", "cuda"], ["unknown target cuda", "hint: one of sam, c"]),
        ([MATVEC, "--engine", "compile"], [
            "unknown engine compile", "hint: did you mean compiled?",
        ]),
        ([MATVEC, "--engine", ""], ["unknown engine ", "hint: one of auto, simpy, compiled"]),
        ([MATVEC, *GIVEN, "--set", "queues.depth"], [
            '"queues.depth" sets nothing', "hint: KEY=VALUE, as in queues.depth=8",
        ]),
        ([MATVEC, *GIVEN, "--set", "depth=8"], [
            '--set: unknown key "depth"', "hint: did you mean queues.depth?",
        ]),
        ([MATVEC, *GIVEN, "--set", "blocks.names.scan_A_k.latency_cycles=2"], [
            'blocks.names sets "scan_A_k", and the graph has no such block',
            "hint: did you mean scan_A_j?",
        ]),
        ([MATVEC, *GIVEN, "-o", "y=y"], [
            "cannot tell the format of y: it has no suffix", SUFFIXES,
        ]),
        ([MATVEC, *GIVEN, "-o", "y=y.mtx"], [
            "y.mtx: a .mtx file holds a matrix, and this tensor has 1 mode",
            "hint: write a .ttx, .tns or .npz file",
        ]),
        ([MATVEC, *GIVEN, "-o", "A=y.tns"], ["A is not the result", "hint: write -o y=y.tns"]),
        ([MATVEC, *GIVEN, "--json", "no/r.json"], [
            "cannot write no/r.json: there is no folder no",
        ]),
        ([MATVEC, "--dot", "."], ["cannot write .: it is a folder"]),
        ([MATVEC, "--draw", "g.gif"], [
            "cannot draw to g.gif: its suffix is not that of a picture",
            "hint: one of .svg, .png, .pdf",
        ]),
        ([MATVEC, "-i", "A=no.mtx", "-i", "x=@dense"], [
            "cannot read no.mtx: No such file or directory",
        ]),
        ([MATVEC, "-i", "A=bad.mtx", "-i", "x=@dense"], [
            'bad.mtx, line 3: "one" is not a value of the type float64', "  1 1 one", "      ^^^",
        ]),
        ([MATVEC, "-i", "A=@random"], [
            "no input is given for x", "hint: -i x=@random, or name a file",
        ]),
        ([MATVEC, "-i", "A=@random", "-i", "x=@random", "--dims", "i=4"], [
            "no input fixes the extent of j", "hint: --dims j=8",
        ]),
    ],
)  # fmt: skip
def test_the_command_line(tmp_path, capsys, arguments, lines):
    (tmp_path / "bad.mtx").write_text(HEADER + "2 2 1\n1 1 one\n")
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "custard: " + text(*lines) + "\n")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.mtx"]


@pytest.mark.parametrize(
    "where", [["-o", "y=y.mtx"], ["-o", "y=no/y.tns"], ["--json", "no/r.json"], ["--draw", "g.gif"]]
)
def test_files_that_cannot_be_written_are_refused_before_the_run(monkeypatch, where):
    def run(*_, **__):
        raise AssertionError

    monkeypatch.setattr("custard.to_sam.program.SamProgram.simulate", run)
    assert main([MATVEC, *GIVEN, *where]) == 2
