"""Prints a kernel as C."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
    Function,
    If,
    Kernel,
    Load,
    Op,
    Ordered,
    Parallel,
    Param,
    Require,
    Stmt,
    Struct,
    Type,
    Var,
    While,
    all_expressions,
    expressions,
    parts,
    rewritten,
    statements,
)
from custard.to_c.runtime import helpers

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
_WIDTH = 100
_OPPOSITES = {"!=": "==", "<": ">=", "<=": ">"}
# Operators that gcc would like to see parentheses around inside one another.
_MIXED = {("||", "&&"), ("|", "+"), ("&", "-"), ("&", "+"), ("|", "&"), ("<<", "+")}


@dataclass(frozen=True)
class Entry:
    """A function beside that of the kernel, with its parameters.

    ``releases``  whether it frees the arrays of the result if it fails
    """

    name: str
    about: str
    body: Body
    releases: bool = True


def printed(kernel: Kernel, entries: Sequence[Entry] = ()) -> str:
    """The C file of a kernel, and of more functions on the same parameters."""
    body = _with_arguments(kernel, pruned(kernel.body))
    inner = [statement for function in kernel.functions for statement in function.body]
    found = all_expressions([*inner, *body])
    calls = [node.function for node in found if isinstance(node, Call)]
    complex_ = _is_complex(kernel)
    lines = [f"// {line}".rstrip() for line in kernel.header]
    headers = ["stdbool", "stdint", "stdlib", "string", *(["complex"] if complex_ else [])]
    lines += ["", *(f"#include <{name}.h>" for name in sorted(headers))]
    for struct in kernel.structs:
        lines += ["", *_struct(struct, kernel.prefix)]
    for text in helpers(calls):
        lines += text.rstrip().split("\n")
    for function in kernel.functions:
        lines += ["", *_local_function(function, kernel.prefix)]
    for shared in (one for one in statements(body) if isinstance(one, Parallel)):
        lines += ["", *_thread(kernel, shared, body)]
    own = Entry(kernel.name, "", body)
    lines += ["", *_release(kernel), "", *_function(kernel, own)]
    for entry in entries:
        pruned_entry = replace(entry, body=pruned(entry.body))
        lines += ["", *_commented(entry.about), *_function(kernel, pruned_entry)]
    if kernel.parts is not None:
        name = kernel.parts.type.name
        prefixed = name.replace("struct ", f"struct {kernel.prefix}")
        lines = [line.replace(f"{name} ", f"{prefixed} ") for line in lines]
    return _joined(lines)


def declared(kernel: Kernel, entries: Sequence[Entry] = ()) -> str:
    """The header of a kernel's C file, for C and C++."""
    guard = f"{kernel.prefix or 'custard_kernel_'}h".upper()
    lines = [f"// {line}".rstrip() for line in kernel.header]
    lines += ["", f"#ifndef {guard}", f"#define {guard}", "", "#include <stdbool.h>"]
    lines.append("#include <stdint.h>")
    if _is_complex(kernel):
        # C++ has other complex numbers, which lie in memory as those of C do.
        names = {part: f"{kernel.prefix}{part}_complex" for part in ("float", "double")}
        lines += ["#ifdef __cplusplus", "#include <complex>"]
        lines += [f"typedef std::complex<{part}> {name};" for part, name in names.items()]
        lines += ["#else", "#include <complex.h>"]
        lines += [f"typedef {part} complex {name};" for part, name in names.items()]
        lines.append("#endif")
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif"]
    for struct in kernel.structs:
        members = (
            re.sub(r"(\w+) complex ", rf"{kernel.prefix}\1_complex ", line)
            for line in _struct(struct, kernel.prefix)
        )
        lines += ["", *members]
    for entry in (Entry(kernel.name, "", ()), *entries):
        lines += ["", *_commented(entry.about), *_signature(kernel, entry.name, ");", quoted=True)]
    (result,) = (struct.name for struct in kernel.structs if struct.written)
    lines += ["", f"// Frees the arrays that {kernel.prefix}compute() made."]
    lines.append(f"void {kernel.prefix}release(struct {kernel.prefix}{result} *);")
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", f"#endif // {guard}"]
    return _joined(lines)


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(part for line in lines for part in _fitted(line)) + "\n"


