"""Checks that Python and C agree on the structures and numbers that they share.

C exports the size of each structure, the place of each field and the value of each number, as its
compiler sees them. They are compared with Python's when a library is loaded, so a field that is
added on one side only is found at once, rather than in wrong results.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class SharedLayout:
    """The structures and numbers that a C source shares with Python, by their names in C.

    ``beginnings``  structures of which Python knows the first fields only
    """

    structures: Mapping[str, type[ctypes.Structure]]
    numbers: Mapping[str, int] = field(default_factory=dict)
    beginnings: frozenset[str] = frozenset()

    @cached_property
    def expressions(self) -> dict[str, int]:
        """By expression in C, the number that Python knows it as."""
        found = {}
        for name, structure in self.structures.items():
            if name not in self.beginnings:
                found[f"sizeof({name})"] = ctypes.sizeof(structure)
            for part, *_ in structure._fields_:
                place = getattr(structure, part).offset
                found[f"offsetof({name}, {part.rstrip('_')})"] = place
        return {**found, **self.numbers}

    @cached_property
    def _agreed(self) -> set[int]:
        """The libraries that have the same numbers, by their handles."""
        return set()

    def exported(self, source: str) -> str:
        """The C source, with the shared numbers exported."""
        numbers = ", ".join(self.expressions)
        return f"{source}\n#include <stddef.h>\nconst int64_t shared[] = {{{numbers}}};\n"

    def require(self, library: ctypes.CDLL) -> None:
        """Raises RuntimeError if a library made from such a source has other numbers."""
        if library._handle in self._agreed:
            return
        known = self.expressions
        there = (ctypes.c_int64 * len(known)).in_dll(library, "shared")
        for (expression, here), number in zip(known.items(), there, strict=True):
            if here != number:
                raise RuntimeError(f"{expression} is {number} in C, and {here} in Python")
        self._agreed.add(library._handle)
