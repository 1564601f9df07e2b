"""Prints the statements and expressions of a kernel as C."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from custard.to_c.loop_ir import (
    BOOL,
    INT,
    INT32,
    Assign,
    Body,
    Call,
    CallStatement,
    Comment,
    Const,
    Declare,
    Expr,
    Field,
    For,
    If,
    Limit,
    Load,
    Op,
    Ordered,
    Parallel,
    Param,
    Require,
    Stmt,
    Type,
    Var,
    While,
)

_PRECEDENCE = {
    "?:": 3,
    "||": 4,
    "&&": 5,
    "|": 6,
    "^": 7,
    "&": 8,
    "==": 9,
    "!=": 9,
    "<": 10,
    "<=": 10,
    ">": 10,
    ">=": 10,
    "<<": 11,
    ">>": 11,
    "+": 12,
    "-": 12,
    "*": 13,
    "/": 13,
    "%": 13,
}
_UNARY, _POSTFIX = 14, 15
_OPPOSITES = {"!=": "==", "<": ">=", "<=": ">"}
# Operators around which gcc warns without parentheses, inside one another.
_MIXED = {("||", "&&"), ("|", "+"), ("&", "-"), ("&", "+"), ("|", "&"), ("<<", "+")}


def wrapped(begin: str, parameters: Sequence[str], end: str) -> Iterator[str]:
    """A parameter list in lines of at most 100 characters."""
    line = begin
    for n, parameter in enumerate(parameters):
        text = parameter + (end if n + 1 == len(parameters) else ",")
        if len(line) + len(text) > 98 and line != begin:
            yield line.rstrip()
            line = " " * len(begin)
        line += text + " "
    yield line.rstrip()


def lines_of(body: Body, depth: int, written: set[str]) -> Iterator[str]:
    """The lines of statements, indented; ``written`` are the structs that the kernel changes."""
    for statement in body:
        yield from _statement(statement, depth, written)


def _block(begin: str, body: Body, depth: int, written: set[str]) -> Iterator[str]:
    pad = "    " * depth
    brief = len(body) == 1 and isinstance(body[0], Assign | CallStatement)
    yield f"{pad}{begin}" + ("" if brief else " {")
    yield from lines_of(body, depth + 1, written)
    if not brief:
        yield f"{pad}}}"


def _statement(statement: Stmt, depth: int, written: set[str]) -> Iterator[str]:
    pad = "    " * depth
    match statement:
        case Comment(text):
            yield f"{pad}// {text}"
        case Declare(var, shape=[_, *_] as shape):
            dimensions = "".join(f"[{c_of(one)}]" for one in shape)
            yield f"{pad}{var.type.name} {var.name}{dimensions};"
        case Declare(var, value, const):
            yield f"{pad}{_declared(var, value, const, written)} = {c_of(value)};"
        case Assign(target, Const(1), "+"):
            yield f"{pad}{c_of(target)}++;"
        case Assign(target, value, operator):
            yield f"{pad}{c_of(target)} {operator}= {c_of(value)};"
        case Ordered(body):
            yield "#pragma omp ordered"
            yield f"{pad}{{"
            yield from lines_of(body, depth + 1, written)
            yield f"{pad}}}"
        case Parallel():
            yield from _shared(statement, pad)
        case For(var, begin, end, body, after, _, unroll, stride, vectors):
            if vectors:
                clause = "" if vectors == "simd" else f" {vectors}"
                yield f"#pragma omp simd{clause}"
            elif unroll > 1:
                yield f"#pragma GCC unroll {min(unroll, 65534)}"
            step = f"{var.name}++" if stride == Const(1) else f"{var.name} += {c_of(stride)}"
            step = step if after is None else f"{var.name} = {c_of(after)}"
            if after is not None:
                # The body of the loop assigns the next value.
                yield f"{pad}for ({type_text(var.type)} {var.name} = {c_of(begin)}, " + (
                    f"{c_of(after)}; {var.name} < {c_of(end, 11)}; {step}) {{"
                )
                yield from lines_of(_undeclared(body, after), depth + 1, written)
                yield f"{pad}}}"
                return
            head = f"for ({type_text(var.type)} {var.name} = {c_of(begin)}; "
            yield from _block(f"{head}{var.name} < {c_of(end, 11)}; {step})", body, depth, written)
        case While(condition, body):
            yield from _block(f"while ({c_of(condition)})", body, depth, written)
        case If(cases, otherwise):
            branches = [(f"if ({c_of(condition)})", body) for condition, body in cases]
            if otherwise:
                branches.append(("", otherwise))
            if len(branches) == 1:
                yield from _block(branches[0][0], branches[0][1], depth, written)
                return
            for n, (head, body) in enumerate(branches):
                lead = "} else " if n else ""
                yield f"{pad}{lead}{head}".rstrip() + " {"
                yield from lines_of(body, depth + 1, written)
            yield f"{pad}}}"
        case Require(condition):
            yield f"{pad}if ({c_of(_negated(condition))})"
            yield f"{pad}    goto failed;"
        case CallStatement(call):
            yield f"{pad}{c_of(call)};"


def _shared(shared: Parallel, pad: str) -> Iterator[str]:
    """The calls of the function of a thread."""
    n, threads = shared.thread.name, c_of(shared.threads)
    clauses = [f"num_threads({threads})", "schedule(static, 1)"]
    clauses += ["ordered"] * shared.ordered
    yield f"{pad}{{"
    yield f"{pad}    int failures = 0;"
    yield f"#pragma omp parallel for {' '.join(clauses)} reduction(| : failures)"
    yield f"{pad}    for (int64_t {n} = 0; {n} < {threads}; {n}++)"
    yield from wrapped(f"{pad}        failures |= {shared.function}(", [*shared.arguments, n], ");")
    yield f"{pad}    if (failures)"
    yield f"{pad}        goto failed;"
    yield f"{pad}}}"


def _undeclared(body: Body, after: Expr) -> list[Stmt]:
    """A loop's body in which the declaration of the next value is an assignment."""
    return [
        Assign(one.var, one.value) if isinstance(one, Declare) and one.var == after else one
        for one in body
    ]


