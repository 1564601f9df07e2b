"""Computed subscripts: affine units, and scanners of the window that a variable sees of a fiber.

A level with the subscript ``scale * v + rest``, of which ``rest`` is known, is read at the variable
v by a window scanner: it finds the bounds of the window by search, as a locator does, goes through
the coordinates that are stored there, and emits for each the value of v that it stands for. An
affine unit computes ``rest`` of the coordinates of the loops further out; it also computes the
coordinates to locate in a level that locates.

A variable further out, which does not resolve the subscript, is gone through by a subsection
scanner: it emits the values whose subsection of the fiber holds a coordinate, in order
(convolution paper, Section 5.2).
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

    Emits ``N`` where a coordinate is ``N``, and where the sum lies outside of its extent.
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
    return _along(p, s, m, _advance, _open_window)


def scan_subsections(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the next value whose subsection holds a coordinate, with the reference of the fiber.

    The steps before it are passed over by a search; a firing that finds none emits nothing.
    """
    return _along(p, s, m, _advance_value, _open_subsections)


def _along(p: Any, s: Any, m: Any, advance: Any, start: Any) -> bool | None:
    """Advances along a fiber, from where ``start`` finds its first step, or ends it."""
    if s.step < s.end:
        advance(p, s, m)
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
        s.parent = value
        s.rest = rest
        start(s, m)
        if m.regions:
            read(p, m.regions, m.level.touched_by_fiber(value))
    s.open = True
    return None


def _open_window(s: Any, m: Any) -> None:
    first, last = m.level.fiber(s.parent)
    low = s.rest if m.scale > 0 else s.rest + m.reach
    high = s.rest + m.reach + 1 if m.scale > 0 else s.rest + 1
    s.step = m.level.seek(s.parent, first, last, low)
    s.end = m.level.seek(s.parent, s.step, last, high)
    s.mirror = s.step + s.end - 1
    s.before = -1
    _pass_gaps(s, m)


def _advance(p: Any, s: Any, m: Any) -> None:
    """Goes one step, and emits the value that its coordinate stands for, if there is one."""
    step = s.step if m.scale > 0 else s.mirror - s.step
    far = m.level.coordinate(s.parent, step) - s.rest
    value = far // m.scale
    if value * m.scale == far:
        p.crd.give(DATA, value)
        p.ref.give(DATA, m.level.position(s.parent, step))
    if m.regions:
        read(p, m.regions, m.level.touched_by_move(s.parent, s.before, step))
    s.before = step
    s.step += 1
    _pass_gaps(s, m)


def _pass_gaps(s: Any, m: Any) -> None:
    """Goes on to the next step that has a coordinate; the search for it takes no firing."""
    if not m.level.gapless:
        s.step = _held(m, s.parent, s.step, s.end, s.mirror)


def _held(m: Any, parent: int, step: int, end: int, mirror: int) -> int:
    """The first step that has a coordinate, if there is one, else the end."""
    while step < end:
        coordinate = m.level.coordinate(parent, step if m.scale > 0 else mirror - step)
        if coordinate >= 0:
            return step
        step += 1
    return step


def _open_subsections(s: Any, m: Any) -> None:
    first, last = m.level.fiber(s.parent)
    s.value = 0
    s.step = m.level.seek(s.parent, first, last, s.rest + m.low)
    s.end = last if m.extent > 0 else s.step
    s.before = -1


def _advance_value(p: Any, s: Any, m: Any) -> None:
    """Emits the first value, from the one at hand on, whose subsection holds the next coordinate.

    Subsections that leave places out between them may have none.
    """
    value = s.value
    step = m.level.seek(s.parent, s.step, s.end, value * m.scale + s.rest + m.low)
    if not m.level.gapless:
        step = _held(m, s.parent, step, s.end, 0)
    if step < s.end:
        coordinate = m.level.coordinate(s.parent, step)
        least = (coordinate - s.rest - m.high + m.scale - 1) // m.scale
        if least > value:
            value = least
        if value < m.extent and value * m.scale + s.rest + m.low <= coordinate:
            p.crd.give(DATA, value)
            p.ref.give(DATA, s.parent)
            value += 1
        if m.regions:
            read(p, m.regions, m.level.touched_by_move(s.parent, s.before, step))
        s.before = step
    s.step = step
    s.value = value
    if value >= m.extent:
        s.end = step


