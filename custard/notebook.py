"""Programs as notebooks show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sam.support.html import table

if TYPE_CHECKING:
    from custard.program import Program


def of_program(program: Program) -> str:
    """The expression, its concrete index notation, formats and notes."""
    formats = ", ".join(f"{name}:{form}" for name, form in program.formats.items() if form.levels)
    rows = [
        ("expression", program.expression),
        ("target", program.target),
        ("concrete index notation", "; ".join(map(str, program.statements))),
        ("formats", formats or "-"),
        *(("schedule", command) for command in program.schedule),
        *(("note", note) for note in program.notes),
    ]
    return table("Program", (), rows)
