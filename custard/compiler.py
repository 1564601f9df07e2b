"""Compiles an expression, its formats and its schedule into a program that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from pprint import pformat
from typing import TYPE_CHECKING, Literal, overload

from custard.ir import cin
from custard.ir.accesses import accesses
from custard.ir.concretization import concretize
from custard.language import notation
from custard.language.commands import parse_schedule, workspaces
from custard.language.formats import Format, parse_format
from custard.pipeline import done
from custard.program import Program
from custard.request import Request
from custard.targets import Target, require_option, target_of
from sam.support.errors import UserError, one_of

if TYPE_CHECKING:
    from custard.to_c.program import CProgram
    from custard.to_sam.program import SamProgram


@overload
def compile(
    expression: str,
    formats: Mapping[str, str | Format] | None = None,
    schedule: str | Sequence[str] = (),
    target: Literal["sam"] = "sam",
    dims: Mapping[str, int] | None = None,
    strict: bool = False,
    drop_zeros: bool = False,
    fast_math: bool = False,
    ignore_units: bool = False,
) -> SamProgram: ...
@overload
def compile(
    expression: str,
    formats: Mapping[str, str | Format] | None = None,
    schedule: str | Sequence[str] = (),
    target: Literal["c"] = ...,
    dims: Mapping[str, int] | None = None,
    strict: bool = False,
    drop_zeros: bool = False,
    fast_math: bool = False,
    ignore_units: bool = False,
) -> CProgram: ...
@overload
def compile(
    expression: str,
    formats: Mapping[str, str | Format] | None = None,
    schedule: str | Sequence[str] = (),
    target: str = "sam",
    dims: Mapping[str, int] | None = None,
    strict: bool = False,
    drop_zeros: bool = False,
    fast_math: bool = False,
    ignore_units: bool = False,
) -> Program: ...
def compile(
    expression: str,
    formats: Mapping[str, str | Format] | None = None,
    schedule: str | Sequence[str] = (),
    target: str = "sam",
    dims: Mapping[str, int] | None = None,
    strict: bool = False,
    drop_zeros: bool = False,
    fast_math: bool = False,
    ignore_units: bool = False,
) -> Program:
    """Compiles a tensor expression, such as ``X(i,j) = B(i,k) * C(k,j)``.

    ``formats``   a format by tensor, as in ``{"B": "ds:0,1", "C": "CSR"}``; where none is given all
                  levels are compressed (in C, a matrix of up to 2^28 rows is CSR), unless the
                  input turns out to be a dense array. A workspace of a ``precompute`` may have one
                  too
    ``schedule``  scheduling commands, as in ``["reorder(i,k,j)"]`` or ``"reorder(i,k,j)"``
    ``dims``      extents by variable that no input fixes
    ``strict``    refuses where the compiler would have to transpose a tensor, or to pass over a
                  loop of a ``reorder`` that the program does not have
    ``drop_zeros``  keeps values that come out as 0 out of the compressed levels of the result
    ``fast_math``   gives NaN and infinity up for speed, on target ``c``
    ``ignore_units``  passes over a ``parallelize`` that names a unit which the target lacks

    Raises UserError for a mistake in any of these.
    """
    chosen = target_of(target)
    if fast_math:
        require_option(target, "fast_math")
    if not isinstance(expression, str):
        raise UserError(
            f"the expression is {_kind(expression)}, not text",
            hint='as in custard.compile("X(i,j) = B(i,k) * C(k,j)")',
        )
    assignment = notation.parse(expression, formats if isinstance(formats, Mapping) else ())
    done("notation", assignment, lambda: pformat(assignment))
    orders = {access.tensor: len(access.indices) for access in notation.accesses(assignment)}
    commands = parse_schedule(_texts(schedule))
    named = workspaces(commands)
    resolved, stored = _formats({} if formats is None else formats, orders, named, chosen)
    program = concretize(assignment)
    done("cin", program)
    extents = _dims({} if dims is None else dims, program)
    notes = _inferred(program, extents)
    request = Request(
        expression=expression,
        formats=resolved,
        undeclared=frozenset(resolved) - set(formats or {}),
        workspaces=stored,
        schedule=tuple(_texts(schedule)),
        commands=tuple(commands),
        dims=extents,
        strict=strict,
        drop_zeros=drop_zeros,
        fast_math=fast_math,
        ignore_units=ignore_units,
    )
    program, order = chosen.ordered(program, request)
    done("order", program)
    return chosen.compiled(program, request, [*notes, *order])


def _kind(value: object) -> str:
    """The type of a value in words, for an error that expects another type."""
    return repr(value) if value is None or isinstance(value, int | str) else type(value).__name__


def _texts(schedule: str | Sequence[str]) -> Sequence[str]:
    texts = [schedule] if isinstance(schedule, str) else schedule
    hint = 'as in schedule=["reorder(i,j)"]'
    if not isinstance(texts, list | tuple):
        raise UserError(f"the schedule is {_kind(texts)}, not a list of commands", hint=hint)
    for text in texts:
        if not isinstance(text, str):
            raise UserError(f"a command of the schedule is {_kind(text)}, not text", hint=hint)
    return texts


def _formats(
    given: Mapping[str, str | Format],
    orders: Mapping[str, int],
    workspaces: Sequence[str],
    target: Target,
) -> tuple[dict[str, Format], dict[str, str]]:
    """The format of each tensor, and the texts for workspaces, whose modes are not known yet."""
    hint = 'as in formats={"B": "ds:0,1", "C": "CSR"}'
    if not isinstance(given, Mapping):
        raise UserError(f"formats is {_kind(given)}, not a mapping from tensors", hint=hint)
    for tensor, format in given.items():
        if not isinstance(format, str | Format):
            raise UserError(f"the format of {tensor} is {_kind(format)}, not text", hint=hint)
        if tensor not in orders and tensor not in workspaces:
            raise UserError(
                f"a format is given for {tensor}, which the expression does not use",
                hint=one_of(tensor, orders),
            )
    resolved = {}
    for tensor, order in orders.items():
        asked = given.get(tensor, Format(target.levels(order), tuple(range(order))))
        resolved[tensor] = parse_format(str(asked), order, tensor)
    return resolved, {name: str(given[name]) for name in given if name not in orders}


def _dims(given: Mapping[str, int], program: cin.LoopProgram) -> dict[str, int]:
    if not isinstance(given, Mapping):
        raise UserError(
            f"dims is {_kind(given)}, not a mapping from variables", hint='as in dims={"i": 5}'
        )
    for variable, extent in given.items():
        if variable not in program.loops:
            raise UserError(
                f"dims gives an extent for {variable}, which the expression does not use",
                hint=one_of(variable, program.loops),
            )
        if isinstance(extent, bool) or not isinstance(extent, Integral) or extent < 0:
            raise UserError(
                f"dims gives {variable} the extent {extent!r}, not a whole number of at least 0"
            )
    found = dict(program.fixed)
    for variable, extent in given.items():
        if found.setdefault(variable, int(extent)) != extent:
            raise UserError(
                f"dims gives {variable} the extent {extent}, and its subscript {found[variable]}"
            )
    return found


def _inferred(program: cin.LoopProgram, extents: Mapping[str, int]) -> list[str]:
    """Notes on the extents that follow from computed subscripts."""
    forms: dict[str, dict[str, None]] = {}
    known = set(extents)
    for access in accesses(program):
        for mode, variable in enumerate(access.variables):
            form = access.form(mode)
            if form is None:
                known.add(cin.base(variable))
            for name in () if form is None else form.variables:
                forms.setdefault(cin.base(name), {})[str(access)] = None
    notes = [
        f"the extent of {variable} is the largest with which {' and '.join(found)} "
        f"{'stays' if len(found) == 1 else 'stay'} inside"
        for variable, found in forms.items()
        if variable not in known
    ]
    notes += [
        f"the extent of {span.variable}, which stands for {span.form} in {program.target.tensor}, "
        "is one more than its largest value"
        for span in program.spans
        if span.variable not in known
    ]
    return notes
