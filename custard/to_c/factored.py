"""Products of several tensors, as two products where that takes far fewer steps.

``A(i,k) * B(k,j) * x(j)`` is ``A(i,k) * t(k)`` with ``t(k) = B(k,j) * x(j)``: the loops go through
B once, not once for each entry of A. The sum over variables that a group of factors has to itself
is made first, into a vector over the one variable that the group shares with the others, or into
rows: ``A(i,k) * B(k,l) * C(l,j)`` with an array C is ``A(i,k) * t(k,j)``. The choice of that
product, if any, is made by cost, as that of the loop order (``custard.to_c.cost``).

A sum of products of arrays is made first into an array, whatever its variables are: with arrays
alone, ``A(i,k) * B(k,l) * C(l,j)`` is ``t(i,l) * C(l,j)``. Once the extents are known, another
product may come first (``factored_for``).

Where that one variable is the outermost loop's, the sum is a number there, and needs no vector:
``A(i,j) * A(i,k) * x(k)``, summed over i and k, is ``A(i,j) * t`` at each i.

Vectors that all have one variable are multiplied first where a sparse factor goes through it:
``A(i,j) * x(j) * z(j)`` picks one number for each entry of A, not two.

Where there is no such vector, there may be one at each coordinate of outer loops: at each i,
``A(i,k) * B(k,l) * C(l,j)`` is ``t(l) * C(l,j)`` with ``t(l) = A(i,k) * B(k,l)``. The terms for one
l are added up before they meet the row of C. Their number depends on the inputs, so such vectors
are made where they cost little beside the rest even if each l has one term.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from custard.ir import cin
from custard.ir.iteration import Counts
from custard.language.formats import LEVEL_FORMATS, Format, are_full
from custard.to_c.cost import ASSUMED, CHEAPER, Extents, array_of, cost, first_of

# How much cheaper two products have to be than one.
_CHEAPER = 0.5
# Which share of the cost of the whole a vector at each coordinate of outer loops may have.
_SHARE = 1 / 3
_MOST_FACTORS = 6


def factored(
    program: cin.LoopProgram, formats: Mapping[str, Format], counts: Counts = ASSUMED
) -> tuple[cin.LoopProgram, Sequence[str]]:
    """The program with sums that are made first, and a note on each of them."""
    notes: list[str] = []

    def change(node: cin.Expression) -> cin.Expression:
        match node:
            case cin.Reduce(_, cin.Multiply()):
                found = _cheapest(replace(program, value=node), formats, counts)
                notes.extend(found.notes)
                return _with_vectors(found.value, formats, notes)
            case cin.Add() | cin.Negate():
                return cin.with_children(node, change)
        return node

    if cin.has_computed(program):
        return program, notes
    value = change(program.value)
    whole = program.value if any(map(_has_splits, cin.walk(program.value))) else None
    return replace(program, value=value, whole=whole), notes


def _has_splits(node: cin.Expression) -> bool:
    """Whether a part of a value is a product that may be split in two."""
    match node:
        case cin.Reduce(_, cin.Multiply()):
            return any(_splits(node))
    return False


def factored_for(
    program: cin.LoopProgram, formats: Mapping[str, Format], extents: Mapping[str, int]
) -> tuple[cin.LoopProgram, Sequence[str]]:
    """The program with other sums made first, if all tensors are arrays and these extents make that
    far cheaper, and a note on each; else the program without notes."""
    arrays = all(are_full(form.levels) for form in formats.values())
    if program.whole is None or not arrays:
        return program, ()
    counts = Extents(extents)
    found, notes = factored(replace(program, value=program.whole), formats, counts)
    if cost(found, formats, counts) >= CHEAPER * cost(program, formats, counts):
        return program, ()
    return found, notes


def _with_vectors(
    node: cin.Expression, formats: Mapping[str, Format], notes: list[str]
) -> cin.Expression:
    """The expression with products of vectors that are made first; adds a note on each."""
    node = cin.with_children(node, lambda child: _with_vectors(child, formats, notes))
    if not isinstance(node, cin.Reduce) or not isinstance(node.operand, cin.Multiply):
        return node
    factors = node.operand.factors
    for variable in node.variables:
        group = [factor for factor in factors if _is_vector(factor, variable, formats)]
        if len(group) > 1 and any(_goes_through(one, variable, formats) for one in factors):
            product = cin.Multiply(tuple(group))
            notes.append(f"{product} is computed first, for all {variable}")
            left = [factor for factor in factors if not any(factor is one for one in group)]
            factors = (*left, cin.Reduce((), product, first=True))
    return replace(node, operand=cin.Multiply(factors))


def _is_vector(factor: cin.Expression, variable: str, formats: Mapping[str, Format]) -> bool:
    """Whether a factor is an array over a variable."""
    if not isinstance(factor, cin.Access) or factor.variables != (variable,):
        return False
    return are_full(formats[factor.tensor].levels)


class _Found(NamedTuple):
    """A sum, its cost, and the sums in it that are made first."""

    value: cin.Reduce
    cost: float
    notes: Sequence[str] = ()


def _cheapest(program: cin.LoopProgram, formats: Mapping[str, Format], counts: Counts) -> _Found:
    """The sum that a program computes, split as is cheapest."""
    assert isinstance(program.value, cin.Reduce)
    best = _Found(program.value, cost(program, formats, counts))
    limit = _CHEAPER * best.cost
    for split in _splits(program.value):
        at_outer = {*program.loops[: len(split.free)]} == {*split.free}
        kept = split.free if at_outer else split.vector(program, formats)
        if not kept:
            continue
        name = first_of(formats)
        vector = cin.Access(name, kept)
        known = {**formats, name: array_of(len(kept))}
        own = cin.LoopProgram(split.loops(program), vector, split.first)
        inner = _cheapest(own, known, counts)
        left = tuple(v for v in program.loops if v not in split.first.variables)
        then = replace(program, loops=left, value=split.with_factor(vector))
        found = inner.cost + cost(then, known, counts)
        if found < min(limit, best.cost):
            names = ", ".join(kept)
            each = "each" if at_outer else "all"
            note = f"{split.first} is computed first, for {each} {names}: that costs far less"
            value = split.with_factor(replace(inner.value, first=not at_outer))
            best = _Found(value, found, (*inner.notes, note))
    return best if best.notes else _by_rows(program, formats, counts, best)


def _by_rows(
    program: cin.LoopProgram, formats: Mapping[str, Format], counts: Counts, whole: _Found
) -> _Found:
    """The whole sum, split with a vector at each coordinate of outer loops if one costs little."""
    assert isinstance(program.value, cin.Reduce)
    best = whole
    for split in _splits(program.value):
        own = split.loops(program)
        rows, kept = own[: len(split.free) - 1], own[-1]
        if not rows or rows != program.loops[: len(rows)] or {*rows, kept} != {*split.free}:
            continue
        if not {*rows} <= {*program.target.variables} or kept not in split.variables:
            continue
        vectors = Format("d" * len(rows) + "s", tuple(range(len(split.free))))
        name = first_of(formats)
        access = cin.Access(name, (*rows, kept))
        first = cin.LoopProgram(own, access, split.first)
        inner = _cheapest(first, {**formats, name: vectors}, counts)
        if inner.cost < _SHARE * whole.cost:
            names = ", ".join(rows)
            note = f"{split.first} is computed first, for each {names}: equal places are joined"
            best = _Found(split.with_factor(inner.value), whole.cost, (*inner.notes, note))
    return best


class _FactoredProduct(NamedTuple):
    """A product in two: the sum that is made ``first``, of which the ``free`` variables are left,
    and the ``others``, summed with it over ``variables``."""

    first: cin.Reduce
    free: tuple[str, ...]
    others: Sequence[cin.Expression]
    variables: tuple[str, ...]

    def loops(self, program: cin.LoopProgram) -> tuple[str, ...]:
        """The loops of the first sum, in the order of a program's."""
        return tuple(v for v in program.loops if v in (*self.free, *self.first.variables))

    def vector(self, program: cin.LoopProgram, formats: Mapping[str, Format]) -> tuple[str, ...]:
        """The variables of the first sum; none unless it is one of arrays, or a vector over what is
        summed then, or one of rows that are full."""
        kept = [v for v in self.loops(program) if v in self.free]
        if all(_is_array(factor, formats) for factor in cin.children(self.first.operand)):
            return tuple(kept)
        if not kept or kept[0] not in self.variables:
            return ()
        rows = {*kept[1:]}
        if not rows <= {*program.target.variables}:
            return ()
        for access in cin.children(self.first.operand):
            if isinstance(access, cin.Access):
                form = formats[access.tensor]
                stored = [access.variables[mode] for mode in form.mode_order]
                levels = zip(stored, form.levels, strict=True)
                if any(v in rows and not LEVEL_FORMATS[code].full for v, code in levels):
                    return ()
        return tuple(kept)

    def with_factor(self, factor: cin.Expression) -> cin.Reduce:
        """The sum of the others and of a factor that stands for the first."""
        return cin.Reduce(self.variables, cin.Multiply((*self.others, factor)))


