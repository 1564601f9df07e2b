"""From concrete index notation to the expression of a kernel: types, and the slots of accesses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from custard.ir import cin
from custard.scheduling.loops import Precomputed
from custard.to_c.expression import (
    Minus,
    Operand,
    Product,
    Quotient,
    Scalar,
    Sum,
    Total,
    TypedNode,
    children,
    negated,
    rebuilt,
)
from custard.to_c.storage import Storage
from custard.to_c.values import concrete
from sam.arithmetic import ValueType, result_type, summed
from sam.graph import Slot


@dataclass(frozen=True)
class KernelTrees:
    """Makes the trees of one kernel.

    ``storage``      gives each access its slot
    ``precomputed``  the workspaces of the schedule, by name
    ``keys``         the numbers that tell operands apart
    """

    storage: Storage
    precomputed: Mapping[str, Precomputed]
    keys: Iterator[int]

    def of(self, node: cin.Expression) -> TypedNode:
        """The typed tree of an expression."""
        return _joined(self._tree(node))

    def _tree(self, node: cin.Expression) -> TypedNode:
        """The typed tree of an expression; each access is an operand of its own."""
        match node:
            case cin.Access(tensor) if tensor in self.precomputed:
                return self._precomputed(tensor)
            case cin.Access():
                slot, key = self.storage.slot(node), next(self.keys)
                variables = tuple(node.variables[group[0]] for group in slot.modes)
                is_unit = isinstance(node, cin.Unit)
                dtype = np.dtype(bool) if is_unit else self.storage.types.value(node.tensor)
                forms = tuple(node.form(group[0]) for group in slot.modes)
                computed = forms if any(forms) else ()
                return Operand(dtype, key, slot, variables, computed=computed)
            case cin.Literal(value):
                return Scalar(value, value)
            case cin.Add():
                return self._sum(node)
            case cin.Multiply():
                return self._product(node)
            case cin.Negate(operand):
                return negated(self._tree(operand))
            case cin.Divide(numerator, denominator):
                parts = (self._tree(numerator), self._tree(denominator))
                everywhere = cin.divides(cin.Divide(cin.Literal(1), denominator))
                return Quotient(_joint_type("divide", parts), *parts, everywhere)
            case cin.Reduce((), operand, True) if self._is_far(operand):
                return self._tree(operand)
            case cin.Reduce(variables, operand, first):
                inner = self.of(operand)
                if isinstance(inner, Product):
                    inner = _in_type(inner, inner.dtype)
                free = frozenset(cin.free_variables(node))
                return Total(summed(inner.dtype), variables, free, inner, first)
        raise AssertionError(node)

    def _is_far(self, node: cin.Expression) -> bool:
        """Whether the values of a node are too many for an array."""
        return any(cin.base(v) in self.storage.types.far for v in cin.free_variables(node))

    def _precomputed(self, name: str) -> Total:
        """The tree of an expression that the schedule puts into a workspace."""
        found = self.precomputed[name]
        inner = self.of(found.program.value)
        free = frozenset(found.program.target.variables)
        if not isinstance(inner, Total) or inner.over is not None:
            inner = Total(inner.dtype, (), free, inner)
        return replace(inner, free=free, over=frozenset(found.variables), policy=found.policy)

    def _sum(self, node: cin.Add) -> Sum:
        """The tree of a sum. Bracketed sums in it are merged into it if all terms have one type, of
        floating-point numbers only where it begins: others may cancel in another order."""
        first, *rest = node.terms
        signs = [False, *map(cin.is_subtracted, rest)]
        terms = [self._tree(first)]
        for term in rest:
            terms.append(self._tree(term.operand if cin.is_subtracted(term) else term))
        steps = _running_types(terms, signs)
        merged: list[tuple[TypedNode, bool]] = []
        exact = concrete(steps[-1]).kind in "biu"
        for n, (own, sign) in enumerate(zip(terms, signs, strict=True)):
            mergeable = exact or n == 0
            if isinstance(own, Sum) and mergeable and _have_type((*own.steps, *steps), steps[-1]):
                inside = zip(own.terms, own.minus, strict=True)
                merged += [(part, one != sign) for part, one in inside]
            else:
                merged.append((own, sign))
        parts, minus = zip(*merged, strict=True)
        return Sum(steps[-1], parts, _running_types(parts, minus), minus)

    def _product(self, node: cin.Multiply) -> Product:
        """The tree of a product. Bracketed ones are merged into it if all factors have one type, of
        floating-point numbers only where it begins: others may overflow in another order.

        Where a factor is a sum over variables, all of them have the type of the product, as if the
        sum came after the multiplication; ``numpy.einsum`` does the same.
        """
        parts = tuple(map(self._factor, node.factors))
        dtype = _joint_type("multiply", parts)
        if any(map(_has_sum, parts)):
            parts = tuple(_in_type(part, dtype) for part in parts)
        merged: list[TypedNode] = []
        exact = concrete(dtype).kind in "biu"
        for n, part in enumerate(parts):
            if isinstance(part, Product) and (exact or n == 0):
                types = (one.dtype for one in (*parts, *part.factors))
                merged += part.factors if _have_type(types, dtype) else [part]
            else:
                merged.append(part)
        everywhere = any(map(cin.divides, node.factors))
        is_masked = isinstance(node.factors[0], cin.Mask)
        return Product(dtype, tuple(merged), everywhere and not is_masked)

    def _factor(self, node: cin.Expression) -> TypedNode:
        """The tree of a factor. One whose sign is changed is computed by itself."""
        if not isinstance(node, cin.Negate):
            return self._tree(node)
        operand = self._tree(node.operand)
        return Minus(result_type("negate", operand.dtype), operand)


def _joined(tree: TypedNode) -> TypedNode:
    """The tree with one operand for each access, which is not merged with itself; sums in it have
    operands of their own."""
    keys: dict[tuple[Slot, tuple[str, ...]], int] = {}

    def change(node: TypedNode) -> TypedNode:
        if isinstance(node, Operand) and not node.computed:
            return replace(node, key=keys.setdefault((node.slot, node.variables), node.key))
        if isinstance(node, Total | Operand | Scalar):
            return node
        return rebuilt(node, list(map(change, children(node))))

    return change(tree)


def _running_types(terms: Sequence[TypedNode], minus: Sequence[bool]) -> tuple[ValueType, ...]:
    """By term, the type of the sum up to it."""
    types = [terms[0].dtype]
    for term, subtracted in zip(terms[1:], minus[1:], strict=True):
        types.append(result_type("subtract" if subtracted else "add", types[-1], term.dtype))
    return tuple(types)


def _have_type(types: Iterable[ValueType], dtype: ValueType) -> bool:
    """Whether all parts have one type; numbers of the program take it on."""
    return all(one == dtype for one in types if isinstance(one, np.dtype))


def _in_type(node: TypedNode, dtype: ValueType) -> TypedNode:
    """A tree whose values are converted to a type before they are multiplied and summed."""
    if isinstance(node, Total):
        return replace(node, dtype=dtype, operand=_in_type(node.operand, dtype))
    if isinstance(node, Product):
        factors = tuple(_in_type(factor, dtype) for factor in node.factors)
        return replace(node, dtype=dtype, factors=factors)
    return node if _have_type([node.dtype], dtype) else Product(dtype, (node,))


def _has_sum(node: TypedNode) -> bool:
    """Whether a factor, or one in its brackets, is a sum over variables."""
    return isinstance(node, Total) or (
        isinstance(node, Product) and any(map(_has_sum, node.factors))
    )


def _joint_type(name: str, parts: Sequence[TypedNode]) -> ValueType:
    dtype = parts[0].dtype
    for part in parts[1:]:
        dtype = result_type(name, dtype, part.dtype)
    return dtype
