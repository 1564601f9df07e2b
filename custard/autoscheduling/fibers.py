"""The iterations of loops on real inputs, counted by a walk through their fibers.

A walk goes down the loops of a term, outermost first, and keeps the points that are reached: for
each, the place in each operand's fibertree. At a loop, the fibers of the operands below all of the
points are merged as the term says, a product by intersection and a sum by union. Where that gives
more points than ``_KEPT``, a random sample of them goes on and stands for all, so that a walk takes
milliseconds however large the tensors are; small ones are counted exactly. Samples are drawn from a
fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from custard.ir import cin
from custard.ir.iteration import Codes, LoopCount
from custard.ir.spread import LevelSpread, sampled
from custard.language.formats import LEVEL_FORMATS, Format, are_full
from custard.scheduling.provenance import Derived
from sam.derivations import derived as in_derived
from sam.derivations import with_derived
from sam.tensor import Tensor

Ints = NDArray[np.int64]
Truths = NDArray[np.bool_]

_KEPT = 4_000  # points of a sample
_LOOKED_AT = 200_000  # coordinates that are merged at once
_MOST_KEYS = 2**62
# Where an operand has no place for a point: nothing there, or full levels with nothing stored.
_ABSENT, _UNSTORED = -1, -2


@dataclass(frozen=True)
class FiberStatistics:
    """The number and the lengths of the fibers of a level."""

    fibers: int
    mean: float
    longest: int


@dataclass(frozen=True)
class _Tree:
    """The fibertree of distinct coordinates: by level their coordinates, and the segments of them
    that lie below each coordinate of the level above."""

    coordinates: tuple[Ints, ...]
    segments: tuple[Ints, ...]


class Reached(NamedTuple):
    """Where an operand has coordinates, below each of some points.

    ``free``  the points where it has a value, and no say on the coordinate
    ``full``  those below which it has every coordinate
    ``keys``  what it has below others, sorted: the number of the point x the extent, + coordinate
    """

    free: Truths
    full: Truths
    keys: Ints


@dataclass
class InputFibers:
    """Inputs whose fibers can be walked through.

    ``extents``  by variable
    """

    inputs: Mapping[str, Tensor]
    extents: Mapping[str, int]
    _entries: dict[str, Ints] = field(default_factory=dict)
    _trees: dict[Any, _Tree] = field(default_factory=dict)
    _counted: dict[Any, list[LoopCount]] = field(default_factory=dict)
    _derived: dict[Any, InputFibers] = field(default_factory=dict)
    _spreads: dict[Any, LevelSpread] = field(default_factory=dict)

    def statistics(self, access: cin.Access, variables: Sequence[str]) -> list[FiberStatistics]:
        """By level, of an access whose levels have this order."""
        found = []
        for segments in self._tree(access, tuple(variables)).segments:
            lengths = np.diff(segments)
            mean, most = (float(lengths.mean()), int(lengths.max())) if len(lengths) else (0.0, 0)
            found.append(FiberStatistics(len(lengths), mean, most))
        return found

    def spread(
        self, access: cin.Access, variable: str, order: Sequence[str], codes: Mapping[str, str]
    ) -> LevelSpread:
        """How far apart the coordinates of a variable lie, where the levels have an order."""
        used = tuple(one for one in order if one in access.variables)
        key = access, variable, used
        if key not in self._spreads:
            tree, found = self.tree(access, order, codes), LevelSpread()
            if tree is not None:
                level = used.index(variable)
                coordinates = tree.coordinates[level]
                fiber = len(coordinates) / max(len(tree.segments[level]) - 1, 1)
                found = sampled(coordinates, self.extent(variable), fiber)
            self._spreads[key] = found
        return self._spreads[key]

    def count(self, term: cin.Expression, loops: Sequence[str], codes: Codes) -> list[LoopCount]:
        """The iterations of each loop of a term."""
        used = {node: tuple(codes[node].items()) for node in _accesses(term)}
        key = term, tuple(loops), tuple(used.items())
        if key not in self._counted:
            self._counted[key] = _Walk(self, term, loops, codes).counts()
        return self._counted[key]

    def entries(self, access: cin.Access, form: Format) -> float:
        """How many entries a tensor has, in a format."""
        if access.tensor in self.inputs and not are_full(form.levels):
            return float(self.inputs[access.tensor].nnz)
        return float(math.prod(self.extent(variable) for variable in access.variables))

    def largest_share(self, access: cin.Access, variable: str, parts: int) -> float:
        """The largest share of its entries that an access has in one of some equal parts of a
        loop."""
        extent = max(self.extent(variable), 1)
        even = math.ceil(extent / parts) / extent
        if variable not in access.variables or access.tensor not in self.inputs or access.computed:
            return even
        column = self._coordinates(access.tensor)[access.variables.index(variable)]
        if not len(column):
            return even
        counted = np.bincount(column * parts // extent, minlength=parts)
        return float(counted.max() / len(column))

    def largest_lane(
        self, access: cin.Access, loop: str, lanes: int, codes: Mapping[str, str]
    ) -> float:
        """The largest share of its entries that an access has in one of some lanes, to which the
        coordinates of each fiber of a loop are dealt in turns; 0 where it has no say. What joins
        the lanes waits for the largest share of each fiber.

        ``codes`` are those of its levels, in the order of the loops.
        """
        variable = next((v for v in codes if cin.base(v) == loop), None)
        tree = self.tree(access, list(codes), codes)
        if variable is None or tree is None or not len(tree.coordinates[-1]):
            return 0.0
        depth = list(codes).index(variable)
        below = np.ones(len(tree.coordinates[-1]), dtype=np.int64)
        for segments in tree.segments[:depth:-1]:
            below = np.diff(np.concatenate([[0], np.cumsum(below)])[segments])
        begins, turns = tree.segments[depth], tree.coordinates[depth]
        lengths = np.diff(begins)
        if not LEVEL_FORMATS[codes[variable]].full:
            turns = np.arange(len(turns)) - np.repeat(begins[:-1], lengths)
        fibers = np.repeat(np.arange(len(lengths)), lengths)
        counted = np.bincount(fibers * lanes + turns % lanes, below, len(lengths) * lanes)
        return float(counted.reshape(-1, lanes).max(1).sum() / below.sum())

    def stored_by(self, derived: Derived) -> InputFibers:
        """The fibers of a program in derived variables: those of tensors that are stored so."""
        if not derived.views:
            return self
        key = derived.derivations, tuple(derived.views.items())
        if key not in self._derived:
            extents = with_derived(self.extents, derived.derivations)
            inputs = dict(self.inputs)
            for name, view in derived.views.items():
                tensor = self.inputs.get(view.tensor or "")
                if tensor is not None and not view.computed:
                    subscripts, steps = view.subscripts, derived.derivations
                    tensor = in_derived(tensor, subscripts, steps, extents, view.shares)
                if tensor is not None:
                    inputs[name] = tensor
            self._derived[key] = InputFibers(inputs, extents)
        return self._derived[key]

    def with_extent(self, variable: str, extent: int) -> InputFibers:
        """These fibers with a smaller extent of a variable that only full levels have."""
        return InputFibers(
            self.inputs, {**self.extents, variable: extent}, self._entries, self._trees
        )

    def extent(self, variable: str) -> int:
        """The extent of a variable."""
        return self.extents[cin.base(variable)]

    def tree(self, access: cin.Access, order: Sequence[str], codes: Mapping[str, str]) -> Any:
        """The fibertree of an access by those of its variables that are in an order; None where
        all levels are full, or nothing is known of the tensor."""
        if all(LEVEL_FORMATS[code].full for code in codes.values()):
            return None
        used = tuple(variable for variable in order if variable in access.variables)
        if not used or access.tensor not in self.inputs or access.computed:
            return None
        return self._tree(access, used)

    def _tree(self, access: cin.Access, order: tuple[str, ...]) -> _Tree:
        key = access.tensor, access.variables, order
        if key not in self._trees:
            self._trees[key] = self._made(access, order)
        return self._trees[key]

    def _coordinates(self, tensor: str) -> Ints:
        """The coordinates of the entries of a tensor, by mode."""
        if tensor not in self._entries:
            self._entries[tensor], _ = self.inputs[tensor].to_coo()
        return self._entries[tensor]

    def _made(self, access: cin.Access, order: tuple[str, ...]) -> _Tree:
        entries = self._coordinates(access.tensor)
        keep = np.ones(entries.shape[1], dtype=bool)
        modes = [access.variables.index(variable) for variable in order]
        for mode, variable in enumerate(access.variables):
            keep &= entries[mode] == entries[access.variables.index(variable)]
        columns = [entries[mode][keep] for mode in modes]
        columns = [column[np.lexsort(columns[::-1])] for column in columns] if columns else []
        coordinates, segments = [], []
        above = np.zeros(keep.sum(), dtype=np.int64)  # of each entry, its place in the level above
        count = 1
        for column in columns:
            new = np.ones(len(column), dtype=bool)
            new[1:] = (column[1:] != column[:-1]) | (above[1:] != above[:-1])
            coordinates.append(column[new].astype(np.int64))
            segments.append(np.searchsorted(above[new], np.arange(count + 1)))
            above, count = np.cumsum(new) - 1, int(new.sum())
        return _Tree(tuple(coordinates), tuple(segments))


class _Walk:
    """A walk: the points that were reached, and the place of each operand at them."""

    def __init__(
        self, fibers: InputFibers, term: cin.Expression, loops: Sequence[str], codes: Codes
    ) -> None:
        self.fibers, self.term, self.loops, self.codes = fibers, term, loops, codes
        self.random = np.random.default_rng(0)
        self.trees = {one: fibers.tree(one, loops, codes[one]) for one in _accesses(term)}
        self.places = {one: np.full(1, self._root(one)) for one in self.trees}
        self.depths = dict.fromkeys(self.trees, 0)
        self.points, self.weight = 1, 1.0

    def _root(self, access: cin.Access) -> int:
        """The place of an operand before all loops."""
        tree, codes = self.trees[access], list(self.codes[access].values())
        if tree is None or (not len(tree.coordinates[0]) and LEVEL_FORMATS[codes[0]].full):
            return _UNSTORED
        return 0 if len(tree.coordinates[0]) else _ABSENT

    def counts(self) -> list[LoopCount]:
        """The iterations of each loop."""
        return [self._entered(variable) for variable in self.loops]

    def _entered(self, variable: str) -> LoopCount:
        """Goes down a loop."""
        entered = self.weight * self.points
        extent = self.fibers.extent(variable)
        here = [one for one in self.trees if variable in one.variables]
        trees = [one for one in here if self.trees[one] is not None]
        if self.points * extent > _MOST_KEYS:
            self._keep(self._some(self.points, _MOST_KEYS // extent))
        looked_at = sum(int(self._lengths(one).sum()) for one in trees)
        if looked_at > _LOOKED_AT:
            self._keep(self._some(self.points, int(self.points * _LOOKED_AT / looked_at)))
        weight = self.weight
        below = {one: self._below(one, extent) for one in trees}
        sparse = {
            one: keys
            for one, (keys, _) in below.items()
            if not LEVEL_FORMATS[self.codes[one][variable]].full
        }
        found = self._reached(self.term, variable, sparse)
        every = np.flatnonzero(found.full | found.free)
        count = len(found.keys) + len(every) * extent
        merged = reduce(np.union1d, sparse.values(), np.zeros(0, dtype=np.int64))
        if len(every):
            merged = merged[~np.isin(merged // max(extent, 1), every)]
        steps = len(merged) + len(every) * extent
        scanned = {one: weight * len(keys) for one, keys in sparse.items()}
        keys = self._chosen(found.keys, every, extent)
        self.weight = weight * count / len(keys) if len(keys) else 0.0
        self._go_on(keys, extent, variable, here, below)
        return LoopCount(variable, entered, weight * steps, weight * count, extent, scanned)

    def _chosen(self, keys: Ints, every: Ints, extent: int) -> Ints:
        """The points that go on: all, or a sample."""
        whole = len(every) * extent
        if len(keys) + whole <= _KEPT:
            coordinates = np.arange(extent if len(every) else 0)
            full = (every[:, None] * extent + coordinates[None, :]).ravel()
            return np.sort(np.concatenate([keys, full]))
        of_keys = round(_KEPT * len(keys) / (len(keys) + whole))
        keys = keys[self._some(len(keys), of_keys)]
        drawn = self.random.integers(0, max(whole, 1), _KEPT - of_keys if whole else 0)
        full = every[drawn // extent] * extent + drawn % extent
        return np.sort(np.concatenate([keys, full]))

    def _some(self, count: int, most: int) -> Ints:
        """Numbers below ``count``, in order: all of them, or so many at random."""
        if count <= most:
            return np.arange(count)
        return np.sort(self.random.choice(count, max(most, 1), replace=False))

    def _keep(self, chosen: Ints) -> None:
        """Goes on with some of the points."""
        self.weight *= self.points / max(len(chosen), 1)
        self.points = len(chosen)
        self.places = {one: places[chosen] for one, places in self.places.items()}

    def _lengths(self, access: cin.Access) -> Ints:
        """How many coordinates an operand has below each point."""
        segments, places = self.trees[access].segments[self.depths[access]], self.places[access]
        lengths = np.diff(segments, append=segments[-1])
        return np.where(places >= 0, lengths[np.maximum(places, 0)], 0)

    def _below(self, access: cin.Access, extent: int) -> tuple[Ints, Ints]:
        """The keys that an operand has below all points, and the place of each."""
        tree, depth, lengths = self.trees[access], self.depths[access], self._lengths(access)
        begins = tree.segments[depth][np.maximum(self.places[access], 0)]
        offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        places = np.repeat(begins, lengths) + offsets
        points = np.repeat(np.arange(self.points), lengths)
        return points * extent + tree.coordinates[depth][places], places

    def _go_on(
        self,
        keys: Ints,
        extent: int,
        variable: str,
        here: Sequence[cin.Access],
        below: Mapping[cin.Access, tuple[Ints, Ints]],
    ) -> None:
        """Moves all operands to the points that the keys are."""
        above = keys // max(extent, 1)
        places = {one: found[above] for one, found in self.places.items()}
        for one in here:
            self.depths[one] += 1
            if one not in below:
                continue
            known, stored = below[one]
            missing = _UNSTORED if LEVEL_FORMATS[self.codes[one][variable]].full else _ABSENT
            at = np.minimum(np.searchsorted(known, keys), max(len(known) - 1, 0))
            is_there = known[at] == keys if len(known) else np.zeros(len(keys), dtype=bool)
            absent = np.where(places[one] == _ABSENT, _ABSENT, missing)
            places[one] = np.where(is_there, stored[at] if len(known) else 0, absent)
        self.places, self.points = places, len(keys)

    # The fibers that a term reaches

    def _reached(
        self, node: cin.Expression, variable: str, sparse: Mapping[cin.Access, Ints]
    ) -> Reached:
        """Where a node has coordinates, below each point."""
        none = np.zeros(self.points, dtype=bool)
        match node:
            case cin.Access():
                if node in sparse:
                    return Reached(none, none, sparse[node])
                present = self.places[node] != _ABSENT
                empty = np.zeros(0, dtype=np.int64)
                if variable in node.variables:
                    return Reached(none, present, empty)
                return Reached(present, none, empty)
            case cin.Literal():
                return Reached(~none, none, np.zeros(0, dtype=np.int64))
            case cin.Multiply() | cin.Add():
                parts = [self._reached(one, variable, sparse) for one in cin.children(node)]
                merge = self._both if isinstance(node, cin.Multiply) else self._either
                return reduce(lambda one, other: merge(one, other, variable), parts)
        # A quotient is looked at where its numerator is.
        return self._reached(cin.children(node)[0], variable, sparse)

    def _both(self, one: Reached, other: Reached, variable: str) -> Reached:
        """The coordinates of a product."""
        whole, other_whole = one.free | one.full, other.free | other.full
        points = max(self.fibers.extent(variable), 1)
        keys = np.concatenate(
            [
                one.keys[other_whole[one.keys // points]],
                other.keys[whole[other.keys // points]],
                np.intersect1d(one.keys, other.keys, assume_unique=True),
            ]
        )
        both = whole & other_whole
        return Reached(one.free & other.free, both & (one.full | other.full), np.sort(keys))

    def _either(self, one: Reached, other: Reached, variable: str) -> Reached:
        """The coordinates of a sum."""
        points = max(self.fibers.extent(variable), 1)
        keys = np.union1d(one.keys, other.keys)
        stored = np.zeros(self.points, dtype=bool)
        stored[keys // points] = True
        free = one.free | other.free
        full = one.full | other.full | (free & stored)
        free = free & ~full
        return Reached(free, full, keys[~(full | free)[keys // points]])


def _accesses(term: cin.Expression) -> list[cin.Access]:
    """The distinct accesses of a term."""
    return list(dict.fromkeys(node for node in cin.walk(term) if isinstance(node, cin.Access)))
