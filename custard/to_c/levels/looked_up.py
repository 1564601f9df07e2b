"""Compressed outermost levels whose coordinates are looked up in an array of all coordinates."""

from __future__ import annotations

from dataclasses import replace

from custard.to_c.builder import KernelBuilder
from custard.to_c.levels.compressed import Compressed
from custard.to_c.levels.place import START, Place
from custard.to_c.loop_ir import (
    INT,
    ONE,
    Assign,
    Expr,
    For,
    Type,
    Var,
    array,
    cast,
)


class LookedUp(Compressed):
    """A compressed level that locates: an array has the position of each coordinate, and 1 more.

    The kernel fills the array before its loops, if one of these locates.
    """

    def __init__(
        self, code: str, tensor: str, level: int, index: Type, names: KernelBuilder
    ) -> None:
        super().__init__(code, tensor, level, index, names)
        self.format = replace(self.format, locates=True)
        self.places: Var | None = None

    def locate(self, above: Place, coordinate: Expr) -> Place:
        if self.places is None:
            self.places = self._filled()
        return above.below(cast(self.places[coordinate], INT) - 1, coordinate)

    def _filled(self) -> Var:
        """The array, which the kernel fills before its loops."""
        name = f"{self.tensor}_places{self.level}"
        places = self.names.scratch(name, array(self.index), self.size)
        p = Var(self.names.fresh("p"))
        first, end = self.positions(START.position), self.positions(START.position + 1)
        put = Assign(places[self.coordinate(p)], cast(p + ONE, self.index))
        self.names.opening.append(For(p, first, end, [put]))
        return places
