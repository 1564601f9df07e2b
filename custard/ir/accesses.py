"""The accesses of a program, and the orders in which their tensors are stored."""

from __future__ import annotations

from collections.abc import Mapping

from custard.ir import cin
from custard.language.formats import Format


def accesses(program: cin.LoopProgram) -> list[cin.Access]:
    """The accesses of the right side of a program, masks left out."""
    nodes = cin.walk(program.value)
    return [one for one in nodes if isinstance(one, cin.Access) and not isinstance(one, cin.Mask)]


def storage_orders(
    program: cin.LoopProgram, formats: Mapping[str, Format]
) -> dict[cin.Access, tuple[str, ...]]:
    """The variables of the operands and of the result in the order in which they are stored."""
    return {
        access: tuple(access.variables[mode] for mode in formats[access.tensor].mode_order)
        for access in (*accesses(program), program.target)
    }
