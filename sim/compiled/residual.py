"""The residual code of a step: the lines of C that partial evaluation leaves.

``sim.compiled.steps`` makes it from a step; ``sim.compiled.kernel`` and
``sim.retiming.firing_kernel`` write functions around it. Most lines are C already. Those whose C
depends on the queues at the ends of the block, or on where the firing stands in the function, are
objects: ``Wait``, ``Touch``, ``Fail`` and ``Leave``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sam.memory_regions import Region

INT, REAL, COMPLEX = "int64_t", "double", "double complex"


def c_type(dtype: np.dtype[Any] | None) -> str:
    """The C type in which values of a numpy type are kept; None stands for whole numbers."""
    return INT if dtype is None else {"f": REAL, "c": COMPLEX}.get(dtype.kind, INT)


@dataclass(frozen=True)
class StepPort:
    """A port of a step: its number among the inputs or outputs, the type of its values."""

    name: str
    index: int
    ctype: str
    output: bool = False
    wire: bool = False


@dataclass(frozen=True)
class Wait:
    """Waits for a token at an input, or for room at an output.

    ``after``  the ports of the same side that the firing has waited for before
    ``data``   whether the lines that follow are right for data only
    """

    indent: str
    port: int
    output: bool
    after: frozenset[int]
    data: bool = False


@dataclass(frozen=True)
class Touch:
    """Touches an entry of memory; all waits of the firing come before it.

    ``region``  its number among the regions that the step touches
    ``index``   an expression
    """

    indent: str
    region: int
    index: str
    write: bool


@dataclass(frozen=True)
class Fail:
    """Ends the run with a message, given by its number, if the test holds; always without a test.

    ``value``  an expression for the number that the message is about
    """

    indent: str
    message: int
    test: str | None = None
    value: str | None = None

    def then(self, action: str) -> str:
        """The C that acts where the firing fails."""
        return f"{self.indent}{f'if ({self.test}) ' if self.test else ''}{{ {action} }}"


@dataclass(frozen=True)
class Leave:
    """Ends the firing.

    ``takes``, ``gives``  the inputs taken from and the outputs given to: surely (True) or maybe
    ``finished``          whether it was the last: an expression, "1" or "0" where that is known
    ``again``             leaders of inputs: the firing may have taken from one of these, and the
                          inputs that it leads, and from nothing else
    ``steady``            whether it had data at all inputs, and was not the last
    """

    indent: str
    takes: Mapping[int, bool]
    gives: Mapping[int, bool]
    finished: str
    again: Sequence[int] = ()
    steady: bool = False


Line = str | Wait | Touch | Fail | Leave


def gives_alone(line: Leave) -> bool:
    """Whether a firing that ends here has given, surely, taken nothing, and was not the last."""
    return not line.takes and bool(line.gives) and all(line.gives.values()) and line.finished == "0"


@dataclass(frozen=True)
class Body:
    """The firings of a step in C, and what they use.

    ``taken``      for each input its leader: the first input that is always taken from with it
    ``given``      for each output its leader: the first that is always given to with it, tokens of
                   the same kind
    ``state``      by variable: its type, and its value at the start
    ``variables``  the other variables, by name their types
    ``memory``     the pointers into the memory of the block, by name their types
    ``numbers``    the names of the numbers in that memory
    ``touches``    how many regions of memory the step touches

    The same firing, written for several situations; ``sim.compiled.steps.specialise`` chooses them:

    ``first``      for data at all inputs, if that differs from the general one; else the only one
    ``general``    for any tokens, or nothing
    ``steady``     for data, with the state as each firing for data leaves it, or nothing
    ``following``  by leader: for data, after a firing that took from this input, and those led by
                   it, alone; the heads of the others have not changed
    ``several``    by leader: ``following`` again, if that uses no memory, keeps the state, and may
                   itself take from these inputs alone
    ``windows``    by the kinds at the heads of the inputs of two leaders, the lower one first: a
                   firing that waits for no input, if there is one in ``several`` for each of the
                   two, and this one uses no memory and keeps the state
    ``giving``     ``first`` again, if that changes no memory and may only give
    """

    inputs: Sequence[StepPort]
    outputs: Sequence[StepPort]
    taken: Sequence[int]
    given: Sequence[int]
    state: Mapping[str, tuple[str, str]]
    variables: Mapping[str, str]
    memory: Mapping[str, str]
    numbers: Sequence[str]
    first: Sequence[Line]
    steady: Sequence[Line]
    following: Mapping[int, Sequence[Line]]
    several: Mapping[int, Sequence[Line]]
    general: Sequence[Line]
    windows: Mapping[tuple[int, int], Sequence[Line]] = field(default_factory=dict)
    giving: Sequence[Line] = ()
    touches: int = 0

    @property
    def timed(self) -> bool:
        """Whether its firings depend on time: it reads a wire, or touches memory."""
        return self.touches > 0 or any(port.wire for port in self.inputs)


@dataclass(frozen=True)
class Residual:
    """The residual code of a step, and what it refers to.

    ``memory``, ``numbers``  paths from ``m``, such as ("level", "segments"), of the objects and
                             numbers that the C gets, in order
    ``messages``             of stream errors, by number
    ``regions``              the regions of memory that it touches, by their numbers in the C
    """

    body: Body
    memory: tuple[tuple[str, ...], ...]
    numbers: tuple[tuple[str, ...], ...]
    messages: tuple[str, ...]
    regions: tuple[Region, ...] = ()

    def touching(self, regions: tuple[Region, ...]) -> Residual:
        """The residual code with other regions."""
        return Residual(self.body, self.memory, self.numbers, self.messages, regions)


def firsts(leaders: Sequence[int]) -> list[int]:
    """The ports that lead others, and those that move alone."""
    return [n for n, first in enumerate(leaders) if n == first]
