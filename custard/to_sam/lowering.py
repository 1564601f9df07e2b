"""Lowers concrete index notation to a SAM graph (SAM paper, Section 5).

For each loop variable, outermost first, the expression tree is descended. An access that has the
variable scans its next level; a product intersects the operands that have it, a sum unites them;
an operand without the variable is repeated over the result, and makes the iteration space of a sum
full. A ``Reduce`` inside a term is a computed stream of its own, which takes part in merges like a
scanned level. When all variables are done, the tree is computed, the sums are reduced, innermost
first, and the remaining levels are written.

``cursor`` has the protocol of the parts of the tree, ``cursors`` their kinds; ``iteration`` drives
them; ``reduction``, ``lanes`` and ``result`` add the blocks behind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from custard.ir import cin
from custard.language.commands import Command
from custard.language.formats import Format
from custard.to_sam.builder import Builder
from custard.to_sam.cursors import cursor
from custard.to_sam.iteration import computed
from custard.to_sam.result import result_levels, scatters, write
from sam.graph import Graph


@dataclass(frozen=True)
class LoweredGraph:
    """A graph, and the decisions behind it, in sentences.

    ``rearranged``  a note for each tensor that is stored in another way, with the declaration of
                    the format that avoids it, if there is one
    """

    graph: Graph
    rearranged: Mapping[str, str | None]
    decisions: tuple[str, ...]


def lower(
    program: cin.LoopProgram,
    formats: Mapping[str, Format],
    choices: Mapping[tuple[str, str], Command],
    dims: Mapping[str, int],
    title: str,
    drop_zeros: bool = False,
    lanes: Mapping[str, int] | None = None,
) -> LoweredGraph:
    """The SAM graph of a program.

    ``formats`` has one for each tensor; ``choices`` the forced commands of the schedule by tensor
    and loop; ``dims`` the known extents: the graph keeps those that its inputs may not tell, and an
    extent of 0 asks for more droppers; ``drop_zeros`` keeps values that come out as 0 out of
    compressed levels; ``lanes`` how many lanes a loop is dealt to, by its base. Raises UserError
    for a choice that cannot be.
    """
    dims = {**dict(program.fixed), **dims}
    builder = Builder(program, formats, choices, dims, drop_zeros, lanes or {})
    value = program.value
    summed: tuple[str, ...] = ()
    if isinstance(value, cin.Reduce):
        summed, value = value.variables, value.operand
    around = {*program.target.variables, *summed}
    variables = [v for v in program.loops if v in around]
    stored = result_levels(builder)
    scatter = scatters(builder, stored, summed)
    nest = computed(builder, cursor(builder, value), variables, summed, scatter)
    graph = builder.finished(write(builder, stored, nest), title)
    return LoweredGraph(graph, builder.rearranged, tuple(builder.decisions))
