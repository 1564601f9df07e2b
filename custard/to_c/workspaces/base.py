"""The base of all workspaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from custard.to_c.builder import KernelBuilder
from custard.to_c.levels import Counted, Iterator, LevelFunctions, Place, Runs
from custard.to_c.loop_ir import INT, ONE, Call, Expr, Op, Stmt, Type, Var, cast, op
from custard.to_c.outputs import Output
from custard.to_c.values import c_type
from sam.arithmetic import ValueType


class Workspace(ABC):
    """A workspace over some variables.

    ``levels``  the codes of the formats that its levels behave like
    ``values``  the array of its values
    """

    levels: str
    values: Expr

    def __init__(
        self,
        builder: KernelBuilder,
        name: str,
        variables: Sequence[str],
        extents: Sequence[Expr],
        dtype: ValueType,
    ) -> None:
        self.builder, self.name, self.dtype = builder, name, dtype
        self.variables, self.extents = tuple(variables), tuple(extents)
        n = len(self.variables)
        self.levels = "s" if n == 1 else "u" + "c" * (n - 2) + "q"

    def output(self) -> Output:
        """Where its values are written to."""
        return WorkspaceOutput(dtype=self.dtype, workspace=self)

    @abstractmethod
    def insert(self, bound: Mapping[str, Expr], value: Expr) -> list[Stmt]:
        """Adds a value at the coordinates of its variables."""

    @abstractmethod
    def ready(self) -> list[Stmt]:
        """Statements that make it readable."""

    @abstractmethod
    def function(self, level: int) -> LevelFunctions:
        """The level functions of a level."""

    @abstractmethod
    def reset(self) -> list[Stmt]:
        """Statements that make it empty."""

    @property
    def c_type(self) -> Type:
        """The C type of the values."""
        return c_type(self.dtype)


@dataclass(frozen=True, kw_only=True)
class WorkspaceOutput(Output):
    """A workspace that values are added to in any order."""

    workspace: Workspace

    @property
    def sparse(self) -> bool:
        return True

    def write(self, value: Expr) -> list[Stmt]:
        return self.workspace.insert(self.bound, value)


class Keyed(Workspace):
    """A workspace that gives its components in the order of keys; a key encodes the coordinates of
    all variables.

    ``keys``   the array of these keys
    ``count``  how many there are
    """

    keys: Expr
    count: Expr

    @abstractmethod
    def another(self, name: str) -> Keyed:
        """Another workspace of this kind, for a thread."""

    @abstractmethod
    def add(self, other: Keyed) -> list[Stmt]:
        """Statements in which threads, one after the other, add the values of their workspaces."""

    @abstractmethod
    def leading(self, key: Expr, level: int) -> Expr:
        """The key of the coordinates up to a level."""

    @abstractmethod
    def widened(self, key: Expr, level: int) -> Expr:
        """The least full key that begins with a key of the coordinates up to a level."""

    @abstractmethod
    def position(self, place: Expr) -> Expr:
        """Where the value of a key stands."""

    def key_of(self, coordinates: Sequence[Expr]) -> Expr:
        """The key of the coordinates of the first levels."""
        type = Type(self.keys.type.name)
        first, *others = coordinates
        key = cast(first, type)
        for level, coordinate in enumerate(others, start=1):
            key = op(self.joined, self.shifted(key, level), cast(coordinate, type))
        return key

    # The operator that appends a coordinate to a shifted key.
    joined: str

    @abstractmethod
    def shifted(self, key: Expr, level: int) -> Expr:
        """A key with place for the coordinate of another level."""

    def function(self, level: int) -> LevelFunctions:
        return _Keys(self, level)


class _Keys(LevelFunctions):
    """The coordinates of one level in sorted keys: a chain of branchless levels."""

    def __init__(self, workspace: Keyed, level: int) -> None:
        super().__init__(workspace.levels[level], "", level, INT, workspace.builder)
        self.workspace = workspace

    def iterate(self, above: Place, owner: int, ordered: bool, unique: bool) -> Iterator:
        workspace, level = self.workspace, self.level
        name = workspace.name
        cursor = Var(
            self.names.fresh(f"p{name}{level}" if len(workspace.levels) > 1 else f"p_{name}")
        )
        first = above.position
        if level == 0:
            end = workspace.count
        else:
            end = above.position + 1 if above.group_end is None else above.group_end
        if above.present is not None:
            end = Op("?:", (above.present, end, first), INT)

        def coordinate(at: Expr) -> Expr:
            """The part of a key beyond the coordinates above."""
            key = workspace.leading(workspace.keys[at], level)
            if level > 0:
                key = key - workspace.shifted(workspace.key_of(above.coordinates), level)
            return cast(key, INT)

        if level + 1 < len(workspace.levels):
            type = Type(workspace.keys.type.name)

            def run_end(at: Expr, last: Expr, run: Expr) -> Expr:
                following = workspace.leading(workspace.keys[at], level) + cast(ONE, type)
                beyond = workspace.widened(following, level)
                return Call(f"key_run_end_{type.name}", (workspace.keys, at, last, run, beyond))

            return Runs(cursor, first, end, coordinate, run_end)
        return Counted(cursor, first, end, coordinate(cursor), workspace.position(cursor))
