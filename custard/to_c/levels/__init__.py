"""The level functions of each level format, as IR (Chou et al., OOPSLA 2018, Table 2).

``custard.language.formats.LEVEL_FORMATS`` has the capabilities of level formats; the files here
implement them in C, one file for each format. A format's class declares the arrays of its storage
(those of the class of the same name in ``sam.levels``) and gives

    iterate  the coordinates below a position, as an ``Iterator`` (``iterators.py``)
    locate   the position of one coordinate

A new format is a new file here, and one entry in ``LEVEL_FUNCTIONS``.
"""

from __future__ import annotations

from custard.to_c.levels.base import LevelFunctions
from custard.to_c.levels.bitvector import Bitvector
from custard.to_c.levels.compressed import Compressed
from custard.to_c.levels.dense import Dense
from custard.to_c.levels.hashed import Hashed
from custard.to_c.levels.iterators import Counted, Iterator, Runs, dimension
from custard.to_c.levels.linked import Linked
from custard.to_c.levels.looked_up import LookedUp
from custard.to_c.levels.offset import Offset
from custard.to_c.levels.place import START, Place
from custard.to_c.levels.range import Range
from custard.to_c.levels.run_length import RunLength
from custard.to_c.levels.singleton import Singleton

__all__ = [
    "LEVEL_FUNCTIONS",
    "START",
    "Counted",
    "Iterator",
    "LevelFunctions",
    "LookedUp",
    "Place",
    "Runs",
    "dimension",
]

LEVEL_FUNCTIONS: dict[str, type[LevelFunctions]] = {
    "d": Dense,
    "s": Compressed,
    "u": Compressed,
    "q": Singleton,
    "c": Singleton,
    "h": Hashed,
    "r": Range,
    "o": Offset,
    "b": Bitvector,
    "l": Linked,
    "n": RunLength,
}
