"""Target ``sam`` as the compiler calls it: from concrete index notation to a ``SamProgram``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from custard.ir import cin
from custard.ir.accesses import storage_orders
from custard.language.commands import choices, mistake
from custard.pipeline import done, nested
from custard.request import Request
from custard.scheduling.loop_order import KEEP_ORDER, STORED_SO, order_notes
from custard.scheduling.statement import Statement
from custard.scheduling.statement_scheduler import scheduled
from custard.to_sam.program import SamProgram


def ordered(program: cin.LoopProgram, request: Request) -> tuple[cin.LoopProgram, list[str]]:
    """The program with its loops in the order in which tensors are stored; and notes."""
    if KEEP_ORDER & {one.name for one in request.commands}:
        return program, []
    orders = list(storage_orders(program, request.formats).values())
    loops = cin.concordant_order(program, orders)
    return replace(program, loops=loops), order_notes(program.loops, loops, STORED_SO)


def compiled(program: cin.LoopProgram, request: Request, notes: Sequence[str]) -> SamProgram:
    """The graphs of a program, with the notes of all passes. Raises UserError."""
    commands = request.commands
    stored, ignore_units = request.workspaces, request.ignore_units
    found = scheduled(program, request.formats, commands, stored, request.strict, ignore_units)
    done("schedule", found, lambda: "\n".join(map(_nest_of, found.statements)))
    forced = choices(commands, found.variables())
    for choice in forced.values():
        if choice.name == "skip" and choice.arguments[0] not in found.read():
            raise mistake(choice, f"{choice.arguments[0]} is the result, and only operands skip")
    if len(found.statements) == 1 and not found.statements[0].derivations:
        program = cin.reordered(program, found.statements[0].loops)
    notes = (*notes, *found.notes)
    sam = SamProgram(
        **request.of_program, choices=forced, cin=program, notes=notes, scheduled=found
    )
    done("lower", sam, lambda: _in_dot(sam))
    for stage in sam.stages:
        request.refuse_rearranged(stage.lowered.rearranged)
    return sam.with_notes()


def _nest_of(statement: Statement) -> str:
    return nested(statement.program, statement.loops, statement.derivations)


def _in_dot(program: SamProgram) -> str:
    from sam.dot import to_dot  # here, as few programs are printed

    return "\n".join(to_dot(stage.graph) for stage in program.stages)
