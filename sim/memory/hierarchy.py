"""The memory hierarchy: levels from DRAM inwards, their ports, lines and traffic.

Time is counted in units, a fraction of a cycle such that a port moves a byte in a whole number of
units: so times are exact, and the same in both engines.

A block's request has all accesses of one firing, and comes at a cycle; requests must be served in
the order of those cycles. Each access goes to the innermost level that may hold its entry:

- A port takes the access when it is free, and is busy with it for bytes / bandwidth; the data come
  a latency after that.
- On a miss, a level that only caches the array requests the line from the next level out when its
own latency is over. Lines are evicted in the order of the level's ``replacement``; changed lines
are written
  back, which takes the time of a port, but nothing waits for it.
- A write does not fetch the line first. A line on its way is there for all blocks when it arrives.
- A level further out serves requests in the order in which blocks made them, and may have promised
  a port for a later time.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from typing import Any

from sam.memory_regions import Region, asks_in_turn
from sam.support.errors import UserError
from sim.attribution.over_time import add, bins
from sim.config.memory import Memory, MemoryLevel
from sim.stats import MemoryStats, Traffic

# The most units in a cycle; if more would be needed, costs are rounded up: so no level is slower
# where the rate of another one is made ideal.
_MOST_UNITS = 2**24

# The most cycles that a port may take to move a byte.
_MOST_CYCLES = 10**9

Access = tuple[Region, int, bool]
"""A region, the index of the entry that is touched, and whether it is written."""

# The counters of each level and tensor.
COUNTED = ("reads", "writes", "bytes_read", "bytes_written", "hits", "misses")
READS, WRITES, BYTES_READ, BYTES_WRITTEN, HITS, MISSES = range(len(COUNTED))


class Layout:
    """A hierarchy in numbers, for the blocks that request data and the regions that they touch.

    Levels are numbered from the outermost, which is 0. Times are in units, sizes in bytes.

    ``unit``               how many units a cycle has
    ``latency``, ``cost``  by level; the cost is the time of a port for a byte
    ``ports``, ``room``    by level; the room is for lines, in bytes, None where it is unbounded
    ``prompt``             by level: whether its ports are free whenever they are asked: they
                           take no time, and blocks alone ask, in order of time
    ``by_use``             by level: whether a hit makes a line the last to be replaced (LRU)
    ``home``, ``kept``     by region: the level that it lives in, and the innermost that keeps it
    ``entry``              by region: the bytes of an entry; 0 where they differ, as for tiles
    ``tensor``             by region: the number of its tensor
    ``brought``            by region: whether an access only brings an entry to where it is kept
    ``per_line``           by level and region: the entries in a line
    """

    def __init__(
        self, settings: Memory, clock_ghz: float, askers: Sequence[Any], regions: Sequence[Region]
    ) -> None:
        self.settings, self.regions = settings, regions
        levels = settings.levels
        costs = [_cycles_of_a_byte(level, clock_ghz) for level in levels]
        self.unit = min(_MOST_UNITS, lcm(*(cost.denominator for cost in costs)))
        self.cost = [ceil(cost * self.unit) for cost in costs]
        self.latency = [level.latency_cycles * self.unit for level in levels]
        self.ports = [max(1, len(askers)) if n.ports == "per_block" else n.ports for n in levels]
        self.by_use = [level.replacement == "lru" for level in levels]
        most = settings.outstanding_requests
        self.outstanding = [
            1 if asks_in_turn(asker) else 0 if most == "unbounded" else most for asker in askers
        ]
        self.home = [settings.home(region) for region in regions]
        self.kept = [max(settings.home(region), self._innermost(region)) for region in regions]
        innermost = max(self.kept, default=0)
        self.prompt = [cost == 0 and n == innermost for n, cost in enumerate(self.cost)]
        self.brought = [
            region.sizes is not None and self.home[n] < self.kept[n]
            for n, region in enumerate(regions)
        ]
        self.entry = [self._entry(region) for region in regions]
        self.tensors = list(dict.fromkeys(region.tensor for region in regions))
        self.tensor = [self.tensors.index(region.tensor) for region in regions]
        self.per_line = [
            [
                max(1, level.line_bytes // entry) if level.line_bytes and entry else 1
                for entry in self.entry
            ]
            for level in levels
        ]
        self.length = [region.length or 0 for region in regions]
        self.room = [self._room(n) for n in range(len(levels))]

    @property
    def shared(self) -> bool:
        """Whether the order makes a difference in which blocks are served: they share ports or
        lines."""
        blocks = len(self.outstanding)
        return blocks > 1 and (len(self.ports) > 1 or any(ports < blocks for ports in self.ports))

    def bytes(self, region: int, first: int, last: int) -> int:
        """The bytes of the entries from a first to before a last one."""
        sizes = self.regions[region].sizes
        return (last - first) * self.entry[region] if sizes is None else sum(sizes[first:last])

    def placed(self, level: int, length: Sequence[int]) -> list[int]:
        """By tensor, the bytes of the arrays that live in a level, at some lengths of the regions.

        The arrays of a tensor that comes in tiles are in its tiles.
        """
        tiled = {region.tensor for region in self.regions if region.part == "tile"}
        found = [0] * len(self.tensors)
        for n, region in enumerate(self.regions):
            apart = region.part == "tile" or region.tensor not in tiled
            apart = apart and region.lives_in is None
            if self.home[n] == level and (apart or level == 0):
                found[self.tensor[n]] += self.bytes(n, 0, length[n])
        return found

    def require_room(self, level: int, length: Sequence[int]) -> None:
        """Raises UserError where a level is too small for the arrays that live in it."""
        capacity, name = (
            self.settings.levels[level].capacity_bytes,
            self.settings.levels[level].name,
        )
        placed = sum(self.placed(level, length))
        if capacity != "unbounded" and placed > capacity:
            raise UserError(
                f"{name} has {capacity} bytes, and the tensors placed there take {placed}",
                hint="raise its capacity_bytes, or see memory.places",
            )

    def _entry(self, region: Region) -> int:
        if region.sizes is not None:
            return 0
        return self.settings.entry_bytes(region.unit, region.itemsize)

    def _innermost(self, region: Region) -> int:
        if region.kept_in is None:
            return len(self.settings.levels) - 1
        return [level.name for level in self.settings.levels].index(region.kept_in)

    def _room(self, level: int) -> int | None:
        """The room for lines, beside the arrays that live in a level."""
        self.require_room(level, self.length)
        capacity = self.settings.levels[level].capacity_bytes
        if capacity == "unbounded":
            return None
        room = capacity - sum(self.placed(level, self.length))
        for n, region in enumerate(self.regions):
            if self.home[n] < level <= self.kept[n]:
                line = self.per_line[level][n] * self.entry[n]
                largest = line if region.sizes is None else max(region.sizes, default=0)
                if largest > room:
                    what = "tile" if region.part == "tile" else "line"
                    raise UserError(
                        f"{self.settings.levels[level].name} has room for {room} bytes, and a "
                        f"{what} of {region.tensor} has {largest}"
                    )
        return room


def _cycles_of_a_byte(level: MemoryLevel, clock_ghz: float) -> Fraction:
    """The cycles of a port for a byte, exactly by the decimal numbers of a config."""
    if level.bandwidth_gb_per_s == "unbounded":
        return Fraction(0)
    cycles = Fraction(str(clock_ghz)) / Fraction(str(level.bandwidth_gb_per_s))
    if cycles > _MOST_CYCLES:
        raise UserError(
            f"{level.name} takes more than {_MOST_CYCLES} cycles to move a byte",
            hint="raise its bandwidth_gb_per_s, or lower clock.clock_ghz",
        )
    return cycles


@dataclass
class _CacheLine:
    """A line in a level: its bytes, when it arrives, and whether it was changed."""

    size: int
    arrives: int
    dirty: bool


Link = tuple[int, int, bool, bool]
"""A part of the time from a request for an entry to its arrival: its end, in units; the level;
whether it is a wait for a port of that level; and if so whether another block has that port while
another port is free."""


class Hierarchy:
    """The state of a hierarchy.

    ``come``  if ``linked``, the causes of the last request's time: the region for which a port was
              last to take it, whether another port was free, the region that was ready last, and
              the links of that region
    """

    def __init__(self, layout: Layout, linked: bool = False) -> None:
        self.layout, self.linked = layout, linked
        self.come: tuple[int, bool, int, Sequence[Link]] = 0, False, 0, ()
        self.moved = [bins() for _ in layout.ports if linked]
        self.links: list[list[Link]] = [[] for _ in layout.ports]
        levels = range(len(layout.settings.levels))
        self.number = {region: n for n, region in enumerate(layout.regions)}
        self.length = list(layout.length)
        self.free = [[0] * layout.ports[n] for n in levels]
        self.busy = [[0] * layout.ports[n] for n in levels]
        self.before = [[0] * layout.ports[n] for n in levels]
        self.user = [[-1] * layout.ports[n] for n in levels]
        self.lines: list[OrderedDict[tuple[int, int], _CacheLine]] = [OrderedDict() for _ in levels]
        self.held = [0 for _ in levels]
        self.peak = [0 for _ in levels]
        self.counts = [[[0] * len(COUNTED) for _ in layout.tensors] for _ in levels]
        self.held_of = [[0 for _ in layout.tensors] for _ in levels]
        self.peak_of = [[0 for _ in layout.tensors] for _ in levels]
        self.ready: list[deque[int]] = [deque() for _ in layout.outstanding]
        self.over = self.evicts = False

    def place(self, block: int, cycle: int) -> int:
        """The first cycle from a given one in which the block may have one more request."""
        ready, outstanding = self.ready[block], self.layout.outstanding[block]
        if len(ready) < outstanding or not outstanding:
            return cycle
        return max(cycle, ready[0])

    def request(self, block: int, cycle: int, accesses: Sequence[Access]) -> tuple[int, int]:
        """The cycle in which ports have taken all accesses, and the one in which all are ready."""
        layout = self.layout
        taken = ready = now = cycle * layout.unit
        self.come = 0, False, 0, ()
        for region, index, write in accesses:
            n = self.number[region]
            if region.length is None:
                self.length[n] = max(self.length[n], index + 1)
            start, done = self._move(layout.kept[n], block, n, index, index + 1, write, now)
            if self.linked:
                self._note(n, taken, start, ready, done)
            taken, ready = max(taken, start), max(ready, done)
        whole = -(-ready // layout.unit)
        if layout.outstanding[block]:
            if len(self.ready[block]) == layout.outstanding[block]:
                self.ready[block].popleft()
            self.ready[block].append(whole)
        return taken // layout.unit, whole

    def _note(self, region: int, taken: int, start: int, ready: int, done: int) -> None:
        """Keeps the causes of an access whose port or data come later than those of all before."""
        held_up, conflict, last, links = self.come
        unit, links_now = self.layout.unit, self.links[self.layout.kept[region]]
        if start // unit > taken // unit:
            held_up, conflict = region, links_now[0][3]
        if -(-done // unit) > -(-ready // unit):
            last, links = region, tuple(links_now)
        self.come = held_up, conflict, last, links

    def _move(
        self, level: int, block: int, region: int, first: int, last: int, write: bool, now: int
    ) -> tuple[int, int]:
        """Moves entries through a level's port, requested ``now``; gives the begin and the end."""
        layout = self.layout
        per_line = layout.per_line[level][region]
        if level == 0:
            first -= first % per_line
            last = min(-(-last // per_line) * per_line, self.length[region])
        size = layout.bytes(region, first, last)
        if layout.brought[region] and level == layout.kept[region]:
            size = 0
        start = done = now
        if not self.over:
            port = block % layout.ports[level]
            start = max(now, self.free[level][port])
            if self.linked:
                conflict = start > now and self.user[level][port] != block
                conflict = conflict and min(self.free[level]) <= now
                there = start + layout.latency[level]
                self.links[level] = [(start, level, True, conflict), (there, level, False, False)]
            self.free[level][port] = start + size * layout.cost[level]
            self.user[level][port] = block
            if self.moved:
                add(self.moved[level], start // layout.unit, size)
            if not self.evicts:
                self.before[level][port] = self.busy[level][port]
            self.busy[level][port] += size * layout.cost[level]
            done = start + layout.latency[level]
        counts = self.counts[level][layout.tensor[region]]
        counts[WRITES if write else READS] += 1
        counts[BYTES_WRITTEN if write else BYTES_READ] += size
        ready = done
        if level != layout.home[region]:
            for line in range(first // per_line, (last - 1) // per_line + 1):
                there = self._look_up(level, block, region, line, write, done)
                if self.linked and there > ready:
                    self.links[level][2:] = self.links[level - 1]
                ready = max(ready, there)
        return start, ready

    def _look_up(
        self, level: int, block: int, region: int, line: int, write: bool, now: int
    ) -> int:
        """Finds a line in a level, or brings it there; gives the time of its arrival."""
        layout, lines, key = self.layout, self.lines[level], (region, line)
        tensor = layout.tensor[region]
        counts = self.counts[level][tensor]
        found = lines.get(key)
        if found is not None:
            counts[HITS] += 1
            if layout.by_use[level]:
                lines.move_to_end(key)
            found.dirty = found.dirty or write
            there = now if write else max(now, found.arrives)
            if self.linked:  # a line on its way comes from the level outside of this
                self.links[level - 1] = [(there, level - 1, False, False)]
            return there
        counts[MISSES] += 1
        arrives = now
        begin = line * layout.per_line[level][region]
        end = begin + layout.per_line[level][region]
        if not write:
            last = min(end, self.length[region])
            _, arrives = self._move(level - 1, block, region, begin, last, False, now)
        size = layout.bytes(region, begin, end)
        room = layout.room[level]
        linked, evicts = self.linked, self.evicts
        self.linked, self.evicts = False, True  # nothing waits for a write-back
        while room is not None and self.held[level] + size > room:
            self._evict(level, block, now)
        self.linked, self.evicts = linked, evicts
        lines[key] = _CacheLine(size, arrives, write)
        self._hold(level, tensor, size)
        return arrives

    def _evict(self, level: int, block: int, now: int) -> None:
        """Evicts the line that is first in the order of replacement."""
        (region, line), old = self.lines[level].popitem(last=False)
        self._hold(level, self.layout.tensor[region], -old.size)
        if old.dirty:
            begin = line * self.layout.per_line[level][region]
            last = min(begin + self.layout.per_line[level][region], self.length[region])
            self._move(level - 1, block, region, begin, last, True, now)

    def _hold(self, level: int, tensor: int, size: int) -> None:
        self.held[level] += size
        self.held_of[level][tensor] += size
        self.peak[level] = max(self.peak[level], self.held[level])
        self.peak_of[level][tensor] = max(self.peak_of[level][tensor], self.held_of[level][tensor])

    def finish(self) -> None:
        """Writes changed lines back after the last cycle; this counts as traffic only."""
        self.over, self.linked = True, False
        for level in reversed(range(len(self.lines))):
            while self.lines[level]:
                self._evict(level, 0, 0)


def statistics(layout: Layout, counted: Any) -> dict[str, MemoryStats]:
    """The statistics of the levels, by name. ``counted`` has the counters of a ``Hierarchy``.

    Raises UserError where the result has outgrown the level that it lives in.
    """
    found = {}
    for n, level in enumerate(layout.settings.levels):
        layout.require_room(n, counted.length)
        placed = layout.placed(n, counted.length)
        tensors = {}
        for t, tensor in enumerate(layout.tensors):
            counts = dict(zip(COUNTED, map(int, counted.counts[n][t]), strict=True))
            moved = counts["bytes_read"] + counts["bytes_written"]
            if any(counts.values()) or placed[t]:
                tensors[tensor] = Traffic(
                    **counts,
                    peak_bytes=int(counted.peak_of[n][t]) + placed[t],
                    energy_pj=level.energy_pj_per_byte * moved,
                )
        found[level.name] = MemoryStats(
            busy=[int(busy) / layout.unit for busy in counted.busy[n]],
            before=[int(before) / layout.unit for before in counted.before[n]],
            peak_bytes=int(counted.peak[n]) + sum(placed),
            tensors=tensors,
        )
    return found
