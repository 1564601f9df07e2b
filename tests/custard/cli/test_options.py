"""The options of ``custard EXPRESSION ...``."""

from custard.cli.options import parse_command


def test_a_call_leaves_nothing_to_the_next():
    first = parse_command(["y(i) = a(i)", "-g", "a:d", "-d", "i:4"], {})
    assert (first.inputs, first.dims) == (["a=@dense"], ["i=4"])
    second = parse_command(["y(i) = a(i)"], {})
    assert (second.inputs, second.outputs, second.dims) == ([], [], [])
