"""Computed subscripts: affine units, and scanners of the window that a variable sees of a fiber.

A level with the subscript ``scale * v + rest``, of which ``rest`` is known, is read at the variable
v by a window scanner: it finds the bounds of the window by search, as a locator does, goes through
the coordinates that are stored there, and emits for each the value of v that it stands for. An
affine unit computes ``rest`` of the coordinates of the loops further out; it also computes the
coordinates to locate in a level that locates.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from sam.blocks.base import (
    Block,
    Kind,
    Role,
    StreamError,
    Surroundings,
    read,
    require_within,
)
from sam.blocks.parameters import FLAG, TEXT, many, optional, whole
from sam.blocks.ports import Coordinates, Positions, into, out
from sam.blocks.scan import Scanned
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.subscripts import Affine
from sam.support.errors import UserError
from sam.token import DATA, DONE, EMPTY, STOP

NUMBER = whole(-(2**31), 2**31)


def add_up(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the coordinates times their coefficients, plus a constant.

    ``N`` where one of them is, and where the sum lies outside of the extent that bounds it.
    """
    kind, value = p.in_crds[0].peek()
    total = m.constant
    there = True
    for n, coordinates in enumerate(p.in_crds):
        own_kind, own = coordinates.peek()
        if own_kind > EMPTY or kind > EMPTY:
            if own_kind != kind or own != value:
                raise StreamError("the operands of an affine unit have different shapes")
        elif own_kind == EMPTY:
            there = False
        else:
            total += m.scales[n] * own
    for coordinates in p.in_crds:
        coordinates.take()
    if kind > EMPTY:
        p.crd.give(kind, value)
    elif there and (not m.bounded or (total >= 0 and total < m.size)):
        p.crd.give(DATA, total)
    else:
        p.crd.give(EMPTY, 0)
    return True if kind == DONE else None


def scan_window(p: Any, s: Any, m: Any) -> bool | None:
    """Goes one step along a window, or emits the stop token that ends it, as level scanners do."""
    if s.step < s.end:
        _advance(p, s, m)
        return None
    kind, value = p.in_ref.peek()
    rest = m.constant
    there = kind == DATA
    for offset in p.offsets:
        own_kind, own = offset.peek()
        if own_kind > EMPTY or kind > EMPTY:
            if own_kind != kind or own != value:
                raise StreamError("the references and offsets of a window have different shapes")
        elif own_kind == EMPTY:
            there = False
        else:
            rest += own
    if kind == DONE and s.open:
        p.crd.give(STOP, 0)
        p.ref.give(STOP, 0)
        s.open = False
        return None
    p.in_ref.take()
    for offset in p.offsets:
        offset.take()
    if kind == DONE:
        p.crd.give(DONE, 0)
        p.ref.give(DONE, 0)
        return True
    if kind == STOP:
        p.crd.give(STOP, value + 1)
        p.ref.give(STOP, value + 1)
        s.open = False
        return None
    if s.open:
        p.crd.give(STOP, 0)
        p.ref.give(STOP, 0)
    if there:
        require_within(value, m)
        first, last = m.level.fiber(value)
        low = rest if m.scale > 0 else rest + m.reach
        high = rest + m.reach + 1 if m.scale > 0 else rest + 1
        s.parent = value
        s.rest = rest
        s.step = m.level.seek(value, first, last, low)
        s.end = m.level.seek(value, s.step, last, high)
        s.mirror = s.step + s.end - 1
        if m.regions:
            read(p, m.regions, m.level.touched_by_fiber(value))
    s.open = True
    return None


def _advance(p: Any, s: Any, m: Any) -> None:
    """Goes one step, and emits the value that its coordinate stands for, if it is one."""
    step = s.step if m.scale > 0 else s.mirror - s.step
    coordinate = m.level.coordinate(s.parent, step)
    far = coordinate - s.rest
    if m.level.gapless or coordinate >= 0:
        value = far // m.scale
        if value * m.scale == far:
            p.crd.give(DATA, value)
            p.ref.give(DATA, m.level.position(s.parent, step))
    if m.regions:
        read(p, m.regions, m.level.touched_by_step(s.parent, step, 1))
    s.step += 1


