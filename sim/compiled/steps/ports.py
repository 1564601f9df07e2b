"""The ports of a step in C: peek, take and give, the messages of wires, touches of memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sim.compiled.residual import INT, StepPort, Touch, Wait
from sim.compiled.steps.values import Known, Open, stands
from sim.compiled.steps.writing import FiringWriter


def _latest(writing: FiringWriter, port: StepPort) -> tuple[Open, Open]:
    """The newest message on a wire, which has been read before the firing."""
    return Open(f"k{port.index}", INT), Open(f"v{port.index}", port.ctype)


def _peek(writing: FiringWriter, port: StepPort) -> tuple[Known | Open, Open]:
    """The kind and value at the head of an input; they stand still until the firing is over."""
    n, reached = port.index, writing.reached
    if n not in reached.peeked:
        data = writing.situation.data
        writing.lines.append(Wait(writing.indent, n, False, reached.peeked, data))
        writing.reached = replace(reached, peeked=reached.peeked | {n})
    heads = writing.situation.heads
    return Known(heads[n]) if n in heads else Open(f"k{n}", INT), Open(f"v{n}", port.ctype)


def _take(writing: FiringWriter, port: StepPort) -> Known:
    writing.write(f"TAKE{port.index}")
    writing.move("take", port, "")
    return Known(None)


def _give(writing: FiringWriter, port: StepPort, kind: Any, value: Any) -> Known:
    n = port.index
    kind, value = writing.open(kind), writing.open(value)
    if port.name.startswith("val") and port.ctype == INT and value.ctype != INT:
        raise writing.refuse("a real number as a value where the values are whole numbers")
    writing.write(f"GIVE{n}({kind.text}, {value.text})")
    sure = frozenset(m for m, surely in writing.reached.side("give").items() if surely)
    writing.lines.append(Wait(writing.indent, n, True, sure))
    version = writing.versions.get(kind.text, 0)
    plain = stands(kind) or kind.text in writing.types
    writing.move("give", port, f"{kind.text}@{version}" if plain else f"of {n}")
    return Known(None)


METHODS: dict[str, Callable[..., Any]] = {
    "latest": _latest,
    "peek": _peek,
    "take": _take,
    "give": _give,
}
"""The methods of ports, by name; each gets the writing, the port and the arguments."""


def touch(writing: FiringWriter, write: bool, region: Any, index: Callable[[], Any]) -> Known:
    """Touches the entry of a region at an index, which is evaluated only if the region exists.

    Where memory is ideal, there is none.
    """
    if not isinstance(region, Known):
        raise writing.refuse("a region of memory that is not known")
    if region.value is not None:
        number = writing.regions.setdefault(region.value, len(writing.regions))
        entry = writing.open(index()).text
        writing.pure = False
        writing.lines.append(Touch(writing.indent, number, entry, write))
    return Known(None)
