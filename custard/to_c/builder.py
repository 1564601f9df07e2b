"""A kernel under construction: its names, parameters and arrays, its first and last statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from custard.to_c.loop_ir import (
    BOOL,
    INT,
    INT32,
    ZERO,
    Assign,
    Body,
    Call,
    Const,
    Declare,
    Expr,
    Field,
    For,
    Op,
    Require,
    Stmt,
    Struct,
    Type,
    Var,
    both,
)
from custard.to_c.runtime import NAMES
from custard.to_c.walks import statements

# Names of C, of its headers' macros and of the workspaces.
_RESERVED = re.compile(
    r"_[A-Z_].*|[A-Z][A-Z0-9]*_[A-Z0-9_]*|W[A-Z]+|(wide_)?((bucket|hash)_)?workspace_.*"
)

# Other names that C or its headers keep to themselves, or that the kernel uses.
_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while bool true false complex I NULL asm typeof linux unix main malloc
    calloc realloc free memset memcpy abs div compute release failed status had need size_t
    threads failures
    int32_t int64_t uint64_t uint32_t INFINITY NAN
"""

THREADS = Var("threads")
"""The parameter that tells how many threads share loops."""


@dataclass(frozen=True)
class Types:
    """The types and sizes that a kernel is specialised for.

    ``values``   the type of the values of each input; float64 for inputs not named
    ``indices``  the type of the index arrays of each input; int32 for inputs not named
    ``result``   the type of the result's index arrays
    ``steady``   the inputs whose innermost fibers are short, and most as long as the one before
    ``wide``     whether a key that stands for some coordinates may need more than 64 bits
    ``far``      the variables whose extents are too large for an array of all their coordinates
    ``policies``  the kind of workspace by variables, where the schedule asks for none
    ``extents``  the variables whose extents are known, with these
    ``looked_up``  the inputs, by slot, whose outermost coordinates are looked up in an array
    """

    values: Mapping[str, np.dtype[Any]] = field(default_factory=dict)
    indices: Mapping[str, Type] = field(default_factory=dict)
    result: Type = INT32
    steady: frozenset[str] = frozenset()
    wide: bool = False
    far: frozenset[str] = frozenset()
    policies: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    extents: Mapping[str, int] = field(default_factory=dict)
    looked_up: frozenset[str] = frozenset()

    def value(self, tensor: str) -> np.dtype[Any]:
        """The type of a tensor's values."""
        return self.values.get(tensor, np.dtype(np.float64))

    def index(self, tensor: str) -> Type:
        """The type of a tensor's index arrays."""
        return self.indices.get(tensor, INT32)


