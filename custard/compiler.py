"""Compiles an expression, its formats and its schedule into a program that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from numbers import Integral
from pprint import pformat
from typing import TYPE_CHECKING, Any, Literal, overload

from custard.ir import cin
from custard.language import notation
from custard.language.commands import (
    CHOICES,
    Command,
    choices,
    mistake,
    parse_schedule,
    refuse_streams,
    workspaces,
)
from custard.language.formats import (
    LEVEL_FORMATS,
    Format,
    parse_format,
    require_supported,
    require_writable,
)
from custard.pipeline import done, nested
from custard.program import Program
from custard.scheduling.loop_scheduler import nest
from custard.scheduling.loops import LoopNest
from custard.scheduling.statement import Statement, scheduled
from sam.support.errors import UserError, one_of

if TYPE_CHECKING:
    from custard.to_c.program import CProgram
    from custard.to_sam.program import SamProgram

TARGETS = ("sam", "c")


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
                  input turns out to be a dense array. What a ``precompute`` names may have one too
    ``schedule``  scheduling commands, as in ``["reorder(i,k,j)"]`` or ``"reorder(i,k,j)"``
    ``dims``      extents by variable that no input fixes
    ``strict``    refuses where the compiler would have to transpose a tensor, or to pass over a
                  loop of a ``reorder`` that the program does not have
    ``drop_zeros``  keeps values that come out as 0 out of the compressed levels of the result
    ``fast_math``   gives NaN and infinity up for speed, on target ``c``
    ``ignore_units``  passes over a ``parallelize`` that names a unit which the target lacks

    Raises UserError for a mistake in any of these.
    """
    if target not in TARGETS:
        raise UserError(f"unknown target {target}", hint=one_of(target, TARGETS))
    if fast_math and target != "c":
        raise UserError(f"fast_math has no meaning on target {target}", hint="it is for target c")
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
    resolved, stored = _formats({} if formats is None else formats, orders, named, target)
    program = cin.concretize(assignment)
    done("cin", program)
    extents = _dims({} if dims is None else dims, program)
    notes: list[str] = _inferred(program, extents)
    if _may_order(commands, target):
        loops = cin.concordant_order(program, _orders(program, resolved, target))
        why = "the tensors are stored so"
        if target == "c" and not commands and not strict:
            from custard.to_c.loop_order import cheapest_order

            cheapest = cheapest_order(replace(program, loops=loops), resolved)
            if cheapest != loops:
                loops, why = cheapest, f"it costs far less than {', '.join(loops)}"
        if loops != program.loops:
            notes.append(f"the loop order is {', '.join(loops)}: {why}")
        program = replace(program, loops=loops)
    if target == "c" and not commands and not strict:
        from custard.to_c.factored import factored

        program, split = factored(program, resolved)
        notes += split
    done("order", program)
    common: dict[str, Any] = {
        "expression": expression,
        "formats": resolved,
        "undeclared": frozenset(resolved) - set(formats or {}),
        "drop_zeros": drop_zeros,
        "schedule": tuple(_texts(schedule)),
        "dims": extents,
    }
    if target == "sam":
        return _sam_program(program, commands, stored, strict, ignore_units, notes, common)
    from custard.to_c.program import FAST_MATH, FLAGS

    common["header"] = _header(expression, resolved, _texts(schedule))
    common["flags"] = FAST_MATH if fast_math else FLAGS
    return _c_program(program, commands, stored, strict, ignore_units, notes, common)


# The commands whose loops are in the order of the text, as they always were.
_KEEP_ORDER = {"reorder", *CHOICES}


def _may_order(commands: Sequence[Command], target: str) -> bool:
    """Whether the loops may be in another order than that of the text before the commands."""
    if target == "c":
        return not commands or commands[0].name not in _KEEP_ORDER
    return not _KEEP_ORDER & {one.name for one in commands}


def _sam_program(
    program: cin.Program,
    commands: Sequence[Command],
    stored: Mapping[str, str],
    strict: bool,
    ignore_units: bool,
    notes: Sequence[str],
    common: Mapping[str, Any],
) -> SamProgram:
    from custard.to_sam.program import SamProgram  # here, as programs in C need none of it
    from sam.dot import to_dot

    found = scheduled(program, common["formats"], commands, stored, strict, ignore_units)
    done("schedule", found, lambda: "\n".join(map(_nest_of, found.statements)))
    forced = choices(commands, found.variables())
    for choice in forced.values():
        if choice.name == "skip" and choice.arguments[0] not in found.read():
            raise mistake(choice, f"{choice.arguments[0]} is the result, and only operands skip")
    if len(found.statements) == 1 and not found.statements[0].derivations:
        program = cin.reordered(program, found.statements[0].loops)
    sam = SamProgram(
        **common, choices=forced, cin=program, notes=(*notes, *found.notes), scheduled=found
    )
    done("lower", sam, lambda: "\n".join(to_dot(stage.graph) for stage in sam.stages))
    for stage in sam.stages:
        _refuse_rearranged(strict, stage.lowered.rearranged)
    return sam.with_notes()


def _nest_of(statement: Statement) -> str:
    return nested(statement.program, statement.loops, statement.derivations)