def _commented(text: str) -> list[str]:
    return [f"// {line}" for line in textwrap.wrap(text, _WIDTH - 3)]


def _is_complex(kernel: Kernel) -> bool:
    return any(" complex" in type.name for s in kernel.structs for _, type in s.fields)


def _with_arguments(kernel: Kernel, body: Body) -> list[Stmt]:
    """The statements, each call of a thread's function with its arguments."""

    def change(statement: Stmt) -> Body | None:
        if not isinstance(statement, Parallel):
            return None
        structs, taken = _taken(kernel, statement, body)
        instead = dict(statement.structs)
        arguments = [instead.get(name, name) for name in structs]
        arguments += [var.name for var in taken]
        arguments += [f"&{var.name}" for _, var in statement.outs]
        return [replace(statement, arguments=tuple(arguments))]

    return rewritten(body, change)


# Where a line may be broken, the best first: behind the first two, before the others.
_BREAKS = ("; ", ", ", " || ", " && ", " ? ", " : ", " == ", " < ", " + ", " - ", " * ")


def _fitted(line: str, more: int = 8) -> Iterator[str]:
    """The line in parts of at most 100 characters, broken outside of as many brackets as can be.

    Continuation lines are indented by ``more``.
    """
    if len(line) <= _WIDTH or line.lstrip().startswith("//"):
        yield line
        return
    indent = len(line) - len(line.lstrip())
    depth = 0
    places: list[tuple[int, int, int]] = []
    for n, character in enumerate(line[:_WIDTH]):
        depth += (character in "([") - (character in ")]")
        for rank, text in enumerate(_BREAKS):
            if n > indent and line.startswith(text, n):
                places.append((depth, rank, -(n + 1 if rank < 2 else n)))
    if not places:
        yield line
        return
    place = -min(places)[2]
    yield line[:place].rstrip()
    yield from _fitted(" " * (indent + more) + line[place:].lstrip(), 0)


def _struct(struct: Struct, prefix: str) -> Iterator[str]:
    yield f"// {struct.about}"
    yield f"struct {prefix}{struct.name} {{"
    for name, type in struct.fields:
        constant = "const " if type.pointer and not struct.written else ""
        yield f"    {constant}{type.name} {'*' if type.pointer else ''}{name};"
    yield "};"


# Names that C takes and C++ does not.
_CPP_WORDS = """
    and and_eq asm bitand bitor catch class compl const_cast delete dynamic_cast explicit export
    false friend mutable namespace new not not_eq operator or or_eq private protected public
    reinterpret_cast static_assert static_cast template this throw true try typeid typename using
    virtual wchar_t xor xor_eq alignas alignof char16_t char32_t constexpr decltype noexcept nullptr
    thread_local
"""


def _signature(kernel: Kernel, name: str, end: str, quoted: bool = False) -> Iterator[str]:
    """The head of a function with the kernel's parameters; ``quoted`` where C++ reads it too."""

    def named(parameter: str) -> str:
        return f"{parameter}_" if quoted and parameter in _CPP_WORDS.split() else parameter

    parameters = [
        f"{'' if struct.written else 'const '}struct {kernel.prefix}{struct.name} "
        f"*{named(struct.name)}"
        for struct in kernel.structs
    ]
    parameters += [f"{_type(var.type)} {named(var.name)}" for var in kernel.numbers]
    yield from _wrapped(f"int {kernel.prefix}{name}(", parameters, end)


