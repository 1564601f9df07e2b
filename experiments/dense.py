"""Index notation evaluated on dense numpy arrays: what every value must equal.

It shares no code with the compiler.  Python's own parser reads the text, every sub-expression
becomes an array whose axes are all the variables of the statement (extent 1 along those that it
lacks), and numpy's broadcasting does the rest.  Memory is no concern: extents are small.
"""

import ast
import operator
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def evaluate(
    expression: str,
    tensors: Mapping[str, ArrayLike],
    dims: Mapping[str, int] | None = None,
) -> np.ndarray:
    """The value of `expression`, as a new array with one axis per subscript of its left side.

    A variable absent from the left side is summed over the smallest sub-expression that holds
    all of its uses (DESIGN.md, section 3).  A product chain is one sub-expression, the operands
    of `+` and `-` are summed each on its own, and a quotient is a node with two operands.
    `sum(j, e)` sums `e` over `j` even where `e` lacks it, and hides `j` from what is around it.
    `+=` adds to the left tensor in `tensors`, or to zeros if there is none.  A left side that
    repeats a variable writes the diagonal and leaves the rest as it was, or zero.

    One name has one extent throughout the statement, given by the inputs or by `dims`.  Types
    promote as in numpy, sums keep the type of what they sum, and division by zero is silent.

    Raises `ValueError` for text that is no index notation, for a tensor that is missing or has
    another order, and for extents that are missing or disagree.
    """
    text, plus, right_text = _split(expression)
    arrays = {name: np.asarray(tensor) for name, tensor in tensors.items()}
    left = _node(_python(text), {"sum"})
    if left.kind != "access":
        raise ValueError(f"not an access: {text!r}")
    right = _node(_python(right_text), {left.name, *arrays})
    if plus and left.name in arrays:
        right = _Node("+", (left, right))

    outputs = list(dict.fromkeys(left.variables))
    axes = [*outputs, *sorted(right.mentioned() - set(outputs))]
    evaluator = _Evaluator(axes, _extents(right, arrays, dims or {}), arrays)
    with np.errstate(all="ignore"):
        value = evaluator.value(right, right.free() - set(outputs))

    value = evaluator.spread(value, outputs).reshape(evaluator.shape(outputs))
    result = np.zeros(evaluator.shape(left.variables), value.dtype)
    if plus and left.name in arrays:
        result[...] = arrays[left.name]
    indices = dict(zip(outputs, np.indices(value.shape, sparse=True), strict=True))
    result[tuple(indices[v] for v in left.variables)] = value
    return result


@dataclass(frozen=True)
class _Node:
    """A sub-expression: kind is "number", "access", "neg", "sum" or one of + - * /."""

    kind: str
    operands: tuple["_Node", ...] = ()
    name: str = ""
    variables: tuple[str, ...] = ()
    number: float = 0

    def walk(self) -> Iterator["_Node"]:
        yield self
        for operand in self.operands:
            yield from operand.walk()

    def mentioned(self) -> set[str]:
        return {v for node in self.walk() for v in node.variables}

    def free(self) -> set[str]:
        inside = {v for operand in self.operands for v in operand.free()}
        return inside - set(self.variables) if self.kind == "sum" else inside | {*self.variables}


def _split(expression: str) -> tuple[str, str, str]:
    """Left side, "+" for `+=` and otherwise "", right side."""
    parts = re.fullmatch(r"([^=+]*)(\+?)=([^=]*)", expression, re.DOTALL)
    if parts is None:
        raise ValueError(f"not one assignment: {expression!r}")
    return parts[1], parts[2], parts[3]


def _python(text: str) -> ast.expr:
    """Python's parse of `text`; names get a leading `_`, so that a tensor may be called `in`."""
    number_or_name = r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)"
    renamed = re.sub(number_or_name, lambda m: m[1] or "_" + m[2], text)
    try:
        return ast.parse(f"({renamed}\n)", mode="eval").body
    except SyntaxError:
        raise ValueError(f"not index notation: {text!r}") from None


