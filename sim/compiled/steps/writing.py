"""A firing while it is written: its lines, and the facts known at the current point."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sam.memory_regions import Region
from sam.support.errors import UserError
from sam.token import DATA
from sim.compiled.residual import COMPLEX, INT, REAL, Fail, Line, StepPort
from sim.compiled.steps.values import Known, Open, real_number, stands

Constants = Mapping[str, int | bool]
"""The known variables with their values."""


class Untranslatable(UserError):
    """A user's step uses something that has no translation; the text says what, and where."""


@dataclass(frozen=True)
class Situation:
    """The facts known when a firing begins.

    ``heads``  by input, the kind of the token at its head, if that is known
    ``still``  inputs that need no wait: their heads have not changed since the firing before
    ``state``  the variables of the state that are known
    """

    heads: Mapping[int, int] = field(default_factory=dict)
    still: frozenset[int] = frozenset()
    state: Constants = field(default_factory=dict)

    @property
    def data(self) -> bool:
        """Whether all heads of known kind are data."""
        return {*self.heads.values()} == {DATA}


@dataclass(frozen=True)
class FiringState:
    """The effects of a firing up to some point of control.

    ``peeked``  the inputs that it has surely peeked at
    ``moved``   the fates of the inputs taken from and of the outputs given to, by ("take", n) or
                ("give", n). A text (the kind given) for a sure move, else a number; ports of equal
                fates move together
    ``known``   the variables whose whole numbers or truths are known
    """

    peeked: frozenset[int] = frozenset()
    moved: Mapping[tuple[str, int], str | int] = field(default_factory=dict)
    known: Constants = field(default_factory=dict)

    def side(self, side: str) -> dict[int, bool]:
        """The inputs taken from, or the outputs given to: surely or maybe."""
        moved = sorted(self.moved.items())
        return {n: isinstance(fate, str) for (of, n), fate in moved if of == side}


@dataclass(frozen=True)
class Firing:
    """A firing in C.

    ``ends``      its effects at each of its ends, in the order of its ``Leave`` lines
    ``pure``      whether it uses no memory, and keeps the state
    ``constant``  whether it changes no memory
    """

    lines: list[Line]
    ends: list[FiringState]
    pure: bool
    constant: bool


_SUFFIXES = {INT: "whole", REAL: "real", COMPLEX: "complex"}


@dataclass
class Frame:
    """A call that is being inlined.

    ``often``    the names that need a variable, as they are assigned to more than once
    ``passing``  the names that have a variable for each type that they are assigned
    ``ends``     whether the firing ends where the call does
    """

    function: Any
    names: dict[str, Any]
    prefix: str
    often: set[str]
    passing: frozenset[str]
    ends: bool
    result: list[Any] = field(default_factory=list)
    reached: FiringState | None = None
    statement: ast.stmt | None = None


