"""Level scanners: from references to fibers, to coordinates and references (Definition 3.1).

A level of any format is scanned with each coordinate once and in order, as the tensor's
``scanned_levels`` gives it: duplicates are joined and hash tables sorted on the fly. A step that
has no coordinate (a duplicate, an empty bucket, a zero bit) takes a firing that emits nothing.

A bitvector scanner goes through the same fibers word by word (Section 4.3): each word has a bit for
each of the next ``word_bits`` coordinates, the lowest first, and its reference is the number of the
ones before it, so that the position of a one is that and the ones below it in the word.

A level scanner that skips (Section 4.2) is told over a wire up to which place nothing is needed,
and finds the first step at or behind that place in one firing, as a locator does.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

from sam.blocks.base import Block, Kind, Role, Surroundings, read, require_within
from sam.blocks.parameters import FLAG, TEXT, optional, whole
from sam.blocks.ports import Coordinates, Port, Positions, into, out, wire
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.levels import Dense
from sam.memory_regions import Regions
from sam.support.errors import UserError
from sam.token import DATA, DONE, STOP

SPAN = 2**32
"""The places of a fiber: a message to a scanner that skips is ``SPAN`` times the number of fibers
that have ended, plus a coordinate. So a message that comes too late, for a fiber that is over, asks
for a place that the scanner has passed already."""


def scan(p: Any, s: Any, m: Any) -> bool | None:
    """Goes one step along a fiber, or emits the stop token that ends it.

    A step emits its coordinate and reference, if it has one.
    """
    return _along(p, p.crd, s, m, _advance)


def scan_and_skip(p: Any, s: Any, m: Any) -> bool | None:
    """Goes on to the first coordinate that is not below the one asked for, and emits that step.

    A firing that finds no such coordinate emits nothing.
    """
    _, place = p.in_skip.latest()
    if s.step < s.end:
        if place > s.fibers * SPAN:
            s.step = m.level.seek(s.parent, s.step, s.end, place - s.fibers * SPAN)
        if s.step < s.end:
            _advance(p, s, m)
        return None
    kind, _ = p.in_ref.peek()
    ends = s.open or kind == STOP
    finished = _along(p, p.crd, s, m, _advance)
    if ends:
        s.fibers += 1
    return finished


def scan_words(p: Any, s: Any, m: Any) -> bool | None:
    """Emits the next word of a fiber, zero or not, with its reference, or the stop token."""
    return _along(p, p.bv, s, m, _advance_by_a_word)


def _along(p: Any, coordinates: Any, s: Any, m: Any, advance: Any) -> bool | None:
    """Advances along a fiber, or emits the stop token that ends it.

    A fiber ends in ``S0``, or in the stop token of its input raised by one, so the token after the
    fiber's reference must be there first; if that is a reference, it is taken in the same firing.
    ``N`` is an empty fiber.
    """
    if s.step < s.end:
        advance(p, s, m)
        return None
    kind, value = p.in_ref.peek()
    if kind == STOP:
        p.in_ref.take()
        coordinates.give(STOP, value + 1)
        p.ref.give(STOP, value + 1)
        s.open = False
    elif kind == DONE:
        if s.open:
            coordinates.give(STOP, 0)
            p.ref.give(STOP, 0)
            s.open = False
        else:
            p.in_ref.take()
            coordinates.give(DONE, 0)
            p.ref.give(DONE, 0)
            return True
    else:
        p.in_ref.take()
        if kind == DATA:
            require_within(value, m)
            s.parent = value
            s.step, s.end = m.level.fiber(value)
        if s.open:
            coordinates.give(STOP, 0)
            p.ref.give(STOP, 0)
        elif s.step < s.end:
            advance(p, s, m)
        if m.regions and kind == DATA:
            read(p, m.regions, m.level.touched_by_fiber(value))
        s.open = True
    return None


def _advance(p: Any, s: Any, m: Any) -> None:
    """Goes one step, and emits its coordinate, if it has one."""
    coordinate = m.level.coordinate(s.parent, s.step)
    if m.level.gapless or coordinate >= 0:
        p.crd.give(DATA, coordinate)
        p.ref.give(DATA, m.level.position(s.parent, s.step))
    if m.regions:
        read(p, m.regions, m.level.touched_by_step(s.parent, s.step, 1))
    s.step += 1


def _advance_by_a_word(p: Any, s: Any, m: Any) -> None:
    """Goes as many steps as a word has bits, and emits it."""
    p.bv.give(DATA, m.level.word(s.parent, s.step, m.width))
    p.ref.give(DATA, m.level.position(s.parent, s.step))
    if m.regions:
        read(p, m.regions, m.level.touched_by_step(s.parent, s.step, m.width))
    s.step += m.width


class _Dimension(Dense):
    """A fiber over all coordinates of a variable, the same for every reference or value."""

    def fiber(self, parent: int) -> tuple[int, int]:
        return 0, self.size

    def coordinate(self, parent: int, step: int) -> int:
        return step


def _ports(parameters: Parameters, scanned: str) -> tuple[Port, ...]:
    """The ports of a scanner that gives coordinates ("crd") or words ("bv")."""
    counts = scanned if scanned == "bv" else None
    if "variable" in parameters:
        along = Coordinates(variable=parameters["variable"])
        return into("in_ref", "any"), out(scanned, scanned, 1, meaning=along), out("ref", "ref", 1)
    slot, level = parameters["slot"], parameters["level"]
    return (
        into("in_ref", "ref", meaning=Positions(slot, level)),
        out(scanned, scanned, 1, meaning=Coordinates(slot, level)),
        out("ref", "ref", 1, meaning=Positions(slot, level + 1), below="in_ref", counts=counts),
    )


def _scanner(parameters: Parameters) -> Block:
    """Scans a level of a slot; or a whole dimension, for an operand of a union without the
    variable.

    ``skips``  whether an intersecter tells it where to go on
    """
    skips = parameters.get("skips", False)
    if {*parameters} & {"slot", "level", "variable"} not in ({"slot", "level"}, {"variable"}):
        raise UserError("a scanner has a slot and a level, or a variable, and not both")

    def memory(around: Surroundings) -> SimpleNamespace:
        if "variable" in parameters:
            size = around.extent(parameters["variable"])
            return SimpleNamespace(level=_Dimension(size), regions=Regions(), **around.limit(""))
        slot, level = parameters["slot"], parameters["level"]
        tensor = around.tensors[slot]
        if skips and tensor.shape[tensor.mode_order[level]] > SPAN:
            raise UserError(
                f"{slot} has an extent above {SPAN}, too large for a scanner that skips"
            )
        return SimpleNamespace(
            level=around.level(slot, level),
            regions=around.level_regions(slot, level),
            **around.limit("in_ref"),
        )

    ports = _ports(parameters, "crd")
    state = {"parent": 0, "step": 0, "end": 0, "open": False}
    if not skips:
        return Block(ports, scan, state, memory)
    return Block((*ports, wire("in_skip", "crd")), scan_and_skip, {**state, "fibers": 0}, memory)


def _word_scanner(parameters: Parameters) -> Block:
    """Scans a level of a slot, of a format that iterates by words."""
    return Block(
        ports=_ports(parameters, "bv"),
        step=scan_words,
        state={"parent": 0, "step": 0, "end": 0, "open": False},
        memory=lambda around: SimpleNamespace(
            level=around.level(parameters["slot"], parameters["level"]),
            regions=around.level_regions(parameters["slot"], parameters["level"]),
            width=around.word_bits,
            **around.limit("in_ref"),
        ),
    )


LEVEL_SCANNER = Kind(
    "level_scanner",
    "level_scanner",
    _scanner,
    {
        "slot": optional(TEXT),
        "level": optional(whole()),
        "variable": optional(TEXT),
        "skips": optional(FLAG),
    },
    role=Role.SCANNER,
    work="scans",
)
BITVECTOR_SCANNER = Kind(
    "bitvector_scanner",
    "level_scanner",
    _word_scanner,
    {"slot": TEXT, "level": whole()},
    role=Role.SCANNER,
    capability="iterates_words",
    work="scans",
)


class Scanned(NamedTuple):
    """The streams of a scanner: coordinates, or words of them, with their references."""

    crd: End
    ref: End


def scan_level(graph: GraphBuilder, name: str, slot: str, level: int, ref: End) -> Scanned:
    """Adds a scanner of a level of a slot, for the fibers that ``ref`` points to."""
    ports = graph.add("level_scanner", name, {"slot": slot, "level": level}, ref=ref)
    return Scanned(ports["crd"], ports["ref"])


def scan_dimension(graph: GraphBuilder, name: str, variable: str, ref: End) -> Scanned:
    """Adds a scanner of a whole dimension, for each token of ``ref`` that is not ``N``."""
    ports = graph.add("level_scanner", name, {"variable": variable}, ref=ref)
    return Scanned(ports["crd"], ports["ref"])


def scan_by_words(graph: GraphBuilder, name: str, slot: str, level: int, ref: End) -> Scanned:
    """Adds a scanner of the words of a bitvector level; ``crd`` is a stream of words."""
    ports = graph.add("bitvector_scanner", name, {"slot": slot, "level": level}, ref=ref)
    return Scanned(ports["bv"], ports["ref"])


def skip_to(graph: GraphBuilder, scanner: str, needed: End) -> None:
    """Has a level scanner skip to the coordinates that ``needed`` names (Section 4.2)."""
    graph.connect(needed, scanner, "in_skip", skips=True)
