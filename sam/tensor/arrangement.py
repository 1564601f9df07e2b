"""Diagonals: entries whose coordinates in several modes agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sam.levels import Ints
from sam.support.errors import UserError

Array = NDArray[Any]
Modes = Sequence[Sequence[int]]


def diagonal(
    coordinates: Ints, values: Array, shape: Sequence[int], modes: Modes
) -> tuple[Ints, Array]:
    """The entries whose coordinates agree in all modes of each group, by the first of those.

    Raises UserError where modes of a group differ in extent.
    """
    agree = np.ones(len(values), bool)
    for first, *others in modes:
        for other in others:
            if shape[first] != shape[other]:
                raise UserError(
                    f"modes {first} and {other} have no diagonal: their extents are "
                    f"{shape[first]} and {shape[other]}"
                )
            agree &= coordinates[first] == coordinates[other]
    return coordinates[[group[0] for group in modes]][:, agree], values[agree]


def off_diagonal(coordinates: Ints, values: Array, modes: Modes) -> tuple[Ints, Array]:
    """The entries whose coordinates do not agree in all modes of some group."""
    off = np.zeros(len(values), bool)
    for first, *rest in modes:
        off |= (coordinates[rest] != coordinates[first]).any(axis=0)
    return coordinates[:, off], values[off]
