"""The note for a tensor that is stored in an order which the loops cannot follow."""

from __future__ import annotations

from collections.abc import Sequence

from custard.ir import cin
from custard.language.formats import Format, unconditional_levels


def transposition(
    program: cin.LoopProgram, access: cin.Access, stored: Format, order: Sequence[int]
) -> tuple[str, str | None]:
    """The note that an access is transposed to an order of modes, and the declaration to avoid it.

    If the tensor is accessed more than once, there is no such declaration: it might clash
    elsewhere.
    """
    listed = ",".join(map(str, order))
    note = f"{access}, stored as {stored}, is transposed to {listed} before the run"
    accesses = [
        node
        for node in (program.target, *cin.walk(program.value))
        if isinstance(node, cin.Access) and node.tensor == access.tensor
    ]
    wanted = Format(unconditional_levels(stored.levels), tuple(order))
    return note, f"{access.tensor}:{wanted}" if len(accesses) == 1 else None