def _c_program(
    program: cin.Program,
    commands: Sequence[Command],
    stored: Mapping[str, str],
    strict: bool,
    ignore_units: bool,
    notes: Sequence[str],
    common: Mapping[str, Any],
) -> CProgram:
    from custard.to_c import lowering as loop_lowering
    from custard.to_c.builder import Types
    from custard.to_c.program import CProgram  # here, as graphs need none of it

    formats, target = common["formats"], program.target.tensor
    loops = nest(program, formats, commands, strict, stored, ignore_units)
    program = replace(program, loops=tuple(loops.completed(program.loops)))
    program = cin.resolved(program)
    loops = loops.with_variables(program.loops)
    done("schedule", program, lambda: nested(program, loops.loops, loops.derivations))
    common = {**common, "dims": {**dict(program.fixed), **common["dims"]}}
    forced = {
        (tensor, variable): choice
        for (tensor, loop), choice in choices(commands, _loops(program, loops)).items()
        for variable in loops.originals(loop)
    }
    refuse_streams(forced.values(), "c")
    require_writable(formats[target], target)
    header, dropped = common["header"], common["drop_zeros"]
    lowered = loop_lowering.lower(program, formats, forced, Types(), header, dropped, loops)
    _refuse_rearranged(strict, lowered.rearranged)
    notes = (*notes, *loops.notes, *lowered.rearranged, *lowered.decisions)
    c = CProgram(**common, choices=forced, cin=program, notes=notes, lowered=lowered, nest=loops)
    done("lower", c, lambda: c.source)
    return c


def _refuse_rearranged(strict: bool, rearranged: Mapping[str, str | None]) -> None:
    """Raises UserError for what the compiler may not do under strict."""
    if strict and rearranged:
        note, instead = next(iter(rearranged.items()))
        write = "" if instead is None else f"write the format {instead}, or "
        raise UserError(note, hint=f"{write}drop strict to let the compiler do it")


def _header(
    expression: str, formats: Mapping[str, Format], schedule: Sequence[str]
) -> tuple[str, ...]:
    """What a C file says it is."""
    lines = [expression, *(f"{name}:{format}" for name, format in formats.items()), *schedule]
    return tuple(" ".join(line.split()) for line in lines)


def _kind(value: object) -> str:
    """What a value is that something else should stand for."""
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
    target: str,
) -> tuple[dict[str, Format], dict[str, str]]:
    """The format of each tensor, and what is given for workspaces, whose modes are not known yet.

    In C, a matrix without a format is CSR, so that it is scipy's.
    """
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
        levels = "ds" if target == "c" and order == 2 else "s" * order
        asked = given.get(tensor, Format(levels, tuple(range(order))))
        found = parse_format(str(asked), order, tensor)
        require_supported(found, tensor)
        resolved[tensor] = found
    return resolved, {name: str(given[name]) for name in given if name not in orders}


def _dims(given: Mapping[str, int], program: cin.Program) -> dict[str, int]:
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


def _inferred(program: cin.Program, extents: Mapping[str, int]) -> list[str]:
    """Notes on the extents that follow from computed subscripts."""
    accesses = [
        node
        for node in cin.walk(program.value)
        if isinstance(node, cin.Access) and not isinstance(node, cin.Mask)
    ]
    forms: dict[str, dict[str, None]] = {}
    known = set(extents)
    for access in accesses:
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


def _loops(program: cin.Program, nest: LoopNest) -> dict[str, dict[str, None]]:
    """The variables of each tensor, and the loops that are derived from them, in order."""
    found: dict[str, dict[str, None]] = {}
    for node in (program.target, *cin.walk(program.value)):
        if isinstance(node, cin.Access) and not isinstance(node, cin.Mask):
            for variable in node.variables:
                known = nest.related(cin.base(variable))
                names = [cin.base(variable), *sorted(known - {cin.base(variable)})]
                found.setdefault(node.tensor, {}).update(dict.fromkeys(names))
    return found


def _orders(
    program: cin.Program, formats: Mapping[str, Format], target: str
) -> list[tuple[str, ...]]:
    """The orders of variables that the loops should have, the most wanted first.

    Those are the orders in which the operands and the result are stored. In C, full levels may
    come in any order; there, the variables of all others come before those that have just full
    levels, for the innermost loops to be dense ones.
    """
    accesses = [
        node
        for node in cin.walk(program.value)
        if isinstance(node, cin.Access) and not isinstance(node, cin.Mask)
    ]
    stored = {
        access: tuple(access.variables[mode] for mode in formats[access.tensor].mode_order)
        for access in (*accesses, program.target)
    }
    if target == "sam":
        return list(stored.values())
    clashing: list[tuple[str, ...]] = []
    sparse: dict[str, None] = {}
    for access, order in stored.items():
        for n, code in enumerate(formats[access.tensor].levels):
            if not LEVEL_FORMATS[code].full:
                clashing += [(before, order[n]) for before in order[:n]]
                sparse[order[n]] = None
    dense = [variable for variable in program.loops if variable not in sparse]
    inner = [(outer, variable) for outer in sparse for variable in dense]
    return [*clashing, *inner, *_level_by_level(accesses, formats), *stored.values()]


def _level_by_level(
    accesses: Sequence[cin.Access], formats: Mapping[str, Format]
) -> list[tuple[str, str]]:
    """Pairs that have the variables of a computed subscript before those of the levels below.

    A subsection is then one of a single fiber (convolution paper, Section 5.2.1).
    """
    return [
        (before, after)
        for access in accesses
        if access.computed
        for outer, inner in pairwise(formats[access.tensor].mode_order)
        for before in access.used(outer)
        for after in access.used(inner)
    ]