def _affine_unit(parameters: Parameters) -> Block:
    """Adds up ``scales`` times coordinates, and a ``constant``.

    ``slot``, ``level``  the mode in whose extent the sum must lie, if any
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
            reach=scale * (around.extent(parameters["variable"]) - 1),
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
        {"parent": 0, "step": 0, "end": 0, "mirror": 0, "before": 0, "rest": 0, "open": False},
        memory,
        groups=("offsets",),
    )


def _subsection_scanner(parameters: Parameters) -> Block:
    """Scans the values v of a ``variable`` for which a level holds a coordinate in a subsection:
    from ``scale * v + offset + constant`` on, as far as ``others`` times ``scales`` reach.

    ``offset``  whether it takes an offset with each reference
    """
    slot, level, scale = parameters["slot"], parameters["level"], parameters["scale"]
    others, scales = parameters["others"], parameters["scales"]
    if len(others) != len(scales):
        raise UserError("a subsection has as many scales as other variables")
    if scale < 1:
        raise UserError("a subsection needs a positive scale")

    def memory(around: Surroundings) -> SimpleNamespace:
        reaches = [
            of_one * (around.extent(name) - 1) for name, of_one in zip(others, scales, strict=True)
        ]
        empty = any(around.extent(name) == 0 for name in others)
        return SimpleNamespace(
            level=around.level(slot, level),
            regions=around.level_regions(slot, level),
            scale=scale,
            constant=parameters["constant"],
            low=sum(min(0, reach) for reach in reaches),
            high=sum(max(0, reach) for reach in reaches),
            extent=0 if empty else around.extent(parameters["variable"]),
            **around.limit("in_ref"),
        )

    offsets = [into("in_offset", "crd", group="offsets", payload=True)]
    return Block(
        (
            into("in_ref", "ref", meaning=Positions(slot, level)),
            *(offsets if parameters["offset"] else ()),
            out("crd", "crd", 1, meaning=Coordinates(variable=parameters["variable"])),
            out("ref", "ref", 1, of=("in_ref",)),
        ),
        scan_subsections,
        {"parent": 0, "step": 0, "end": 0, "value": 0, "before": 0, "rest": 0, "open": False},
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
    work="scans",
)


SUBSECTION_SCANNER = Kind(
    "subsection_scanner",
    "level_scanner",
    _subsection_scanner,
    {
        "slot": TEXT,
        "level": whole(),
        "variable": TEXT,
        "scale": NUMBER,
        "constant": NUMBER,
        "others": many(TEXT),
        "scales": many(NUMBER),
        "offset": FLAG,
    },
    role=Role.SCANNER,
    work="scans",
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
    ``variable``  the variable whose extent bounds the window
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


def scan_level_subsections(
    graph: GraphBuilder,
    name: str,
    slot: str,
    level: int,
    ref: End,
    variable: tuple[str, int],
    others: Sequence[tuple[str, int]],
    constant: int,
    offset: End | None,
) -> Scanned:
    """Adds a subsection scanner of a level, for the fibers that ``ref`` points to.

    ``variable``  the variable that is gone through, and its coefficient
    ``others``    the variables further in, with their coefficients
    ``offset``    the sum of the terms that are known; None where there are none
    """
    parameters = {
        "slot": slot,
        "level": level,
        "variable": variable[0],
        "scale": variable[1],
        "constant": constant,
        "others": [name for name, _ in others],
        "scales": [scale for _, scale in others],
        "offset": offset is not None,
    }
    inputs = {"ref": ref} if offset is None else {"ref": ref, "offset": offset}
    ports = graph.add("subsection_scanner", name, parameters, **inputs)
    return Scanned(ports["crd"], ports["ref"])
