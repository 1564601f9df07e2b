"""Prints a kernel as C."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from custard.to_c.loop_ir import (
    Body,
    Call,
    Const,
    Declare,
    Expr,
    Field,
    Function,
    Kernel,
    Limit,
    Parallel,
    Param,
    Require,
    Stmt,
    Struct,
    Var,
)
from custard.to_c.pruning import names_used, pruned
from custard.to_c.runtime import helpers
from custard.to_c.statement_printer import c_of, lines_of, type_text, wrapped
from custard.to_c.walks import all_expressions, rewritten, statements

_WIDTH = 100


@dataclass(frozen=True)
class Entry:
    """A function beside that of the kernel, with its parameters.

    ``kernel``    its body, and what that works on
    ``releases``  whether it frees the arrays of the result if it fails
    """

    name: str
    about: str
    kernel: Kernel
    releases: bool = True


def printed(kernel: Kernel, entries: Sequence[Entry] = ()) -> str:
    """The C file of a kernel, and of more functions on the same parameters."""
    whole = _completed(Entry(kernel.name, "", kernel))
    completed = [_completed(one) for one in entries]
    body = whole.kernel.body
    inner = [statement for function in kernel.functions for statement in function.body]
    found = [*all_expressions([*inner, *body])]
    calls = ["register_tile" if isinstance(node, Limit) else node.function
             for node in found if isinstance(node, Call | Limit)]  # fmt: skip
    complex_ = _is_complex(kernel)
    lines = [f"// {line}".rstrip() for line in kernel.header]
    headers = ["stdbool", "stdint", "stdlib", "string", *(["complex"] if complex_ else [])]
    headers += ["math"] if any(map(_is_endless, found)) else []
    lines += ["", *(f"#include <{name}.h>" for name in sorted(headers))]
    for struct in kernel.structs:
        lines += ["", *_struct(struct, kernel.prefix)]
    for text in helpers(calls):
        lines += text.rstrip().split("\n")
    for function in kernel.functions:
        lines += ["", *_local_function(function, kernel.prefix)]
    lines += [*_threads(whole), "", *_release(kernel), "", *_function(whole)]
    for entry in completed:
        lines += [*_threads(entry), "", *_commented(entry.about), *_function(entry)]
    if kernel.parts is not None:
        name = kernel.parts[0].type.name
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
        # C++ has its own complex numbers, which lie in memory as those of C do.
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
    for entry in (Entry(kernel.name, "", kernel), *entries):
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


def _is_endless(node: Expr) -> bool:
    """Whether it is an infinity, or NaN."""
    return (
        isinstance(node, Const)
        and isinstance(node.value, float | complex)
        and not math.isfinite(abs(node.value))
    )


def _completed(entry: Entry) -> Entry:
    """A function without unused statements; each call of a thread's function has its arguments, and
    its name is that of one function."""
    kernel = entry.kernel

    def change(statement: Stmt) -> Body | None:
        if not isinstance(statement, Parallel):
            return None
        if entry.name != "compute":
            statement = replace(statement, function=f"{entry.name}_{statement.function}")
        structs, taken = _taken(kernel, statement)
        instead = dict(statement.structs)
        arguments = [instead.get(name, name) for name in structs]
        arguments += [var.name for var in taken]
        arguments += [f"&{var.name}" for _, var in statement.outs]
        return [replace(statement, arguments=tuple(arguments))]

    body = rewritten(pruned(kernel.body), change)
    return replace(entry, kernel=replace(kernel, body=body))


def _threads(entry: Entry) -> Iterator[str]:
    """The functions of the threads that a function starts."""
    for shared in statements(entry.kernel.body):
        if isinstance(shared, Parallel):
            yield ""
            yield from _thread(entry.kernel, shared, entry.kernel.body)


# Where a line may be broken, the best first: behind the first two, before the others.
_BREAKS = ("; ", ", ", " || ", " && ", " ? ", " : ", " == ", " < ", " + ", " - ", " * ")


def _fitted(line: str, more: int = 8) -> Iterator[str]:
    """The line in parts of at most 100 characters, broken outside of as many brackets as can be.

    Continuation lines are indented by ``more``. Those of a macro end with a backslash.
    """
    if len(line) <= _WIDTH or line.lstrip().startswith("//"):
        yield line
        return
    if line.endswith(" \\"):
        yield from (f"{part} \\" for part in _fitted(line.removesuffix(" \\"), more))
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
    parameters += [f"{type_text(var.type)} {named(var.name)}" for var in kernel.numbers]
    yield from wrapped(f"int {kernel.prefix}{name}(", parameters, end)


def _function(entry: Entry) -> Iterator[str]:
    kernel, body = entry.kernel, entry.kernel.body
    fails = any(isinstance(one, Require | Parallel) for one in statements(body))
    written = {struct.name for struct in kernel.structs if struct.written}
    yield from _signature(kernel, entry.name, ")")
    yield "{"
    if fails:
        yield "    int status = 1;"
    yield from _pointers(kernel.heap)
    if kernel.parts is not None:
        yield f"    {kernel.parts[0].type.name} *{kernel.parts[0].name} = NULL;"
    yield from lines_of(body, 1, written)
    if fails:
        yield "    status = 0;"
        yield "failed:"
        for struct in kernel.structs if kernel.functions and entry.releases else ():
            if struct.written:
                yield "    if (status)"
                yield f"        {kernel.prefix}release({struct.name});"
    if kernel.parts is not None:
        name, count = kernel.parts[0].name, c_of(kernel.parts[1])
        yield f"    for (int64_t t = 0; {name} && t < {count}; t++)"
        yield f"        {kernel.prefix}release({name} + t);"
        yield f"    free({name});"
    yield from _freed(kernel.heap)
    yield f"    return {'status' if fails else '0'};"
    yield "}"


def _taken(kernel: Kernel, shared: Parallel) -> tuple[list[str], list[Var]]:
    """The structs and variables of the kernel that a thread uses."""
    fields = {struct.name: None for struct in kernel.structs}
    found = list(all_expressions(shared.body))
    used = names_used(shared.body) - {shared.thread.name}
    used -= {var.name for var in (*shared.heap, *(out for out, _ in shared.outs))}
    handles = {var.name: var for var in kernel.heap}
    if kernel.parts is not None:
        handles[kernel.parts[0].name] = kernel.parts[0]
    named = {one.name: one for one in found if isinstance(one, Var)}
    named |= {name: handles[name] for name in used if name in handles}
    structs = [name for name in fields if name in used]
    return structs, [named[name] for name in sorted(used) if name not in fields]


def _thread(kernel: Kernel, shared: Parallel, body: Body) -> Iterator[str]:
    """The function of a thread."""
    structs, taken = _taken(kernel, shared)
    written = {struct.name for struct in kernel.structs if struct.written}
    # Pointers to arrays that are only read.
    declared = [one for one in body if isinstance(one, Declare) and one.var.type.pointer]
    constant = {
        one.var.name
        for one in declared
        if not (isinstance(one.value, Field) and one.value.struct in written)
        and not isinstance(one.value, Param)
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
            parameters.append(f"{type_text(var.type)} {var.name}")
    parameters.append(f"int64_t {shared.thread.name}")
    yield f"// The work of a thread: its part of the loop over {shared.of}."
    # Within the function that starts the threads, gcc keeps counters of inner loops in memory.
    yield "__attribute__((noinline))"
    yield from wrapped(f"static int {shared.function}(", parameters, ")")
    yield "{"
    fails = any(isinstance(one, Require) for one in statements(shared.body))
    if fails:
        yield "    int status = 1;"
    yield from _pointers(shared.heap)
    yield from lines_of(shared.body, 1, written)
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
    numbers = "".join(f", {type_text(var.type)} {var.name}" for var in function.numbers)
    struct = f"struct {prefix}{function.struct} *{function.struct}"
    yield f"static bool {function.name}({struct}{numbers})"
    yield "{"
    yield from lines_of(function.body, 1, {function.struct})
    yield f"    return {c_of(function.says)};"
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
