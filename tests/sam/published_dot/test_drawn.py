"""Published graphs as they are drawn."""

import pytest

from sam.dot_text import parsed
from sam.published_dot.drawn import drawn, is_published
from sam.support.errors import UserError

GRAPH = """digraph {
  comment="x=vec";
  0 [type="fiberlookup" index="i" tensor="b" root="true"];
  1 [type="broadcast"];
  2 [type="repeat" index="i"];
  3 [type="arrayvals"];
  0 -> 1 [type="crd" comment="crd_i"];
  1 -> 2 [type="crd" comment="in-i"];
  0 -> 3 [type="ref" label="x_in-b"];
}"""


def test_streams_are_followed_through_broadcasts():
    found = drawn(parsed(GRAPH))
    assert found.attributes == {"comment": "x=vec"}
    assert [node.id for node in found.blocks()] == ["0", "2", "3"]
    (stream,) = found.into(found.nodes["2"])
    assert (stream.kind, stream.source, stream.out, stream.into) == ("crd", "0", "crd_i", "in-i")
    assert stream.variable == "i"
    assert found.into(found.nodes["3"])[0].into == "in-b"
    assert found.read_out(found.nodes["0"]) == {"crd_i", "in-b"}


def test_attributes_of_a_node():
    node = drawn(parsed(GRAPH)).nodes["0"]
    assert node.get("index") == "i"
    assert node.is_set("root")
    with pytest.raises(UserError) as caught:
        node.get("mode")
    assert caught.value.what == 'node "0" of type fiberlookup has no attribute "mode"'
    with pytest.raises(UserError, match='attribute "index" is not a whole number: i'):
        node.number("index")


def test_the_dialect_is_known_by_its_types():
    assert is_published(parsed(GRAPH))
    assert not is_published(parsed('digraph { a [kind="root"] }'))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("digraph { a }", 'node "a" has no attribute "type"'),
        (
            'digraph { a [type="x"]; a -> b [type="crd"] }',
            'edge "a" -> "b": there is no node "b"',
        ),
        ('digraph { a [type="x"]; a -> a [type="crdd"] }', 'edge "a" -> "a" carries crdd'),
        ('digraph { a [type="x"]; a -> a }', 'edge "a" -> "a" carries nothing'),
        ('digraph { a [type="x"]; a [type="y"] }', 'two nodes are named "a"'),
    ],
)
def test_mistakes(text, what):
    with pytest.raises(UserError) as caught:
        drawn(parsed(text))
    assert caught.value.what == what


def test_a_loop_of_broadcasts():
    text = (
        'digraph { a [type="broadcast"]; b [type="x"]; a -> a [type="crd"]; a -> b [type="crd"] }'
    )
    found = drawn(parsed(text))
    with pytest.raises(UserError, match="is in a loop of only such nodes"):
        found.into(found.nodes["b"])
