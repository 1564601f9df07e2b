"""Reduction: sums over loop variables, innermost first, and the coordinates left without values.

A sum over the innermost variable gives no value for an empty fiber, so the coordinate that holds
the fiber is dropped. But it gives 0 if the result has a place for each coordinate, and the loops go
through each. (A lone stop token may also end a fiber around that one, so no fiber around it may be
empty then.) A sum further out keeps the shape of the fibers around it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from custard.language.formats import are_full
from custard.to_sam.builder import Builder
from custard.to_sam.streams import Fiber, Nest
from sam.blocks.drop import drop_childless, drop_values
from sam.blocks.reduce import reduce_to_scalars, reduce_to_tensors
from sam.graph import End


def reduced(
    builder: Builder,
    fibers: Sequence[Fiber],
    begin: int,
    kept: Iterable[Fiber],
    values: Sequence[End],
    summed: Collection[str],
    scatter: bool,
) -> tuple[list[Fiber], Nest]:
    """Sums over the summed variables of the fibers from ``begin`` on, innermost first.

    The ``kept`` fibers lie inside of all of them. There are ``values`` of several lanes only if the
    innermost fiber is summed over. Gives the fibers before ``begin``, and those that are left with
    the values.
    """
    fibers, kept = list(fibers), list(kept)
    fill = scatter and are_full(builder.formats[builder.program.target.tensor].levels)
    for n in range(len(fibers) - 1, begin - 1, -1):
        fiber = fibers[n]
        if fiber.variable not in summed:
            kept.insert(0, fiber)
        elif kept and scatter:
            kept.insert(0, replace(fiber, scattered=True))
        elif kept:
            kept, value = _to_tensors(builder, fiber, kept, values[0])
            values = [value]
        else:
            holder = fibers[n - 1] if n > 0 else None
            around = all(outer.nonempty for outer in fibers[:n])
            fills = holder is None or (fill and holder.full and around)
            name, empty, outer = f"reduce_{fiber.variable}", "zero" if fills else "drop", None
            if holder is not None and not fills and not fiber.nonempty:
                if holder.in_lane:
                    # If a lane dropped a coordinate, the other lanes would wait for its next one,
                    # and their queues might not have room for that long.
                    empty, outer = "absent", holder.end
                    fibers[n - 1] = replace(holder, holed=True, nonempty=False)
                else:
                    fibers[n - 1], _ = dropped(builder, holder, {"crd": fiber.end})
            values = [reduce_to_scalars(builder.graph, name, values, empty, outer)]
    return fibers[:begin], Nest(tuple(kept), values[0])


def _to_tensors(
    builder: Builder, fiber: Fiber, kept: Sequence[Fiber], value: End
) -> tuple[list[Fiber], End]:
    """Sums over the variable of a fiber that has other fibers in it."""
    streams = [([inner.end for inner in kept], value)]
    crds, value = reduce_to_tensors(builder.graph, f"reduce_{fiber.variable}", streams)
    points = fiber.nonempty and all(inner.nonempty for inner in kept)
    found = [
        replace(inner.thinned(crd), nonempty=points or k > 0)
        for k, (inner, crd) in enumerate(zip(kept, crds, strict=True))
    ]
    return found, value


def dropped(
    builder: Builder, outer: Fiber, inner: Mapping[str, End]
) -> tuple[Fiber, dict[str, End]]:
    """Drops the outer coordinates whose inner fiber is empty.

    ``inner`` are the coordinates of the inner fiber, and the values if they lie in it.
    """
    name = f"drop_{outer.variable}"
    crd, streams = drop_childless(builder.graph, name, outer.end, inner)
    return outer.thinned(crd), streams


def without(builder: Builder, innermost: Fiber, value: End, what: str) -> tuple[Fiber, End]:
    """Drops the coordinates whose value is 0 (``zeros``) or ``N`` (``absent``)."""
    name = f"drop_{innermost.variable}"
    crd, value = drop_values(builder.graph, name, what, innermost.end, value)
    return innermost.thinned(crd), value
