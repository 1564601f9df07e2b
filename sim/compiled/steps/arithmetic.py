"""The arithmetic of steps in C: Python's where a step computes, numpy's for values of tensors."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence
from typing import Any

from sam.arithmetic import Operation
from sim.compiled.residual import COMPLEX, INT, c_type
from sim.compiled.steps.values import Known, Open
from sim.compiled.steps.writing import FiringWriter

_COMPARISONS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "==",
    ast.IsNot: "!=",
}
_DECIDED = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}
_FOLDED = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
}
# For whole numbers alone. Python rounds a quotient down, C rounds it towards zero.
_INTEGER = {
    "//": "({a} / {b} - ({a} % {b} != 0 && ({a} ^ {b}) < 0))",
    "%": "(({a} % {b} + {b}) % {b})",
    "<<": "(int64_t)((uint64_t){a} << {b})",
    ">>": "((int64_t){a} >> {b})",
    "&": "({a} & {b})",
    "|": "({a} | {b})",
}
_NARROW = {"float32": "float", "complex64": "float complex"}


def compare(writing: FiringWriter, left: Any, op: ast.cmpop, right: Any) -> Known | Open:
    """A comparison. Tuples are compared part by part."""
    symbol = _COMPARISONS.get(type(op))
    if symbol is None:
        raise writing.refuse(f"the comparison {type(op).__name__}")
    if isinstance(left, tuple) and isinstance(right, tuple):
        if symbol not in ("==", "!="):
            raise writing.refuse("an order of tuples")
        tests = [compare(writing, a, ast.Eq(), b) for a, b in zip(left, right, strict=True)]
        same = Open("(" + " && ".join(writing.open(test).text for test in tests) + ")", INT, True)
        return same if symbol == "==" else Open(f"!{same.text}", INT, True)
    if isinstance(left, Known) and isinstance(right, Known):
        return Known(_DECIDED[symbol](left.value, right.value))
    if any(isinstance(one, Known) and one.value is None for one in (left, right)):
        raise writing.refuse("a comparison with None")
    a, b = writing.open(left), writing.open(right)
    texts = [
        f"creal({one.text})" if one.ctype == COMPLEX and symbol not in ("==", "!=") else one.text
        for one in (a, b)
    ]
    return Open(f"({texts[0]} {symbol} {texts[1]})", INT, True)


def unary(writing: FiringWriter, op: ast.unaryop, operand: Any) -> Known | Open:
    """``not`` and the minus sign."""
    if isinstance(operand, Known):
        value = operand.value
        return Known(not value if isinstance(op, ast.Not) else -value)
    if isinstance(op, ast.Not):
        return Open(f"!{operand.text}", INT, True)
    if isinstance(op, ast.USub):
        return Open(f"(-{operand.text})", operand.ctype)
    raise writing.refuse(f"the operator {type(op).__name__}")


def binary(writing: FiringWriter, left: Any, op: ast.operator, right: Any) -> Any:
    """An operator between two values, or ``+`` between two lists."""
    symbol = _OPERATORS.get(type(op))
    if symbol is None:
        raise writing.refuse(f"the operator {type(op).__name__}")
    if isinstance(left, list | tuple) and isinstance(right, list | tuple) and symbol == "+":
        return [*left, *right]
    divides = symbol in ("//", "%")
    by_zero = divides and isinstance(right, Known) and right.value == 0
    if isinstance(left, Known) and isinstance(right, Known) and not by_zero:
        return Known(_FOLDED[symbol](left.value, right.value))
    a, b = writing.open(left), writing.open(right)
    wide = a.ctype if a.ctype != INT else b.ctype
    if symbol in _INTEGER:
        if wide != INT:
            raise writing.refuse(f"the operator {type(op).__name__} on real numbers")
        if by_zero or (divides and not isinstance(right, Known)):
            writing.fail("a division by zero", f"!{b.text}")
        return Open(_INTEGER[symbol].format(a=a.text, b=b.text), INT)
    return Open(f"({a.text} {symbol} {b.text})", wide)


def extreme(writing: FiringWriter, symbol: str, values: Sequence[Any]) -> Open:
    """``min`` for "<" and ``max`` for ">"."""
    if len(values) < 2:
        raise writing.refuse("min or max of fewer than two values")
    found = writing.open(values[0])
    for value in values[1:]:
        other = writing.open(value)
        wide = found.ctype if found.ctype != INT else other.ctype
        text = f"({other.text} {symbol} {found.text} ? {other.text} : {found.text})"
        found = Open(text, wide)
    return found


def operate(writing: FiringWriter, operation: Operation, arguments: Sequence[Any]) -> Open:
    """An operation on values of tensors, in their type, as numpy does it."""
    opened = [writing.open(argument) for argument in arguments]
    texts = [one.text for one in opened]
    dtype = operation.dtype
    ctype = c_type(dtype)
    if operation.name == "negate":
        text = f"(0 - (uint64_t){texts[0]})" if dtype.kind == "i" else f"(-{texts[0]})"
    elif dtype.kind == "c" and operation.name in ("multiply", "divide"):
        operands = ", ".join(f"(double complex){text}" for text in texts)
        return Open(f"{dtype.name}_{operation.name}({operands})", COMPLEX)
    else:
        symbol = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}[operation.name]
        if dtype.kind == "b":
            symbol = "|" if symbol == "+" else "&"
        texts = [f"({ctype}){one.text}" if one.ctype != ctype else one.text for one in opened]
        if dtype.kind == "i":
            texts = [f"(uint64_t){text}" for text in texts]
        elif operation.rounds:
            texts = [f"({_NARROW[dtype.name]}){text}" for text in texts]
        text = f"({texts[0]} {symbol} {texts[1]})"
    if dtype.kind == "i":
        width = 8 * dtype.itemsize
        text = f"(int64_t)(int{width}_t){text}"
    elif operation.rounds:
        text = f"({ctype})({_NARROW[dtype.name]}){text}"
    return Open(f"({text})", ctype)
