"""Which inputs have coordinates that loops look up instead of merging them with others.

The rows of ``B`` that ``X(i,j) = A(i,k) * B(k,j)`` needs stand at the coordinates of each row of
``A``. If ``B`` lists its rows, these are merged with each row of ``A``, or sought. Where there are
many rows, it takes less time to look them up in an array of all ``k``. So it does for the entries
of ``x`` in ``y(i) = A(i,j) * x(j)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

from custard.ir import cin
from custard.to_c.arguments import StoredInput
from custard.to_c.levels import LEVEL_FUNCTIONS
from custard.to_c.storage import lists_coordinates
from custard.to_c.workspaces.choice import MOST_PLACES
from sam.graph import Slot

# How many places of the array are filled in the time of one step of a search, and how many times
# as long as the level the fibers may be whose coordinates are looked up (measured).
_FILLED, _LONGER = 16, 5


def candidates(slots: Sequence[Slot], loops: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
    """The inputs whose outermost level may be looked up, by slot: it lists the coordinates of an
    inner loop. For each, the slots and the levels that may list coordinates to look up."""
    listed = {
        (slot.name, level): (variable, code)
        for slot in slots
        if not slot.computed
        for level, (variable, code) in enumerate(zip(slot.variables, slot.levels, strict=True))
        if "coordinates" in LEVEL_FUNCTIONS[code].arrays
    }
    found: dict[str, list[tuple[str, int]]] = {}
    for (name, level), (variable, code) in listed.items():
        if level == 0 and variable != cin.base(loops[0]) and lists_coordinates(code):
            others = [at for at, (other, _) in listed.items() if other == variable and at[1] > 0]
            if others:
                found[name] = others
    return found


def looked_up(
    asked: Mapping[str, Sequence[tuple[str, int]]], kept: Mapping[str, StoredInput]
) -> frozenset[str]:
    """The candidates for which an array is worth it: it is small beside what searching takes, and
    the fibers whose coordinates are looked up are not much longer than the level."""
    found = []
    for name, others in asked.items():
        coordinates, places = len(kept[name].members["coordinates0"]), kept[name].members["size0"]
        if places > MOST_PLACES:
            continue
        for other, level in others:
            count = len(kept[other].members[f"coordinates{level}"])
            segments = kept[other].members.get(f"segments{level}")
            fibers = count if segments is None else len(segments) - 1  # one each, of a list
            searching = count * log2(max(coordinates, 2))
            if count <= _LONGER * coordinates * fibers and places <= _FILLED * searching:
                found.append(name)
    return frozenset(found)
