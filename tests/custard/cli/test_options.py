"""The options of ``custard EXPRESSION ...``."""

import pytest

from custard.cli.command import main
from custard.cli.options import OF_C, RESULTS, parse_command


def test_options_of_a_call_do_not_reach_the_next_call():
    first = parse_command(["y(i) = a(i)", "-g", "a:d", "-d", "i:4"])
    assert (first.inputs, first.dims) == (["a=@dense"], ["i=4"])
    second = parse_command(["y(i) = a(i)"])
    assert (second.inputs, second.outputs, second.dims) == ([], [], [])


@pytest.mark.parametrize("name", ["auto", "explain", "size"])
def test_a_command_has_a_help_of_its_own(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    out = capsys.readouterr().out
    or_graph = " | GRAPH.gv" if name == "explain" else ""
    assert out.startswith(f'usage: custard {name} "EXPRESSION"{or_graph} [options]')
    assert "--config NAME" in out
    assert "--report FILE" not in out


@pytest.mark.parametrize("name", ["configs", "formats", "report", "cache"])
def test_each_help_tells_the_purpose(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    usage, about, *_ = capsys.readouterr().out.split("\n\n")
    assert usage.startswith(f"usage: custard {name}")
    assert about.split()[0] in ("Lists", "Prints", "Tells")
    assert "`" not in about  # the mark of code in a docstring


@pytest.mark.parametrize("name", ["auto", "draw", "explain", "sim", "size"])
def test_only_the_command_of_an_expression_promises_several_machines(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    out = capsys.readouterr().out
    assert "--set KEY=VALUE" in out
    assert "1,2,4" not in out


@pytest.mark.parametrize("name", ["draw", "explain", "size"])
def test_a_command_of_target_sam_has_no_options_of_c(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    out = capsys.readouterr().out
    for option in OF_C:
        assert option not in out
        assert main([name, "y(i) = a(i)", option]) == 2
        said = f"custard: {option} has no meaning with custard {name}\n"
        assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize("name", ["auto", "explain", "size"])
@pytest.mark.parametrize("option", [*RESULTS])
def test_options_that_a_command_does_not_take_are_refused(name, option, capsys):
    given = [] if option in ("--check", "--all-lanes") else ["X=x"]
    assert main([name, "y(i) = a(i)", option, *given]) == 2
    assert capsys.readouterr().err.startswith(
        f"custard: {option} has no meaning with custard {name}\nhint: "
    )
