"""Translates the step of a block to C.

A step is a small Python function (``sam.blocks.base``). Here it is evaluated with its ports, its
parameters and the shape of its memory known, and everything else left open: loops over ports are
unrolled, calls inlined, branches on known values decided. What is left is the C of one firing;
``sim.compiled.kernel`` writes the function around it.

What steps may use: assignments, ``if``, ``for`` over ports or known ranges, ``while``, ``return``,
``raise``; arithmetic and comparisons; calls of other such functions; methods of levels and of the
memories in ``sam.blocks.block_memory``. A step that uses more raises ``Untranslatable``.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import operator
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from typing import Any

import numpy as np

from sam.blocks.arithmetic import Operation
from sam.blocks.base import Step
from sam.blocks.block_memory import Accumulator, Growing, Stored
from sam.memory_regions import Region, Regions
from sam.support.errors import UserError
from sam.token import DATA, STOP
from sim.compiled.kernel import (
    COMPLEX,
    INT,
    REAL,
    Body,
    Fail,
    Leave,
    Line,
    Port,
    Touch,
    Wait,
    gives_alone,
)


class Untranslatable(UserError):
    """A step of a user's block uses what has no translation; the text says what, and where."""


@dataclass(frozen=True)
class Kernel:
    """The C of a step, and the objects of its memory that it gets, in order.

    ``memory`` and ``numbers`` are paths from ``m``, such as ``("level", "segments")``; a stream
    error names one of the ``messages``; ``regions`` are those that it touches, in the order of
    their numbers in the C.
    """

    body: Body
    memory: tuple[tuple[str, ...], ...]
    numbers: tuple[tuple[str, ...], ...]
    messages: tuple[str, ...]
    regions: tuple[Region, ...] = ()


def translate(
    step: Step, ports: Mapping[str, Any], state: Mapping[str, Any], memory: Any, values: str
) -> Kernel:
    """The kernel of a step.

    ``ports``   what ``p`` has: a Port, or a list of them, by name
    ``state``   what ``s`` has at the start
    ``memory``  ``m``, for the types of what it has
    ``values``  the C type of the values that the block gives or stores
    """
    translation = _Translation(ports, state, memory, values)
    while True:
        before = dict(translation.types)
        translation.reset()
        translation.step(step, [_Ports(), _State(), _Memory((), memory)])
        if translation.follow() and translation.types == before:
            return translation.kernel()


# What expressions evaluate to.


@dataclass(frozen=True)
class _Known:
    """A Python value that is known now."""

    value: Any


@dataclass(frozen=True)
class _Open:
    """A C expression; ``truth`` where it is 0 or 1 and stands for False or True."""

    text: str
    ctype: str
    truth: bool = False


@dataclass(frozen=True)
class _Ports:
    """``p``"""


@dataclass(frozen=True)
class _Accesses:
    """``p.memory``"""


@dataclass(frozen=True)
class _State:
    """``s``"""


@dataclass(frozen=True)
class _StateList:
    """A list in the state: a variable for each place."""

    name: str
    length: int


@dataclass(frozen=True)
class _Memory:
    """``m``, or something in it."""

    path: tuple[str, ...]
    value: Any


@dataclass(frozen=True)
class _Method:
    """A method, not called yet."""

    owner: Any
    name: str


@dataclass
class _Frame:
    """A call that is being inlined; ``ends`` where its end is the end of the firing."""

    function: Any
    names: dict[str, Any]
    prefix: str
    often: set[str]
    ends: bool
    result: list[Any] = field(default_factory=list)
    reached: _Reached | None = None


_Constants = Mapping[str, int | bool]
"""What variables are known to be."""


@dataclass(frozen=True)
class _Reached:
    """What a firing has done where control comes to some point of it.

    ``peeked``  the inputs that have surely been peeked
    ``moved``   what became of the inputs taken from and the outputs given to, by ("take", n) or
                ("give", n): the kind of the tokens given, or a number for what is not always the
                same; equal for ports that have shared their fate
    ``known``   the whole numbers and truths that variables are known to have
    """

    peeked: frozenset[int] = frozenset()
    moved: Mapping[tuple[str, int], str | int] = field(default_factory=dict)
    known: _Constants = field(default_factory=dict)

    def sure(self, side: str) -> frozenset[int]:
        """The inputs surely taken from, or the outputs surely given to."""
        return frozenset(n for (of, n), fate in self.moved.items() if of == side and _sure(fate))


def _sure(fate: str | int) -> bool:
    return isinstance(fate, str)


# The most groups of inputs for which a firing is written that follows one that moved one of them.
_MOST_FOLLOWED = 2

# What is mostly at the heads of two groups of inputs of which one may be moved alone.
_MIXED = ((DATA, DATA), (DATA, STOP), (STOP, DATA))