def _negated(condition: Expr) -> Expr:
    """The condition that holds where another does not."""
    match condition:
        case Op("!=", (left, Const(None))):
            return Op("!", (left,), BOOL)
        case Op("&&", sides):
            return Op("||", tuple(map(_negated, sides)), BOOL)
        case Op("||", sides):
            return Op("&&", tuple(map(_negated, sides)), BOOL)
        case Op("!=" | "<" | "<=" as name, sides):
            return Op(_OPPOSITES[name], sides, BOOL)
    return Op("!", (condition,), BOOL)


def _declared(var: Var, value: Expr, const: bool, written: set[str]) -> str:
    if var.type.pointer and var.type.name.startswith("struct "):
        return f"{var.type.name} *{var.name}"
    if var.type.pointer:
        constant = "const " if const or not _is_written(value, written) else ""
        return f"{constant}{var.type.name} *restrict {var.name}"
    return f"{'const ' if const else ''}{type_text(var.type)} {var.name}"


def _is_written(value: Expr, written: set[str]) -> bool:
    """Whether an array is written to: an array of a struct that changes, or the function's own."""
    match value:
        case Field(struct):
            return struct in written
        case Op("+", (pointer, _)):
            return _is_written(pointer, written)
        case Op("?:", (_, *ways)):
            return any(_is_written(one, written) for one in ways)
    return isinstance(value, Var)


def type_text(type: Type) -> str:
    """A type as it stands before a name."""
    return f"{type.name} *" if type.pointer else type.name


def c_of(node: Expr, outer: int = 0) -> str:
    """The C of an expression, in parentheses where the operator around it binds tighter."""
    text, precedence = _expression(node)
    return f"({text})" if precedence < outer else text


