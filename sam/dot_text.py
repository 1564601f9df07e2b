"""DOT as text: strings in quotes, and the parser that both dialects use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sam.support.errors import UserError

if TYPE_CHECKING:
    import pydot


def quote(text: str) -> str:
    r"""A DOT string. A backslash in it starts ``\"`` or ``\u{hex}``, and nothing else."""
    escaped = (
        r"\"" if c == '"' else c if c == "\n" or _plain(c) else rf"\u{{{ord(c):x}}}" for c in text
    )
    return '"' + "".join(escaped) + '"'


def _plain(character: str) -> bool:
    return character.isprintable() and character != "\\"


def unquote(value: str) -> str:
    """The text that a DOT string, or a word without quotes, spells."""
    if not value.startswith('"'):
        return value
    return re.sub(
        r'\\"|\\u\{([0-9a-f]{1,5}|10[0-9a-f]{4})\}',
        lambda found: '"' if found[1] is None else chr(int(found[1], 16)),
        value[1:-1],
    )


def texts(attributes: Mapping[str, str | None]) -> dict[str, str]:
    """The texts of attributes; an attribute without a value is left out."""
    return {name: unquote(value) for name, value in attributes.items() if value is not None}


def label(text: str) -> str:
    """A DOT string that Graphviz draws as ``text``: its own escapes and entities do not apply."""
    for plain, escaped in {"\\": r"\\", '"': r"\"", "&": "&amp;", "\n": r"\n"}.items():
        text = text.replace(plain, escaped)
    return '"' + "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text) + '"'


def brackets(attributes: Mapping[str, str]) -> str:
    """The attributes of a node or an edge, whose values are DOT already."""
    return "[" + ", ".join(f"{name}={value}" for name, value in attributes.items()) + "]"


def parsed(text: str) -> pydot.Dot:
    """The one digraph of a text; raises UserError."""
    # pydot.graph_from_dot_data would print the mistake, and pass over text after the graph.
    from pydot.dot_parser import GraphParser
    from pyparsing import ParseException

    try:
        graphs = GraphParser.parser.parse_string(text, parse_all=True)
    except ParseException as mistake:
        raise UserError(
            f"the text is not DOT: line {mistake.lineno} cannot be read",
            source=mistake.line,
            span=(mistake.column - 1, mistake.column),
        ) from None
    except RecursionError:
        raise UserError("the DOT text cannot be read: it is nested too deep") from None
    except TypeError:  # pydot takes attributes for arguments of its own functions
        raise UserError('an attribute is named "name", "src", "dst" or "obj_dict"') from None
    if len(graphs) != 1 or graphs[0].get_type() != "digraph":
        raise UserError("the DOT text must hold one digraph")
    return graphs[0]


def with_subgraphs(graph: pydot.Graph, parts: Any) -> Iterator[Any]:
    """The parts of a graph and of all graphs in it."""
    yield from parts(graph)
    for inner in graph.get_subgraphs():
        yield from with_subgraphs(inner, parts)