class _Translation:
    """The state of one translation."""

    def __init__(
        self, ports: Mapping[str, Any], state: Mapping[str, Any], memory: Any, values: str
    ) -> None:
        self.ports, self.state, self.values = ports, state, values
        self.types: dict[str, str] = {}
        everything = [
            port for one in ports.values() for port in (one if isinstance(one, list) else [one])
        ]
        self.inputs = sorted((p for p in everything if not p.output), key=lambda p: p.index)
        self.outputs = sorted((p for p in everything if p.output), key=lambda p: p.index)
        self.leaders: list[int] = []
        self.followed: list[int] = []
        self.rest: _Constants = {}
        self.reset()

    def reset(self) -> None:
        """Forgets what was written, but not the types that were found."""
        self.lines: list[Line] = []
        self.pure = self.constant = True
        self.depth = 2
        self.calls = 0
        self.temporaries = 0
        self.frames: list[_Frame] = []
        self.reached = _Reached()
        self.fates = 0
        self.heads: Mapping[int, int] = {}
        self.still: frozenset[int] = frozenset()
        self.ends: _Reached | None = None
        self.quick: list[Mapping[int, bool]] = []
        self.rests: list[_Constants] = []
        self.copies = 0
        self.versions: dict[str, int] = {}
        self.memory: dict[tuple[str, ...], str] = {}
        self.numbers: dict[tuple[str, ...], None] = {}
        self.messages: dict[str, None] = {}
        self.regions: dict[Region, int] = {}

    # Writing

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def variable(self, name: str, ctype: str) -> str:
        """Declares a variable, of the wider type where it has had another."""
        rank = {INT: 0, REAL: 1, COMPLEX: 2}
        known = self.types.get(name, ctype)
        self.types[name] = max(known, ctype, key=lambda one: rank[one])
        return name

    def assign(self, name: str, value: Any) -> _Open:
        """Sets a variable to a value."""
        given, value = value, self.open(value)
        self.variable(name, value.ctype)
        if value.text != name:
            self.write(f"{name} = {value.text};")
            self.know(name, given)
            self.pure &= not name.startswith("s_")
            self.versions[name] = self.versions.get(name, 0) + 1
        return _Open(name, self.types[name])

    def know(self, name: str, value: Any) -> None:
        """Remembers what a variable is, where that is a whole number or a truth, or forgets it."""
        known = {**self.reached.known}
        known.pop(name, None)
        if isinstance(value, _Known) and isinstance(value.value, int) and self.types[name] == INT:
            known[name] = value.value
        self.reached = replace(self.reached, known=known)

    def learn(self, test: _Open, holds: bool) -> None:
        """Remembers what follows for the state from whether a test holds."""
        name = test.text.removeprefix("!")
        if name.startswith("s_") and isinstance(self.state.get(name[2:]), bool):
            self.know(name, _Known(holds == (name == test.text)))

    def now(self, value: Any) -> Any:
        """A value, known where it is a variable of which that is known."""
        if isinstance(value, _Open) and value.text in self.reached.known:
            return _Known(self.reached.known[value.text])
        return value

    def open(self, value: Any) -> _Open:
        """A value as a C expression."""
        if isinstance(value, _Open):
            return value
        if isinstance(value, _Known):
            known = value.value
            if known is None:
                return _Open("0", INT)
            if isinstance(known, bool | np.bool_ | int | np.integer):
                text = str(int(known)) if abs(int(known)) < 2**31 else f"{int(known)}LL"
                return _Open(text if int(known) >= 0 else f"({text})", INT)
            if isinstance(known, float | np.floating):
                return _Open(_real(known), REAL)
            if isinstance(known, complex | np.complexfloating):
                return _Open(f"({_real(known.real)} + {_real(known.imag)} * I)", COMPLEX)
        raise self.refuse(f"a value {value!r} that is no number")

    def refuse(self, what: str) -> Untranslatable:
        where = self.frames[-1].function.__qualname__ if self.frames else "the step"
        return Untranslatable(
            f"{where} uses {what}, which has no translation to C", hint="use engine simpy"
        )

    # What has been done where control comes

    def join(self, one: _Reached | None, other: _Reached | None) -> _Reached:
        """What has been done where control comes from either of two points."""
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
        return _Reached(one.peeked & other.peeked, moved, _common(one.known, other.known))

    def move(self, side: str, port: Port, fate: str) -> None:
        moved = {**self.reached.moved, (side, port.index): fate}
        self.reached = replace(self.reached, moved=moved)

    # Calls and statements

    def step(self, function: Step, arguments: Sequence[Any]) -> None:
        """Writes a firing: first for data at all inputs, then, where it peeks, for any tokens.

        Between them it is written for data where the firing before has left the state as all do,
        or has moved some inputs alone, and for what may be at the heads where it may move each of
        two groups of inputs alone.
        """
        self.heads = {port.index: DATA for port in self.inputs}
        self.first = self.firing(function, arguments)
        self.steady: list[Line] = []
        self.straight: list[Line] = []
        self.following: dict[int, list[Line]] = {}
        self.several: dict[int, list[Line]] = {}
        self.mixed: dict[tuple[int, int], list[Line]] = {}
        self.general: list[Line] = []
        self.giving: list[Line] = []
        if not any(isinstance(line, Wait) and not line.output for line in self.first):
            return
        leaves = [line for line in self.first if isinstance(line, Leave)]
        if self.constant and any(map(gives_alone, leaves)):
            self.giving = self.firing(function, arguments)
        if self.rest:
            steady = self.firing(function, arguments, self.rest)
            self.steady = steady if _differ(steady, self.first) else []
        if not self.followed and _straight(self.steady or self.first):
            self.straight = self.firing(function, arguments, self.rest if self.steady else None)
        for leader in self.followed:
            self.still = frozenset(n for n, first in enumerate(self.leaders) if first != leader)
            self.following[leader] = self.firing(function, arguments)
            ends = (line for line in self.lines if isinstance(line, Leave))
            if self.pure and any(leader in end.again for end in ends):
                self.several[leader] = self.firing(function, arguments)
        if len(self.several) == len({*self.leaders}) == 2:
            self.still = frozenset(range(len(self.inputs)))
            for kinds in _MIXED:
                groups = dict(zip(sorted(self.several), kinds, strict=True))
                self.heads = {n: groups[leader] for n, leader in enumerate(self.leaders)}
                lines = self.firing(function, arguments)
                if self.pure:
                    self.mixed[kinds] = lines
        self.still = frozenset()
        self.heads = {}
        self.general = self.firing(function, arguments)

    @property
    def data(self) -> bool:
        """Whether it is known that there is data at all heads."""
        return {*self.heads.values()} == {DATA}

    def firing(
        self,
        function: Step,
        arguments: Sequence[Any],
        known: _Constants | None = None,
    ) -> list[Line]:
        """Writes a firing, in which inputs that stand ``still`` need not be waited for.

        Its variables are those of each other one; its labels are its own. What is ``known`` of the
        state at its beginning may be given.
        """
        self.lines, self.pure, self.constant = [], True, True
        self.calls = self.temporaries = 0
        self.copies += 1
        self.reached = _Reached(self.still, known=known or {})
        self.end_with(function, arguments, "step")
        return self.lines

    def follow(self) -> bool:
        """Finds out which inputs move together, and which alone, and what is known of the state
        after each firing for data; whether all that was known."""
        known = self.leaders, self.followed, self.rest
        self.leaders = self.together("take", self.inputs)
        few = 1 < len({*self.leaders}) <= _MOST_FOLLOWED
        wired = any(port.wire for port in self.inputs)
        apart = few and not wired
        alone = {leader for takes in self.quick for leader in self.alone(takes)}
        self.followed = sorted(alone) if apart else []
        rests = self.rests if not self.followed and not wired else []
        self.rest = reduce(_common, rests) if rests else {}
        return known == (self.leaders, self.followed, self.rest)

    def alone(self, takes: Mapping[int, bool]) -> set[int]:
        """The inputs that may be the only ones taken from, with those that they lead."""
        sure = {self.leaders[n] for n, surely in takes.items() if surely}
        if len(sure) > 1:
            return set()
        return sure or {self.leaders[n] for n in takes}

    def end_with(self, function: Any, arguments: Sequence[Any], prefix: str) -> None:
        """Writes a call with whose end the firing ends: in each of its branches by itself."""
        tree, _ = self.enter(function, arguments, prefix, ends=True)
        self.block([*tree.body, *([] if _returns(tree.body[-1:]) else [ast.Return(None)])])
        self.frames.pop()

    def finish(self, value: Any) -> None:
        """Ends the firing."""
        if isinstance(value, _Known):
            finished = "1" if value.value else "0"
        else:
            finished = self.open(value).text
        sides: dict[str, dict[int, bool]] = {"take": {}, "give": {}}
        for (side, n), fate in sorted(self.reached.moved.items()):
            sides[side][n] = _sure(fate)
        again: list[int] = []
        if self.data and finished == "0" and len(self.reached.peeked) == len(self.inputs):
            self.quick.append(sides["take"])
            again = [leader for leader in self.followed if leader in self.alone(sides["take"])]
        rest = {n: value for n, value in self.reached.known.items() if n.startswith("s_")}
        steady = self.data and finished == "0"
        if steady:
            self.rests.append(rest)
        indent = "    " * self.depth
        self.lines.append(Leave(indent, sides["take"], sides["give"], finished, again, steady))
        self.ends = self.reached if self.ends is None else self.join(self.ends, self.reached)

    def inline(self, function: Any, arguments: Sequence[Any], prefix: str) -> Any:
        """Writes the body of a function; gives what it returns."""
        tree, frame = self.enter(function, arguments, prefix)
        label = self.label(frame)
        jump, start = f" goto {label};", len(self.lines)
        body = [s for s in tree.body if not _is_text(s)]
        if len(body) == 1 and isinstance(body[0], ast.Return):
            result = self.evaluate(body[0].value) if body[0].value else _Known(None)
            self.frames.pop()
            return result
        if not self.block(body):
            frame.reached = self.join(frame.reached, self.reached)
        self.reached = frame.reached or self.reached
        jumps = [n for n in range(start, len(self.lines)) if str(self.lines[n]).endswith(jump)]
        if jumps and jumps[-1] == len(self.lines) - 1:
            del self.lines[jumps.pop()]
        if jumps:
            self.write(f"{label}:;")
        self.frames.pop()
        if all(isinstance(one, _Known) and one.value is None for one in frame.result):
            return _Known(None)
        shape = next((one for one in frame.result if isinstance(one, tuple)), None)
        if shape is not None:
            return tuple(self.result(frame, k) for k in range(len(shape)))
        return self.result(frame, 0)

    def enter(
        self, function: Any, arguments: Sequence[Any], prefix: str, ends: bool = False
    ) -> tuple[ast.FunctionDef, _Frame]:
        """Begins a call: its parameters become names of its frame."""
        try:
            tree = _syntax(function)
        except (OSError, TypeError, SyntaxError, AssertionError):
            raise self.refuse("a function whose source is not to be had") from None
        names = [argument.arg for argument in tree.args.args]
        defaults = [_Known(value) for value in function.__defaults__ or ()]
        missing = len(names) - len(arguments)
        if not 0 <= missing <= len(defaults) or tree.args.kwonlyargs or tree.args.vararg:
            raise self.refuse(f"a call of {tree.name} that does not fill its parameters")
        arguments = [*arguments, *defaults[len(defaults) - missing :]]
        counts = _assignments(tree)
        frame = _Frame(
            function,
            dict(zip(names, arguments, strict=True)),
            f"{'f' if prefix.startswith('s_') else ''}{prefix}{self.calls}_",
            {name for name, count in counts.items() if count > 1 or name in names},
            ends,
        )
        self.calls += 1
        if len(self.frames) > 20:
            raise self.refuse("recursion")
        self.frames.append(frame)
        for name in names:
            value = frame.names[name]
            if name in counts or (isinstance(value, _Open) and not _lasts(value)):
                frame.names[name] = self.assign(frame.prefix + name, value)
        return tree, frame

    def result(self, frame: _Frame, k: int) -> Any:
        name = f"{frame.prefix}result{k}"
        return self.now(_Open(name, self.types[name]))

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Writes statements; tells whether control never comes to their end."""
        for n, statement in enumerate(statements):
            rest = list(statements[n + 1 :])
            if self.frames[-1].ends and isinstance(statement, ast.If) and _returns(rest):
                # The firing ends in each branch by itself, where more is known of it.
                branches = [*statement.body, *rest], [*statement.orelse, *rest]
                return self.branch(statement.test, *branches)
            if self.statement(statement):
                return True
        return False

    def statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Expr(value):
                if not _is_text(node):
                    self.evaluate(value)
            case ast.Assign([target], value):
                self.store(target, self.evaluate(value))
            case ast.AugAssign(target, op, value):
                load = ast.copy_location(ast.BinOp(_loaded(target), op, value), node)
                self.store(target, self.evaluate(load))
            case ast.If(test, body, orelse):
                return self.branch(test, body, orelse)
            case ast.For(target, iterable, body, []):
                self.unroll(target, iterable, body)
            case ast.While(test, body, []):
                self.loop(test, body)
            case ast.Return(ast.Call(ast.Name() as name, arguments, []) as call) if self.frames[
                -1
            ].ends:
                function = self.evaluate(name)
                if not isinstance(function, _Known) or not inspect.isfunction(function.value):
                    return self.leave(self.evaluate(call))
                called = function.value.__name__.lstrip("_")
                self.end_with(function.value, list(self.sequence(arguments)), called)
                return True
            case ast.Return(value):
                return self.leave(self.evaluate(value) if value else _Known(None))
            case ast.Raise(ast.Call(ast.Name("StreamError"), [text, *value])):
                said = self.evaluate(text)
                if not isinstance(said, _Known) or not isinstance(said.value, str):
                    raise self.refuse("a message that is not known")
                self.fail(
                    said.value, value=self.open(self.evaluate(value[0])).text if value else None
                )
                return True
            case ast.Pass():
                pass
            case _:
                raise self.refuse(f"the statement {type(node).__name__}")
        return False

    def fail(self, text: str, test: str | None = None, value: str | None = None) -> None:
        """Ends the run with a stream error, of a value, if a test holds, or at any rate."""
        self.messages[text] = None
        number = list(self.messages).index(text)
        self.lines.append(Fail("    " * self.depth, number, test, value))

    def branch(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> bool:
        condition = self.condition(test)
        if isinstance(condition, _Known):
            return self.block(body if condition.value else orelse)
        start = len(self.lines)
        self.write(f"if ({condition.text}) {{")
        before = self.reached
        self.depth += 1
        self.learn(condition, True)
        ends = self.block(body)
        self.depth -= 1
        after = None if ends else self.reached
        inside = self.lines[start + 1 :]
        takes = [line.strip() for line in inside if isinstance(line, str) and _TAKE.match(line)]
        if not orelse and takes and len(takes) == len(inside):
            del self.lines[start:]
            for take in takes:
                self.write(f"{take.replace('TAKE', 'TAKE_IF')}({condition.text})")
            self.reached = self.join(before, after)
            return False
        self.reached = before
        self.learn(condition, False)
        other: _Reached | None = self.reached
        if orelse:
            self.write("} else {")
            self.depth += 1
            other = None if self.block(orelse) else self.reached
            self.depth -= 1
        self.write("}")
        self.reached = self.join(other, after)
        return other is None and after is None

    def unroll(self, target: ast.expr, iterable: ast.expr, body: list[ast.stmt]) -> None:
        values = self.evaluate(iterable)
        if isinstance(values, _Known):
            values = [_Known(value) for value in values.value]
        if not isinstance(values, list | tuple):
            raise self.refuse("a loop over what is not known")
        for value in values:
            self.bind(target, value)
            if self.block(body):
                break

    def loop(self, test: ast.expr, body: list[ast.stmt]) -> None:
        self.write("for (;;) {")
        self.reached = before = replace(self.reached, known={})
        self.depth += 1
        condition = self.open(self.condition(test))
        self.write(f"if (!({condition.text})) break;")
        self.block(body)
        after = self.join(before, self.reached)
        self.reached = replace(after, peeked=before.peeked)
        self.depth -= 1
        self.write("}")

    def leave(self, value: Any) -> bool:
        frame = self.frames[-1]
        if frame.ends:
            self.finish(value)
            return True
        frame.result.append(value)
        for k, part in enumerate(value if isinstance(value, tuple) else [value]):
            self.assign(f"{frame.prefix}result{k}", part)
        frame.reached = self.join(frame.reached, self.reached)
        self.write(f"goto {self.label(frame)};")
        return True

    def label(self, frame: _Frame) -> str:
        """Where a call ends."""
        return f"{frame.prefix}end{self.copies}"

    def bind(self, target: ast.expr, value: Any) -> None:
        """Binds a loop variable, which stays known."""
        if isinstance(target, ast.Tuple):
            parts = value if isinstance(value, tuple | list) else value.value
            for one, part in zip(target.elts, parts, strict=True):
                self.bind(one, part if not isinstance(value, _Known) else _Known(part))
        elif isinstance(target, ast.Name):
            self.frames[-1].names[target.id] = value
        else:
            raise self.refuse("a loop variable that is no name")

    def store(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Tuple(elts):
                if isinstance(value, _Known):
                    value = tuple(_Known(part) for part in value.value)
                for one, part in zip(elts, [self.settled(part) for part in value], strict=True):
                    self.store(one, part)
            case ast.Name(name):
                frame = self.frames[-1]
                if name in frame.often or isinstance(value, _Open):
                    frame.names[name] = self.assign(frame.prefix + name, value)
                else:
                    frame.names[name] = value
            case ast.Attribute(owner, name) if isinstance(self.evaluate(owner), _State):
                self.attribute(_State(), name)
                self.assign(f"s_{name}", value)
            case ast.Subscript(owner, index):
                place, at = self.evaluate(owner), self.evaluate(index)
                if isinstance(place, _StateList) and isinstance(at, _Known):
                    self.assign(f"s_{place.name}_{at.value}", value)
                elif isinstance(place, _Memory) and isinstance(place.value, Stored):
                    item = self.stored(place, at)
                    self.constant = False
                    self.write(f"{item.text} = {self.open(value).text};")
                else:
                    raise self.refuse("an assignment to an item of this")
            case _:
                raise self.refuse("an assignment to this")

    # Expressions

    def evaluate(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value):
                return _Known(value)
            case ast.Name(name):
                return self.name(name)
            case ast.Attribute(owner, name):
                return self.attribute(self.evaluate(owner), name)
            case ast.Subscript(owner, index):
                return self.item(self.evaluate(owner), index)
            case ast.Tuple(elts) | ast.List(elts):
                return self.sequence(elts)
            case ast.Compare(left, [op], [right]):
                first, second = self.sequence([left, right])
                return self.compare(first, op, second)
            case ast.Compare():
                raise self.refuse("a chain of comparisons")
            case ast.BoolOp(op, values):
                return self.logic(op, values, test=False)
            case ast.UnaryOp(ast.Not(), operand):
                return self.unary(ast.Not(), self.condition(operand))
            case ast.UnaryOp(op, operand):
                return self.unary(op, self.evaluate(operand))
            case ast.BinOp(left, op, right):
                first, second = self.sequence([left, right])
                return self.arithmetic(first, op, second)
            case ast.IfExp(test, body, orelse):
                condition = self.condition(test)
                if isinstance(condition, _Known):
                    return self.evaluate(body if condition.value else orelse)
                arms = [
                    self.silent(arm, "an arm of a conditional expression") for arm in (body, orelse)
                ]
                if isinstance(arms[0], _Known) and repr(arms[0]) == repr(arms[1]):
                    return arms[0]
                yes, no = map(self.open, arms)
                wide = yes.ctype if yes.ctype != INT else no.ctype
                return _Open(f"({condition.text} ? {yes.text} : {no.text})", wide)
            case ast.Call(function, arguments, keywords):
                if any(keyword.arg != "strict" for keyword in keywords):
                    raise self.refuse("arguments by keyword")
                return self.call(self.evaluate(function), arguments)
        raise self.refuse(f"the expression {ast.unparse(node)}")

    def condition(self, node: ast.expr) -> Any:
        """An expression of which only the truth counts."""
        if isinstance(node, ast.BoolOp):
            return self.logic(node.op, node.values, test=True)
        return self.evaluate(node)

    def silent(self, node: ast.expr, where: str) -> Any:
        """An expression that must not need statements, as it may turn out not to be evaluated."""
        written = len(self.lines)
        value = self.evaluate(node)
        if len(self.lines) > written:
            raise self.refuse(f"{ast.unparse(node)} in {where}")
        return value

    def settled(self, value: Any) -> Any:
        """The value in a variable of its own, where later statements could change it."""
        if not isinstance(value, _Open) or _stands(value):
            return value
        self.temporaries += 1
        return self.assign(f"t{self.temporaries}", value)

    def name(self, name: str) -> Any:
        frame = self.frames[-1]
        if name in frame.names:
            return self.now(frame.names[name])
        for scope in (frame.function.__globals__, vars(builtins)):
            if name in scope:
                return _Known(scope[name])
        raise self.refuse(f"the name {name}, which is neither set before nor global")

    def attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, _Ports):
            if name == "memory":
                return _Accesses()
            if name not in self.ports:
                raise self.refuse(f"the port {name}, which the block does not have")
            return self.ports[name]
        if isinstance(owner, _State):
            if name not in self.state:
                raise self.refuse(f"the state {name}, which the block does not start with")
            start = self.state[name]
            if isinstance(start, list):
                return _StateList(name, len(start))
            self.variable(f"s_{name}", self.open(_Known(start)).ctype)
            return self.now(_Open(f"s_{name}", self.types[f"s_{name}"], isinstance(start, bool)))
        if isinstance(owner, _Memory):
            value = getattr(owner.value, name)
            if callable(value) and hasattr(value, "__self__"):
                return _Method(owner, name)
            return self.remembered((*owner.path, name), value)
        if isinstance(owner, Port) and owner.wire != (name == "latest"):
            raise self.refuse(
                f"{name} of {owner.name}, which is {'a' if owner.wire else 'no'} wire"
            )
        if isinstance(owner, Port | list | _Accesses):
            return _Method(owner, name)
        if isinstance(owner, _Open | _Known) and name == "bit_count":
            return _Method(self.open(owner), name)
        raise self.refuse(f"the attribute {name}")

    def remembered(self, path: tuple[str, ...], value: Any) -> Any:
        """Something in the memory: known where it is part of the structure, else open."""
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            self.numbers[path] = None
            return _Open(f"n_{'_'.join(path)}", INT)
        if isinstance(value, bool | np.bool_ | float | complex | str | np.inexact):
            return _Known(value)
        if isinstance(value, tuple) and not any(isinstance(part, Growing) for part in value):
            return _Known(value)
        if isinstance(value, tuple):
            return [self.remembered((*path, str(k)), part) for k, part in enumerate(value)]
        if value is None or isinstance(value, Operation | Region | Regions):
            return _Known(value)
        return _Memory(path, value)

    def pointer(self, memory: _Memory, ctype: str) -> str:
        name = f"m_{'_'.join(memory.path)}"
        self.memory[memory.path] = ctype
        self.pure = False
        return name

    def item(self, owner: Any, index_node: ast.expr) -> Any:
        index = self.evaluate(index_node)
        if isinstance(owner, list | tuple) and isinstance(index, _Known):
            return owner[index.value]
        if isinstance(owner, _Known) and isinstance(index, _Known):
            return _Known(owner.value[index.value])
        if isinstance(owner, _StateList) and isinstance(index, _Known):
            name = f"s_{owner.name}_{index.value}"
            self.variable(name, self.open(_Known(self.state[owner.name][index.value])).ctype)
            return self.now(_Open(name, self.types[name]))
        if isinstance(owner, _Memory):
            at = self.open(index).text
            if isinstance(owner.value, np.ndarray):
                ctype = _ctype(owner.value.dtype)
                return _Open(f"{self.pointer(owner, ctype)}[{at}]", ctype)
            if isinstance(owner.value, Growing):
                ctype = self.items(owner.value)
                pointer = self.pointer(owner, "Growing")
                return _Open(f"(({ctype} *){pointer}->items)[{at}]", ctype)
            if isinstance(owner.value, Stored):
                return self.stored(owner, index)
        raise self.refuse("an item of this")

    def items(self, growing: Growing) -> str:
        return self.values if growing.values else INT

    def stored(self, owner: _Memory, index: Any) -> _Open:
        pointer = self.pointer(owner, "Growing")
        ctype = INT if owner.value.integers else self.values
        return _Open(f"(*STORED({pointer}, {ctype}, {self.open(index).text}))", ctype)

    def sequence(self, elements: Sequence[ast.expr]) -> Any:
        parts: list[Any] = []
        for n, element in enumerate(elements):
            if any(isinstance(one, ast.Call) for one in ast.walk(element)):
                parts[:n] = map(self.settled, parts[:n])
            if isinstance(element, ast.Starred):
                value = self.evaluate(element.value)
                parts += value if isinstance(value, list | tuple) else map(_Known, value.value)
            else:
                parts.append(self.evaluate(element))
        return tuple(parts)

    def compare(self, left: Any, op: ast.cmpop, right: Any) -> Any:
        if isinstance(left, tuple) and isinstance(right, tuple):
            tests = [self.compare(a, ast.Eq(), b) for a, b in zip(left, right, strict=True)]
            same = _Open("(" + " && ".join(self.open(test).text for test in tests) + ")", INT, True)
            return same if isinstance(op, ast.Eq) else _Open(f"!{same.text}", INT, True)
        symbol = _COMPARISONS.get(type(op))
        if symbol is None:
            raise self.refuse("this comparison")
        if isinstance(left, _Known) and isinstance(right, _Known):
            return _Known(_decide(left.value, symbol, right.value))
        a, b = self.open(left), self.open(right)
        texts = [
            f"creal({one.text})"
            if one.ctype == COMPLEX and symbol not in ("==", "!=")
            else one.text
            for one in (a, b)
        ]
        return _Open(f"({texts[0]} {symbol} {texts[1]})", INT, True)

    def logic(self, op: ast.boolop, nodes: Sequence[ast.expr], test: bool) -> Any:
        """``and`` and ``or``; other than as a test, only of what is True or False itself."""
        decides = isinstance(op, ast.Or)
        texts = []
        truths = True
        for n, node in enumerate(nodes):
            if n == 0:
                value = self.condition(node) if test else self.evaluate(node)
            else:
                value = self.silent(node, "the later part of and or or")
            truth = value.truth if isinstance(value, _Open) else isinstance(value.value, bool)
            if not truth and not test:
                raise self.refuse(f"the value of {ast.unparse(node)} in and or or")
            truths = truths and truth
            if isinstance(value, _Known):
                if bool(value.value) == decides:
                    return _Known(decides)
                continue
            texts.append(value.text)
        if not texts:
            return _Known(not decides)
        plain = truths and not any("[" in text or "->" in text for text in texts)
        symbols = ("|", "&") if plain else ("||", "&&")
        return _Open("(" + f" {symbols[not decides]} ".join(texts) + ")", INT, True)

    def unary(self, op: ast.unaryop, operand: Any) -> Any:
        if isinstance(operand, _Known):
            value = operand.value
            return _Known(not value if isinstance(op, ast.Not) else -value)
        if isinstance(op, ast.Not):
            return _Open(f"!{operand.text}", INT, True)
        if isinstance(op, ast.USub):
            return _Open(f"(-{operand.text})", operand.ctype)
        raise self.refuse("this operator")

    def arithmetic(self, left: Any, op: ast.operator, right: Any) -> Any:
        symbol = _OPERATORS.get(type(op))
        if symbol is None:
            raise self.refuse(f"the operator {type(op).__name__}")
        if isinstance(left, list | tuple) and isinstance(right, list | tuple) and symbol == "+":
            return [*left, *right]
        divides = symbol in ("//", "%")
        by_zero = divides and isinstance(right, _Known) and right.value == 0
        if isinstance(left, _Known) and isinstance(right, _Known) and not by_zero:
            return _Known(_FOLDED[symbol](left.value, right.value))
        a, b = self.open(left), self.open(right)
        wide = a.ctype if a.ctype != INT else b.ctype
        if symbol in _INTEGER:
            if wide != INT:
                raise self.refuse(f"{type(op).__name__} of what is no whole number")
            if by_zero or (divides and not isinstance(right, _Known)):
                self.fail("a division by zero", f"!{b.text}")
            return _Open(_INTEGER[symbol].format(a=a.text, b=b.text), INT)
        return _Open(f"({a.text} {symbol} {b.text})", wide)

    # Calls

    def call(self, function: Any, nodes: Sequence[ast.expr]) -> Any:
        if isinstance(function, _Method) and isinstance(function.owner, _Accesses):
            return self.touch(function.name == "write", *nodes)
        arguments = list(self.sequence(nodes))
        if isinstance(function, _Method) and isinstance(function.owner, Port):
            return getattr(self, f"port_{function.name}")(function.owner, *arguments)
        if isinstance(function, _Method) and isinstance(function.owner, _Open):
            return _Open(f"__builtin_popcountll({function.owner.text})", INT)
        if isinstance(function, _Method):
            return self.method(function.owner, function.name, arguments)
        value = function.value
        if isinstance(value, Operation):
            return self.operate(value, arguments)
        if value in (len, range, zip, enumerate, tuple, min, max):
            return getattr(self, f"builtin_{value.__name__}")(*arguments)
        if inspect.isfunction(value):
            return self.inline(value, arguments, value.__name__.lstrip("_"))
        raise self.refuse(f"a call of {value!r}")

    def method(self, owner: _Memory, name: str, arguments: list[Any]) -> Any:
        value = owner.value
        if isinstance(value, Growing):
            pointer = self.pointer(owner, "Growing")
            self.constant = False
            if name == "append":
                item = self.open(arguments[0]).text
                self.write(f"APPEND({pointer}, {self.items(value)}, {item});")
            elif name == "clear":
                self.write(f"{pointer}->length = 0;")
            return _Known(None)
        if isinstance(value, Accumulator):
            return self.accumulate(owner, name, arguments)
        return self.inline(getattr(type(value), name), [owner, *arguments], f"{name.lstrip('_')}")

    def accumulate(self, owner: _Memory, name: str, arguments: list[Any]) -> Any:
        pointer = self.pointer(owner, "Accumulator")
        self.constant &= name not in ("add", "complete")
        texts = [self.open(a).text for a in arguments if not isinstance(a, tuple)]
        n = owner.value.dimensions
        is_vector = n == 1 and not owner.value.far
        if name == "add":
            point = ", ".join(self.open(part).text for part in arguments[0])
            plus = self.operate(
                owner.value.plus, [_Open("x_", self.values), _Open("y_", self.values)]
            )
            self.write(f"#define PLUS(x_, y_) ({plus.text})")
            if is_vector:
                self.write(f"ADD_TO_VECTOR({pointer}, {self.values}, {point}, {texts[0]}, PLUS);")
                return _Known(None)
            self.write(f"{{ int64_t point_[] = {{{point}}};")
            self.write(f"ACCUMULATE({pointer}, {n}, {self.values}, point_, {texts[0]}, PLUS); }}")
            return _Known(None)
        if name == "complete":
            done = f"complete_vector({pointer}, sizeof({self.values}))"
            self.write(f"if (!{done if is_vector else f'complete({pointer})'}) goto no_memory;")
            return _Known(None)
        if name == "release":
            return _Known(None)
        if name == "count":
            return _Open(f"{pointer}->order.length", INT)
        if name == "shared":
            return _Open(f"shared_with_last({pointer}, {texts[0]})", INT) if n > 1 else _Known(0)
        index = texts[0] if is_vector else f"((int64_t *){pointer}->order.items)[{texts[0]}]"
        if name == "value":
            return _Open(f"(({self.values} *){pointer}->out_values.items)[{index}]", self.values)
        if is_vector:
            return _Open(f"((int64_t *){pointer}->out_points.items)[{index}]", INT)
        return _Open(f"coordinate_of({pointer}, {', '.join(texts)})", INT)

    def operate(self, operation: Operation, arguments: Sequence[Any]) -> _Open:
        """Arithmetic in the type of the values."""
        texts = [self.open(argument).text for argument in arguments]
        dtype = operation.dtype
        if operation.name == "negate":
            text = f"(0 - (uint64_t){texts[0]})" if dtype.kind == "i" else f"(-{texts[0]})"
        elif dtype.kind == "c" and operation.name in ("multiply", "divide"):
            operands = ", ".join(f"(double complex){text}" for text in texts)
            return _Open(f"{dtype.name}_{operation.name}({operands})", COMPLEX)
        else:
            symbol = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}[operation.name]
            if dtype.kind == "b":
                symbol = "|" if symbol == "+" else "&"
            kinds = [self.open(argument).ctype for argument in arguments]
            ctype = _ctype(dtype)
            texts = [
                f"({ctype}){t}" if k != ctype else t for t, k in zip(texts, kinds, strict=True)
            ]
            if dtype.kind == "i":
                texts = [f"(uint64_t){text}" for text in texts]
            text = f"({texts[0]} {symbol} {texts[1]})"
        if dtype.kind == "i":
            width = 8 * dtype.itemsize
            text = f"(int64_t)(int{width}_t){text}"
        elif dtype == np.float32:
            text = f"(double)(float){text}"
        elif dtype == np.complex64:
            text = f"(double complex)(float complex){text}"
        return _Open(f"({text})", _ctype(dtype))

    # Ports

    def port_latest(self, port: Port) -> tuple[_Open, _Open]:
        """The newest message on a wire, which has been read before the firing."""
        return _Open(f"k{port.index}", INT), _Open(f"v{port.index}", port.ctype)

    def port_peek(self, port: Port) -> tuple[_Known | _Open, _Open]:
        """The kind and value at the head of an input; they stand still until the firing is over."""
        n = port.index
        if n not in self.reached.peeked:
            self.lines.append(Wait("    " * self.depth, n, False, self.reached.peeked, self.data))
            self.reached = replace(self.reached, peeked=self.reached.peeked | {n})
        kind = _Known(self.heads[n]) if n in self.heads else _Open(f"k{n}", INT)
        return kind, _Open(f"v{n}", port.ctype)

    def port_take(self, port: Port) -> _Known:
        self.write(f"TAKE{port.index}")
        self.move("take", port, "")
        return _Known(None)

    def port_give(self, port: Port, kind: Any, value: Any) -> _Known:
        n = port.index
        kind, value = self.open(kind), self.open(value)
        if port.name.startswith("val") and port.ctype == INT and value.ctype != INT:
            raise self.refuse("a real number as a value where the values are whole numbers")
        self.write(f"GIVE{n}({kind.text}, {value.text})")
        self.lines.append(Wait("    " * self.depth, n, True, self.reached.sure("give")))
        version = self.versions.get(kind.text, 0)
        plain = _stands(kind) or kind.text in self.types
        self.move("give", port, f"{kind.text}@{version}" if plain else f"of {n}")
        return _Known(None)

    def touch(self, write: bool, region_node: ast.expr, index_node: ast.expr) -> _Known:
        """Touches an entry of a region; where memory is ideal, there is none."""
        region = self.evaluate(region_node)
        if not isinstance(region, _Known):
            raise self.refuse("a region of memory that is not known")
        if region.value is not None:
            number = self.regions.setdefault(region.value, len(self.regions))
            index = self.open(self.evaluate(index_node)).text
            self.pure = False
            self.lines.append(Touch("    " * self.depth, number, index, write))
        return _Known(None)

    # Builtins

    def builtin_len(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return _Known(len(value))
        if isinstance(value, _StateList):
            return _Known(value.length)
        if isinstance(value, _Memory) and isinstance(value.value, Growing):
            return _Open(f"{self.pointer(value, 'Growing')}->length", INT)
        raise self.refuse("len of this")

    def builtin_range(self, *bounds: Any) -> list[_Known]:
        if not all(isinstance(bound, _Known) for bound in bounds):
            raise self.refuse("a range that is not known")
        return [_Known(n) for n in range(*(bound.value for bound in bounds))]

    def builtin_zip(self, *sequences: Any) -> list[tuple[Any, ...]]:
        lists = [
            [_Known(part) for part in one.value] if isinstance(one, _Known) else one
            for one in sequences
        ]
        return list(zip(*lists, strict=True))

    def builtin_enumerate(self, values: Any) -> list[tuple[Any, ...]]:
        return [(_Known(n), value) for n, value in enumerate(values)]

    def builtin_tuple(self, values: Any) -> tuple[Any, ...]:
        if isinstance(values, _StateList):
            names = [f"s_{values.name}_{k}" for k in range(values.length)]
            return tuple(_Open(name, self.types.get(name, INT)) for name in names)
        return tuple(values)

    def builtin_min(self, *values: Any) -> Any:
        return self.extreme("<", values)

    def builtin_max(self, *values: Any) -> Any:
        return self.extreme(">", values)

    def extreme(self, symbol: str, values: Sequence[Any]) -> Any:
        if len(values) < 2:
            raise self.refuse("min or max of fewer than two values")
        found = self.open(values[0])
        for value in values[1:]:
            other = self.open(value)
            wide = found.ctype if found.ctype != INT else other.ctype
            text = f"({other.text} {symbol} {found.text} ? {other.text} : {found.text})"
            found = _Open(text, wide)
        return found

    # The whole function

    def kernel(self) -> Kernel:
        """The C source of what was translated."""
        state = {name: ctype for name, ctype in self.types.items() if name.startswith("s_")}
        body = Body(
            inputs=self.inputs,
            outputs=self.outputs,
            state={name: (ctype, self.start(name)) for name, ctype in state.items()},
            variables={name: ctype for name, ctype in self.types.items() if name not in state},
            memory={f"m_{'_'.join(path)}": ctype for path, ctype in self.memory.items()},
            numbers=[f"n_{'_'.join(path)}" for path in self.numbers],
            first=self.first,
            steady=self.steady,
            straight=self.straight,
            following=self.following,
            several=self.several,
            mixed=self.mixed,
            general=self.general,
            giving=self.giving,
            taken=self.together("take", self.inputs),
            given=self.together("give", self.outputs),
            touches=len(self.regions),
        )
        return Kernel(
            body,
            tuple(self.memory),
            tuple(self.numbers),
            tuple(self.messages),
            tuple(self.regions),
        )

    def together(self, side: str, ports: Sequence[Port]) -> list[int]:
        """For each port the first that is always taken from, or given to, with it."""
        moved = {} if self.ends is None else self.ends.moved
        fates = [moved.get((side, port.index), f"never {port.index}") for port in ports]
        return [fates.index(fate) for fate in fates]

    def start(self, name: str) -> str:
        """What a state variable starts from."""
        plain = name.removeprefix("s_")
        if plain in self.state:
            return self.open(_Known(self.state[plain])).text
        base, _, place = plain.rpartition("_")
        return self.open(_Known(self.state[base][int(place)])).text


def _common(one: _Constants, other: _Constants) -> _Constants:
    """What is known of variables, and the same, at two points."""
    return {n: value for n, value in one.items() if n in other and repr(other[n]) == repr(value)}


def _differ(lines: Sequence[Line], others: Sequence[Line]) -> bool:
    """Whether two firings are more than the same under other labels."""
    return [_LABEL.sub("end", str(line)) for line in lines] != [
        _LABEL.sub("end", str(line)) for line in others
    ]


def _straight(lines: Sequence[Line]) -> bool:
    """Whether a firing does the same to its inputs and outputs at any rate, and takes something."""
    ends = [line for line in lines if isinstance(line, Leave | Fail | Touch)]
    if len(ends) != 1 or not isinstance(ends[0], Leave) or ends[0].finished != "0":
        return False
    return bool(ends[0].takes) and all([*ends[0].takes.values(), *ends[0].gives.values()])


_LABEL = re.compile(r"end\d+")

# What a branch that does no more than this is written without.
_TAKE = re.compile(r" *TAKE\d+$")

_COMPARISONS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "==",
    ast.IsNot: "!=",
}
_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}
_FOLDED = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
}
# Of whole numbers alone; Python rounds a quotient down, and C towards zero.
_INTEGER = {
    "//": "({a} / {b} - ({a} % {b} != 0 && ({a} ^ {b}) < 0))",
    "%": "(({a} % {b} + {b}) % {b})",
    "<<": "(int64_t)((uint64_t){a} << {b})",
    ">>": "((int64_t){a} >> {b})",
    "&": "({a} & {b})",
    "|": "({a} | {b})",
}


def _decide(left: Any, symbol: str, right: Any) -> bool:
    return {
        "==": left == right,
        "!=": left != right,
        "<": symbol == "<" and left < right,
        "<=": symbol == "<=" and left <= right,
        ">": symbol == ">" and left > right,
        ">=": symbol == ">=" and left >= right,
    }[symbol]


def _ctype(dtype: np.dtype[Any]) -> str:
    """The C type that values of a numpy type are computed in."""
    return {"f": REAL, "c": COMPLEX}.get(dtype.kind, INT)


@cache
def _syntax(function: Any) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


@cache
def _assignments(tree: ast.FunctionDef) -> dict[str, int]:
    """How often each name is assigned to; in a loop, that is more than once."""
    counts: dict[str, int] = {}

    def count(node: ast.AST, times: int) -> None:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target, node.target]
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    counts[name.id] = counts.get(name.id, 0) + times
        for child in ast.iter_child_nodes(node):
            count(child, 2 if isinstance(node, ast.For | ast.While) else times)

    count(tree, 1)
    return counts


def _stands(value: _Open) -> bool:
    """Whether a value is a number, or a variable that no later statement of a step changes."""
    return bool(re.fullmatch(r"\(?-?[\d.]+(LL)?\)?|[kv]\d+", value.text))


def _lasts(value: _Open) -> bool:
    """Whether a value stays what it is while a call is inlined, which sees only the state."""
    local = re.fullmatch(r"[A-Za-z_]\w*", value.text) and not value.text.startswith("s_")
    return bool(local) or _stands(value)


def _real(value: Any) -> str:
    if math.isfinite(value):
        return f"({float(value)!r})"
    return "NAN" if math.isnan(value) else f"({'-' if value < 0 else ''}INFINITY)"


def _loaded(target: ast.expr) -> ast.expr:
    """The expression that reads what a target writes."""
    copy = ast.parse(ast.unparse(target), mode="eval").body
    return copy


def _returns(statements: Sequence[ast.stmt]) -> bool:
    """Whether there is nothing but a return."""
    return len(statements) == 1 and isinstance(statements[0], ast.Return)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
