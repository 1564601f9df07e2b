"""The problem of the search for a schedule, and its candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from custard.ir import cin
from custard.language.formats import LEVEL_FORMATS, Format
from custard.targets import Target


@dataclass(frozen=True)
class Problem:
    """The program to schedule, and its inputs as far as they matter.

    ``given``    the formats that are asked for
    ``dense``    the inputs that are dense arrays
    ``extents``  by variable; ``entries`` of all inputs together
    ``parts``    how many lanes, or threads, may share a loop
    """

    program: cin.LoopProgram
    given: Mapping[str, Format]
    dense: frozenset[str]
    extents: Mapping[str, int]
    entries: int
    target: Target
    parts: int

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops by the names that commands have for them."""
        return tuple(dict.fromkeys(map(cin.base, self.program.loops)))

    @property
    def result(self) -> str:
        """The name of the result."""
        return self.program.target.tensor

    def accesses(self) -> list[cin.Access]:
        """The accesses of the result and of the operands."""
        nodes = (self.program.target, *cin.walk(self.program.value))
        return [
            node
            for node in nodes
            if isinstance(node, cin.Access) and not isinstance(node, cin.Mask)
        ]

    def new(self, name: str) -> str:
        """A name that no loop and no tensor has, as like this one as can be."""
        used = {*self.loops, *(one.tensor for one in self.accesses())}
        while name in used:
            name += "_"
        return name

    def places(self, access: cin.Access) -> int:
        """How many places a tensor has."""
        return prod(self.extents[cin.base(variable)] for variable in access.variables)


@dataclass(frozen=True)
class ThreadedLoop:
    """A loop that is shared out; with ``tensor``, in blocks of ``size`` of its entries."""

    loop: str
    parts: int
    tensor: str | None = None
    block: int = 0


@dataclass(frozen=True)
class Candidate:
    """A schedule, and the facts that an estimate of it needs.

    ``formats``     of all tensors
    ``statements``  what runs in turn, with the loops in their order
    ``workspaces``  the formats of the results of all statements but the last
    ``tile``        on target c: the loop that is cut into tiles, those outermost, and their extent
    ``policy``      on target c: the workspace that the schedule asks for, for the result
    """

    schedule: tuple[str, ...]
    formats: Mapping[str, Format]
    statements: tuple[cin.LoopProgram, ...]
    workspaces: Mapping[str, Format] = field(default_factory=dict)
    shared: ThreadedLoop | None = None
    tile: tuple[str, int] | None = None
    policy: str | None = None

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops of the last statement, which makes the result."""
        return self.statements[-1].loops


def follows(candidate: Candidate) -> bool:
    """Whether the loops go through all operands in the order of their storage."""
    return all(
        _follows(node, one.loops, candidate.formats[node.tensor])
        for one in candidate.statements
        for node in cin.walk(one.value)
        if isinstance(node, cin.Access) and node.tensor in candidate.formats and not node.computed
    )


def _follows(access: cin.Access, loops: Sequence[str], form: Format) -> bool:
    places = [loops.index(access.variables[mode]) for mode in form.mode_order]
    return all(
        LEVEL_FORMATS[code].full or all(before <= places[n] for before in places[:n])
        for n, code in enumerate(form.levels)
    )
