"""The independent check of a result: the expression evaluated with dense numpy.

The evaluator walks the tree of ``custard.language.notation`` and shares nothing with the
compiler. A value is an array with a variable for each of its axes. Types are numpy's: operations
are made one by one, as they are bracketed; numbers of the program are Python's, which take on the
type that they meet; a product and the sums over its variables are one ``numpy.einsum``. A tensor
with computed subscripts is gathered into an array with an axis for each of their variables.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from custard.language import notation
from sam.support.errors import UserError
from sam.tensor import Tensor

Array = NDArray[Any]

MOST_PLACES = 10**8
MOST_POINTS = 10**10


@dataclass(frozen=True)
class Expected:
    """The dense value of a program, and the largest magnitude met on the way to it."""

    value: Array
    largest: float


def evaluate(
    text: str,
    inputs: Mapping[str, Tensor],
    extents: Mapping[str, int],
    declared: Collection[str] = (),
) -> Expected:
    """The value that a program must have, by DESIGN.md, section 3.

    ``inputs`` by tensor; ``extents`` by index variable; ``declared`` as for ``notation.parse``.
    Raises UserError where an array would have more than ``MOST_PLACES`` places, or a product more
    than ``MOST_POINTS`` points.
    """
    assignment = notation.parse(text, declared)
    evaluator = _DenseEvaluator(inputs, extents)
    target = tuple(dict.fromkeys(_variables(assignment.target)))
    with np.errstate(all="ignore"):
        right = evaluator.value(assignment.value, _free(assignment.value) - set(target))
        computed = any(
            isinstance(one, notation.ComputedSubscript) for one in assignment.target.indices
        )
        if assignment.operator == "+=" and not computed:
            old = evaluator.value(assignment.target, set())
            right = evaluator.combined(np.add, old, right)
        spread = np.asarray(evaluator.spread(right, target))
        value = np.broadcast_to(spread, [extents[v] for v in target])
        if computed:
            value = _added_up(value, assignment, inputs, extents)
        elif len(target) < len(assignment.target.indices):
            value = _on_diagonal(value, assignment, inputs, extents)
        _require_places(value.size)
        return Expected(value, evaluator.largest)


def _added_up(
    value: Array,
    assignment: notation.Assignment,
    inputs: Mapping[str, Tensor],
    extents: Mapping[str, int],
) -> Array:
    """The values added up at the places that the target's subscripts name, on zeros or on the old
    values; places outside are left out."""
    target = assignment.target
    shape = [
        extents[index.name]
        if isinstance(index, notation.Variable)
        else _size(assignment, n, extents)
        for n, index in enumerate(target.indices)
    ]
    _require_places(math.prod(shape))
    array = np.zeros(shape, value.dtype)
    if assignment.operator == "+=":
        old = inputs[target.tensor].to_numpy()
        array = old.astype(np.result_type(old, value.dtype))
    places, inside = _places(target, tuple(dict.fromkeys(_variables(target))), shape, extents)
    if value.size and array.size:
        inside = np.broadcast_to(inside, value.shape)
        found = tuple(np.broadcast_to(place, value.shape)[inside] for place in places)
        add = np.logical_or if array.dtype.kind == "b" else np.add
        add.at(array, found, value[inside].astype(array.dtype))
    return array


def _size(assignment: notation.Assignment, mode: int, extents: Mapping[str, int]) -> int:
    """The extent of a mode of the target whose subscript is computed, as the program infers it."""
    nodes = notation.walk(assignment)
    accesses = [node for node in nodes if isinstance(node, notation.Access)]
    taken = {name for access in accesses for name in _variables(access)}
    name = f"{assignment.target.tensor}{mode}"
    while name in taken:
        name += "_"
    return extents[name]


def _places(
    access: notation.Access,
    variables: Sequence[str],
    shape: Sequence[int],
    extents: Mapping[str, int],
) -> tuple[list[Array], Array]:
    """The places that the subscripts of an access name, over its variables, and whether each is
    inside of a shape."""
    axes = np.indices([extents[variable] for variable in variables], sparse=True)
    grid = dict(zip(variables, axes, strict=True))
    places: list[Array] = []
    inside = np.array(True)
    for index, size in zip(access.indices, shape, strict=True):
        if isinstance(index, notation.Variable):
            place = grid[index.name]
        else:
            place = np.array(index.constant)
            for name, scale in index.terms:
                place = place + scale * grid[name]
        inside = inside & (place >= 0) & (place < size)
        places.append(place)
    return places, inside


def _on_diagonal(
    value: Array,
    assignment: notation.Assignment,
    inputs: Mapping[str, Tensor],
    extents: Mapping[str, int],
) -> Array:
    """The values where the subscripts of the target agree; elsewhere zeros under ``=``, the old
    values under ``+=``."""
    variables = _variables(assignment.target)
    shape = [extents[variable] for variable in variables]
    _require_places(math.prod(shape))
    array = np.zeros(shape, value.dtype)
    if assignment.operator == "+=":
        array[...] = inputs[assignment.target.tensor].to_numpy()
    grid = np.indices(value.shape, sparse=True)
    axes: dict[str, Array] = dict(zip(dict.fromkeys(variables), grid, strict=True))
    array[tuple(axes[variable] for variable in variables)] = value
    return array


def first_difference(found: Tensor, expected: Expected) -> str | None:
    """The first entry of a result that is not as expected, in words; None where there is none.

    Whole numbers must be equal; others may differ by rounding, as sums of another order do.
    """
    ours, theirs = found.to_numpy(), expected.value
    if ours.shape != theirs.shape:
        return f"the result has the shape {ours.shape}, and numpy's has {theirs.shape}"
    if ours.dtype != theirs.dtype:
        return f"the result has the type {ours.dtype}, and numpy's has {theirs.dtype}"
    if found.dtype.kind in "fc":
        precision = float(np.finfo(found.dtype).eps)
        equal = np.isclose(
            ours, theirs, precision**0.5, 1000 * precision * expected.largest, equal_nan=True
        )
    else:
        equal = ours == theirs
    if equal.all():
        return None
    at = tuple(int(axis[0]) for axis in np.nonzero(~np.atleast_1d(equal)))[: found.ndim]
    place = f"at ({','.join(map(str, at))}) " if found.ndim else ""
    return f"the result {place}is {ours[at].item()!r}, and numpy's is {theirs[at].item()!r}"


@dataclass(frozen=True)
class _Value:
    """An array, and the variable of each axis; or a number of the program.

    ``summed``  the numbers of which it is made, if one of them is summed over variables. They have
                the type that they meet before the sum, so whole ones wrap around
    """

    array: Any
    variables: tuple[str, ...] = ()
    summed: tuple[Any, ...] = ()

    @property
    def numbers(self) -> tuple[Any, ...]:
        """The numbers of the program of which it is made."""
        return self.summed or ((self.array,) if self.is_number else ())

    @property
    def is_number(self) -> bool:
        """Whether it is a number of the program."""
        return not isinstance(self.array, np.ndarray | np.generic)

    def meeting(self, dtype: Any) -> Any:
        """The array, or the number as it meets a type."""
        if self.summed and isinstance(self.array, int) and np.dtype(dtype).kind == "i":
            _checked(partial(np.asarray, dtype=dtype), self.summed)
            return np.asarray(self.array, np.int64).astype(dtype)
        return self.array


class _DenseEvaluator:
    def __init__(self, inputs: Mapping[str, Tensor], extents: Mapping[str, int]) -> None:
        self.inputs, self.extents, self.largest = inputs, extents, 0.0

    def value(self, node: notation.SyntaxNode, summed: set[str]) -> _Value:
        """The value of a node, summed over variables that nothing outside it uses."""
        value = self._value(node, summed)
        array = np.atleast_1d(value.array)
        magnitudes = np.abs(array[np.isfinite(array)]).astype(float)
        self.largest = max(self.largest, float(magnitudes.max(initial=0)))
        return value

    def _value(self, node: notation.SyntaxNode, summed: set[str]) -> _Value:
        match node:
            case notation.Number(number):
                return _Value(number)
            case notation.Access():
                return self._sum(self._access(node), summed)
            case notation.Negate(operand):
                inner = self.value(operand, summed)
                array = _checked(operator.neg, inner.array, wraps=bool(inner.summed))
                return replace(inner, array=array)
            case notation.Reduction(variables, operand):
                own = {variable.name for variable in variables}
                if _is_product(operand):
                    return self._sum(self._multiply(operand, summed - own), own)
                return self._sum(self.value(operand, summed - own), own)
            case notation.Binary("*") if summed & _free(node) or _has_sums(node):
                return self._multiply(node, summed)
            case notation.Binary("*"):
                (_, first), *rest = _chain(node, "*")
                product = self.value(first, set())
                for _, factor in rest:
                    product = self.combined(operator.mul, product, self.value(factor, set()))
                return product
            case notation.Binary("/"):
                operands = [node.left, node.right]
                values = [self.value(n, _alone(n, operands, summed)) for n in operands]
                shared = _free(node.left) & _free(node.right) & summed
                return self._sum(self.combined(_quotient, *values), shared)
            case notation.Binary():
                (_, first), *rest = _chain(node, "+-")
                total = self.value(first, summed & _free(first))
                for symbol, term in rest:
                    function = operator.add if symbol == "+" else operator.sub
                    total = self.combined(function, total, self.value(term, summed & _free(term)))
                return total
        raise AssertionError(node)

    def _access(self, node: notation.Access) -> _Value:
        tensor = self.inputs[node.tensor]
        _require_places(math.prod(tensor.shape))
        array = tensor.to_numpy()
        variables = tuple(dict.fromkeys(_variables(node)))
        if any(isinstance(index, notation.ComputedSubscript) for index in node.indices):
            return self._gathered(array, node, variables)
        if len(variables) < array.ndim:  # a diagonal
            axes = {variable: n for n, variable in enumerate(variables)}
            array = np.einsum(array, [axes[v] for v in _variables(node)], [*axes.values()])
        return _Value(array, variables)

    def _gathered(self, array: Array, node: notation.Access, variables: tuple[str, ...]) -> _Value:
        """The values at computed subscripts; 0 outside."""
        _require_places(self._size(variables))
        shape = [self.extents[variable] for variable in variables]
        found = np.zeros(shape, array.dtype)
        places, inside = _places(node, variables, array.shape, self.extents)
        if array.size and found.size:
            inside = np.broadcast_to(inside, shape)
            found[inside] = array[tuple(np.broadcast_to(one, shape)[inside] for one in places)]
        return _Value(found, variables)

    def _multiply(self, node: notation.SyntaxNode, summed: set[str], dtype: Any = None) -> _Value:
        """A product, summed over variables, in one type: its own, unless it is told.

        A factor that is a sum over variables is summed in that type, too.
        """
        factors = _factors(node)
        values = [self.value(factor, _alone(factor, factors, summed)) for factor in factors]
        if all(value.is_number for value in values):
            return reduce(partial(self.combined, operator.mul), values)
        if dtype is None:
            dtype = np.asarray(_sample(node, iter(values))).dtype
        for n, factor in enumerate(factors):
            if getattr(values[n].array, "dtype", dtype) != dtype:
                values[n] = self._factor(factor, _alone(factor, factors, summed), dtype)
            values[n] = self._typed(values[n], dtype)
        shared = {v for v in summed if sum(v in _free(factor) for factor in factors) > 1}
        if not shared:  # einsum adds to 0, which loses the sign of -0.0
            return reduce(partial(self.combined, operator.mul), values)
        return self._product(values, shared)

    def _factor(self, node: notation.SyntaxNode, summed: set[str], dtype: Any) -> _Value:
        """A factor in the type of its product, or what it sums over variables.

        Terms and operands of a quotient are summed by themselves, and so is all whose sign is
        changed, but for an access.
        """
        if _is_product(node):
            return self._multiply(node, summed, dtype)
        if isinstance(node, notation.Reduction):
            own = {variable.name for variable in node.variables}
            return self._sum(self._factor(node.operand, summed - own, dtype), own)
        around: set[str] = set()
        if isinstance(_unsigned(node), notation.Access):
            around = summed
        elif isinstance(node, notation.Binary) and node.operator == "/":
            around = summed & _free(node.left) & _free(node.right)
        return self._sum(self._typed(self.value(node, summed - around), dtype), around)

    def _product(self, values: list[_Value], summed: set[str]) -> _Value:
        axes = {v: n for n, v in enumerate({v: 0 for value in values for v in value.variables})}
        self._require_points(axes)
        kept = tuple(variable for variable in axes if variable not in summed)
        _require_places(self._size(kept))
        operands: list[Any] = []
        for value in values:
            operands += [value.array, [axes[variable] for variable in value.variables]]
        array = np.einsum(*operands, [axes[v] for v in kept], optimize=("greedy", MOST_PLACES))
        return _Value(array, kept)

    def _typed(self, value: _Value, dtype: Any) -> _Value:
        array = _checked(partial(np.asarray, dtype=dtype), value.meeting(dtype))
        return _Value(array, value.variables)

    def combined(self, function: Any, left: _Value, right: _Value) -> _Value:
        """The function of two values, place by place."""
        variables = tuple(dict.fromkeys((*left.variables, *right.variables)))
        _require_places(self._size(variables))
        if left.is_number != right.is_number:
            dtype = (right if left.is_number else left).array.dtype
            left, right = (replace(one, array=one.meeting(dtype)) for one in (left, right))
        operands = self.spread(left, variables), self.spread(right, variables)
        summed = (*left.numbers, *right.numbers) if left.summed or right.summed else ()
        return _Value(_checked(function, *operands, wraps=bool(summed)), variables, summed)

    def spread(self, value: _Value, variables: tuple[str, ...]) -> Any:
        """The array with its axes in that order, and an axis of 1 for each variable it lacks."""
        if value.is_number:
            return value.array
        order = [value.variables.index(v) for v in variables if v in value.variables]
        sizes = [self.extents[v] if v in value.variables else 1 for v in variables]
        return np.asarray(value.array).transpose(order).reshape(sizes)

    def _sum(self, value: _Value, summed: set[str]) -> _Value:
        """The sum over variables, some of which the value may lack."""
        if not summed:
            return value
        repeats = self._size(tuple(summed - set(value.variables)))
        if value.is_number:
            array = _checked(operator.mul, value.array, repeats, wraps=True)
            return _Value(array, summed=value.numbers)
        axes = tuple(n for n, v in enumerate(value.variables) if v in summed)
        array = np.asarray(value.array)
        array = array.sum(axis=axes, dtype=array.dtype)
        if summed - set(value.variables):
            array = _repeated(array, repeats)
        return _Value(array, tuple(v for v in value.variables if v not in summed))

    def _size(self, variables: tuple[str, ...]) -> int:
        return math.prod(self.extents[variable] for variable in variables)

    def _require_points(self, variables: Mapping[str, int]) -> None:
        points = self._size(tuple(variables))
        if points > MOST_POINTS:
            raise _too_large(f"a product of {points:.1e} points", MOST_POINTS)


def _quotient(left: Any, right: Any) -> Any:
    """numpy's quotient; Python's of two numbers of the program."""
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return left / right if numbers and right else np.true_divide(left, right)


def _checked(function: Any, *operands: Any, wraps: bool = False) -> Any:
    """A function of arrays; raises UserError where numpy refuses their types. A whole number of
    more than 64 bits that it makes of numbers of the program ``wraps`` around, or is a float."""
    try:
        found = function(*operands)
        if not isinstance(found, int) or -(2**63) <= found < 2**63:
            return found
        return (found + 2**63) % 2**64 - 2**63 if wraps else float(found)
    except (TypeError, OverflowError) as error:
        raise UserError(f"numpy refuses this: {error}") from None


def _sample(node: notation.SyntaxNode, values: Iterator[_Value]) -> Any:
    """A number, or an array without elements, of the type that a product of these factors has."""
    if _is_product(node):
        samples = [_sample(part, values) for _, part in _chain(node, "*")]
        return reduce(partial(_checked, operator.mul), samples)
    value = next(values)
    if value.is_number:
        return 0 if isinstance(value.array, int) else value.array
    return np.zeros(0, value.array.dtype)


def _repeated(array: Array, times: int) -> Array:
    """The sum of an array ``times`` times, in its type."""
    if array.dtype.kind == "b":
        return array & (times > 0)
    if array.dtype.kind == "i":
        return array * np.array(times % 2 ** (8 * array.itemsize), np.uint64).astype(array.dtype)
    if array.dtype.kind == "c":  # a product with a complex number would make NaN of infinity
        parts = np.asarray(array).reshape(-1).view(array.real.dtype)
        return _repeated(parts, times).view(array.dtype).reshape(array.shape)
    return array * array.dtype.type(times) if times else np.zeros_like(array)


def _require_places(places: int) -> None:
    if places > MOST_PLACES:
        raise _too_large(f"an array of {places:.1e} places", MOST_PLACES)


def _too_large(what: str, most: int) -> UserError:
    return UserError(
        f"the check would need {what} in dense numpy, more than {most:.0e}",
        hint="leave out --check, or check on smaller inputs",
    )


def _chain(node: notation.SyntaxNode, operators: str) -> list[tuple[str, notation.SyntaxNode]]:
    """The operands that a chain of these operators joins, each with the operator before it."""
    links: list[tuple[str, notation.SyntaxNode]] = []
    while isinstance(node, notation.Binary) and node.operator in operators:
        links.append((node.operator, node.right))
        node = node.left
    return [(operators[0], node), *reversed(links)]


def _is_product(node: notation.SyntaxNode) -> bool:
    return isinstance(node, notation.Binary) and node.operator == "*"


def _has_sums(product: notation.SyntaxNode) -> bool:
    """Whether a factor of a product is an explicit sum over variables."""
    return any(isinstance(factor, notation.Reduction) for factor in _factors(product))


def _unsigned(node: notation.SyntaxNode) -> notation.SyntaxNode:
    """A node without the changes of its sign."""
    while isinstance(node, notation.Negate):
        node = node.operand
    return node


def _factors(node: notation.SyntaxNode) -> list[notation.SyntaxNode]:
    """The factors of a product, those of products in brackets too."""
    if not _is_product(node):
        return [node]
    return [factor for _, part in _chain(node, "*") for factor in _factors(part)]


def _alone(
    node: notation.SyntaxNode, operands: Sequence[notation.SyntaxNode], summed: set[str]
) -> set[str]:
    """The variables to sum that this operand uses and none of the others does."""
    others = {v for operand in operands if operand is not node for v in _free(operand)}
    return (summed & _free(node)) - others


def _free(node: notation.SyntaxNode) -> set[str]:
    """The variables that a node uses outside of an explicit sum over them."""
    match node:
        case notation.Access():
            return set(_variables(node))
        case notation.Reduction(variables, operand):
            return _free(operand) - {variable.name for variable in variables}
        case notation.Negate(operand):
            return _free(operand)
        case notation.Binary():
            found: set[str] = set()
            while isinstance(node, notation.Binary):
                found |= _free(node.right)
                node = node.left
            return found | _free(node)
    return set()


def _variables(access: notation.Access) -> tuple[str, ...]:
    return tuple(
        name
        for index in access.indices
        for name in (
            [index.name]
            if isinstance(index, notation.Variable)
            else [name for name, _ in index.terms]
        )
    )
