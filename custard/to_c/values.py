"""Values: their C types, arithmetic on them as numpy does it, and the value of a whole tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from custard.to_c.complex_parts import opposite
from custard.to_c.expression import (
    Minus,
    Operand,
    Product,
    Quotient,
    Scalar,
    Sum,
    TypedNode,
    children,
    operands,
)
from custard.to_c.loop_ir import (
    BOOL,
    INT,
    INT32,
    WHOLE,
    Call,
    Const,
    Expr,
    Op,
    Type,
    both,
    cast,
    either,
    select,
)
from custard.to_c.walks import expressions
from sam.arithmetic import ValueType, result_type

_C_NAMES = {
    "bool": "bool",
    "int32": "int32_t",
    "int64": "int64_t",
    "float32": "float",
    "float64": "double",
    "complex64": "float complex",
    "complex128": "double complex",
}


def concrete(dtype: ValueType) -> np.dtype[Any]:
    """The type itself, or that of a number of the program."""
    return dtype if isinstance(dtype, np.dtype) else np.result_type(dtype)


def c_type(dtype: ValueType) -> Type:
    """The C type of a numpy type."""
    return Type(_C_NAMES[concrete(dtype).name])


def number(value: int | float, dtype: ValueType) -> Expr:
    """A constant of a type; whole numbers wrap around."""
    found = concrete(dtype)
    if found.kind == "i":
        half = 1 << (8 * found.itemsize - 1)
        return Const((int(value) + half) % (2 * half) - half, c_type(found))
    if found.kind == "b":
        return Const(bool(value), c_type(found))
    return Const(float(value), c_type(found))


_SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_LOGIC = {"add": "|", "multiply": "&"}


def arithmetic(name: str, left: Expr, right: Expr, dtype: ValueType) -> Expr:
    """An operation on two values, in a type that holds both."""
    type = c_type(dtype)
    operands = _converted(left, type), _converted(right, type)
    kind = concrete(dtype).kind
    if kind == "f" and name == "subtract" and _is_of_whole(operands[1]):
        operands = operands[0], Call("apart", operands[1:], type)
    if kind == "c" and name in ("multiply", "divide"):
        return Call(f"{name}_{type.name.replace(' ', '_')}", operands, type)
    return Op((_LOGIC if kind == "b" else _SYMBOLS)[name], operands, type)


def _is_of_whole(value: Expr) -> bool:
    """Whether a real number is made of whole ones or truths, in part at least."""
    casts = (one for one in expressions(value) if isinstance(one, Op) and one.name == "cast")
    whole = (one.operands[0] for one in casts if one.operands[0].type in (*WHOLE, BOOL))
    return any(not isinstance(one, Const) for one in whole)


def _converted(value: Expr, type: Type) -> Expr:
    """A value in another type. What C converts by itself is left to it, if it is no number of 32
    bits: C would go on to compute in these."""
    if value.type == INT32 and type == INT:
        return Op("widen", (value,), type)
    return cast(value, type)


def adding(dtype: ValueType) -> str:
    """The operator that adds to a value in place."""
    return "|" if concrete(dtype).kind == "b" else "+"


Typed = tuple[Expr, ValueType]
Arrays = Callable[[Operand], Expr]


def value(node: TypedNode, arrays: Arrays) -> Typed:
    """The value of a tree where it is present, and its type.

    All its variables are bound; ``arrays`` gives the values of an operand's tensor.
    """
    match node:
        case Operand():
            return arrays(node)[node.place.position], node.dtype
        case Scalar(dtype, known):
            return known if isinstance(known, Expr) else number(known, dtype), dtype
        case Minus(dtype, operand):
            return opposite(_converted(value(operand, arrays)[0], c_type(dtype))), dtype
        case Sum():
            return _total(node, [_masked(part, arrays)[0] for part in node.terms]), node.dtype
        case Product(_, parts, everywhere):
            get = _masked if everywhere else value
            return _chained("multiply", node, [get(part, arrays) for part in parts])
        case Quotient(_, numerator, denominator, everywhere):
            above = (_masked if everywhere else value)(numerator, arrays)
            return _chained("divide", node, [above, _masked(denominator, arrays)])
    raise AssertionError(node)


def _total(node: Sum, parts: Sequence[Expr]) -> Expr:
    """The sum of values, from left to right, each step in its type.

    If the first is subtracted, the terms before it are absent: they count as 0.
    """
    type = c_type(node.steps[0])
    found = number(0, node.steps[0]) if node.minus[0] else _converted(parts[0], type)
    begin = 0 if node.minus[0] else 1
    rest = zip(parts[begin:], node.steps[begin:], node.minus[begin:], strict=True)
    for part, step, minus in rest:
        found = arithmetic("subtract" if minus else "add", found, part, step)
    return _converted(found, c_type(node.dtype))


def _chained(name: str, node: TypedNode, parts: Sequence[Typed]) -> Typed:
    """An operation on values, from left to right."""
    found, dtype = parts[0]
    for part, own in parts[1:]:
        dtype = result_type(name, dtype, own)
        found = arithmetic(name, found, part, dtype)
    return _converted(found, c_type(node.dtype)), node.dtype


def _masked(node: TypedNode, arrays: Arrays) -> Typed:
    """The value of a tree, 0 where it is absent."""
    found, dtype = value(node, arrays)
    present = presence(node)
    if present is None or (isinstance(node, Scalar) and node.zero):
        return found, dtype
    if not any(operands(node)):  # no load depends on the condition
        type = c_type(dtype)
        return Call(f"kept_{type.name.replace(' ', '_')}", (present, found), type), dtype
    return select(present, found, number(0, dtype)), dtype


def presence(node: TypedNode) -> Expr | None:
    """Whether a tree is present at the bound coordinates; None if it is for certain."""
    match node:
        case Operand():
            return node.place.present
        case Scalar():
            return node.present
        case Sum():
            found = [presence(term) for term in node.terms]
            known = [one for one in found if one is not None]
            return either(*dict.fromkeys(known)) if len(known) == len(found) else None
        case Product(everywhere=True) | Quotient(everywhere=True):
            return None
        case Quotient():
            return presence(node.numerator)
    known = [one for child in children(node) if (one := presence(child)) is not None]
    return both(*dict.fromkeys(known)) if known else None
