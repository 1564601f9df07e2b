"""Workspaces whose memory grows with the number of components put into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from custard.to_c.builder import KernelBuilder, exists
from custard.to_c.loop_ir import (
    BOOL,
    TRUE,
    WIDE,
    WORD,
    ZERO,
    Assign,
    Call,
    CallStatement,
    Const,
    Declare,
    Expr,
    Field,
    Ordered,
    Require,
    Stmt,
    Type,
    Var,
    array,
    op,
)
from custard.to_c.workspaces.base import Keyed
from sam.arithmetic import ValueType

# The beginning of the names of the structs of each policy.
_KINDS = {"coord": "workspace", "bucket": "bucket_workspace", "hash": "hash_workspace"}


class SparseWorkspace(Keyed):
    """Components with their coordinates in one number, the key, whose order is that of storage: the
    bits of each coordinate, those of the first variable highest.

    ``policy``  how they are put in order: "coord" (as one list), "bucket" or "hash"
    ``wide``    whether keys have 128 bits
    """

    joined = "|"

    def __init__(
        self,
        builder: KernelBuilder,
        name: str,
        variables: Sequence[str],
        extents: Sequence[Expr],
        dtype: ValueType,
        policy: str,
        wide: bool,
    ) -> None:
        super().__init__(builder, name, variables, extents, dtype)
        self.policy, self.wide = policy, wide
        self.bits = [self._bits(*one) for one in zip(variables, extents, strict=True)]
        prefix = "wide_" if wide else ""
        self.kind = f"{prefix}{_KINDS[policy]}_{self.c_type.name.replace(' ', '_')}"
        self.handle = Var(name, Type(f"struct {self.kind}", pointer=True))
        builder.heap.append(self.handle)
        builder.prologue.append(Assign(self.handle, Call(f"{self.kind}_new", (), self.handle.type)))
        builder.required.append(exists(self.handle))
        self.values = Field(name, "values", array(self.c_type))
        self.keys = Field(name, "keys", array(WIDE if wide else WORD))
        self.count = Field(name, "sorted")

    def _bits(self, variable: str, extent: Expr) -> Expr:
        """How many bits the coordinates of a variable need."""
        if isinstance(extent, Const):
            return Const(max(0, extent.value - 1).bit_length())
        return self.builder.local(f"{variable}_bits", Call("bits_of", (extent,)))

    def insert(self, bound: Mapping[str, Expr], value: Expr) -> list[Stmt]:
        key = Var(self.builder.fresh("key"), Type(self.keys.type.name))
        declared = Declare(key, self.key_of([bound[v] for v in self.variables]), const=True)
        return [declared, Require(Call(f"{self.kind}_insert", (self.handle, key, value), BOOL))]

    def ready(self) -> list[Stmt]:
        return [Require(Call(f"{self.kind}_sort", (self.handle,), BOOL))]

    def reset(self) -> list[Stmt]:
        return [CallStatement(Call(f"{self.kind}_empty", (self.handle,)))]

    def another(self, name: str) -> SparseWorkspace:
        shared = self.builder, name, self.variables, self.extents, self.dtype
        return SparseWorkspace(*shared, self.policy, self.wide)

    def add(self, other: Keyed) -> list[Stmt]:
        assert isinstance(other, SparseWorkspace)
        merged = Var(self.builder.fresh("merged"), BOOL)
        merge = Call(f"{self.kind}_merge", (self.handle, other.handle), BOOL)
        return [Declare(merged, TRUE), Ordered([Assign(merged, merge)]), Require(merged)]

    # Keys

    def _shift(self, level: int) -> Expr:
        """How many bits there are behind those of a level."""
        return sum(self.bits[level + 1 :], start=ZERO)

    def leading(self, key: Expr, level: int) -> Expr:
        shift = self._shift(level)
        return key if shift == ZERO else op(">>", key, shift)

    def widened(self, key: Expr, level: int) -> Expr:
        return op("<<", key, self._shift(level))

    def shifted(self, key: Expr, level: int) -> Expr:
        return op("<<", key, self.bits[level])

    def position(self, place: Expr) -> Expr:
        return place