def _function(kernel: Kernel, entry: Entry) -> Iterator[str]:
    body = entry.body
    fails = any(isinstance(one, Require | Parallel) for one in statements(body))
    written = {struct.name for struct in kernel.structs if struct.written}
    yield from _signature(kernel, entry.name, ")")
    yield "{"
    if fails:
        yield "    int status = 1;"
    yield from _pointers(kernel.heap)
    if kernel.parts is not None:
        yield f"    {kernel.parts.type.name} *{kernel.parts.name} = NULL;"
    yield from _body(body, 1, written)
    if fails:
        yield "    status = 0;"
        yield "failed:"
        for struct in kernel.structs if kernel.functions and entry.releases else ():
            if struct.written:
                yield "    if (status)"
                yield f"        {kernel.prefix}release({struct.name});"
    if kernel.parts is not None:
        name = kernel.parts.name
        yield f"    for (int64_t t = 0; {name} && t < threads; t++)"
        yield f"        {kernel.prefix}release({name} + t);"
        yield f"    free({name});"
    yield from _freed(kernel.heap)
    yield f"    return {'status' if fails else '0'};"
    yield "}"


def _taken(kernel: Kernel, shared: Parallel, body: Body) -> tuple[list[str], list[Var]]:
    """The structs and variables of the kernel that a thread uses."""
    fields = {struct.name: None for struct in kernel.structs}
    found = list(all_expressions(shared.body))
    used = _pruned(shared.body, set())[1] - {shared.thread.name}
    used -= {var.name for var in (*shared.heap, *(out for out, _ in shared.outs))}
    handles = {var.name: var for var in kernel.heap}
    if kernel.parts is not None:
        handles[kernel.parts.name] = kernel.parts
    named = {one.name: one for one in found if isinstance(one, Var)}
    named |= {name: handles[name] for name in used if name in handles}
    structs = [name for name in fields if name in used]
    return structs, [named[name] for name in sorted(used) if name not in fields]


def _thread(kernel: Kernel, shared: Parallel, body: Body) -> Iterator[str]:
    """The function of a thread."""
    structs, taken = _taken(kernel, shared, body)
    written = {struct.name for struct in kernel.structs if struct.written}
    # Pointers to arrays that are only read.
    declared = [one for one in body if isinstance(one, Declare) and one.var.type.pointer]
    constant = {
        one.var.name
        for one in declared
        if not (isinstance(one.value, Field) and one.value.struct in written)
    }
    parameters = [
        f"{'' if n in written else 'const '}struct {kernel.prefix}{n} *{n}" for n in structs
    ]
    for var in (*taken, *(out for out, _ in shared.outs)):
        if var.type.pointer:
            const = "const " if var.name in constant else ""
            kind = "" if var.type.name.startswith("struct ") else "restrict "
            parameters.append(f"{const}{var.type.name} *{kind}{var.name}")
        else:
            parameters.append(f"{_type(var.type)} {var.name}")
    parameters.append(f"int64_t {shared.thread.name}")
    what = f"a share of the loop over {shared.of}" if shared.of else "its share of the result"
    yield f"// What one of the threads does: {what}."
    yield from _wrapped(f"static int {shared.function}(", parameters, ")")
    yield "{"
    fails = any(isinstance(one, Require) for one in statements(shared.body))
    if fails:
        yield "    int status = 1;"
    yield from _pointers(shared.heap)
    yield from _body(shared.body, 1, written)
    if fails:
        yield "    status = 0;"
        yield "failed:"
    yield from _freed(shared.heap)
    yield f"    return {'status' if fails else '0'};"
    yield "}"


def _pointers(heap: Sequence[Var]) -> Iterator[str]:
    for var in heap:
        kind = "" if var.type.name.startswith("struct") else "restrict "
        yield f"    {var.type.name} *{kind}{var.name} = NULL;"


