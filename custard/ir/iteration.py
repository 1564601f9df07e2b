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
    """The iterations of a loop in a whole run of a term.

    ``entered``  how often it begins
    ``steps``    the coordinates that it looks at, including those of a merge that only some
                 operands have
    ``points``   the coordinates at which the term has a value
    ``extent``   of its variable
    ``scanned``  by access, the coordinates of its fibers that are scanned
    """

    variable: str
    entered: float
    steps: float
    points: float
    extent: float
    scanned: Mapping[cin.Access, float] = field(default_factory=dict)


class Counts(Protocol):
    """Counts of iterations of loops, and of entries of tensors."""

    def count(self, term: cin.Expression, loops: Sequence[str], codes: Codes) -> list[LoopCount]:
        """The iterations of each loop of a term."""

    def entries(self, access: cin.Access, form: Format) -> float:
        """How many entries a tensor has, in a format."""