class KernelBuilder:
    """Collects the parts of a kernel besides its loops.

    ``structs``   its parameters
    ``bound``     the loop variables in scope; ``loop_names`` are the names of all loops in C
    ``arrays``    the locals that point to arrays of the parameters
    ``heap``      the arrays of its own, freed in the end; ``outer`` has the kernel's arrays while
                  ``heap`` has those of a thread
    ``extents``   the locals that stand for numbers of the parameters
    ``prologue``  statements before the loops, ``epilogue`` those behind them
    ``required``  the condition that must hold behind the prologue
    ``opening``   statements behind that, which fill arrays
    """

    def __init__(self) -> None:
        self.taken: set[str] = {*_KEYWORDS.split(), *NAMES}
        self.bound: set[str] = set()
        self.loop_names: dict[str, str] = {}
        self.structs: dict[str, Struct] = {}
        self.arrays: dict[Var, Field] = {}
        self.heap: list[Var] = []
        self.outer: list[Var] = self.heap
        self.functions: set[str] = set()
        self.extents: dict[Var, Expr] = {}
        self.prologue: list[Stmt] = []
        self.required: list[Expr] = []
        self.opening: list[Stmt] = []
        self.epilogue: list[Stmt] = []

    def fresh(self, name: str) -> str:
        """A similar name that is valid in C and free in this scope."""
        name = _identifier(name)
        found, n = name, 1
        while found in self.taken:
            n += 1
            found = f"{name}_{n}"
        self.taken.add(found)
        return found

    def function(self, name: str) -> str:
        """A name for a function, unique in the file."""
        found = self.fresh(name)
        self.functions.add(found)
        return found

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Frees the names made inside at the end."""
        before, bound = set(self.taken), set(self.bound)
        yield
        tops = {v.name for v in (*self.arrays, *self.heap, *self.extents)} | self.functions
        self.taken, self.bound = before | tops, bound

    @contextmanager
    def thread(self) -> Iterator[tuple[list[Var], list[Stmt], list[Expr]]]:
        """Collects the arrays, first statements and conditions of a thread's function."""
        before = self.heap, self.prologue, self.required
        self.heap, self.prologue, self.required = [], [], []
        try:
            yield self.heap, self.prologue, self.required
        finally:
            self.heap, self.prologue, self.required = before

    def name_of(self, loop: str) -> str:
        """The name in C of a loop."""
        if loop not in self.loop_names:
            self.loop_names[loop] = self.fresh(loop)
        return self.loop_names[loop]

    def loop_variable(self, name: str) -> Var:
        """The variable of a loop: of this name, unless a loop around it has it."""
        return Var(self.fresh(name) if name in self.bound else name)

    def stored(self, tensor: str, field: str, type: Type) -> Var:
        """The local variable that points to an array of a parameter."""
        member = Field(tensor, field, type)
        for var, known in self.arrays.items():
            if known == member:
                return var
        var = Var(self.fresh(f"{tensor}_{field}"), type)
        self.arrays[var] = member
        return var

    def local(self, name: str, value: Expr) -> Var:
        """A variable for a number that is known before the loops."""
        for var, known in self.extents.items():
            if known == value and var.name.startswith(name):
                return var
        var = Var(self.fresh(name), value.type)
        self.extents[var] = value
        return var

    def scratch(self, name: str, type: Type, size: Expr, zeroed: bool = True) -> Var:
        """An array of the kernel's own, zeroed or not initialised."""
        var = Var(self.fresh(name), type)
        self.heap.append(var)
        self.prologue.append(resized(var, ZERO, size, zeroed))
        self.required.append(exists(var))
        return var

    def body(self, loops: Sequence[Stmt]) -> list[Stmt]:
        """The whole kernel around its loops."""
        numbers = [Declare(var, value, const=True) for var, value in self.extents.items()]
        arrays = [Declare(var, member) for var, member in self.arrays.items()]
        required = [Require(both(*self.required))] if self.required else []
        before = [*numbers, *arrays, *self.prologue, *required, *self.opening]
        return [*before, *loops, *self.epilogue]


def namer(body: Body, taken: Iterable[str]) -> Callable[[str], str]:
    """A function that gives similar names that are neither in the statements nor ``taken``."""
    own = {one.var.name for one in statements(body) if isinstance(one, Declare | For)}
    used = own | {*taken}

    def fresh(name: str) -> str:
        found, n = name, 1
        while found in used:
            n += 1
            found = f"{name}_{n}"
        used.add(found)
        return found

    return fresh


def resized(var: Expr, had: Expr, count: Expr, zeroed: bool = False) -> Stmt:
    """Gives an array room for more elements; the new ones are zero, or not initialised."""
    size = Op("sizeof", (var,), INT)
    arguments = (var, had, count, size) if zeroed else (var, count, size)
    return Assign(var, Call("resized_zero" if zeroed else "resized", arguments, var.type))


def exists(pointer: Expr) -> Expr:
    """Whether a pointer is not NULL."""
    return Op("!=", (pointer, Const(None, pointer.type)), BOOL)


def _identifier(name: str) -> str:
    """The name, with characters that C identifiers may not have written as their code points."""
    safe = re.sub(r"[^A-Za-z0-9_]", lambda m: "_" if m[0] == "'" else f"u{ord(m[0]):x}", name)
    if _RESERVED.fullmatch(safe):
        return f"{safe}_"
    return f"_{safe}" if safe[:1].isdigit() else safe