class FiringWriter:
    """The firings of a step as they are written, one after the other.

    All of them share variables, memory and messages. ``types`` outlives a round of firings: the
    next round begins with the types that variables were found to have.
    """

    def __init__(self, ports: Mapping[str, Any], state: Mapping[str, Any], values: str) -> None:
        self.ports, self.state, self.values = ports, state, values
        self.types: dict[str, str] = {}
        everything = [
            port for one in ports.values() for port in (one if isinstance(one, list) else [one])
        ]
        self.inputs = sorted((p for p in everything if not p.output), key=lambda p: p.index)
        self.outputs = sorted((p for p in everything if p.output), key=lambda p: p.index)
        self.reset()

    def reset(self) -> None:
        """Forgets the firings, but not the types of variables."""
        self.fates = self.copies = 0
        self.versions: dict[str, int] = {}
        self.memory: dict[tuple[str, ...], str] = {}
        self.numbers: dict[tuple[str, ...], None] = {}
        self.messages: dict[str, None] = {}
        self.regions: dict[Region, int] = {}
        self.begin(Situation())

    def begin(self, situation: Situation) -> None:
        """Begins a firing."""
        self.situation = situation
        self.reached = FiringState(situation.still, known=situation.state)
        self.ends: list[FiringState] = []
        self.lines: list[Line] = []
        self.pure = self.constant = True
        self.depth = 2
        self.calls = self.temporaries = 0
        self.frames: list[Frame] = []

    # Lines and variables

    @property
    def indent(self) -> str:
        return "    " * self.depth

    def write(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def fail(self, text: str, test: str | None = None, value: str | None = None) -> None:
        """Ends the run with a stream error about a value, if a test holds or there is none."""
        self.messages[text] = None
        self.lines.append(Fail(self.indent, list(self.messages).index(text), test, value))

    def refuse(self, what: str) -> Untranslatable:
        """The error that a step uses something without a translation."""
        frame = self.frames[-1] if self.frames else None
        where = frame.function.__qualname__ if frame else "the step"
        if frame and frame.statement:
            where += f", in `{ast.unparse(frame.statement).splitlines()[0]}`"
        return Untranslatable(f"{where}: {what} has no translation to C", hint="use engine simpy")

    def variable(self, name: str, ctype: str) -> str:
        """Declares a variable; if it was declared before, the wider type counts."""
        rank = {INT: 0, REAL: 1, COMPLEX: 2}
        known = self.types.get(name, ctype)
        self.types[name] = max(known, ctype, key=lambda one: rank[one])
        return name

    def assign(self, name: str, value: Any) -> Open:
        """Sets a variable to a value."""
        given, value = value, self.open(value)
        self.variable(name, value.ctype)
        if value.text != name:
            self.write(f"{name} = {value.text};")
            self.know(name, given)
            self.pure &= not name.startswith("s_")
            self.versions[name] = self.versions.get(name, 0) + 1
        return Open(name, self.types[name])

    def settled(self, value: Any) -> Any:
        """The value, in a variable of its own if later statements could change it."""
        if not isinstance(value, Open) or stands(value):
            return value
        self.temporaries += 1
        return self.assign(self.typed(f"t{self.temporaries}", value), value)

    def typed(self, name: str, value: Any) -> str:
        """The name, or another one if a variable of this name has not the type of a value."""
        ctype = self.open(value).ctype
        return name if self.types.get(name, ctype) == ctype else f"{name}_{_SUFFIXES[ctype]}"

    def state_variable(self, name: str, start: Any) -> Open:
        """A variable of the state, which starts from a value."""
        self.variable(f"s_{name}", self.open(Known(start)).ctype)
        return Open(f"s_{name}", self.types[f"s_{name}"], isinstance(start, bool))

    def open(self, value: Any) -> Open:
        """A value as a C expression."""
        if isinstance(value, Open):
            return value
        if isinstance(value, Known):
            known = value.value
            if known is None:
                return Open("0", INT)
            if isinstance(known, bool | np.bool_ | int | np.integer):
                text = str(int(known)) if abs(int(known)) < 2**31 else f"{int(known)}LL"
                return Open(text if int(known) >= 0 else f"({text})", INT)
            if isinstance(known, float | np.floating):
                return Open(real_number(known), REAL)
            if isinstance(known, complex | np.complexfloating):
                return Open(f"({real_number(known.real)} + {real_number(known.imag)} * I)", COMPLEX)
            raise self.refuse(f"the value {known!r} as a number")
        raise self.refuse("an array, a list or a memory as a number")

    # Known values and effects so far

    def know(self, name: str, value: Any) -> None:
        """Remembers the value of a variable if it is a whole number or a truth, else forgets it."""
        known = {**self.reached.known}
        known.pop(name, None)
        if isinstance(value, Known) and isinstance(value.value, int) and self.types[name] == INT:
            known[name] = value.value
        self.reached = replace(self.reached, known=known)

    def learn(self, test: Open, holds: bool) -> None:
        """Remembers what a test that holds, or does not, tells of the state variables."""
        name = test.text.removeprefix("!")
        if name.startswith("s_") and isinstance(self.state.get(name[2:]), bool):
            self.know(name, Known(holds == (name == test.text)))

    def now(self, value: Any) -> Any:
        """The value; a variable becomes its known value, if it has one."""
        if isinstance(value, Open) and value.text in self.reached.known:
            return Known(self.reached.known[value.text])
        return value

    def move(self, side: str, port: StepPort, fate: str) -> None:
        """Notes that an input is taken from, or an output given to."""
        moved = {**self.reached.moved, (side, port.index): fate}
        self.reached = replace(self.reached, moved=moved)

    def join(self, one: FiringState | None, other: FiringState | None) -> FiringState:
        """The effects if control comes from either of two points; None is no point."""
        if one is None or other is None:
            return one or other or self.reached
        moved: dict[tuple[str, int], str | int] = {}
        new: dict[Any, int] = {}
        for port in {**one.moved, **other.moved}:
            fate, other_fate = one.moved.get(port), other.moved.get(port)
            if fate is not None and fate == other_fate:
                moved[port] = fate
            else:
                self.fates += (fate, other_fate) not in new
                moved[port] = new.setdefault((fate, other_fate), self.fates)
        return FiringState(one.peeked & other.peeked, moved, common(one.known, other.known))


def common(one: Constants, other: Constants) -> Constants:
    """The variables that have the same known value at two points."""
    return {n: value for n, value in one.items() if n in other and repr(other[n]) == repr(value)}
