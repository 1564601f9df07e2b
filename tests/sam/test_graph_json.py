"""Parts of a graph as JSON."""

import pytest

from sam.graph import Graph, Result, Slot
from sam.graph_json import described, parts_of
from sam.subscripts import Affine, Span
from sam.support.errors import UserError

GRAPH = Graph(
    nodes=(),
    edges=(),
    slots=(
        Slot("B", "B", "ds", ((0,), (1,)), ("i", "j")),
        Slot("x", "x", "d", ((0,),), ("k",), computed=(Affine("k", 2, (("i", 1),), -1),)),
        Slot("number", None, constant=2.5),
    ),
    result=Result(Slot("y", "y", "d", ((0,),), ("i",)), "d", (0,)),
    nonempty=("i",),
    dims=(("i", 4), ("j", 5)),
    spans=(Span("k", Affine("i", 1, (), 2)),),
)


def test_parts_are_read_as_they_were_written():
    found = parts_of(described(GRAPH))
    assert found["slots"] == GRAPH.slots
    assert found["result"] == GRAPH.result
    assert (found["nonempty"], found["dims"]) == (GRAPH.nonempty, GRAPH.dims)
    assert (found["derived"], found["spans"]) == ((), GRAPH.spans)


def test_rare_parts_are_left_out():
    bare = described(Graph(nodes=(), edges=(), slots=(GRAPH.slots[0],)))
    assert "spans" not in bare
    assert "computed" not in bare["slots"]
    assert parts_of({}) == {}


@pytest.mark.parametrize(
    ("attributes", "what"),
    [
        (
            {"dims": "[1"},
            "graph: attribute \"dims\" is not JSON: expecting ',' delimiter in line 1",
        ),
        (
            {"dims": '[["i", "x"]]'},
            "graph: attribute \"dims\" does not hold a graph's dims: 'x' at dims[0][1]",
        ),
        ({"slots": "3"}, 'graph: attribute "slots" does not hold a graph\'s slots: 3 at slots'),
    ],
)
def test_mistakes(attributes, what):
    with pytest.raises(UserError) as caught:
        parts_of(attributes)
    assert caught.value.what == what
