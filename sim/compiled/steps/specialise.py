"""Chooses the situations that a firing is written for, and writes it for each of them.

A firing that is right for any tokens has to look at their kinds, and at all inputs. Most firings
find data at the heads of all inputs, and many leave the state as it was, or take from the same
input as the one before.
``sim.compiled.residual.Body`` lists the firings that make use of it. Which of them exist follows
from the firings themselves, so these are written in rounds, until a round shows nothing new.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from sam.blocks.base import Step
from sam.token import DATA, STOP
from sim.compiled.residual import (
    Body,
    Leave,
    Line,
    Residual,
    StepPort,
    Wait,
    gives_alone,
)
from sim.compiled.steps.evaluator import Evaluator
from sim.compiled.steps.values import Known
from sim.compiled.steps.writing import Constants, Firing, FiringState, Situation, common

_LABEL = re.compile(r"end\d+")

# The most groups of inputs that get a firing to follow a firing that moved only that group.
_MOST_FOLLOWED = 2

# The kinds of two tokens of which a firing may drop one.
_WINDOWS = ((DATA, DATA), (DATA, STOP), (STOP, DATA))


def translate(
    step: Step, ports: Mapping[str, Any], state: Mapping[str, Any], memory: Any, values: str
) -> Residual:
    """The residual code of a step.

    ``ports``   by name, the ports in ``p``: a Port, or a list of them
    ``state``   the fields of ``s`` at the start
    ``memory``  ``m``; only the types and constants in it decide the C
    ``values``  the C type of the values that the block gives or stores

    Raises Untranslatable.
    """
    evaluator = Evaluator(ports, state, values)
    shown = _Findings()
    while True:
        types = dict(evaluator.types)
        evaluator.reset()
        firings = _FiringRound(evaluator, step, memory, shown)
        body, shows = firings.body(), firings.shown()
        if shows == shown and evaluator.types == types:
            return Residual(
                body,
                tuple(evaluator.memory),
                tuple(evaluator.numbers),
                tuple(evaluator.messages),
                tuple(evaluator.regions),
            )
        shown = shows


@dataclass(frozen=True)
class _Findings:
    """The findings of a round of firings.

    ``leaders``   by input, the first input that is always taken from with it
    ``followed``  the leaders worth a ``following`` firing
    ``rest``      the values that all firings for data leave in the state
    """

    leaders: list[int] = field(default_factory=list)
    followed: list[int] = field(default_factory=list)
    rest: Constants = field(default_factory=dict)

    def alone(self, takes: Mapping[int, bool]) -> set[int]:
        """The leaders that a firing may have taken from alone."""
        sure = {self.leaders[n] for n, surely in takes.items() if surely}
        if len(sure) > 1:
            return set()
        return sure or {self.leaders[n] for n in takes}


class _FiringRound:
    """A round of firings of a step, written with the findings of the round before."""

    def __init__(self, evaluator: Evaluator, step: Step, memory: Any, before: _Findings) -> None:
        self.evaluator, self.step, self.memory, self.before = evaluator, step, memory, before
        self.ends: list[FiringState] = []
        self.takes: list[Mapping[int, bool]] = []
        self.rests: list[Constants] = []

    def body(self) -> Body:
        """The firings of the round, and the names that they use."""
        evaluator = self.evaluator
        firings = self._firings()
        types = evaluator.types
        state = {name: ctype for name, ctype in types.items() if name.startswith("s_")}
        return Body(
            inputs=evaluator.inputs,
            outputs=evaluator.outputs,
            state={name: (ctype, self._start(name)) for name, ctype in state.items()},
            variables={name: ctype for name, ctype in types.items() if name not in state},
            memory={f"m_{'_'.join(path)}": ctype for path, ctype in evaluator.memory.items()},
            numbers=[f"n_{'_'.join(path)}" for path in evaluator.numbers],
            taken=self._together("take", evaluator.inputs),
            given=self._together("give", evaluator.outputs),
            touches=len(evaluator.regions),
            **firings,
        )

    def shown(self) -> _Findings:
        """The findings of the firings, once they are written."""
        inputs = self.evaluator.inputs
        shown = _Findings(self._together("take", inputs))
        wired = any(port.wire for port in inputs)
        if not wired and 1 < len({*shown.leaders}) <= _MOST_FOLLOWED:
            followed = sorted({leader for takes in self.takes for leader in shown.alone(takes)})
            shown = replace(shown, followed=followed)
        if self.rests and not shown.followed and not wired:
            shown = replace(shown, rest=reduce(common, self.rests))
        return shown

    def _firings(self) -> dict[str, Any]:
        """The firings, by the names that they have in ``Body``."""
        inputs, before = self.evaluator.inputs, self.before
        data = Situation(heads={port.index: DATA for port in inputs})
        first = self._firing(data)
        lines = first.lines
        found: dict[str, Any] = {"first": lines, "steady": [], "general": [], "giving": []}
        found |= {"following": {}, "several": {}, "windows": {}}
        if not any(isinstance(line, Wait) and not line.output for line in lines):
            return found
        if first.constant and any(isinstance(one, Leave) and gives_alone(one) for one in lines):
            found["giving"] = self._firing(data).lines
        if before.rest:
            steady = self._firing(replace(data, state=before.rest)).lines
            found["steady"] = steady if _differ(steady, lines) else []
        for leader in before.followed:
            still = frozenset(n for n, first in enumerate(before.leaders) if first != leader)
            situation = replace(data, still=still)
            follows = self._firing(situation)
            found["following"][leader] = follows.lines
            leaves = (line for line in follows.lines if isinstance(line, Leave))
            if follows.pure and any(leader in leave.again for leave in leaves):
                found["several"][leader] = self._firing(situation).lines
        if len(found["several"]) > 1:
            found["windows"] = self._windows(sorted(found["several"]))
        found["general"] = self._firing(Situation()).lines
        return found

    def _windows(self, leaders: Sequence[int]) -> dict[tuple[int, int], Sequence[Line]]:
        """The firings in the windows of the inputs of two leaders, by kinds."""
        found: dict[tuple[int, int], Sequence[Line]] = {}
        for kinds in _WINDOWS:
            groups = dict(zip(leaders, kinds, strict=True))
            heads = {n: groups[leader] for n, leader in enumerate(self.before.leaders)}
            firing = self._firing(Situation(heads, still=frozenset(heads)))
            if firing.pure:
                found[kinds] = firing.lines
        return found

    def _firing(self, situation: Situation) -> Firing:
        """The firing in some situation. Its ``Leave`` lines say how it may be followed."""
        firing = self.evaluator.firing(self.step, self.memory, situation)
        ends = iter(firing.ends)
        lines: list[Line] = [
            self._left(line, next(ends), situation) if isinstance(line, Leave) else line
            for line in firing.lines
        ]
        self.ends += firing.ends
        return replace(firing, lines=lines)

    def _left(self, line: Leave, end: FiringState, situation: Situation) -> Leave:
        """The end of a firing, with what may follow it."""
        if not situation.data or line.finished != "0":
            return line
        self.rests.append({n: value for n, value in end.known.items() if n.startswith("s_")})
        again: list[int] = []
        if len(end.peeked) == len(self.evaluator.inputs):
            self.takes.append(line.takes)
            alone = self.before.alone(line.takes) if self.before.followed else set()
            again = [leader for leader in self.before.followed if leader in alone]
        return replace(line, again=again, steady=True)

    def _together(self, side: str, ports: Sequence[StepPort]) -> list[int]:
        """For each port the first that is always taken from, or given to, with it."""
        moved = reduce(self.evaluator.join, self.ends).moved if self.ends else {}
        fates = [moved.get((side, port.index), f"never {port.index}") for port in ports]
        return [fates.index(fate) for fate in fates]

    def _start(self, name: str) -> str:
        """The value that a state variable starts from."""
        plain, state = name.removeprefix("s_"), self.evaluator.state
        if plain not in state:
            base, _, place = plain.rpartition("_")
            return self.evaluator.open(Known(state[base][int(place)])).text
        return self.evaluator.open(Known(state[plain])).text


def _differ(lines: Sequence[Line], others: Sequence[Line]) -> bool:
    """Whether two firings differ in more than their labels."""
    return [_LABEL.sub("end", str(line)) for line in lines] != [
        _LABEL.sub("end", str(line)) for line in others
    ]