_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def _node(python: ast.expr, tensors: Iterable[str]) -> _Node:
    """The sub-expression that Python parsed; `sum(j, e)` is a sum unless `sum` is a tensor."""
    match python:
        case ast.Constant(value=int() | float() as number):
            return _Node("number", number=number)
        case ast.Name(id=name):
            return _Node("access", name=name[1:])
        case ast.Call(ast.Name("_sum"), [ast.Name(variable), body]) if "sum" not in tensors:
            return _Node("sum", (_node(body, tensors),), variables=(variable[1:],))
        case ast.Call(ast.Name(name), arguments) if all(
            isinstance(argument, ast.Name) for argument in arguments
        ):
            variables = tuple(ast.unparse(argument)[1:] for argument in arguments)
            return _Node("access", name=name[1:], variables=variables)
        case ast.UnaryOp(ast.USub(), operand):
            return _Node("neg", (_node(operand, tensors),))
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right):
            kind = _BINARY[type(op)]
            operands = (_node(left, tensors), _node(right, tensors))
            return _chain(operands) if kind == "*" else _Node(kind, operands)
    raise ValueError(f"not index notation: {ast.unparse(python)}")


def _chain(operands: tuple[_Node, ...]) -> _Node:
    """The product of `operands`, with the factors of those that are products themselves."""
    factors = (operand.operands if operand.kind == "*" else (operand,) for operand in operands)
    return _Node("*", tuple(factor for group in factors for factor in group))


def _extents(
    right: _Node, arrays: Mapping[str, np.ndarray], dims: Mapping[str, int]
) -> dict[str, int]:
    """The extent of each variable; where two of its uses disagree, `ValueError` names them."""
    uses = [(variable, extent, "dims") for variable, extent in dims.items()]
    for node in right.walk():
        if node.kind == "access":
            if node.name not in arrays:
                raise ValueError(f"no tensor {node.name}")
            shape = arrays[node.name].shape
            if len(shape) != len(node.variables):
                raise ValueError(f"{node.name} has order {len(shape)}, not {len(node.variables)}")
            uses += [
                (variable, extent, f"mode {mode} of {node.name}")
                for mode, (variable, extent) in enumerate(zip(node.variables, shape, strict=True))
            ]
    first: dict[str, tuple[int, str]] = {}
    for variable, extent, place in uses:
        other, other_place = first.setdefault(variable, (extent, place))
        if extent != other:
            raise ValueError(f"{variable} is {other} in {other_place} and {extent} in {place}")
    return {variable: extent for variable, (extent, _) in first.items()}


def _divide(a: Any, b: Any) -> Any:
    try:
        return a / b
    except ZeroDivisionError:  # two literals; all else divides as numpy does
        return np.divide(a, b)


_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide}


@dataclass(frozen=True)
class _Evaluator:
    """Values are numbers or arrays whose axes are `axes`, of extent 1 where a value lacks one."""

    axes: list[str]
    extents: Mapping[str, int]
    arrays: Mapping[str, np.ndarray]

    def value(self, node: _Node, summed: set[str]) -> Any:
        """The value of `node` after summing the variables `summed`, all of whose uses it holds."""
        match node.kind:
            case "number":
                return node.number
            case "access":
                return self.total(self.read(node), summed)
            case "neg":
                return -self.value(node.operands[0], summed)
            case "sum":
                return self.total(self.value(node.operands[0], summed), node.variables)
            case "+" | "-":
                here: set[str] = set()
            case _:
                uses = Counter(v for operand in node.operands for v in operand.free())
                here = {v for v in summed if uses[v] > 1}
        values = (self.value(e, summed & e.free() - here) for e in node.operands)
        return self.total(reduce(_OPERATORS[node.kind], values), here)

    def read(self, access: _Node) -> Any:
        """The elements of a tensor, each at the place that its subscripts name."""
        indices = (
            np.arange(self.extents[v]).reshape([-1 if v == axis else 1 for axis in self.axes])
            for v in access.variables
        )
        return self.arrays[access.name][tuple(indices)]

    def total(self, value: Any, variables: Iterable[str]) -> Any:
        """The sum of `value` over `variables`, whether it has them or not."""
        if not variables:
            return value
        full = self.spread(value, variables)
        axes = tuple(self.axes.index(v) for v in variables)
        return np.sum(full, axis=axes, keepdims=True, dtype=full.dtype)

    def spread(self, value: Any, variables: Iterable[str]) -> np.ndarray:
        """`value` repeated along those of `variables` that it lacks."""
        full = [self.shape([v])[0] if v in variables else 1 for v in self.axes]
        return np.broadcast_to(value, np.broadcast_shapes(np.shape(value), tuple(full)))

    def shape(self, variables: Iterable[str]) -> tuple[int, ...]:
        unknown = [v for v in variables if v not in self.extents]
        if unknown:
            raise ValueError(f"no input fixes the extent of {unknown[0]}: give it in dims")
        return tuple(self.extents[v] for v in variables)
