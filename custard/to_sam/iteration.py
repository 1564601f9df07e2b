"""Iteration: the loops of an expression entered one by one, and computation inside of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from custard.to_sam.builder import Builder
from custard.to_sam.cursor import Cursor
from custard.to_sam.lanes import Lane, deal, joined, lanes_of, reduced_lanes
from custard.to_sam.reduction import reduced
from custard.to_sam.streams import Fiber, Nest
from sam.blocks.merge import UNION


def computed(
    builder: Builder,
    cursor: Cursor,
    variables: Sequence[str],
    summed: Collection[str],
    scatter: bool = False,
    around: Fiber | None = None,
) -> Nest:
    """Descends all the variables, computes, and reduces over the summed ones.

    Gives the fibers over the variables that are left, and the values. Under ``scatter``, the
    reduction over a variable that others lie in is left to the writers. Inside of a fiber
    ``around`` there is a value for each of its coordinates, ``N`` where nothing is summed.
    """
    outer = [] if around is None else [replace(around, in_lane=True)]
    _, nest = _inside(builder, outer, cursor, variables, summed, scatter)
    return nest


def _inside(
    builder: Builder,
    outer: list[Fiber],
    cursor: Cursor,
    variables: Sequence[str],
    summed: Collection[str],
    scatter: bool,
) -> tuple[list[Fiber], Nest]:
    """``computed`` inside of outer fibers that have been descended already.

    Gives the outer fibers too: the innermost may have lost coordinates of empty fibers.
    """
    fibers = list(outer)
    for n, variable in enumerate(variables):
        fiber, cursor = cursor.descend(builder, variable) or _everywhere(builder, cursor, variable)
        cursor = cursor.settled(builder, fiber)
        fibers.append(fiber)
        if lanes_of(builder, variable) > 1:
            lanes = []
            for own, copy in deal(builder, fiber, cursor):
                around = [*fibers[:-1], own]
                found, nest = _inside(builder, around, copy, variables[n + 1 :], summed, scatter)
                lanes.append(Lane(found[-1], nest))
            return _put_together(builder, fibers, len(outer), lanes, summed, scatter)
    values = [cursor.value(builder)]
    return reduced(builder, fibers, len(outer), [], values, summed, scatter)


def _everywhere(builder: Builder, cursor: Cursor, variable: str) -> tuple[Fiber, Cursor]:
    """The whole dimension of a variable, wherever a cursor that lacks it is present."""
    fibers = [builder.dimension(variable, end)[0] for end in cursor.witnesses()]
    end = fibers[0].end
    if len(fibers) > 1:
        end = builder.merged(UNION, variable, fibers, [[] for _ in fibers])[0].end
    fiber = Fiber(variable, end, builder.assume_nonempty(variable), full=True)
    return fiber, cursor.repeated(builder, fiber)


def _put_together(
    builder: Builder,
    fibers: list[Fiber],
    begin: int,
    lanes: Sequence[Lane],
    summed: Collection[str],
    scatter: bool,
) -> tuple[list[Fiber], Nest]:
    """The results of the lanes of the last fiber, reduced over the fibers from ``begin`` on.

    If that fiber is summed over and has other fibers in it, one reducer sums the results of all
    lanes, and the fiber is gone. If it has none in it, and each lane has a value for each of its
    coordinates, the reduction takes the values of all lanes. Otherwise lanes are joined in the
    order of the coordinates.
    """
    *around, fiber = fibers
    whole = not lanes[0].own.holed
    if fiber.variable in summed and lanes[0].nest.fibers:
        nest = reduced_lanes(builder, lanes)
        return reduced(builder, around, begin, nest.fibers, [nest.value], summed, scatter)
    if fiber.variable in summed and whole:
        values = [lane.nest.value for lane in lanes]
        return reduced(builder, fibers, begin, [], values, summed, scatter)
    fiber, nest = joined(builder, fiber, lanes)
    return reduced(builder, [*around, fiber], begin, nest.fibers, [nest.value], summed, scatter)
