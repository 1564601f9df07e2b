"""Cursors of operations on other parts, and of parts that are computed. See ``cursor``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from custard.ir import cin
from custard.to_sam.builder import Builder
from custard.to_sam.cursor import Composite, Cursor, Single, shared_out
from custard.to_sam.iteration import computed
from custard.to_sam.leaf import Divisor, Everywhere, Leaf
from custard.to_sam.streams import Fiber, Nest, Payload
from sam.blocks.alu import compute
from sam.blocks.merge import INTERSECTION, UNION, Merger
from sam.graph import End, Slot


def cursor(builder: Builder, node: cin.Expression) -> Cursor:
    """A cursor over an expression, at the root of its tensors."""

    def parts(*nodes: cin.Expression) -> tuple[Cursor, ...]:
        return tuple(cursor(builder, one) for one in nodes)

    match node:
        case cin.Access():
            variables = tuple(v for v in builder.program.loops if v in node.variables)
            slot = builder.slot(node, variables)
            forms = tuple(node.form(node.variables.index(variable)) for variable in variables)
            computed = forms if any(forms) else ()
            return Leaf(slot, variables, Payload(builder.root, "ref", slot.name), 0, computed)
        case cin.Literal(value):
            return _number(builder, value, Leaf)
        case cin.Multiply((cin.Mask() as mask, *rest)):
            return ProductCursor(parts(mask, *rest), 1)  # 1: the masked operand's value
        case cin.Multiply() | cin.Add():
            operands, formula = _formula(node)
            if isinstance(node, cin.Add):
                return UnionCursor(parts(*operands), formula)
            if any(map(cin.divides, operands)):
                return Whole((*parts(*operands), _everywhere(builder, node)), formula)
            return ProductCursor(parts(*operands), formula)
        case cin.Negate(operand):
            return NegationCursor(parts(operand))
        case cin.Divide(numerator, cin.Literal(value)) if value:
            divisor = _number(builder, value, Divisor)
            return ProductCursor((*parts(numerator), divisor), ("divide", 0, 1))
        case cin.Divide(numerator, denominator):
            quotient = parts(numerator, denominator)
            return Whole((*quotient, _everywhere(builder, node)), ("divide", 0, 1))
        case cin.Reduce(variables, operand):
            free = cin.free_variables(node)
            left = tuple(v for v in builder.program.loops if v in free or v in variables)
            total = SumCursor(parts(operand), variables, left)
            return total if free else total.computed(builder)
    raise AssertionError(node)


def _number(builder: Builder, value: int | float, kind: type[Leaf]) -> Leaf:
    """A number of the program."""
    slot = builder.number(value)
    return kind(slot, (), Payload(builder.root, "ref", slot.name))


# A way to compute values from operands: the number of an operand, or an operation on formulas.
Formula: TypeAlias = int | tuple[Any, ...]


def _formula(node: cin.Add | cin.Multiply) -> tuple[list[cin.Expression], Formula]:
    """The operands of a sum or a product, which all meet in one merge, and the formula of its
    value. Operands that are bracketed or subtracted are computed by themselves.
    """
    operands: list[cin.Expression] = []

    def formula(one: cin.Expression, kind: type[cin.Expression]) -> Formula:
        if isinstance(one, cin.Negate) and isinstance(one.operand, cin.Add) and kind is cin.Add:
            return "negate", formula(one.operand, kind)
        if not isinstance(one, kind):
            operands.append(one)
            return len(operands) - 1
        first, *rest = cin.children(one)
        found = formula(first, kind)
        for child in rest:
            operation = "multiply" if kind is cin.Multiply else "add"
            if kind is cin.Add and cin.is_subtracted(child):
                operation, child = "subtract", child.operand
            found = operation, found, formula(child, kind)
        return found

    return operands, formula(node, type(node))


def _computed(builder: Builder, formula: Formula, parts: Sequence[Cursor]) -> End:
    """The values that a formula gives."""
    if isinstance(formula, int):
        return parts[formula].value(builder)
    operation, *operands = formula
    values = [_computed(builder, one, parts) for one in operands]
    return compute(builder.graph, operation, *values)


def _everywhere(builder: Builder, node: cin.Expression) -> Cursor:
    """All points over the free variables of a node."""
    slot = Slot("everywhere", None)
    return Everywhere(slot, cin.free_variables(node), Payload(builder.root, "ref", slot.name))


def _descended(
    builder: Builder, parts: Sequence[Cursor], variable: str, together: bool = False
) -> list[tuple[Fiber | None, Cursor]]:
    """Each part inside of its fiber, with the fiber, if it has one.

    They descend by words of bits if several parts have the variable and each of these has words.

    ``together``  whether words are of use only if all parts have them
    """
    having = [variable in part.variables_left() for part in parts]
    in_words = (
        sum(having) > 1
        and (all(having) or not together)
        and all(
            part.has_words(builder, variable)
            for part, has in zip(parts, having, strict=True)
            if has
        )
    )
    found: list[tuple[Fiber | None, Cursor]] = []
    for part, has in zip(parts, having, strict=True):
        if in_words and has:
            found.append(part.descend_in_words(builder, variable))
        else:
            found.append(part.descend(builder, variable) or (None, part))
    return found


@dataclass(frozen=True)
class ProductCursor(Composite):
    """Factors: present where all are."""

    formula: Formula

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        parts = list(self.parts)
        located = self._locatable(builder, variable)
        rest = [n for n in range(len(parts)) if n not in located]
        fibers: dict[int, Fiber] = {}
        descended = _descended(builder, [parts[n] for n in rest], variable)
        for n, (own, part) in zip(rest, descended, strict=True):
            parts[n] = part
            if own is not None:
                fibers[n] = own
        if not fibers:
            return None
        fiber = next(iter(fibers.values()))
        together = list(fibers)
        if len(fibers) > 1:
            fiber, parts = _merged(builder, INTERSECTION, variable, fibers, parts)
            sparse = [operand for operand in fibers.values() if not operand.full]
            nonempty = len(sparse) < 2 and all(operand.nonempty for operand in fibers.values())
            fiber = replace(fiber, full=not sparse, nonempty=nonempty)
        for n in located:
            fiber, leaf, others = _located(
                builder, parts[n], fiber, [parts[other] for other in together]
            )
            for other, part in zip(together, others, strict=True):
                parts[other] = part
            parts[n] = leaf
            together.append(n)
        for n in rest:
            if n not in fibers:
                parts[n] = parts[n].repeated(builder, fiber)
        return fiber, replace(self, parts=tuple(parts))

    def _locatable(self, builder: Builder, variable: str) -> list[int]:
        """The factors to locate at a variable, while at least one factor is iterated over.

        If a factor goes through windows, it leads, and the others are located at its coordinates: a
        merge would go through them anew for each window. If the windows are full, a sparse factor
        leads that need not be sorted for each.
        """
        leaves = {n: part for n, part in enumerate(self.parts) if isinstance(part, Leaf)}
        able = [n for n, leaf in leaves.items() if leaf.locates(builder, variable)]
        rest = [n for n, part in enumerate(self.parts)
                if n not in able and variable in part.variables_left()]  # fmt: skip
        found = [n for n in rest if n in leaves and leaves[n].is_found(builder, variable)]
        if any(self.parts[n].has_window(builder, variable) for n in rest):
            return [*able, *found]
        windows = [n for n in able if leaves[n].form is not None]
        if windows and all(n in found and not leaves[n].is_sorted() for n in rest):
            return [n for n in (*able, *found) if n != windows[0]]
        return able if rest else able[1:]

    def witnesses(self) -> list[End]:
        return min((part.witnesses() for part in self.parts), key=len)

    def value(self, builder: Builder) -> End:
        return _computed(builder, self.formula, self.parts)


def _merged(
    builder: Builder,
    merger: Merger,
    variable: str,
    fibers: dict[int, Fiber],
    parts: Sequence[Cursor],
    whole: Sequence[Fiber] = (),
) -> tuple[Fiber, list[Cursor]]:
    """Merges the fibers of some parts, and ``whole`` dimensions that have no payloads."""
    parts = list(parts)
    payloads = [*(parts[n].payloads() for n in fibers), *([] for _ in whole)]
    fiber, found = builder.merged(merger, variable, [*fibers.values(), *whole], payloads)
    for n, own in zip(fibers, found, strict=False):
        parts[n] = parts[n].with_payloads(own)
    return fiber, parts


def _located(
    builder: Builder, leaf: Cursor, fiber: Fiber, others: Sequence[Cursor]
) -> tuple[Fiber, Cursor, tuple[Cursor, ...]]:
    """Locates a fiber in a leaf; the payloads of other parts go along."""
    assert isinstance(leaf, Leaf)
    payloads = [payload for part in others for payload in part.payloads()]
    fiber, reference, payloads = builder.located(
        leaf.slot, leaf.level, fiber, leaf.reference, payloads, leaf.form, leaf.offset(builder)
    )
    return fiber, leaf.below(builder, reference.end, fiber), shared_out(others, payloads)


@dataclass(frozen=True)
class UnionCursor(Composite):
    """Terms: present where any is. A term is everywhere over a variable that it lacks."""

    formula: Formula

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        found = _descended(builder, self.parts, variable, together=True)
        fibers = {n: fiber for n, (fiber, _) in enumerate(found) if fiber is not None}
        if not fibers:
            return None
        parts = [part for _, part in found]
        whole = [
            builder.dimension(variable, end)[0]
            for n, part in enumerate(parts)
            if n not in fibers
            for end in part.witnesses()
        ]
        fiber = next(iter(fibers.values()))
        if len(fibers) + len(whole) > 1:
            fiber, parts = _merged(builder, UNION, variable, fibers, parts, whole)
            nonempty = all(operand.nonempty for operand in (*fibers.values(), *whole))
            fiber = replace(fiber, nonempty=nonempty)
        for n, part in enumerate(parts):
            if n not in fibers:
                parts[n] = part.repeated(builder, fiber)
        return fiber, replace(self, parts=tuple(parts))

    def value(self, builder: Builder) -> End:
        return _computed(builder, self.formula, self.parts)


@dataclass(frozen=True)
class Whole(UnionCursor):
    """Operands at all points, as 0 / 0, 1 / 0 and 0 times either have values in numpy too."""

    def witnesses(self) -> list[End]:
        return self.parts[-1].witnesses()


@dataclass(frozen=True)
class NegationCursor(Composite):
    """A term with its sign changed."""

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        found = self.parts[0].descend(builder, variable)
        return found and (found[0], replace(self, parts=(found[1],)))

    def has_words(self, builder: Builder, variable: str) -> bool:
        return self.parts[0].has_words(builder, variable)

    def descend_in_words(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor]:
        fiber, part = self.parts[0].descend_in_words(builder, variable)
        return fiber, replace(self, parts=(part,))

    def value(self, builder: Builder) -> End:
        return compute(builder.graph, "negate", self.parts[0].value(builder))


@dataclass(frozen=True)
class SumCursor(Composite):
    """A sum of its own inside a term, which is not computed yet.

    It is computed as soon as its last free variable, or a summed variable further out, is reached:
    up to there its operand is descended together with the other terms. A sum without free variables
    is computed at once.

    ``left``  the variables, free and summed, that have not been descended, outermost first
    """

    summed: tuple[str, ...]
    left: tuple[str, ...]

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        free = [v for v in self.left if v not in self.summed]
        if variable not in free or variable not in self.parts[0].variables_left():
            return None
        if free == [variable] or self.left[0] != variable:
            return self.computed(builder).descend(builder, variable)
        found = self.parts[0].descend(builder, variable)
        return found and (found[0], replace(self, parts=(found[1],), left=self.left[1:]))

    def repeated(self, builder: Builder, fiber: Fiber) -> Cursor:
        """The sum inside of a fiber over a variable that it lacks, or has only in a form."""
        (part,) = self.parts
        left = tuple(v for v in self.left if v != fiber.variable)
        found = replace(self, parts=(part.repeated(builder, fiber),), left=left)
        if {*left} - {*self.summed}:
            return found
        return Computed(computed(builder, found.parts[0], left, self.summed, around=fiber))

    def computed(self, builder: Builder) -> Computed:
        """The computed stream that takes the place of the operand."""
        return Computed(computed(builder, self.parts[0], self.left, self.summed))

    def value(self, builder: Builder) -> End:
        raise AssertionError("a sum is computed before its value is asked for")


@dataclass(frozen=True)
class Computed(Single):
    """Coordinates and values that have been computed.

    While levels are left below, only the coordinates go through a merge as payloads; the streams of
    those levels follow when all merges over the variable are done.

    ``nest``         the levels that have not been descended, and the values
    ``coordinates``  the coordinates of the level that was descended last
    ``unsettled``    the coordinates whose shape the levels left still have, until they follow
    """

    nest: Nest
    coordinates: Payload | None = None
    unsettled: End | None = None

    @property
    def payload(self) -> Payload:
        if not self.nest.fibers:
            return Payload(self.nest.value, "val")
        assert self.coordinates is not None
        return self.coordinates

    def with_payloads(self, payloads: Sequence[Payload]) -> Computed:
        (payload,) = payloads
        if not self.nest.fibers:
            return replace(self, nest=replace(self.nest, value=payload.end))
        return replace(self, coordinates=payload)

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        if not self.nest.fibers or self.nest.fibers[0].variable != variable:
            return None
        fiber = self.nest.fibers[0]
        inside = replace(self.nest, fibers=self.nest.fibers[1:])
        return fiber, Computed(inside, Payload(fiber.end, "crd"), fiber.end)

    def variables_left(self) -> Collection[str]:
        return [fiber.variable for fiber in self.nest.fibers]

    def nests(self) -> list[Nest]:
        return [self.nest] if self.nest.fibers else []

    def with_nests(self, nests: Sequence[Nest]) -> Computed:
        return replace(self, nest=nests[0]) if nests else self

    def repeated(self, builder: Builder, fiber: Fiber) -> Cursor:
        found = self.with_payloads([builder.repeated(self.payload, fiber)])
        if self.nest.fibers:
            nest = builder.repeated_nest(found.nest, fiber)
            found = replace(found, nest=nest, unsettled=fiber.end)
        return found

    def settled(self, builder: Builder, fiber: Fiber) -> Cursor:
        nest = self.nest
        if nest.fibers and self.unsettled is not None and self.unsettled != fiber.end:
            nest = builder.aligned(nest, 1, self.unsettled, fiber)
        return replace(self, nest=nest, unsettled=None)

    def value(self, builder: Builder) -> End:
        return self.nest.value
