"""C for other programs to link: a source and a header, whose global names begin with a prefix.

Beside ``compute`` and ``release``, a kernel that assembles its result has a function for each half:

    assemble   makes the arrays of the result, with its coordinates, and leaves the values unset
    recompute  sets the values in such arrays, for inputs that have the same coordinates as before

Each has the loops of ``compute`` without the statements of the other half.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from custard.to_c.header import documented
from custard.to_c.loop_ir import (
    ZERO,
    Assign,
    Body,
    Call,
    Const,
    Expr,
    Field,
    For,
    Kernel,
    Load,
    Op,
    Require,
    Stmt,
    Var,
    both,
)
from custard.to_c.lowered import Lowered
from custard.to_c.printer import Entry, declared, printed
from custard.to_c.walks import expressions, rewritten, statements
from sam.support.errors import UserError


@dataclass(frozen=True)
class CFiles:
    """The texts of a C file and of the header that declares its functions."""

    source: str
    header: str


def linked(
    lowered: Lowered,
    placed: Kernel,
    flags: Sequence[str],
    prefix: str = "",
    drop_zeros: bool = False,
) -> CFiles:
    """The C of a kernel, for C and C++ programs to link.

    ``placed`` is the kernel whose threads set values where the coordinates of the result are there
    (``in_place``). All global names and the names of structs begin with ``prefix`` and ``_``. There
    are no halves with ``drop_zeros``, as the coordinates of the result then depend on its values.
    Raises UserError for a prefix that is no name in C.
    """
    if prefix and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", prefix):
        raise UserError(
            f'the prefix "{prefix}" is not a name in C', hint="letters, digits and _, as in spmv"
        )
    kernel = documented(lowered, flags, prefix)
    halves = kernel.functions and not drop_zeros
    entries = (
        tuple(_halves(kernel, replace(placed, prefix=kernel.prefix, numbers=kernel.numbers)))
        if halves
        else ()
    )
    return CFiles(printed(kernel, entries), declared(kernel, entries))


def _halves(kernel: Kernel, placed: Kernel) -> Iterator[Entry]:
    """The two halves of a kernel that assembles its result, the second made of ``placed``."""
    result = next(struct.name for struct in kernel.structs if struct.written)
    values, compute = Field(result, "values"), f"{kernel.prefix}compute()"

    def is_value(target: Expr) -> bool:
        return isinstance(target, Load) and _is(target.array, values)

    def assembled(statement: Stmt) -> Body | None:
        return [] if isinstance(statement, Assign) and is_value(statement.target) else None

    yield Entry(
        "assemble",
        f"Makes the arrays of {result} as {compute} does, with all coordinates; values are unset.",
        replace(kernel, body=rewritten(kernel.body, assembled)),
    )
    grows = {function.name for function in placed.functions}

    def depends(condition: Expr) -> bool:
        return any(
            (isinstance(node, Call) and node.function in grows)
            or (isinstance(node, Field) and node.struct == result)
            for node in expressions(condition)
        )

    def recomputed(statement: Stmt) -> Body | None:
        match statement:
            case Assign(Field(struct)) if struct == result:
                return []
            case Assign(Load(Field(struct)) as target) if struct == result:
                return None if is_value(target) else []
            case Require(condition):
                kept = [one for one in _conjuncts(condition) if not depends(one)]
                return [Require(both(*kept))] if kept else []
        return None

    yield Entry(
        "recompute",
        f"Sets {result}->values anew, where {compute} or {kernel.prefix}assemble() has made the "
        f"arrays of {result} for inputs with the same coordinates. Returns 1 if there is no memory "
        "for its own arrays; those of the result stay.",
        replace(placed, body=[*_cleared(placed, values), *rewritten(placed.body, recomputed)]),
        releases=False,
    )


def _cleared(kernel: Kernel, values: Field) -> Iterator[Stmt]:
    """Statements that set all values to 0, if the loops add to them."""
    for function in kernel.functions:
        for statement in statements(function.body):
            match statement:
                case Assign(array, Call("resized_zero", (_, _, size, _))) if _is(array, values):
                    p, zero = Var("p_cleared"), Const(0, replace(array.type, pointer=False))
                    yield For(p, ZERO, size, [Assign(array[p], zero)])


def _is(node: Expr, field: Field) -> bool:
    return isinstance(node, Field) and (node.struct, node.name) == (field.struct, field.name)


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    match condition:
        case Op("&&", sides):
            for side in sides:
                yield from _conjuncts(side)
        case _:
            yield condition