def _freed(heap: Sequence[Var]) -> Iterator[str]:
    for var in heap:
        name = var.type.name
        free = f"{name.removeprefix('struct ')}_free" if name.startswith("struct") else "free"
        yield f"    {free}({var.name});"


def _local_function(function: Function, prefix: str) -> Iterator[str]:
    yield f"// {function.about}"
    numbers = "".join(f", {_type(var.type)} {var.name}" for var in function.numbers)
    struct = f"struct {prefix}{function.struct} *{function.struct}"
    yield f"static bool {function.name}({struct}{numbers})"
    yield "{"
    yield from _body(function.body, 1, {function.struct})
    yield f"    return {_text(function.says)};"
    yield "}"


def _release(kernel: Kernel) -> Iterator[str]:
    """The function that frees what the kernel gave memory to."""
    (struct,) = (struct for struct in kernel.structs if struct.written)
    arrays = [name for name, type in struct.fields if type.pointer] if kernel.functions else []
    yield f"// Frees the arrays that {kernel.prefix}compute() made."
    yield f"void {kernel.prefix}release(struct {kernel.prefix}{struct.name} *{struct.name})"
    yield "{"
    for name in arrays:
        yield f"    free({struct.name}->{name});"
    for name in arrays:
        yield f"    {struct.name}->{name} = NULL;"
    if not arrays:
        yield f"    (void){struct.name};"
    yield "}"


def _wrapped(begin: str, parameters: Sequence[str], end: str) -> Iterator[str]:
    """A parameter list in lines of at most 100 characters."""
    line = begin
    for n, parameter in enumerate(parameters):
        text = parameter + (end if n + 1 == len(parameters) else ",")
        if len(line) + len(text) > 98 and line != begin:
            yield line.rstrip()
            line = " " * len(begin)
        line += text + " "
    yield line.rstrip()


def _body(body: Body, depth: int, written: set[str]) -> Iterator[str]:
    for statement in body:
        yield from _statement(statement, depth, written)


def _block(begin: str, body: Body, depth: int, written: set[str]) -> Iterator[str]:
    pad = "    " * depth
    brief = len(body) == 1 and isinstance(body[0], Assign | CallStatement)
    yield f"{pad}{begin}" + ("" if brief else " {")
    yield from _body(body, depth + 1, written)
    if not brief:
        yield f"{pad}}}"


def _statement(statement: Stmt, depth: int, written: set[str]) -> Iterator[str]:
    pad = "    " * depth
    match statement:
        case Comment(text):
            yield f"{pad}// {text}"
        case Declare(var, value, const):
            yield f"{pad}{_declared(var, value, const, written)} = {_text(value)};"
        case Assign(target, Const(1), "+"):
            yield f"{pad}{_text(target)}++;"
        case Assign(target, value, operator):
            yield f"{pad}{_text(target)} {operator}= {_text(value)};"
        case Ordered(body):
            yield "#pragma omp ordered"
            yield f"{pad}{{"
            yield from _body(body, depth + 1, written)
            yield f"{pad}}}"
        case Parallel():
            yield from _shared(statement, pad)
        case For(var, begin, end, body, after, _, unroll, stride, vectors):
            if vectors:
                clause = "" if vectors == "simd" else f" {vectors}"
                yield f"#pragma omp simd{clause}"
            elif unroll > 1:
                yield f"#pragma GCC unroll {min(unroll, 65534)}"
            step = f"{var.name}++" if stride == Const(1) else f"{var.name} += {_text(stride)}"
            step = step if after is None else f"{var.name} = {_text(after)}"
            if after is not None:
                # The body of the loop assigns the next value.
                yield f"{pad}for ({_type(var.type)} {var.name} = {_text(begin)}, " + (
                    f"{_text(after)}; {var.name} < {_text(end, 11)}; {step}) {{"
                )
                yield from _body(_undeclared(body, after), depth + 1, written)
                yield f"{pad}}}"
                return
            head = f"for ({_type(var.type)} {var.name} = {_text(begin)}; "
            yield from _block(f"{head}{var.name} < {_text(end, 11)}; {step})", body, depth, written)
        case While(condition, body):
            yield from _block(f"while ({_text(condition)})", body, depth, written)
        case If(cases, otherwise):
            branches = [(f"if ({_text(condition)})", body) for condition, body in cases]
            if otherwise:
                branches.append(("", otherwise))
            if len(branches) == 1:
                yield from _block(branches[0][0], branches[0][1], depth, written)
                return
            for n, (head, body) in enumerate(branches):
                lead = "} else " if n else ""
                yield f"{pad}{lead}{head}".rstrip() + " {"
                yield from _body(body, depth + 1, written)
            yield f"{pad}}}"
        case Require(condition):
            yield f"{pad}if ({_text(_negated(condition))})"
            yield f"{pad}    goto failed;"
        case CallStatement(call):
            yield f"{pad}{_text(call)};"


