"""What is said where the loops clash with the order in which a tensor is stored."""

from __future__ import annotations

from collections.abc import Sequence

from custard.ir import cin
from custard.language.formats import Format, unconditional_levels


def transposition(
    program: cin.Program, access: cin.Access, stored: Format, order: Sequence[int]
) -> tuple[str, str | None]:
    """The note that an access is transposed to an order of modes, and the declaration to avoid it.

    There is none where the tensor is accessed more than once, for that may move the clash.
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
