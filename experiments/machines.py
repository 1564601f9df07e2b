"""A program for each machine of Section 6.5 of the SAM paper, whose graph has its structure.

``compiled`` gives the program of a machine, to be run under the config of the same name. The
program fixes the number of lanes; the real machines have more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import custard
from custard.to_sam.program import SamProgram

_PRODUCT = "X(i,j) = B(i,k) * C(k,j)"


@dataclass(frozen=True)
class Machine:
    """The expression that a machine computes, its formats, and its loop order.

    ``config``  the hardware that it runs on
    ``about``   the features of the machine that the graph has
    """

    config: str
    about: str
    expression: str
    formats: Mapping[str, str]
    schedule: tuple[str, ...]


MACHINES: Mapping[str, Machine] = {
    "extensor": Machine(
        "extensor",
        "tiles of two sizes, in which scanners skip what intersecters do not need",
        _PRODUCT,
        {"X": "ss:0,1", "B": "ss:0,1", "C": "ss:0,1"},
        (
            "reorder(i,k,j)",
            "tile(2048,128)",
            *(f"skip({tensor},k{level})" for level in (2, 1, 0) for tensor in "BC"),
        ),
    ),
    "outerspace": Machine(
        "outerspace",
        "a multiply phase, whose outer products go to lists of each row, and a merge phase",
        _PRODUCT,
        {"X": "ds:0,1", "B": "ss:1,0", "C": "ss:0,1", "Y": "dls:0,2,1"},
        (
            "reorder(k,i,j)",
            "precompute(B(i,k)*C(k,j),k,kw,Y)",
            "reorder(i,k,j)",
        ),
    ),
    "gamma": Machine(
        "gamma",
        "rows of C for the entries of a row of B, dealt behind their intersection to the ways of a "
        "merger that sums them",
        _PRODUCT,
        {"X": "ds:0,1", "B": "ds:0,1", "C": "ss:0,1"},
        ("reorder(i,k,j)", "parallelize(k,Lanes,4)"),
    ),
    "gamma, 2 PEs": Machine(
        "gamma",
        "rows of B dealt to two such elements",
        _PRODUCT,
        {"X": "ds:0,1", "B": "ds:0,1", "C": "ss:0,1"},
        ("reorder(i,k,j)", "parallelize(i,Lanes,2)", "parallelize(k,Lanes,4)"),
    ),
    "capstan, and": Machine(
        "capstan",
        "a loop header over the bits that both have, and a vector of loop bodies",
        "x(i) = b(i) * c(i)",
        {"x": "s", "b": "b", "c": "b"},
        ("parallelize(i,Lanes,16)",),
    ),
    "capstan, or": Machine(
        "capstan",
        "a loop header over the bits that one has, and a vector of loop bodies",
        "x(i) = b(i) + c(i)",
        {"x": "s", "b": "b", "c": "b"},
        ("parallelize(i,Lanes,16)",),
    ),
    "sigma": Machine(
        "sigma",
        "two dot product engines, each with bitmaps of both operands, four multipliers for what "
        "both have, and a tree of adders",
        _PRODUCT,
        {"X": "dd:0,1", "B": "db:0,1", "C": "db:1,0"},
        ("reorder(i,j,k)", "parallelize(j,Lanes,2)", "parallelize(k,Lanes,4)"),
    ),
}


def compiled(name: str) -> SamProgram:
    """The program of a machine."""
    machine = MACHINES[name]
    return custard.compile(machine.expression, machine.formats, machine.schedule)