def _shared(shared: Parallel, pad: str) -> Iterator[str]:
    """The call of a thread's function by each thread."""
    n = shared.thread.name
    clauses = [f"num_threads({_text(shared.threads)})", "schedule(static, 1)"]
    clauses += ["ordered"] * shared.ordered
    yield f"{pad}{{"
    yield f"{pad}    int failures = 0;"
    yield f"#pragma omp parallel for {' '.join(clauses)} reduction(| : failures)"
    yield f"{pad}    for (int64_t {n} = 0; {n} < {_text(shared.threads)}; {n}++)"
    yield from _wrapped(
        f"{pad}        failures |= {shared.function}(", [*shared.arguments, n], ");"
    )
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
        constant = "" if _is_written(value, written) else "const "
        return f"{constant}{var.type.name} *restrict {var.name}"
    return f"{'const ' if const else ''}{_type(var.type)} {var.name}"


def _is_written(value: Expr, written: set[str]) -> bool:
    """Whether an array is written to: one of a struct that is, or one of the function's own."""
    match value:
        case Field(struct):
            return struct in written
        case Op("?:", (_, *ways)):
            return any(_is_written(one, written) for one in ways)
    return isinstance(value, Var)


def _type(type: Type) -> str:
    return f"{type.name} *" if type.pointer else type.name


def _text(node: Expr, outer: int = 0) -> str:
    """An expression, in parentheses where the operator around it binds tighter."""
    text, precedence = _expression(node)
    return f"({text})" if precedence < outer else text


def _expression(node: Expr) -> tuple[str, int]:
    match node:
        case Var(name) | Param(name):
            return name, _POSTFIX
        case Const(value, type):
            return _constant(value, type)
        case Field(struct, name):
            return f"{struct}->{name}", _POSTFIX
        case Load(array, index):
            return f"{_text(array, _POSTFIX)}[{_text(index)}]", _POSTFIX
        case Call(function, arguments):
            return f"{function}({', '.join(map(_text, arguments))})", _POSTFIX
        case Op("cast", (value,), type):
            if _widens(value.type, type):
                return _expression(value)
            return f"({type.name}){_text(value, _UNARY)}", _UNARY
        case Op("sizeof", (value,)):
            return f"sizeof *{_text(value, _UNARY)}", _UNARY
        case Op("largest"):
            return "INT64_MAX", _POSTFIX
        case Op("largest32"):
            return "INT32_MAX", _POSTFIX
        case Op("?:", (condition, then, otherwise)):
            return f"{_text(condition, 4)} ? {_text(then, 3)} : {_text(otherwise, 3)}", 3
        case Op(name, (operand,)):
            return f"{name}{_text(operand, _UNARY + 1)}", _UNARY
        case Op(name, (left, right)):
            own = _PRECEDENCE[name]
            if name in ("+", "*") and _is_narrow(left) and _is_narrow(right):
                return f"(int64_t){_text(left, _UNARY)} {name} {_text(right, own + 1)}", own
            sides = [_text(left, own), _text(right, own + 1)]
            for n, side in enumerate((left, right)):
                if isinstance(side, Op) and (name, side.name) in _MIXED:
                    sides[n] = f"({_text(side)})"
            return f"{sides[0]} {name} {sides[1]}", own
    raise AssertionError(node)


