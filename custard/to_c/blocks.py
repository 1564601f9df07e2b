"""The extents of small dense blocks, which a kernel is compiled for.

A matrix of blocks (BCSR) has dense levels below a compressed one, and an array may be a long list
of short rows or small matrices. A loop over two or three elements takes less time than the tests
around it, unless the C compiler knows how many there are: then it takes all elements at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from custard.language.formats import LEVEL_FORMATS
from custard.to_c.arguments import StoredInput
from sam.graph import Slot

# The largest extent, and the least number of values, for which it pays to compile a kernel. Loops
# over eight elements take whole vectors.
_SMALL, _MANY = 7, 1 << 16


def block_extents(
    slots: Sequence[Slot], stored: Mapping[str, StoredInput], extents: Mapping[str, int]
) -> dict[str, int]:
    """The variables of small dense blocks of inputs that have many, with their extents."""
    return {
        variable: extents[variable]
        for slot in slots
        if len(stored[slot.name].members["values"]) >= _MANY
        for variable in _of_blocks(slot)
        if 0 < extents[variable] <= _SMALL
    }


def _of_blocks(slot: Slot) -> Iterator[str]:
    """The variables of the full levels below the last level that is not full, or the first."""
    sparse = (n for n, code in enumerate(slot.levels) if not LEVEL_FORMATS[code].full)
    if not slot.computed:
        yield from slot.variables[max(sparse, default=0) + 1 :]
