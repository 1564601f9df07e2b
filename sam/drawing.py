"""Graphs as pictures: SVG, PNG and PDF, laid out by Graphviz.

A ``dot`` program on the PATH draws; without one, the Graphviz library that the wheel of pygraphviz
carries does. The font is DejaVu Sans out of matplotlib, so that a machine without fonts draws the
same picture.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from html import escape
from importlib.util import find_spec
from pathlib import Path

from sam.dot import to_dot
from sam.graph import Graph
from sam.picture import STREAM_STYLES, stream
from sam.support.errors import UserError
from sam.support.files import require_folder, write_whole

FORMATS = (".svg", ".png", ".pdf")

_MOST_IN_NOTEBOOKS = 300

_LEGEND = {
    "crd": "coordinates",
    "ref": "references",
    "val": "values",
    "bv": "words of bits",
    "skip": "where to go on",
    "release": "tiles done with",
}

# A process of its own, as dot is one: the library may write to stderr, or not return.
_LIBRARY = """
import sys
from pygraphviz import AGraph
text = sys.stdin.buffer.read().decode()
sys.stdout.buffer.write(AGraph(string=text).draw(format=sys.argv[1], prog="dot"))
"""


def draw(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Draws the graph, with a legend of its arrows, to ``path``: .svg, .png or .pdf by suffix.

    The file appears whole or not at all. Raises UserError for another suffix, for a folder that
    cannot be written, and where no Graphviz is installed.
    """
    target = Path(path)
    form = form_of(target)
    require_folder(target)
    write_whole(target, picture(graph, form))


def form_of(path: Path) -> str:
    """The form of a picture, by its suffix: "svg", "png" or "pdf"; raises UserError."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise UserError(
            f"cannot draw to {path}: its suffix is not that of a picture",
            hint=f"one of {', '.join(FORMATS)}",
        )
    return suffix.removeprefix(".")


def svg_or_words(graph: Graph) -> str:
    """The picture of a graph as SVG for a notebook; or, as SVG, why there is none."""
    count = len(graph.nodes)
    if count > _MOST_IN_NOTEBOOKS:
        return in_words(f"a graph of {count:,} blocks: sam.drawing.draw(graph, path) draws it")
    try:
        return picture(graph).decode()
    except UserError as mistake:
        return in_words(f"a graph of {count:,} blocks; {mistake.what}")


def in_words(text: str) -> str:
    """A line of text as SVG."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{8 * len(text) + 16}" height="28">'
        f'<text x="8" y="19" font-family="monospace" font-size="13">{escape(text)}</text></svg>'
    )


def picture(graph: Graph, form: str = "svg") -> bytes:
    """The drawing of a graph, with a legend of its arrows: svg, png or pdf. Raises UserError."""
    return laid_out(_with_legend(graph), form)


def _with_legend(graph: Graph) -> str:
    """The DOT text with one sample arrow for each kind of stream that the graph has."""
    there = {stream(edge) for edge in graph.edges}
    if not there:
        return to_dot(graph)
    lines = ["  subgraph cluster_legend {", '    label=""; style=rounded; color=gray;']
    for kind, name in _LEGEND.items():
        if kind not in there:
            continue
        look = {**STREAM_STYLES[kind], "constraint": "true"}
        style = ", ".join(f'{key}="{value}"' for key, value in look.items())
        start, end = f'"legend {kind} start"', f'"legend {kind} end"'
        lines += [
            f'    {start} [label="{name}", shape=plaintext, style=solid, height=0.2];',
            f'    {end} [label="", shape=point, style=invis];',
            f"    {start} -> {end} [{style}];",
        ]
    return to_dot(graph).removesuffix("}\n") + "\n".join([*lines, "  }", "}", ""])


def laid_out(text: str, form: str = "json") -> bytes:
    """Graphviz's output for a DOT text in a form: a picture, or the layout as JSON.

    Raises UserError where Graphviz is missing or fails.
    """
    program = shutil.which("dot")
    if program is None and find_spec("pygraphviz") is None:
        raise UserError("no Graphviz is installed to draw with", hint="pip install pygraphviz")
    command = [program, f"-T{form}"] if program else [sys.executable, "-c", _LIBRARY, form]
    with tempfile.TemporaryDirectory() as folder:
        # Not a pipe: a program that ends before it has read all its input would end us too, by
        # SIGPIPE, where that signal is not ignored.
        source = Path(folder, "graph.dot")
        source.write_bytes(text.encode())
        fonts = Path(folder, "fonts.conf")
        fonts.write_text(
            f"<fontconfig><dir>{escape(_fonts())}</dir><cachedir>{folder}</cachedir></fontconfig>"
        )
        with source.open("rb") as stdin:
            done = subprocess.run(
                command,
                stdin=stdin,
                capture_output=True,
                env={**os.environ, "FONTCONFIG_FILE": str(fonts)},
                check=False,
            )
    if done.returncode != 0 or not done.stdout:
        message = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise UserError(f"Graphviz cannot draw the graph: {message[-1]}")
    return done.stdout


def _fonts() -> str:
    """The folder of matplotlib's fonts, found without importing it."""
    found = find_spec("matplotlib")
    assert found is not None
    assert found.origin is not None
    return str(Path(found.origin).parent / "mpl-data" / "fonts" / "ttf")
