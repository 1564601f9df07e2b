"""What the commands share on the console."""

import argparse
import errno
from io import BytesIO, TextIOWrapper

import pytest

from custard.cli.arguments import (
    Parser,
    complain,
    engine,
    of_system,
    parse,
    require_stdout,
    stdout,
    whole_number,
)
from sam.support.errors import UserError


def made():
    parser = Parser(prog="custard x", allow_abbrev=False)
    parser.add_argument("--depth", type=whole_number)
    return parser


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--dept", "1"], "there is no option --dept\nhint: did you mean --depth?"),
        (["more"], "more is one argument too many\nhint: in quotes"),
        (
            ["--depth", "-1"],
            'argument --depth: "-1" is not a whole number of at least 0\n'
            "hint: custard x --help lists the options",
        ),
        (
            ["--depth", "two"],
            'argument --depth: "two" is not a whole number of at least 0\n'
            "hint: custard x --help lists the options",
        ),
    ],
)
def test_mistakes(words, error):
    with pytest.raises(UserError) as caught:
        parse(made(), words, ["--depth"], "in quotes")
    assert str(caught.value) == error


def test_a_mistake_does_not_control_the_terminal(capsys):
    complain('line 3: "\x1b[31m\x7f" is no number\nhint')
    unseen = "\N{REPLACEMENT CHARACTER}"
    assert capsys.readouterr().err == (
        f'custard: line 3: "{unseen}[31m{unseen}" is no number\nhint\n'
    )


def test_an_option_has_one_value():
    assert parse(made(), ["--depth", "4", "--depth=04"], []).depth == 4
    assert parse(made(), ["--depth", "5"], []).depth == 5
    with pytest.raises(UserError, match="--depth is given twice: 4, and then 8"):
        parse(made(), ["--depth", "4", "--depth", "8"], [])


def test_whole_numbers():
    assert parse(made(), ["--depth", "007"], []).depth == 7
    for text in ("", "+1", "1.0", "٣", "9" * 19):
        with pytest.raises(argparse.ArgumentTypeError):
            whole_number(text)


def test_the_engine_is_chosen_unless_it_is_named():
    assert engine(argparse.Namespace(engine=None)) == "auto"
    assert engine(argparse.Namespace(engine="simpy")) == "simpy"


def test_refusals_of_the_system_are_told(capsys):
    assert of_system(PermissionError(errno.EACCES, "Permission denied", "a.mtx")) == 2
    assert capsys.readouterr().err == "custard: cannot use a.mtx: Permission denied\n"


def test_lines_that_nobody_reads_on_a_terminal_have_a_fixed_width(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert stdout().width == 120
    monkeypatch.setenv("COLUMNS", "many")
    assert stdout().width == 120
    monkeypatch.setenv("COLUMNS", "40")
    assert stdout().width == 40
    stdout(quiet=True).print("nothing")
    assert capsys.readouterr().out == ""


def test_bars_stay_apart_in_an_encoding_without_them(monkeypatch):
    written = BytesIO()
    monkeypatch.setattr("sys.stdout", TextIOWrapper(written, encoding="ascii"))
    require_stdout()
    print("█░▒▚·◀ é", flush=True)
    assert written.getvalue() == b"#:%&.< ?\n"
