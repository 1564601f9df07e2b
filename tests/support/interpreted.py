"""Loops of target c, run in Python: the effect of small parts of a kernel, without a compiler.

Variables, arrays and the members of structs are in one dictionary, by the text that C has for
them: ``"n"``, ``"A->size0"``; an array is a list.
"""

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from custard.to_c.builder import KernelBuilder
from custard.to_c.levels import LEVEL_FUNCTIONS
from custard.to_c.levels.place import START, Place
from custard.to_c.loop_ir import (
    BOOL,
    INT,
    INT32,
    Assign,
    Call,
    CallStatement,
    Const,
    Declare,
    Expr,
    Field,
    For,
    If,
    Load,
    Op,
    Stmt,
    Var,
    While,
)

Names = dict[str, Any]

_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": lambda left, right=None: -left if right is None else left - right,
    "*": operator.mul,
    "/": lambda left, right: int(left / right) if isinstance(left, int) else left / right,
    "%": lambda left, right: left - right * int(left / right),
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&": operator.and_,
    "|": operator.or_,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "!": operator.not_,
}


def _run_end(crd: Sequence[int], at: int, end: int, before: int) -> int:
    return bisect_right(crd, crd[at], at, end)


def _locate_hashed(buckets: Sequence[int], width: int, parent: int, coordinate: int) -> int:
    table = buckets[parent * width : (parent + 1) * width]
    return parent * width + table.index(coordinate) if coordinate in table else -1


def _sort_buckets(buckets: Sequence[int], first: int, width: int, found: list[int]) -> int:
    used = [at for at in range(first, first + width) if buckets[at] != -1]
    used.sort(key=buckets.__getitem__)
    found[: len(used)] = used
    return len(used)


_CALLS: Mapping[str, Callable[..., Any]] = {
    "sought": lambda crd, first, end, low: bisect_left(crd, low, first, end),
    "run_end": _run_end,
    "key_run_end": lambda keys, at, end, before, beyond: bisect_left(keys, beyond, at, end),
    "parent": lambda segments, first, end, at: bisect_right(segments, at, first, end) - 1,
    "locate_hashed": _locate_hashed,
    "sort_buckets": _sort_buckets,
    "lowest_bit": lambda bits: (bits & -bits).bit_length() - 1,
    "floored": operator.floordiv,
    "times": operator.mul,
    "apart": operator.pos,
}


def evaluated(node: Expr, names: Names) -> Any:
    """The value of an expression."""
    match node:
        case Const(value):
            return value
        case Var(name):
            return names[name]
        case Field(struct, name):
            return names[f"{struct}->{name}"]
        case Load(array, index):
            return evaluated(array, names)[evaluated(index, names)]
        case Op("?:", (condition, then, otherwise)):
            return evaluated(then if evaluated(condition, names) else otherwise, names)
        case Op("&&", (left, right)):
            return evaluated(left, names) and evaluated(right, names)
        case Op("||", (left, right)):
            return evaluated(left, names) or evaluated(right, names)
        case Op("cast" | "widen", (value,)):
            found = evaluated(value, names)
            return int(found) if isinstance(found, bool) else found
        case Op(name, parts):
            return _OPERATIONS[name](*(evaluated(part, names) for part in parts))
        case Call(function, arguments):
            name = function
            for type_name in ("_int32_t", "_int64_t", "_uint64_t"):
                name = name.removesuffix(type_name)
            return _CALLS[name](*(evaluated(one, names) for one in arguments))
    raise AssertionError(node)


class Told(Stmt):
    """A statement that keeps the values of some expressions at its place."""

    def __init__(self, *wanted: Expr) -> None:
        self.wanted, self.found = wanted, list[Any]()


def run(body: Sequence[Stmt], names: Names) -> None:
    """Runs statements."""
    for statement in body:
        match statement:
            case Declare(var, value):
                names[var.name] = evaluated(value, names)
            case Assign(Var(name), value, sign):
                new = evaluated(value, names)
                names[name] = _OPERATIONS[sign](names[name], new) if sign else new
            case Assign(Load(array, index), value, sign):
                place, at = evaluated(array, names), evaluated(index, names)
                new = evaluated(value, names)
                place[at] = _OPERATIONS[sign](place[at], new) if sign else new
            case For(var, begin, end, inside, after, step=step):
                names[var.name] = evaluated(begin, names)
                while names[var.name] < evaluated(end, names):
                    run(inside, names)
                    further = var + step if after is None else after
                    names[var.name] = evaluated(further, names)
            case While(condition, inside):
                while evaluated(condition, names):
                    run(inside, names)
            case If(cases, otherwise):
                chosen = (inside for test, inside in cases if evaluated(test, names))
                run(next(chosen, otherwise), names)
            case Told() as told:
                told.found.append(tuple(evaluated(one, names) for one in told.wanted))
            case CallStatement(call):
                evaluated(call, names)
            case _:
                raise AssertionError(statement)


class StoredLevel:
    """The level functions of a level of a tensor, and its arrays and numbers by name.

    ``level``  one of ``sam.levels``; ``size`` is the extent of its mode
    """

    def __init__(self, level: Any, size: int, number: int = 0, names: Names | None = None) -> None:
        self.builder = KernelBuilder()
        self.functions = LEVEL_FUNCTIONS[level.code](level.code, "A", number, INT32, self.builder)
        self.names = {} if names is None else names
        self.names[f"A->size{number}"] = size
        for name in self.functions.numbers:
            self.names[f"A->{name}{number}"] = int(getattr(level, name))
        for name in self.functions.arrays:
            array = self.functions.array(name)
            self.names[array.name] = np.asarray(getattr(level, name)).tolist()

    def scanned(self, above: Place = START, ordered: bool = True, unique: bool = True) -> list[Any]:
        """The coordinates below a place, each with its position, in the order of the loop."""
        iterator = self.functions.iterate(above, 0, ordered, unique)
        coordinate, told = Var("x"), Told()

        def body() -> list[Stmt]:
            told.wanted = (coordinate, iterator.position)
            return [told]

        loop = iterator.loop(coordinate, body)
        names = {**self.names, **{var.name: [0] * 64 for var in self.builder.heap}}
        run(loop, names)
        return told.found

    def merged(self, above: Place = START, low: int | None = None) -> list[Any]:
        """The coordinates by the steps of a merge, from the coordinate ``low`` on, if any."""
        iterator = self.functions.iterate(above, 0, True, True)
        if low is not None:
            iterator.seek(Const(low))
        begin = iterator.begin()
        told = Told(iterator.coordinate, iterator.position)
        loop = While(iterator.alive, [told, *iterator.advance(Const(True, BOOL))])
        names = {**self.names, **{var.name: [0] * 64 for var in self.builder.heap}}
        run([*begin, loop], names)
        return told.found


def place_of(position: int, *outer: int) -> Place:
    """The place at a position, below others."""
    positions = tuple(Const(n) for n in (0, *outer, position))
    return Place(positions, tuple(Const(0, INT) for _ in positions[1:]))