def _affine_unit(parameters: Parameters) -> Block:
    """Adds up ``scales`` times coordinates, and a ``constant``.

    ``slot``, ``level``  where the sum is to lie inside of a mode's extent
    """
    scales, slot, level = parameters["scales"], parameters.get("slot"), parameters.get("level")
    if (slot is None) != (level is None):
        raise UserError("an affine unit has a slot and a level, or neither")

    def memory(around: Surroundings) -> SimpleNamespace:
        size = 0
        if slot is not None and level is not None:
            tensor = around.tensors[slot]
            size = tensor.shape[tensor.mode_order[level]]
        return SimpleNamespace(
            scales=tuple(scales),
            constant=parameters["constant"],
            bounded=slot is not None,
            size=size,
        )

    ports = (into(f"in_crd{n}", "crd", group="in_crds", payload=True) for n in range(len(scales)))
    inside = None if slot is None else Coordinates(slot, level)
    return Block((*ports, out("crd", "crd", meaning=inside)), add_up, memory=memory)


def _window_scanner(parameters: Parameters) -> Block:
    """Scans the coordinates of a level at ``scale * v + offset + constant``, for the values v of a
    ``variable``.

    ``offset``  whether it takes an offset with each reference
    """
    offsets = [into("in_offset", "crd", group="offsets", payload=True)]
    scale = parameters["scale"]
    if scale == 0:
        raise UserError("a window needs a scale that is not 0")

    def memory(around: Surroundings) -> SimpleNamespace:
        slot, level = parameters["slot"], parameters["level"]
        return SimpleNamespace(
            level=around.level(slot, level),
            regions=around.level_regions(slot, level),
            scale=scale,
            constant=parameters["constant"],
            reach=scale * (around.extents[parameters["variable"]] - 1),
            **around.limit("in_ref"),
        )

    slot, level = parameters["slot"], parameters["level"]
    along = Coordinates(variable=parameters["variable"])
    return Block(
        (
            into("in_ref", "ref", meaning=Positions(slot, level)),
            *(offsets if parameters["offset"] else ()),
            out("crd", "crd", 1, meaning=along),
            out("ref", "ref", 1, meaning=Positions(slot, level + 1), below="in_ref"),
        ),
        scan_window,
        {"parent": 0, "step": 0, "end": 0, "mirror": 0, "rest": 0, "open": False},
        memory,
        groups=("offsets",),
    )


AFFINE_UNIT = Kind(
    "affine_unit",
    None,
    _affine_unit,
    {
        "scales": many(NUMBER, 1),
        "constant": NUMBER,
        "slot": optional(TEXT),
        "level": optional(whole()),
    },
    role=Role.READER,
)
WINDOW_SCANNER = Kind(
    "window_scanner",
    "level_scanner",
    _window_scanner,
    {
        "slot": TEXT,
        "level": whole(),
        "variable": TEXT,
        "scale": NUMBER,
        "constant": NUMBER,
        "offset": FLAG,
    },
    role=Role.SCANNER,
)


def add_affine(
    graph: GraphBuilder,
    name: str,
    terms: Sequence[tuple[int, End]],
    constant: int,
    inside: tuple[str, int] | None = None,
) -> End:
    """Adds an affine unit of coefficients and coordinates.

    ``inside``  the slot and level in whose extent the sum has to lie
    """
    parameters: dict[str, Any] = {"scales": [scale for scale, _ in terms], "constant": constant}
    if inside is not None:
        parameters["slot"], parameters["level"] = inside
    inputs = {f"crd{n}": end for n, (_, end) in enumerate(terms)}
    return graph.add("affine_unit", name, parameters, **inputs)["crd"]


def scan_level_window(
    graph: GraphBuilder,
    name: str,
    slot: str,
    level: int,
    ref: End,
    form: Affine,
    variable: str,
    offset: End | None,
) -> Scanned:
    """Adds a window scanner of a level, for the fibers that ``ref`` points to.

    ``offset``    the sum of the form's terms and its constant; None where it has no terms
    ``variable``  the one whose extent bounds the window
    """
    parameters = {
        "slot": slot,
        "level": level,
        "variable": variable,
        "scale": form.scale,
        "constant": form.constant if offset is None else 0,
        "offset": offset is not None,
    }
    inputs = {"ref": ref} if offset is None else {"ref": ref, "offset": offset}
    ports = graph.add("window_scanner", name, parameters, **inputs)
    return Scanned(ports["crd"], ports["ref"])
