"""Loops over a list of coordinates that may repeat, which add to the element at each:

    for (int64_t p = 0; p < p_end; p++)
        y[rows[p]] += A[p] * x[columns[p]];

A round waits for the one before it where both add to the same element, and a loop that sums up each
run of equal coordinates first ends at a time that processors do not foresee. So 32 rounds are taken
together. If the first and the last have the same coordinates, all between them have, and their sum
is added at once; if not, so is that of eight of them, or of four, or each value by itself. The
rounds by which their number exceeds a multiple of 32 come first, in the loop as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from custard.to_c.dense_sums import zero_of
from custard.to_c.loop_ir import (
    ZERO,
    Assign,
    Body,
    Call,
    Const,
    Declare,
    Expr,
    For,
    If,
    Load,
    Stmt,
    Var,
    While,
    both,
    is_plain,
    op,
)
from custard.to_c.walks import all_expressions, expressions, rewritten, statements, substituted

_TOGETHER = 32, 8, 4
_LOCAL = Declare | Assign | For | If | While  # statements that may change own variables alone

Chains = Sequence[Sequence[Var]]


def with_run_sums(body: Body, chains: Chains, fresh: Callable[[str], str]) -> list[Stmt]:
    """The statements, with such loops split in two.

    Each of ``chains`` has arrays of coordinates, those of an entry at the same position, outer
    levels first, which may repeat but are in order; ``fresh`` gives new names.
    """
    return rewritten(
        body, lambda one: _in_two(one, chains, fresh) if isinstance(one, For) else None
    )


def _in_two(loop: For, chains: Chains, fresh: Callable[[str], str]) -> list[Stmt] | None:
    """A loop for the first rounds, and one for 32 at a time; None if it is no such loop."""
    inside = list(statements(loop.body))
    changed = [one for one in inside if isinstance(one, Assign)]
    match [one for one in changed if isinstance(one.target, Load)]:
        case [Assign(Load() as element, operator="+" | "|") as added] if is_plain(loop):
            own = {one.var for one in inside if isinstance(one, Declare | For)}
            others = {one.target for one in changed if one is not added}
            place: Expr = element
            for one in reversed(loop.body):
                if isinstance(one, Declare) and one.var not in others:
                    place = substituted(place, one.var, one.value)
            arrays = _repeating(place, loop.var, chains)
            local = others <= own and all(isinstance(one, _LOCAL) for one in inside)
            if not arrays or not local or own.intersection(expressions(place)):
                return None
            if [*all_expressions(loop.body)].count(element.array) == 1:
                return _Rounds(loop, added, place, arrays, fresh).split()
    return None


def _repeating(element: Expr, position: Var, chains: Chains) -> Sequence[Var]:
    """The first arrays of a chain, if an element depends on a position by these alone."""
    read = {n.array for n in expressions(element) if isinstance(n, Load) and n.index == position}
    for chain in chains if read else ():
        first, rest = chain[: len(read)], element
        for one in first:
            rest = substituted(rest, one[position], ZERO)
        if read == {*first} and position not in expressions(rest):
            return first
    return ()


@dataclass(frozen=True)
class _Rounds:
    """The rounds of a loop, in which one statement adds to an element.

    ``element``  by the position alone; the elements of ``arrays`` there decide it
    """

    loop: For
    added: Assign
    element: Expr
    arrays: Sequence[Var]
    fresh: Callable[[str], str]

    def split(self) -> list[Stmt]:
        """The rounds one by one, or the first few, and the others many at a time."""
        begin, end, most = self.loop.begin, self.loop.end, _TOGETHER[0]
        first = Var(self.fresh(f"{self.loop.var.name}_first"))
        split: list[Stmt] = [
            Declare(first, begin + op("&", end - begin, most - 1), const=True),
            replace(self.loop, end=first),
            self._rounds(first, end, _TOGETHER),
        ]
        return [If([(begin < end - (most - 1), split)], [self.loop])]

    def _rounds(self, begin: Expr, end: Expr, together: Sequence[int]) -> For:
        """The rounds, so many at a time: as one sum if they add to one element, else in parts."""
        if not together:
            return replace(self.loop, begin=begin, end=end)
        count, *fewer = together
        var = Var(self.fresh(f"{self.loop.var.name}_{count}"))
        same = [one[var].eq(one[var + (count - 1)]) for one in self.arrays]
        parts = self._rounds(var, var + count, fewer)
        body = [If([(both(*same), self._sum(var, count))], [parts])]
        return For(var, begin, end, body, step=Const(count))

    def _sum(self, position: Var, rounds: int) -> list[Stmt]:
        """Adds the sum of so many rounds from a position on."""
        total = Var(self.fresh("total"), self.element.type)
        found: Expr = total
        if total.type.name in ("float", "double"):  # gcc would add each value to the element
            found = Call("apart", (total,), total.type)
        here = Assign(total, self.added.value, self.added.operator)
        body = rewritten(self.loop.body, lambda one: [here] if one is self.added else None)
        return [
            Declare(total, zero_of(total.type)),
            replace(self.loop, begin=position, end=position + rounds, body=body),
            Assign(substituted(self.element, self.loop.var, position), found, here.operator),
        ]