def _expression(node: Expr) -> tuple[str, int]:
    match node:
        case Var(name) | Param(name):
            return name, _POSTFIX
        case Const(value, type):
            return _constant(value, type)
        case Limit(name):
            return name, _POSTFIX
        case Field(struct, name):
            return f"{struct}->{name}", _POSTFIX
        case Load(array, index):
            return f"{c_of(array, _POSTFIX)}[{c_of(index)}]", _POSTFIX
        case Call(function, arguments):
            return f"{function}({', '.join(map(c_of, arguments))})", _POSTFIX
        case Op("cast", (value,), type):
            if _widens(value.type, type):
                return _expression(value)
            return f"({type.name}){c_of(value, _UNARY)}", _UNARY
        case Op("widen", (value,)):
            return f"(int64_t){c_of(value, _UNARY)}", _UNARY
        case Op("sizeof", (value,)):
            return f"sizeof *{c_of(value, _UNARY)}", _UNARY
        case Op("largest"):
            return "INT64_MAX", _POSTFIX
        case Op("largest32"):
            return "INT32_MAX", _POSTFIX
        case Op("?:", (condition, then, otherwise)):
            return (
                f"{c_of(condition, 4)} ? {c_of(then, 3)} : {c_of(otherwise, 3)}",
                3,
            )
        case Op("-", (operand,)) if _may_overflow(node):
            return f"-(int64_t){c_of(operand, _UNARY)}", _UNARY
        case Op(name, (operand,)):
            return f"{name}{c_of(operand, _UNARY + 1)}", _UNARY
        case Op(name, (left, right)):
            own = _PRECEDENCE[name]
            if _may_overflow(node):
                return (
                    f"(int64_t){c_of(left, _UNARY)} {name} {c_of(right, own + 1)}",
                    own,
                )
            sides = [c_of(left, own), c_of(right, own + 1)]
            for n, side in enumerate((left, right)):
                if isinstance(side, Op) and (name, side.name) in _MIXED:
                    sides[n] = f"({c_of(side)})"
            return f"{sides[0]} {name} {sides[1]}", own
    raise AssertionError(node)


def _widens(old: Type, new: Type) -> bool:
    """Whether C converts implicitly and without loss."""
    return new == INT and (old == INT32 or old.name == "bool")


_Range: TypeAlias = tuple[int, int]
_INT32: _Range = (-(2**31), 2**31 - 1)
_INDEX: _Range = (0, 2**31 - 1)


def _narrow(node: Expr) -> _Range | None:
    """The least and the largest 64-bit value of a node that C computes in 32 bits; None if it
    computes it in 64. Numbers of 32 bits are indices: values are widened."""
    match node:
        case Op("cast", (value,), type) if _widens(value.type, type):
            return _INDEX if value.type == INT32 else (0, 1)
        case Const(int(value), type) if type == INT:
            return (value, value) if _fits(value) else None
        case Op("?:", (_, then, otherwise)):
            sides = _narrow(then), _narrow(otherwise)
            if sides[0] and sides[1]:
                return min(sides[0][0], sides[1][0]), max(sides[0][1], sides[1][1])
        case Op("+" | "-" | "*"):
            found = _computed(node)
            return found if found and all(map(_fits, found)) else None
    return None


def _may_overflow(node: Op) -> bool:
    """Whether C would compute a 64-bit value in 32 bits that may not hold it."""
    found = _computed(node) if node.name in ("+", "-", "*") else None
    return found is not None and not all(map(_fits, found))


def _computed(node: Op) -> _Range | None:
    """The range of a sum, a difference, a product or a negation of what has 32 bits."""
    ranges = [found for side in node.operands if (found := _narrow(side)) is not None]
    if node.type != INT or len(ranges) < len(node.operands):
        return None
    operation = {"+": operator.add, "-": operator.sub, "*": operator.mul}[node.name]
    first, second = ranges if len(ranges) == 2 else ((0, 0), *ranges)
    ends = [operation(left, right) for left in first for right in second]
    return min(ends), max(ends)


def _fits(value: int) -> bool:
    return _INT32[0] <= value <= _INT32[1]


def _constant(value: object, type: Type) -> tuple[str, int]:
    if value is None:
        return "NULL", _POSTFIX
    if isinstance(value, bool):
        return str(value).lower(), _POSTFIX
    if type.name.endswith("complex"):
        type = Type(type.name.removesuffix(" complex"))
    if isinstance(value, float):
        if math.isnan(value):
            return "NAN", _POSTFIX
        suffix = "f" * (type.name == "float")
        text = f"{abs(value)}{suffix}" if math.isfinite(value) else "INFINITY"
        negative = math.copysign(1.0, value) < 0
        return "-" * negative + text, _UNARY if negative else _POSTFIX
    text = str(value)
    if value == -(2**63):
        return "INT64_MIN", _POSTFIX
    if value == -(2**31):
        return "INT32_MIN", _POSTFIX
    if type.name == "uint64_t" or abs(int(text)) > 2**31 - 1:
        text = (
            f"{'U' * (type.name == 'uint64_t')}INT64_C({text})" if abs(int(text)) > 2**31 else text
        )
    return text, _POSTFIX if int(value) >= 0 else _UNARY  # type: ignore[call-overload]
