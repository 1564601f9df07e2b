"""DOT as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam.dot_text import brackets, label, parsed, quote, texts, unquote, with_subgraphs
from sam.support.errors import UserError


@given(st.text())
def test_a_quoted_text_is_unquoted_to_the_same(text):
    assert unquote(quote(text)) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_pydot_reads_quoted_texts(text):
    graph = parsed(f"digraph {{ a [x={quote(text)}] }}")
    assert texts(graph.get_node("a")[0].get_attributes()) == {"x": text}


def test_words_need_no_quotes():
    assert unquote("word") == "word"
    assert quote('a "b"\\') == r'"a \"b\"\u{5c}"'


def test_labels_are_drawn_as_they_are():
    assert label('a & "b"\n\\n\x00') == '"a &amp; \\"b\\"\\n\\\\n\N{REPLACEMENT CHARACTER}"'


def test_attributes():
    assert brackets({"a": "1", "b": quote("c d")}) == '[a=1, b="c d"]'
    assert texts({"a": '"1"', "b": None}) == {"a": "1"}


def test_parts_of_subgraphs_are_found():
    graph = parsed("digraph { a; subgraph s { b; subgraph t { c } } }")
    found = with_subgraphs(graph, lambda part: part.get_nodes())
    assert sorted(node.get_name() for node in found) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("digraph {\n a -> }", "the text is not DOT: line 2 cannot be read"),
        ("graph { a }", "the DOT text must hold one digraph"),
        ("digraph { a } digraph { b }", "the DOT text must hold one digraph"),
        ("digraph { a [name=b] }", 'an attribute is named "name", "src", "dst" or "obj_dict"'),
    ],
)
def test_mistakes(text, what):
    with pytest.raises(UserError) as caught:
        parsed(text)
    assert caught.value.what == what
