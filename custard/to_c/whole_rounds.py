"""Ranges of fused loops: the rounds between the first and the last one, which nothing cuts.

A loop over the rows of a matrix that keeps to a range of its entries cuts the first and the last
row. Looking at each row for where it is cut would cost the more, the shorter the rows are. So all
others have a loop of their own, which is the one that a schedule by rows has:

    at = begin
    while (at < end) {
        the row `at`, within the range
        all rows from at + 1 to below end - 1
        at = the last row, or end
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from custard.scheduling.loops import NUMBERED
from custard.to_c import lattice
from custard.to_c.coiteration import coiteration
from custard.to_c.expression import Total, operand_of
from custard.to_c.loop_ir import ONE, Assign, Declare, Stmt, Var, While, select
from custard.to_c.outputs import CoordinateRange, Output, RangedVariable, TensorOutput
from custard.to_c.positions import levels_of
from sam.derivations import Split, parts

if TYPE_CHECKING:
    from custard.to_c.derived_loops import DerivedLoop

# How many values a range needs, as measured on matrices with 10 entries to a row; more where parts
# of it are found by binary search.
_LONG, _LONG_SEARCHED = 256, 1 << 16


def has_whole_rounds(
    loop: DerivedLoop, variable: str, region: CoordinateRange, left: Sequence[RangedVariable]
) -> bool:
    """Whether rounds over a variable between the first and the last one go through all of what is
    left, the operands find parts of their coordinates without a walk through all, and the range is
    long enough."""
    if loop.cut is None or not left or left[0].cut != loop.cut or region.step != ONE:
        return False
    lowering, size = loop.lowering, _most_values(loop)
    if size is not None and size < _LONG:
        return False
    formula = coiteration(loop.tree, variable, lowering.storage, lowering.choices).formula
    for key in lattice.iterated(formula):
        operand = operand_of(loop.tree, key)
        if operand.left[:1] != (variable,) or operand.form is not None:
            return False
        if operand.slot.levels[operand.level] not in NUMBERED:
            return False
        if size is not None and size < _LONG_SEARCHED:  # parts of a dense level are not iterated
            return False
    points = lattice.points(formula, 1)
    return points is not None and len(points) == 1


def apart(
    loop: DerivedLoop, variable: str, region: CoordinateRange, left: Sequence[RangedVariable]
) -> list[Stmt]:
    """The loops over a variable within a region, and over what is left."""
    lowering, output = loop.lowering, loop.with_left(left)
    order = [loop.leaf, *loop.rest]
    at = Var(loop.builder.fresh(f"{loop.builder.name_of(variable)}_at"))
    begin, end = loop.number("begin", region.begin), loop.number("end", region.end)
    last = end - 1
    whole = [replace(one, region=None, cut=None) if one.cut == loop.cut else one for one in left]
    kept = {key: one for key, one in output.kept.items() if one.cut != loop.cut}
    inner = replace(loop.with_left(whole), kept=kept)
    between = CoordinateRange(at + 1, last)
    lowering.bodies *= 2
    body = lowering.nested(variable, order, loop.tree, output, CoordinateRange(at, at + 1))
    plain = inner.between(variable) if _is_last(loop) else inner
    if summed := inner.adds and not plain.adds:
        body += _as_by_rows(loop, variable, left, plain, between)
    else:
        body += lowering.nested(variable, order, loop.tree, plain, between)
    body.append(Assign(at, select(at + 1 < last, last, at + 1)))
    lowering.bodies //= 2
    return [*output.reach(variable, region, summed), Declare(at, begin), While(at < end, body)]


def _most_values(loop: DerivedLoop) -> int | None:
    """How many values the range of a loop has at most; None where that is not known."""
    made = [loop.nest.made(one) for one in loop.nest.ancestors(loop.leaf)]
    return min(
        (one.size for one in made if isinstance(one, Split) and not one.counts), default=None
    )


def _is_last(loop: DerivedLoop) -> bool:
    """Whether no loop is left that was derived with this one, and nothing is asked of this one."""
    base, primes = parts(loop.leaf)
    derived = {*loop.nest.loops} & loop.nest.related(base)
    return not primes and not loop.nest.repeats(base) and derived <= {*loop.output.done, base}


def _as_by_rows(
    loop: DerivedLoop,
    variable: str,
    left: Sequence[RangedVariable],
    output: Output,
    region: CoordinateRange,
) -> list[Stmt]:
    """The loop over a part of a variable, and all loops in it as if nothing had derived them, for
    an output that takes whole sums."""
    assert isinstance(output, TensorOutput)
    lowering, nest, stored = loop.lowering, loop.nest, output.assembly.variables
    own = nest.variables(one.name for one in left)
    variables = [v for v in (*own, *nest.variables(loop.rest)) if v not in output.bound]
    free = [v for v in variables if v in stored]
    summed = tuple(v for v in variables if v not in stored)
    total = Total(loop.tree.dtype, summed, frozenset(free), loop.tree)
    lowering.nest = nest.without(loop.leaf, own)
    order = lowering.nest.order(free, levels_of(total))
    output = replace(output, pending={**output.pending, loop.leaf: ()})
    loops = lowering.nested(variable, order, total, output, region)
    lowering.nest = nest
    return loops
