"""Target ``c`` as the compiler calls it: from concrete index notation to a ``CProgram``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from custard.ir import cin
from custard.ir.accesses import accesses
from custard.ir.resolution import resolved
from custard.language.commands import choices, refuse_streams
from custard.language.formats import require_writable
from custard.pipeline import done, nested
from custard.request import Request
from custard.scheduling.loop_order import KEEP_ORDER, STORED_SO, order_notes
from custard.scheduling.loop_scheduler import nest
from custard.scheduling.loops import LoopNest
from custard.to_c.builder import Types
from custard.to_c.compiler_flags import flags_of
from custard.to_c.factored import factored
from custard.to_c.loop_order import cheapest_order, turned_arrays, wanted_orders
from custard.to_c.lowering import lower
from custard.to_c.program import CProgram
from sam.support.errors import UserError


def ordered(program: cin.LoopProgram, request: Request) -> tuple[cin.LoopProgram, list[str]]:
    """The program with its loops in the order in which tensors are stored, or in a cheaper one
    where the schedule leaves that to the compiler; and notes."""
    commands, formats = request.commands, request.formats
    is_free, notes = not commands and not request.strict, list[str]()
    if not commands or commands[0].name not in KEEP_ORDER:
        given = program.loops
        loops, why = cin.concordant_order(program, wanted_orders(program, formats)), STORED_SO
        if is_free:
            cheapest = cheapest_order(replace(program, loops=loops), formats)
            if cheapest != loops:
                loops, why = cheapest, f"it costs far less than {', '.join(loops)}"
        notes += order_notes(given, loops, why)
        program = replace(program, loops=loops)
    if is_free:
        program = replace(program, turned=turned_arrays(program, formats))
        program, split = factored(program, formats)
        notes += split
    return program, notes


def compiled(program: cin.LoopProgram, request: Request, notes: Sequence[str]) -> CProgram:
    """The kernel of a program, with the notes of all passes. Raises UserError."""
    formats, target, commands = request.formats, program.target.tensor, request.commands
    stored, ignore_units = request.workspaces, request.ignore_units
    loops = nest(program, formats, commands, request.strict, stored, ignore_units)
    program = replace(program, loops=tuple(loops.completed(program.loops)))
    program = resolved(program)
    loops = _resolved(loops, program).with_variables(program.loops)
    done("schedule", program, lambda: nested(program, loops.loops, loops.derivations))
    forced = {
        (tensor, variable): choice
        for (tensor, loop), choice in choices(commands, _loops(program, loops)).items()
        for variable in loops.originals(loop)
    }
    refuse_streams(forced.values(), CProgram.target)
    require_writable(formats[target], target)
    header = _header(request)
    lowered = lower(program, formats, forced, Types(), header, request.drop_zeros, loops)
    request.refuse_rearranged(lowered.rearranged)
    notes = (*notes, *loops.notes, *lowered.rearranged, *lowered.decisions)
    c = CProgram(
        **{**request.of_program, "dims": {**dict(program.fixed), **request.dims}},
        choices=forced,
        cin=program,
        notes=notes,
        header=header,
        lowered=lowered,
        nest=loops,
        flags=flags_of(program.value, request.fast_math),
    )
    done("lower", c, lambda: c.source)
    return c


def _resolved(loops: LoopNest, program: cin.LoopProgram) -> LoopNest:
    """The schedule, with the computed subscripts of workspaces resolved."""

    def change(value: cin.Expression) -> cin.Expression:
        found = resolved(replace(program, value=value))
        if found.loops != program.loops:
            raise UserError(
                "precompute does not take an access with one variable in two subscripts, if one "
                "of them is computed",
                hint="the second subscript of A(i,i+1), for example, needs a loop of its own",
            )
        return found.value

    if loops.value is None:
        return loops
    precomputed = {
        name: replace(one, program=replace(one.program, value=change(one.program.value)))
        for name, one in loops.precomputed.items()
    }
    return replace(loops, value=change(loops.value), precomputed=precomputed)


def _header(request: Request) -> tuple[str, ...]:
    """The first lines of a C file: expression and schedule."""
    return tuple(" ".join(line.split()) for line in (request.expression, *request.schedule))


def _loops(program: cin.LoopProgram, nest: LoopNest) -> dict[str, dict[str, None]]:
    """The variables of each tensor, and the loops that are derived from them, in order."""
    found: dict[str, dict[str, None]] = {}
    for access in (program.target, *accesses(program)):
        for variable in access.variables:
            known = nest.related(cin.base(variable))
            names = [cin.base(variable), *sorted(known - {cin.base(variable)})]
            found.setdefault(access.tensor, {}).update(dict.fromkeys(names))
    return found
