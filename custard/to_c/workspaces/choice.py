"""Which workspace is cheapest: from how many values go into it, and into how many places.

A workspace is filled in a nest of loops (``Filling``). How often that is, and how many values each
time, is estimated from the average fibers of what the loops go through, as if values were spread
evenly. Before inputs are known, extents and fibers are those that choose the order of loops
(``custard.to_c.cost``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import ceil, exp, log2, prod
from typing import Any

import numpy as np

from custard.ir import cin
from custard.ir.spread import (
    ANYWHERE,
    EVEN,
    FEW,
    THROUGH_ALL,
    LevelSpread,
    Loop,
    Spread,
    evenly,
    sampled,
)
from custard.language.commands import WORKSPACES
from custard.language.formats import LEVEL_FORMATS
from custard.to_c.cost import EXTENT, FIBER
from custard.to_c.expression import Operand, Product, Sum, TypedNode, children, uses
from custard.to_c.levels import LEVEL_FUNCTIONS
from custard.to_c.workspaces.taxonomy import Class
from sam.graph import Slot
from sam.subscripts import Affine

LOCATED = "located"

# The most places of a dense workspace, whose memory is taken as it is touched.
MOST_PLACES = 2**28


@dataclass(frozen=True)
class Filling:
    """A workspace and the loops that fill it.

    ``variables``  those that it is over, without primes
    ``around``     the variables that the loops around it bind
    ``loops``      the variables of the loops that fill it, outermost first
    ``value``      what is put into it
    ``adds``       whether loops sum, so that several values may go to one place
    ``policy``     what a schedule asks for; "located" for a vector that is made first
    ``readers``    the operands at whose coordinates that vector is read
    """

    variables: tuple[str, ...]
    around: tuple[str, ...]
    loops: tuple[str, ...]
    value: TypedNode = field(compare=False)
    adds: bool = True
    policy: str | None = None
    readers: tuple[Operand, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Sizes:
    """How large tensors are.

    ``extents``    by variable
    ``positions``  how many a slot has in each level, by its name
    ``spreads``    how far apart its coordinates lie, in the same way
    """

    extents: Mapping[str, float]
    positions: Mapping[str, Sequence[float]]
    spreads: Mapping[str, Sequence[LevelSpread]] = field(default_factory=dict)

    def extent(self, variable: str) -> float:
        """The extent of a variable."""
        return self.extents.get(cin.base(variable), EXTENT)

    def fiber(self, operand: Operand, level: int) -> float:
        """About how many coordinates of an operand stand below one of the level above."""
        found = self.positions.get(operand.slot.name)
        if found is None:
            full = LEVEL_FORMATS[operand.slot.levels[level]].full
            return EXTENT if full or level == 0 else FIBER
        above = found[level - 1] if level else 1.0
        return found[level] / above if above else 0.0

    def spread(self, operand: Operand, level: int) -> LevelSpread:
        """How far apart the coordinates of a level lie."""
        found = self.spreads.get(operand.slot.name)
        return found[level] if found else LevelSpread()


UNKNOWN = Sizes({}, {})
"""The sizes of inputs that are not known yet."""


def positions(slot: Slot, members: Mapping[str, object]) -> tuple[float, ...]:
    """How many positions each level of an input has, from the members of its struct; of a level
    above a compressed one, those with something below.

    Of few entries, numbers have zeros behind their first five binary digits: inputs of about the
    same size have the same positions, for which workspaces are chosen once.
    """
    found: list[float] = []
    count = 1.0
    known = _cut if len(members["values"]) < FEW else float  # type: ignore[arg-type]
    for told, name in _telling(slot.levels):
        member: Any = members[name]
        if told == "all":
            count = min(count * float(member), 1e18)
        elif told == "segments":
            count = known(_used(member))
        elif told == "ends":
            count = known(int(member[-1])) if len(member) else 0.0
        else:
            count = known(len(member))
        found.append(count)
    return tuple(found)


def _used(segments: np.ndarray) -> int:
    """How many segments have entries."""
    if len(segments) <= 64:  # numpy takes four times as long
        return len({*segments.tolist()}) - 1
    return int(np.count_nonzero(segments[1:] != segments[:-1]))


@cache
def _telling(codes: str) -> list[tuple[str, str]]:
    """What tells how many positions each level has, and the member of the struct that it is: the
    coordinates of the level, the ends of its runs or words, the segments of the level below, which
    are not all used, or the extent of the level, where there are all positions."""
    arrays = [LEVEL_FUNCTIONS[code].arrays for code in codes]
    found = []
    for level, own in enumerate(arrays):
        ends = [part for part in ("starts", "ranks") if part in own]
        if "coordinates" in own:
            found.append(("coordinates", f"coordinates{level}"))
        elif ends:  # of run-length and bitvector levels
            found.append(("ends", f"{ends[0]}{level}"))
        elif level + 1 < len(arrays) and "segments" in arrays[level + 1]:
            found.append(("segments", f"segments{level + 1}"))
        else:
            found.append(("all", f"size{level}"))
    return found


def _cut(number: int) -> float:
    """A number with zeros behind its first five binary digits."""
    behind = max(number.bit_length() - 5, 0)
    return float(number >> behind << behind)


def spreads(members: Mapping[str, object], positions: Sequence[float]) -> tuple[LevelSpread, ...]:
    """Of each level of an input, from the members of its struct and the positions of its levels."""
    if len(members["values"]) < FEW:  # type: ignore[arg-type]
        return ()
    found = []
    for level, count in enumerate(positions):
        coordinates = members.get(f"coordinates{level}")
        if isinstance(coordinates, np.ndarray):
            above = positions[level - 1] if level else 1.0
            extent = float(members[f"size{level}"])  # type: ignore[arg-type]
            found.append(sampled(coordinates, extent, count / max(above, 1.0)))
        else:
            found.append(LevelSpread())
    return tuple(found)


@dataclass(frozen=True)
class FillStatistics:
    """How a workspace is filled.

    ``fills``   how often it is filled
    ``values``  how many values are put in each time
    ``places``  how many places there are for them
    ``run``     how many coordinates come in order, one behind the other
    ``spread``  of the values of one time
    ``fresh``   the share of all values that go to other words of places than the ones before
    """

    fills: float
    values: float
    places: float
    run: float = 1.0
    spread: Spread = EVEN
    fresh: float = 1.0

    @property
    def distinct(self) -> float:
        """How many places are used each time."""
        return evenly(self.values * self.spread.places, self.places)


def load(filling: Filling, sizes: Sizes) -> FillStatistics:
    """How a workspace is filled, for inputs of some sizes."""
    loops = (*filling.around, *filling.loops)
    counts = [_coordinates(filling.value, v, loops[:n], sizes) for n, v in enumerate(loops)]
    fills = prod(counts[: len(filling.around)])
    values = prod(counts[len(filling.around) :])
    places = prod(sizes.extent(v) for v in filling.variables)
    spread, fresh = EVEN, 1.0
    if len(filling.variables) == 1:
        (over,) = filling.variables
        spread = _spread(filling, over, len(filling.around), sizes)
        fresh = _spread(filling, over, 0, sizes).words
    return FillStatistics(max(fills, 1.0), values, places, counts[-1], spread, fresh)


def _spread(filling: Filling, variable: str, fixed: int, sizes: Sizes) -> Spread:
    """The spread of a loop of a workspace, where so many loops around it stand still."""
    known: dict[str, Loop] = {}
    for n, one in enumerate((*filling.around, *filling.loops)):
        found = ANYWHERE if n < fixed else _loop(filling.value, one, known, sizes)
        known[one] = found or THROUGH_ALL
    return known.get(variable, THROUGH_ALL).spread


def _loop(node: TypedNode, variable: str, known: Mapping[str, Loop], sizes: Sizes) -> Loop | None:
    """Where the loop over a variable goes, inside of loops that are ``known``; None through all
    coordinates."""
    match node:
        case Operand(variables=variables):
            if any(form is not None and variable in form.variables for form in node.computed or ()):
                return ANYWHERE
            if variable not in variables:
                return None
            level = variables.index(variable)
            if sizes.fiber(node, level) >= sizes.extent(variable):
                return None
            own = sizes.spread(node, level)
            above = known.get(variables[level - 1], ANYWHERE) if level else THROUGH_ALL
            return Loop.of(node.key, own, above)
        case Product(_, factors, everywhere):
            found = [_loop(one, variable, known, sizes) for one in factors]
            some = [] if everywhere else [one for one in found if one is not None]
            return min(some, key=lambda one: one.spread.words, default=None)
        case Sum(_, terms):
            found = [_loop(one, variable, known, sizes) for one in terms if uses(one, variable)]
            some = [one for one in found if one is not None]
            whole = len(some) < len(found)
            return None if whole else max(some, key=lambda one: one.spread.words, default=None)
    found = [_loop(child, variable, known, sizes) for child in children(node)]
    return next((one for one in found if one is not None), None)


def _coordinates(node: TypedNode, variable: str, bound: Sequence[str], sizes: Sizes) -> float:
    """About how many coordinates the loop over a variable goes through; others are ``bound``."""
    found = _iterated(node, variable, bound, sizes)
    return sizes.extent(variable) if found is None else found


def _iterated(node: TypedNode, variable: str, bound: Sequence[str], sizes: Sizes) -> float | None:
    """The same; None where a node goes through all of them, or does not have the variable."""
    extent = sizes.extent(variable)
    match node:
        case Operand(variables=variables):
            for level, form in enumerate(node.computed or ()):
                if form is not None and variable in form.variables:
                    held = _held(form, variable, bound, sizes.fiber(node, level), sizes)
                    return held if held < extent else None
            if variable not in variables:
                return None
            fiber = sizes.fiber(node, variables.index(variable))
            return fiber if fiber < extent else None
        case Product(_, factors, everywhere):
            if everywhere:
                return None
            counted = [(one, _iterated(one, variable, bound, sizes)) for one in factors]
            below = [
                (n, sizes.spread(one, one.variables.index(variable)).fiber)
                for one, n in counted
                if n is not None and isinstance(one, Operand) and variable in one.variables[1:]
            ]
            tops = [n for one, n in counted if n is not None and not _below(one, variable)]
            return min([*tops, *_common(below, extent)], default=None)
        case Sum(_, terms):
            having = [one for one in terms if uses(one, variable)]
            found = [_iterated(one, variable, bound, sizes) for one in having]
            known = [one for one in found if one is not None]
            return min(extent, sum(known)) if len(known) == len(found) and known else None
    for child in children(node):
        inner = _iterated(child, variable, bound, sizes)
        if inner is not None:
            return inner
    return None


def _below(node: TypedNode, variable: str) -> bool:
    """Whether a variable goes through the fibers of an operand below its outermost level."""
    return isinstance(node, Operand) and variable in node.variables[1:]


def _common(fibers: Sequence[tuple[float, float]], extent: float) -> list[float]:
    """About how many coordinates fibers have in common, if there are any, by the length of each and
    the words that it touches, as a share of what random coordinates do.

    It is the geometric mean of the number if the shorter ones lie within the longest, and of the
    number if all are independent; the first counts for more where coordinates lie side by side.
    Rows and columns that are empty are taken to be so in all factors.
    """
    shares = [count / extent for count, _ in fibers if extent]
    if not shares:
        return []
    apart, least = max(words for _, words in fibers) / 2, min(shares)
    return [extent * least * float(prod(shares) / least) ** apart if least else 0.0]


def _held(form: Affine, variable: str, bound: Sequence[str], fiber: float, sizes: Sizes) -> float:
    """About how many values of a variable have a coordinate of a fiber in their subsection.

    The fiber's coordinates are taken to lie in the reach of the whole form. Those in the reach of
    the variables that are not bound lie in subsections of as many values as the rest is wide.
    If one is bound, it has gone through subsections that hold one at least.
    """
    reaches = {
        v: abs(scale) * max(sizes.extent(v) - 1, 0) for v, scale in form.coefficients().items()
    }
    rest = sum(reach for v, reach in reaches.items() if v not in bound and v != variable)
    whole = sum(reaches.values()) + 1
    inside = fiber * (reaches[variable] + rest + 1) / whole
    if fiber and any(v in bound for v in reaches):
        inside = max(inside, 1.0)
    return inside * (rest / abs(form.coefficients()[variable]) + 1)


def cheapest(fillings: Sequence[Filling], sizes: Sizes) -> str:
    """The cheapest workspace for some fillings of the same variables."""
    loads = [load(one, sizes) for one in fillings]
    fit = [policy for policy in WORKSPACES if policy != "dense" or loads[0].places <= MOST_PLACES]
    # Lists of few components are sorted alike, whatever they are called.
    fit.sort(key=lambda policy: policy != "bucket")
    return min(fit, key=lambda policy: sum(cost(policy, one) for one in loads))


def chosen(fillings: Iterable[Filling], sizes: Sizes) -> dict[tuple[str, ...], str]:
    """The cheapest workspace over each set of variables for which a schedule asks for none."""
    groups: dict[tuple[str, ...], list[Filling]] = {}
    for one in fillings:
        if one.policy is None:
            groups.setdefault(one.variables, []).append(one)
    return {variables: cheapest(group, sizes) for variables, group in groups.items()}


def pays(filling: Filling, sizes: Sizes) -> bool:
    """Whether a vector is worth to be made first: there is memory for it, and it is read as often
    as it has values."""
    places = prod(sizes.extent(v) for v in filling.variables)
    first = filling.variables[0]
    reads = [
        sizes.positions[one.slot.name][one.variables.index(first)]
        for one in filling.readers
        if one.slot.name in sizes.positions
    ]
    return places <= MOST_PLACES and min(reads, default=places) >= sizes.extent(first)


def cost(policy: str, load: FillStatistics) -> float:
    """About how many nanoseconds a workspace takes, all fills together (measured)."""
    values, distinct = load.values, load.distinct
    if policy == "dense":
        size = 8 * load.places
        pages = min(load.fills * values, size / _PAGE)
        byte = _KEPT if size < _FREED else _FRESH
        once = byte * size if size < _LARGE else _FAULT * pages
        late = _late(min(size, load.fills * 64 * distinct)) / (1 + load.run / _IN_ORDER)
        # A few values wait for memory one after the other, many do so at once.
        waits = values + _WAITS * min(1.0, values)
        each = 25 + _PUT * values + late * load.fresh * waits + _READ * distinct + _bits(load)
    elif policy == "hash":
        once = 10_000.0
        sorting = _sorting(distinct, load, "bucket")
        each = 40 + values * (6 + 2 * _late(48 * distinct)) + sorting
    else:
        once, each = 1000.0, 20 + _sorting(values, load, policy)
    return once + load.fills * each


# Nanoseconds to fill a byte of memory with zeros that the process has kept (``kept_memory``), and,
# from so many bytes on, of new memory: two such arrays and the result are more than is kept. Of an
# array too large for large pages, the bytes and the nanoseconds of each page.
_KEPT, _FREED, _FRESH = 0.015, 2**24, 0.07
_LARGE, _PAGE, _FAULT = 2**28, 4096, 1000.0
# Nanoseconds to put a value into an array, and to read and clear a place that is used.
_PUT, _READ = 4.0, 4.0
# Up to how many bytes a place of an array takes so many nanoseconds more, and how many values wait
# that long each time that it is filled.
_LATE = ((2**19, 0.0), (2**20, 2.5), (2**23, 3.5), (2**25, 8.0), (2**27, 12.0), (2**28, 20.0))
_LATEST, _WAITS = 70.0, 200
# Nanoseconds to visit a word of the bits of an array, and those of its wrong branches.
_WORD, _BRANCHES = 2.0, 16.0
# Nanoseconds to put a value into a list and to add it up, to move it to its bucket and back, and to
# move it by some bits of its key; how many heaps of values cost a nanosecond more.
_LISTED, _DEALT, _MOVED, _HEAPS = 7.5, 2.0, 1.5, 224
# Up to how many bytes moving takes so many nanoseconds more.
_FAR = ((2**20, 0.0), (2**24, 2.0))
_FURTHEST = 8.0
# How many coordinates in order halve what branches, distances and heaps cost.
_IN_ORDER = 128


def _late(size: float) -> float:
    """How long a place in an array of so many bytes lets wait."""
    return next((late for most, late in _LATE if size < most), _LATEST)


def _bits(load: FillStatistics) -> float:
    """What it takes to set and to find the bits of an array, and those of the words of bits.

    Branches are hard to predict in words of a few bits: whether a bit is the first of its word, and
    how many there are.
    """
    found, apart = 0.0, min(load.distinct, load.values * load.spread.words)
    for words in (load.places / 64, load.places / 64**2):
        if words:
            touched = evenly(apart, words)
            single = apart * exp(-apart / words)
            branches = _BRANCHES * (touched - single) / (1 + load.run / _IN_ORDER)
            found += _WORD * touched + branches
    return found


def _sorting(values: float, load: FillStatistics, policy: str) -> float:
    """What it takes to sort values and to add up those with one key: a few by insertion, many by
    some bits of their keys at a time, in buckets or all at once (``runtime/workspace*.h``)."""
    if values <= 24:
        return values * (6 + values / 4)
    bits, inside, each = log2(max(load.places, 2)), values, _LISTED
    if policy == "bucket" and values > 2**11:
        buckets = min(11, bits, ceil(log2(values / 2**11)))
        each += _DEALT + _moved(values, buckets, load.run)
        bits, inside = bits - buckets, values / 2**buckets
    rounds = ceil(bits / (6 if inside < 2**9 else 8 if inside < 2**12 else 10))
    if rounds:
        digit = bits / rounds
        each += rounds * (_moved(inside, digit, load.run) + 2**digit / inside)
    return values * each


def _moved(values: float, bits: float, run: float) -> float:
    """How long one of so many values takes to be moved by some bits of its key."""
    far = next((more for most, more in _FAR if 32 * values < most), _FURTHEST)
    return _MOVED + (far + 2**bits / _HEAPS) / (1 + run / _IN_ORDER)


def described(filling: Filling, policy: str) -> str:
    """The workspace in words, and the class of what it is for."""
    kind = Class(filling.adds, len(filling.variables))
    return f"a {policy} workspace over {', '.join(filling.variables)}: {kind}"
