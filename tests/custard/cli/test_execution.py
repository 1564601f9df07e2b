"""Options of targets, and programs as the command compiles them."""

import pytest

from custard.cli.command import main
from tests.support.command import SPMV


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


def test_an_unknown_loop_of_a_reorder_is_passed_over(folder, capsys):
    arguments = ["y(i) = x(i)", "-i", "x=x.tns", "-s=reorder(ii,i)", "--dims", "i=4"]
    assert main(arguments) == 0
    note = "  note: reorder passes over ii, which is not a loop: did you mean i?\n"
    assert note in capsys.readouterr().out