def _splits(total: cin.Reduce) -> Iterator[_FactoredProduct]:
    """The splits of a product of tensors, larger and larger groups of factors first."""
    assert isinstance(total.operand, cin.Multiply)
    factors = total.operand.factors
    plain = all(isinstance(factor, cin.Access | cin.Literal) for factor in factors)
    if not plain or len(factors) > _MOST_FACTORS or any(map(cin.divides, factors)):
        return
    tensors = [factor for factor in factors if isinstance(factor, cin.Access)]
    for count in range(2, len(tensors)):
        for group in combinations(tensors, count):
            others = [factor for factor in factors if not any(factor is one for one in group)]
            used = {v for factor in others for v in cin.free_variables(factor)}
            inner = tuple(v for v in total.variables if v not in used)
            first = cin.Reduce(inner, cin.Multiply(group))
            variables = tuple(v for v in total.variables if v not in inner)
            if inner and variables:
                yield _FactoredProduct(first, tuple(cin.free_variables(first)), others, variables)


def _is_array(factor: cin.Expression, formats: Mapping[str, Format]) -> bool:
    """Whether a factor is an array."""
    return isinstance(factor, cin.Access) and are_full(formats[factor.tensor].levels)


def _goes_through(factor: cin.Expression, variable: str, formats: Mapping[str, Format]) -> bool:
    """Whether a factor has a loop of its own over a variable, in which the vector is located."""
    if not isinstance(factor, cin.Access) or factor.variables.count(variable) != 1:
        return False
    form = formats[factor.tensor]
    code = form.levels[form.mode_order.index(factor.variables.index(variable))]
    return not LEVEL_FORMATS[code].full
