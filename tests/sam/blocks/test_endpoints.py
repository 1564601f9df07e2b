"""Roots, sources and sinks; and the text of a failure in ``tests/support/streams.py``."""

import pytest
from _pytest.outcomes import Failed

from sam.graph import Edge, End, Graph, Node
from sam.support.errors import UserError
from sam.token import format_stream
from sim import simulate
from tests.support.streams import check_block, run_block


def test_a_root_gives_one_reference():
    graph = Graph(
        nodes=(Node("root", "root"), Node("sink", "sink")),
        edges=(Edge(End("root", "ref"), End("sink", "in_stream")),),
    )
    run = simulate(graph)
    assert format_stream(run.sinks["sink"]) == "0, D"
    assert run.cycles == 2


@pytest.mark.parametrize("text", ["1, S0", "", "1, D, 2, D"])
def test_the_tokens_of_a_source_end_with_their_only_D(text):
    graph = Graph(
        nodes=(
            Node("source", "source", {"stream": "crd", "depth": 1, "tokens": text}),
            Node("sink", "sink"),
        ),
        edges=(Edge(End("source", "crd"), End("sink", "in_stream")),),
    )
    with pytest.raises(UserError, match=f"the tokens of a source end with D: {text}$"):
        simulate(graph)


@pytest.mark.parametrize("stream", ["crd", "ref", "val"])
def test_a_source_gives_the_tokens_of_its_text(stream):
    text = "1, S0, N, 2.5, S0, S1, D"
    graph = Graph(
        nodes=(
            Node("source", "source", {"stream": stream, "depth": 2, "tokens": text}),
            Node("one", "sink"),
            Node("other", "sink"),
        ),
        edges=(
            Edge(End("source", stream), End("one", "in_stream")),
            Edge(End("source", stream), End("other", "in_stream")),
        ),
    )
    run = simulate(graph, validate=False)
    assert {name: format_stream(tokens) for name, tokens in run.sinks.items()} == {
        "one": text,
        "other": text,
    }
    assert run.blocks["source"].tokens == {stream: {"data": 2, "empty": 1, "stop": 3, "done": 1}}


def test_a_failure_names_the_port_the_token_and_both_streams():
    with pytest.raises(Failed) as failure:
        check_block(
            "repeater",
            {"stream": "ref"},
            {"in_coordinates": "1, 2, S0, D", "in_ref": "7, D"},
            {"ref": "7, 8, S0, D"},
        )
    assert str(failure.value) == (
        "ref, token 1: 7 came, 8 was due\n  came: 7, 7, S0, D\n  due:  7, 8, S0, D"
    )


def test_a_failure_tells_where_a_stream_is_too_short_or_too_long():
    result = run_block("repeater", {"stream": "ref"}, {"in_coordinates": "D", "in_ref": "D"})
    with pytest.raises(Failed, match="ref, token 0: D came, 7 was due"):
        result.check({"ref": "7, D"})
    result = run_block(
        "repeater", {"stream": "ref"}, {"in_coordinates": "1, S0, D", "in_ref": "7, D"}
    )
    with pytest.raises(Failed, match="ref, token 2: D came, nothing was due"):
        result.check({"ref": "7, S0"})
    with pytest.raises(Failed, match="ref, token 3: nothing came, D was due"):
        result.check({"ref": "7, S0, D, D"})
