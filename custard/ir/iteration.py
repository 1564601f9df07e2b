"""Counts of the iterations of loops: the basis of every cost model.

``Counts`` tells them, for a term and its loops: of real inputs (``custard.autoscheduling.fibers``),
or of assumed ones (``custard.to_c.cost``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from custard.ir import cin
from custard.language.formats import Format

# By access, the level format of each of its variables, outermost first, as it is read.
Codes = Mapping[cin.Access, Mapping[str, str]]


@dataclass(frozen=True)
class LoopCount:
    """What a loop goes through in a whole run of a term.

    ``entered``  how often it begins
    ``steps``    the coordinates that it looks at: those of a merge that only some operands have too
    ``points``   those at which the term has a value
    ``extent``   of its variable
    ``scanned``  the coordinates that each access brings along, by access
    """

    variable: str
    entered: float
    steps: float
    points: float
    extent: float
    scanned: Mapping[cin.Access, float] = field(default_factory=dict)


class Counts(Protocol):
    """Tells what loops go through, and how many entries tensors have."""

    def count(self, term: cin.Expression, loops: Sequence[str], codes: Codes) -> list[LoopCount]:
        """What each loop of a term goes through."""

    def entries(self, access: cin.Access, form: Format) -> float:
        """How many entries a tensor has, in a format."""
