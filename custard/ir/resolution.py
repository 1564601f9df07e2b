"""Computed subscripts are resolved: one of their variables follows from the others."""

from __future__ import annotations

from dataclasses import replace

from custard.ir.cin import (
    Access,
    Expression,
    LoopProgram,
    has_computed,
    unnamed,
    with_children,
)
from custard.ir.summation import hoisted, with_sum
from sam.subscripts import Affine


def resolved(program: LoopProgram) -> LoopProgram:
    """The program with each computed subscript resolved by the variable that the loops bind last.

    If that variable already resolves another subscript of the same access, as in A(i,i+1), a new
    variable of extent 1 resolves this one.
    """
    if not has_computed(program):
        return program
    loops, fixed, added = list(program.loops), dict(program.fixed), dict[str, None]()

    def change(node: Expression) -> Expression:
        if not isinstance(node, Access) or not node.computed:
            return with_children(node, change)
        variables, computed = list(node.variables), list(node.computed)
        taken = {v for mode, v in enumerate(variables) if computed[mode] is None}
        for mode, form in enumerate(node.computed):
            if form is None:
                continue
            form = form.resolved_in(loops)
            if form.variable in taken:
                own = unnamed(f"{node.tensor}{mode}", loops)
                loops.insert(loops.index(form.variable) + 1, own)
                fixed[own], added[own] = 1, None
                terms = tuple(form.coefficients().items())
                form = Affine(own, 1, terms, form.constant)
            taken.add(form.variable)
            variables[mode], computed[mode] = form.variable, form
        return replace(node, variables=tuple(variables), computed=tuple(computed))

    value = change(program.value)
    for variable in added:
        value = hoisted(with_sum(value, variable))
    found = tuple(fixed.items())
    return replace(program, loops=tuple(loops), value=value, fixed=found)
