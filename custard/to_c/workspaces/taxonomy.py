"""The kind of workspace that a result needs, by the loop order (workspace paper, Section 2.2).

appending   each point of the loops is a value of the result
scattering  points are added up
dense       a workspace of at most one dimension will do
sparse      it takes more dimensions, so that an array of all values may be too large
"""

from __future__ import annotations

from typing import NamedTuple


class Class(NamedTuple):
    """``order`` is the number of dimensions that a workspace needs, 0 where a number or nothing
    does."""

    scatters: bool
    order: int

    def __str__(self) -> str:
        ordering = "dense" if self.order < 2 else "sparse"
        return f"{ordering} {'scattering' if self.scatters else 'appending'}"
