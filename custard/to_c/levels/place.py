"""The place of an operand in its tensor, while loops go inwards."""

from __future__ import annotations

from dataclasses import dataclass

from custard.to_c.loop_ir import ZERO, Expr


@dataclass(frozen=True)
class Place:
    """The place of an operand: the positions and coordinates of the levels that are done.

    ``group_end``  where the last level repeats coordinates: the end of the positions that agree
    ``present``    the condition that it is there; None where that is certain
    ``clipped``    whether the loop kept to coordinates below which the next level has one
    ``begin``      the position in the next level from which its coordinates matter; None for the
                   first
    """

    positions: tuple[Expr, ...] = (ZERO,)
    coordinates: tuple[Expr, ...] = ()
    group_end: Expr | None = None
    present: Expr | None = None
    clipped: bool = False
    begin: Expr | None = None

    @property
    def position(self) -> Expr:
        """The position in the last level."""
        return self.positions[-1]

    def below(
        self,
        position: Expr,
        coordinate: Expr,
        group_end: Expr | None = None,
        present: Expr | None = None,
    ) -> Place:
        """The place of a coordinate one level below."""
        both = self.present if present is None else present
        return Place((*self.positions, position), (*self.coordinates, coordinate), group_end, both)


START = Place()
