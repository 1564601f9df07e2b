"""Graphs in the DOT dialect of the published SAM compiler (SAM paper, Appendix A), in and out.

A node has a ``type`` and what goes with it; an edge has a ``type`` (crd, ref, val or repsig) and a
``comment`` that tells which of several streams it is; the graph's ``comment`` has the formats of
the tensors, the result first: ``x=s0,B=ss10`` is a compressed vector and a matrix compressed by
columns.

    type           what it is here
    fiberlookup    level_scanner
    repsiggen      nothing: a repeater reads coordinates itself
    repeat         repeater
    intersect      intersecter
    union          unioner
    arrayvals      array
    mul, add       alu; an add with sub=1 subtracts its second operand
    reduce         reducer of 0 dimensions
    spaccumulator  reducer of 1 dimension and more, the innermost first
    crddrop        coordinate_dropper
    crdhold        repeater of coordinates; nothing where a reducer reads them, as it needs no
                   copies
    broadcast      nothing: an output may have several readers
    fiberwrite     level_writer, and value_writer where its mode is vals

We write more: our name of each node as ``block``, and facts that the dialect has no words for, in
attributes that other tools ignore. So a graph comes back as it was.
"""

from __future__ import annotations

from sam.published_dot.drawn import is_published
from sam.published_dot.reader import from_published
from sam.published_dot.writer import to_published

__all__ = ["from_published", "is_published", "to_published"]
