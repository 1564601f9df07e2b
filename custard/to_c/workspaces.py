"""Workspaces: temporary tensors that take values in any order, and give them back in order.

``DenseWorkspace``   one dimension: an array of all values, and a bit-tree of those that are set
``LocatedWorkspace`` the same for a vector that is filled once, and then located in
``SparseWorkspace``  any number of dimensions: components are inserted, sorted and merged (Zhang et
                     al., PLDI 2024, Section 5)

Each is an ``Output``, and then a tensor whose levels have level functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from custard.to_c.builder import Builder, exists
from custard.to_c.levels import Counted, Iterator, LevelFunctions, Place, Runs
from custard.to_c.loop_ir import (
    BOOL,
    INT,
    ONE,
    TRUE,
    WIDE,
    WORD,
    ZERO,
    Assign,
    Call,
    Declare,
    Expr,
    Field,
    For,
    If,
    Op,
    Require,
    Run,
    Stmt,
    Type,
    Var,
    array,
    cast,
    op,
    product,
    select,
)
from custard.to_c.outputs import Output
from custard.to_c.values import adding, c_type, number
from sam.arithmetic import ValueType


class Workspace(ABC):
    """A workspace: ``levels`` are the codes of the formats that its levels behave like."""

    levels: str
    values: Expr

    @abstractmethod
    def output(self) -> Output:
        """The output that fills it."""

    @abstractmethod
    def ready(self) -> list[Stmt]:
        """Statements after which it can be read."""

    @abstractmethod
    def function(self, level: int) -> LevelFunctions:
        """The level functions of a level."""

    @abstractmethod
    def reset(self) -> list[Stmt]:
        """Statements that empty it."""


class DenseWorkspace(Workspace):
    """A vector: its values, a bit for each that is set, a bit for each word of bits (the tops), and
    which words of those are touched."""

    levels = "s"

    def __init__(
        self, builder: Builder, name: str, variable: str, extent: Expr, dtype: ValueType
    ) -> None:
        self.builder, self.variable, self.dtype, self.extent = builder, variable, dtype, extent
        words = op("/", extent, 64) + 1
        self.values = builder.scratch(f"{name}_values", array(c_type(dtype)), extent)
        self.words = builder.scratch(f"{name}_words", array(WORD), words)
        tops = op("/", words, 64) + 1
        self.tops = builder.scratch(f"{name}_tops", array(WORD), tops)
        self.touched = builder.scratch(f"{name}_touched", array(INT), tops + 1)
        self.list = builder.scratch(f"{name}_list", array(INT), extent, zeroed=False)
        self.count = Var(builder.fresh(f"{name}_count"))
        self.cursor = Var(builder.fresh(f"p_{name}"))

    def output(self) -> Output:
        return DenseOutput(dtype=self.dtype, workspace=self)

    def ready(self) -> list[Stmt]:
        arguments = (self.words, self.tops, self.touched, self.list)
        return [Declare(self.count, Call("take_bits", arguments), const=True)]

    def function(self, level: int) -> LevelFunctions:
        return _Listed(self)

    def reset(self) -> list[Stmt]:
        p = Var(self.builder.fresh("p"))
        clear = Assign(self.values[self.list[p]], number(0, self.dtype))
        return [For(p, ZERO, self.count, [clear])]


@dataclass(frozen=True, kw_only=True)
class DenseOutput(Output):
    workspace: DenseWorkspace

    @property
    def sparse(self) -> bool:
        return True

    def write(self, value: Expr) -> list[Stmt]:
        at = self.bound[self.workspace.variable]
        workspace = self.workspace
        mark = Call("mark_bit", (workspace.words, workspace.tops, workspace.touched, at))
        return [Assign(workspace.values[at], value, adding(self.dtype)), Run(mark)]


class _Listed(LevelFunctions):
    """The coordinates that are set, in a list; a position is a coordinate."""

    def __init__(self, workspace: DenseWorkspace) -> None:
        super().__init__("s", "", 0, INT, None)  # type: ignore[arg-type]
        self.workspace = workspace

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        found = self.workspace.list[self.workspace.cursor]
        return Counted(self.workspace.cursor, ZERO, self.workspace.count, found, found)


class LocatedWorkspace(Workspace):
    """A vector that is filled once: its values, and whether each is set; coordinates are located.

    Where nothing else goes through its dimension, those that are set are listed.
    """

    levels = "s"

    def __init__(
        self, builder: Builder, name: str, variable: str, extent: Expr, dtype: ValueType
    ) -> None:
        self.builder, self.variable, self.dtype, self.extent = builder, variable, dtype, extent
        self.name = name
        self.values = builder.scratch(f"{name}_values", array(c_type(dtype)), extent)
        self.set = builder.scratch(f"{name}_set", array(BOOL), extent)
        self.list: Var | None = None
        self.count = Var(builder.fresh(f"{name}_count"))
        self.cursor = Var(builder.fresh(f"p_{name}"))

    def output(self) -> Output:
        return _LocatedOutput(dtype=self.dtype, workspace=self)

    def listed(self) -> Var:
        """The coordinates that are set, which ``ready`` lists."""
        if self.list is None:
            size = self.extent
            self.list = self.builder.scratch(f"{self.name}_list", array(INT), size, zeroed=False)
        return self.list

    def ready(self) -> list[Stmt]:
        if self.list is None:
            return []
        p = Var(self.builder.fresh("p"))
        append = [Assign(self.list[self.count], p), Assign(self.count, ONE, "+")]
        return [
            Declare(self.count, ZERO),
            For(p, ZERO, self.extent, [If([(self.set[p], append)])]),
        ]

    def function(self, level: int) -> LevelFunctions:
        return _Located(self)

    def reset(self) -> list[Stmt]:
        return []


@dataclass(frozen=True, kw_only=True)
class _LocatedOutput(Output):
    workspace: LocatedWorkspace

    @property
    def sparse(self) -> bool:
        return True

    def write(self, value: Expr) -> list[Stmt]:
        at, workspace = self.bound[self.workspace.variable], self.workspace
        add = Assign(workspace.values[at], value, adding(self.dtype))
        return [add, Assign(workspace.set[at], TRUE)]


class _Located(LevelFunctions):
    """The coordinates that are set; a position is a coordinate."""

    def __init__(self, workspace: LocatedWorkspace) -> None:
        super().__init__("s", "", 0, INT, workspace.builder)
        self.format = replace(self.format, locates=True)
        self.workspace = workspace

    def cursor(self) -> Var:
        return Var(self.names.fresh(f"p_{self.workspace.name}"))

    def locate(self, above: Place, coordinate: Expr) -> Place:
        position = select(self.workspace.set[coordinate], coordinate, Op("-", (ONE,), INT))
        return above.below(position, coordinate)

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        found = self.workspace.listed()[self.workspace.cursor]
        return Counted(self.workspace.cursor, ZERO, self.workspace.count, found, found)


class SparseWorkspace(Workspace):
    """Components with their coordinates in one number, the key, whose order is that of storage.

    A ``wide`` one has keys of 128 bits.
    """

    def __init__(
        self,
        builder: Builder,
        name: str,
        variables: Sequence[str],
        extents: Sequence[Expr],
        dtype: ValueType,
        wide: bool,
    ) -> None:
        self.variables, self.extents, self.dtype = tuple(variables), tuple(extents), dtype
        n = len(variables)
        self.levels = "s" if n == 1 else "u" + "c" * (n - 2) + "q"
        self.builder = builder
        self.key = WIDE if wide else WORD
        prefix = "wide_" if wide else ""
        self.kind = f"{prefix}workspace_{c_type(dtype).name.replace(' ', '_')}"
        self.handle = Var(name, Type(f"struct {self.kind}", pointer=True))
        builder.heap.append(self.handle)
        builder.prologue.append(Assign(self.handle, Call(f"{self.kind}_new", (), self.handle.type)))
        builder.required.append(exists(self.handle))
        self.values = Field(self.handle.name, "values", array(c_type(dtype)))
        self.keys = Field(self.handle.name, "keys", array(self.key))
        self.count = Field(self.handle.name, "sorted")

    def output(self) -> Output:
        return SparseOutput(dtype=self.dtype, workspace=self)

    def ready(self) -> list[Stmt]:
        return [Run(Call(f"{self.kind}_sort", (self.handle,)))]

    def function(self, level: int) -> LevelFunctions:
        return _Keys(self, level)

    def reset(self) -> list[Stmt]:
        return [Run(Call(f"{self.kind}_empty", (self.handle,)))]

    def coordinate(self, level: int, position: Expr) -> Expr:
        """The coordinate of a level in the key at a position."""
        key = self.keys[position]
        extents = [cast(extent, self.key) for extent in self.extents]
        if level + 1 < len(extents):
            key = op("/", key, product(extents[level + 1 :]))
        if level > 0:
            key = op("%", key, extents[level])
        return cast(key, INT)

    def key_of(self, coordinates: Sequence[Expr]) -> Expr:
        """The key of the coordinates."""
        key = cast(coordinates[0], self.key)
        for coordinate, extent in zip(coordinates[1:], self.extents[1:], strict=True):
            key = key * cast(extent, self.key) + cast(coordinate, self.key)
        return key


@dataclass(frozen=True, kw_only=True)
class SparseOutput(Output):
    workspace: SparseWorkspace

    @property
    def sparse(self) -> bool:
        return True

    def write(self, value: Expr) -> list[Stmt]:
        workspace = self.workspace
        key = Var(workspace.builder.fresh("key"), workspace.key)
        insert = Call(f"{workspace.kind}_insert", (workspace.handle, key, value), BOOL)
        coordinates = [self.bound[v] for v in workspace.variables]
        return [Declare(key, workspace.key_of(coordinates), const=True), Require(insert)]


class _Keys(LevelFunctions):
    """The coordinates of one dimension in sorted keys: a chain of branchless levels."""

    def __init__(self, workspace: SparseWorkspace, level: int) -> None:
        super().__init__(workspace.levels[level], "", level, INT, workspace.builder)
        self.workspace = workspace

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        workspace, level = self.workspace, self.level
        cursor = Var(self.names.fresh(f"p{workspace.handle.name}{level}"))
        first = above.position
        if level == 0:
            end: Expr = workspace.count
        else:
            end = above.position + 1 if above.group_end is None else above.group_end
        if above.present is not None:
            end = Op("?:", (above.present, end, first), INT)
        if level + 1 < len(workspace.levels):
            find = f"{workspace.kind}_run_end"
            stride = product([cast(e, workspace.key) for e in workspace.extents[level + 1 :]])
            return Runs(
                cursor,
                first,
                end,
                lambda at: workspace.coordinate(level, at),
                lambda at, last, run: Call(find, (workspace.handle, at, last, run, stride)),
            )
        found = workspace.coordinate(level, cursor)
        return Counted(cursor, first, end, found, cursor)