def _widens(old: Type, new: Type) -> bool:
    """Whether C converts without being told, and loses nothing."""
    return new == INT and (old == INT32 or old.name == "bool")


def _is_narrow(node: Expr) -> bool:
    """Whether C would compute in 32 bits a value that has 64."""
    match node:
        case Op("cast", (value,), type):
            return _widens(value.type, type)
        case Op("-", sides):
            return node.type == INT and all(map(_is_narrow, sides))
        case Op("?:", (_, then, otherwise)):
            return _is_narrow(then) and _is_narrow(otherwise)
    return False


def _constant(value: object, type: Type) -> tuple[str, int]:
    if value is None:
        return "NULL", _POSTFIX
    if isinstance(value, bool):
        return str(value).lower(), _POSTFIX
    if type.name.endswith("complex"):
        type = Type(type.name.removesuffix(" complex"))
    if isinstance(value, float):
        text = repr(value)
        if value != value or abs(value) == float("inf"):
            text = "INFINITY" if value > 0 else "-INFINITY"
        negative = text.startswith("-")
        return text + "f" * (type.name == "float"), _UNARY if negative else _POSTFIX
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


def pruned(body: Body) -> list[Stmt]:
    """The statements without the declarations of variables that nothing reads, and empty loops."""
    return _pruned(body, set())[0]


def _pruned(body: Body, used: set[str]) -> tuple[list[Stmt], set[str]]:
    """The statements of a block, and the outer names that they read.

    ``used`` are names that are read behind the block, but still in it.
    """
    kept: list[Stmt] = []
    for statement in reversed(body):
        if isinstance(statement, Declare):
            if statement.var.name not in used:
                continue
            used.discard(statement.var.name)
        statement, inside = _pruned_inside(statement)
        if isinstance(statement, If | For) and not any(parts(statement)[1]):
            continue
        outside = parts(statement)[0]
        if isinstance(statement, For):
            # The body of the loop assigns the next value.
            outside = [statement.begin, statement.end, statement.step]
        for expression in outside:
            used |= _names(expression)
        used |= inside
        kept.append(statement)
    return kept[::-1], used


def _pruned_inside(statement: Stmt) -> tuple[Stmt, set[str]]:
    """The statement with its blocks pruned, and the outer names that they read."""
    match statement:
        case For(var, _, _, body, after):
            new, used = _pruned(body, set() if after is None else _names(after))
            return replace(statement, body=new), used - {var.name}
        case While(_, body):
            new, used = _pruned(body, set())
            return replace(statement, body=new), used
        case If(cases, otherwise):
            found = [_pruned(body, set()) for _, body in cases]
            last, used = _pruned(otherwise, set())
            bodies = zip(cases, found, strict=True)
            new_cases = [(condition, new) for (condition, _), (new, _) in bodies]
            changed = replace(statement, cases=new_cases, otherwise=last)
            return changed, used.union(*(names for _, names in found))
        case Ordered(body):
            new, used = _pruned(body, set())
            return replace(statement, body=new), used
        case Parallel(body=body, thread=thread, heap=heap, outs=outs):
            new, used = _pruned(body, set())
            own = {thread.name, *(var.name for var in heap), *(out.name for out, _ in outs)}
            return replace(statement, body=new), (used - own) | {var.name for _, var in outs}
    return statement, set()


def _names(expression: Expr) -> set[str]:
    found = {node.name for node in expressions(expression) if isinstance(node, Var | Param)}
    return found | {node.struct for node in expressions(expression) if isinstance(node, Field)}
