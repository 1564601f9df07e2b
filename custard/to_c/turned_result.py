"""Results that are computed in an array of another order, and transposed behind the loops.

    for (k) for (j) for (i)
        X_turned[j * i_size + i] += A[k * i_size + i] * B[k, j];
    for (i) for (j)
        X[i * j_size + j] = X_turned[j * i_size + i];

The innermost loop, which may be that of vectors, goes along rows then. ``custard.to_c.cost`` tells
where that is worth it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from custard.to_c.assembly import Assembly, times
from custard.to_c.loop_ir import ONE, ZERO, Assign, Expr, For, Stmt, Var, array
from custard.to_c.values import c_type


class TurnedResult(Assembly):
    """An array for a result of full levels, with its variables in another order than ``stored``."""

    def __init__(self, stored: Assembly, variables: Sequence[str]) -> None:
        self.stored = stored
        super().__init__(
            stored.builder,
            stored.name,
            stored.levels,
            variables,
            stored.dtype,
            stored.index,
            ONE,
            extents=stored.extents,
        )
        size = reduce(times, map(self.size, range(len(self.levels))))
        name, type = f"{stored.name}_turned", array(c_type(stored.dtype))
        self.values = stored.builder.scratch(name, type, size, zeroed=False)

    def size(self, level: int) -> Expr:
        return self.stored.size(self.stored.variables.index(self.variables[level]))

    def transposed(self) -> list[Stmt]:
        """Loops that write the values to where they are stored: the innermost along the rows there,
        the one around it along the rows of this array."""
        stored, last = self.stored, len(self.levels) - 1
        inner = dict.fromkeys((self.variables[-1], stored.variables[-1]))
        order = [*(v for v in stored.variables if v not in inner), *inner]
        bound = {v: Var(stored.builder.name_of(v)) for v in order}
        target = stored.values[stored.position(last, bound)]
        body: list[Stmt] = [Assign(target, self.values[self.position(last, bound)])]
        for variable in reversed(order):
            size = stored.size(stored.variables.index(variable))
            body = [For(bound[variable], ZERO, size, body)]
        return body
