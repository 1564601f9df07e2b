"""Steps given as text, and their residual code as text."""

import itertools
import linecache
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sim.compiled.residual import INT, REAL, Fail, Leave, Line, Residual, StepPort, Touch, Wait
from sim.compiled.steps.specialise import translate

FORWARD = """
kind, value = p.a.peek()
p.a.take()
p.crd.give(kind, value)
return kind == 3
"""
"""Gives what it takes."""

MERGE = """
kind_a, a = p.a.peek()
kind_b, b = p.b.peek()
if kind_a == 0 and kind_b == 0:
    if a < b:
        p.a.take()
        return None
    if b < a:
        p.b.take()
        return None
    p.a.take()
    p.b.take()
    p.crd.give(0, a)
    return None
if kind_a == 0:
    p.a.take()
    return None
if kind_b == 0:
    p.b.take()
    return None
p.a.take()
p.b.take()
p.crd.give(kind_a, 0)
return kind_a == 3
"""
"""Takes the smaller of two coordinates, or both if they are equal."""

REPEAT = """
if s.left > 0:
    s.left = s.left - 1
    p.crd.give(0, 1)
    return None
kind, value = p.a.peek()
p.a.take()
if kind == 0:
    s.left = value
    return None
p.crd.give(kind, 0)
return kind == 3
"""
"""Repeats a value as often as it says."""

PORTS = {
    "a": StepPort("a", 0, INT),
    "b": StepPort("b", 1, REAL),
    "both": [StepPort("a", 0, INT), StepPort("b", 1, REAL)],
    "told": StepPort("told", 2, INT, wire=True),
    "crd": StepPort("crd", 0, INT, output=True),
    "val": StepPort("val", 1, REAL, output=True),
}
"""Two inputs, which are also a group, and two outputs; ``told`` is a wire."""

_numbers = itertools.count()


def step(text: str, name: str = "step", **known: Any) -> Callable[..., Any]:
    """The function of that name that a text defines; its globals are those that are known."""
    file = f"<steps {next(_numbers)}>"
    text = textwrap.dedent(text)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), known)
    return known[name]


def translated(
    body: str,
    state: Mapping[str, Any] | None = None,
    memory: Any = None,
    ports: Sequence[str] = ("a", "b", "crd", "val"),
    values: str = REAL,
    **known: Any,
) -> Residual:
    """The residual code of a step with that body; other functions may come before it."""
    functions, _, body = body.rpartition("===\n")
    text = textwrap.dedent(functions) + "def step(p, s, m):\n"
    text += textwrap.indent(textwrap.dedent(body), "    ")
    named = {name: PORTS[name] for name in ports}
    return translate(step(text, **known), named, state or {}, memory, values)


def general(body: str, *arguments: Any, **more: Any) -> str:
    """The firing for any tokens, as text."""
    found = translated(body, *arguments, **more).body
    return written(found.general or found.first)


def written(lines: Sequence[Line]) -> str:
    """Lines of a firing as text, without the indent that all have."""
    return "\n".join(_text(line)[8:] for line in lines)


def _text(line: Line) -> str:
    match line:
        case Wait(indent, port, output, _, data):
            side = "room at" if output else "data at" if data else "a token at"
            return f"{indent}WAIT for {side} {port}"
        case Touch(indent, region, index, write):
            return f"{indent}TOUCH {region}[{index}] {'to write' if write else 'to read'}"
        case Fail(indent, message, test, value):
            about = f" of {value}" if value else ""
            return f"{indent}FAIL {message}{about} if {test or 'reached'}"
        case Leave(indent, takes, gives, finished):
            moved = [f"{'took' if sure else 'may have taken'} {n}" for n, sure in takes.items()]
            moved += [f"{'gave' if sure else 'may have given'} {n}" for n, sure in gives.items()]
            return f"{indent}LEAVE {', '.join(moved) or 'untouched'}; last: {finished}"
        case _:
            return str(line)
