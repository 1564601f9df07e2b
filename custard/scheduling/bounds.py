"""The facts that ``bound`` states of loops, checked against the inputs of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from custard.ir import cin
from custard.ir.accesses import accesses
from custard.language.commands import Command, mistake
from sam.derivations import Derivation, Fuse, parts, with_derived
from sam.support.errors import UserError
from sam.tensor import Tensor

# The most values that a loop can count.
_MOST = 2**62


@dataclass(frozen=True)
class Bounded:
    """A fact that ``bound`` states of a loop's coordinates: its kind, and its number.

    ``derivations``  the derivations by which the loop comes from variables
    """

    loop: str
    kind: str
    number: int
    derivations: tuple[Derivation, ...]
    command: Command = field(compare=False)


def broken(kind: str, number: int, extent: int) -> str:
    """How an extent breaks a fact of ``bound``, in words; "" where it does not."""
    if kind == "MaxExact" and extent != number:
        return f"and bound says that there are {number}"
    if kind == "MaxConstraint" and extent > number:
        return f"and bound says that there are {number} at most"
    return ""


def require_few_pairs(derivations: Iterable[Derivation], extents: Mapping[str, int]) -> None:
    """Raises UserError where loops are fused that have too many pairs of values."""
    known = with_derived(extents, derivations)
    for derivation in derivations:
        if isinstance(derivation, Fuse) and known.get(derivation.fused, 0) > _MOST:
            outer, inner = derivation.sources
            raise UserError(
                f"{outer} and {inner} have {known[derivation.fused]} pairs of values, too many to "
                "be fused",
                hint=f"leave out fuse({outer},{inner},{derivation.fused})",
            )


def require_bounds(
    bounds: Iterable[Bounded],
    program: cin.LoopProgram,
    extents: Mapping[str, int],
    tensors: Mapping[str, Tensor],
) -> None:
    """Raises UserError where inputs break the bounds of a schedule.

    ``MaxExact`` and ``MaxConstraint`` tell the extent of a loop, or the most that it may be.
    ``MinExact`` and ``MinConstraint`` tell the first coordinate at which an input has a value, or
    the least that it may be.
    """
    for one in bounds:
        known = with_derived(extents, one.derivations)
        if one.kind.startswith("Max"):
            problem = broken(one.kind, one.number, known[one.loop])
            if problem:
                what = f"{one.loop} has {known[one.loop]} values, {problem}"
                raise _refused(one, what, known[one.loop])
            continue
        first = _first(one, program, known, tensors)
        if first is None:
            continue
        if first < one.number or (one.kind == "MinExact" and first != one.number):
            least = "" if one.kind == "MinExact" else "not before "
            said = f"and bound says {least}at {one.number}"
            raise _refused(one, f"{one.loop} has its first value at {first}, {said}", first)


def _refused(bound: Bounded, what: str, holds: int) -> UserError:
    loop, name, _, kind = bound.command.arguments
    hint = f"bound({loop},{name},{holds},{kind}) holds of these inputs"
    return mistake(bound.command, what, 2, hint)


def _first(
    bound: Bounded,
    program: cin.LoopProgram,
    extents: Mapping[str, int],
    tensors: Mapping[str, Tensor],
) -> int | None:
    """The first coordinate of a loop with a value in some input; None where there is none.

    The coordinates of computed subscripts are not those of a loop.
    """
    found = []
    for node in accesses(program):
        coordinates, values = tensors[node.tensor].to_coo()
        plain = [mode for mode in range(len(node.variables)) if node.form(mode) is None]
        columns = [coordinates[mode, values != 0] for mode in plain]
        names = [parts(node.variables[mode])[0] for mode in plain]
        found += [int(c.min()) for c in _derived(bound, names, columns, extents) if c.size]
    return min(found, default=None)


def _derived(
    bound: Bounded,
    names: Sequence[str],
    columns: list[np.ndarray],
    extents: Mapping[str, int],
) -> list[np.ndarray]:
    """The coordinates that an input has at a loop, for each mode that the loop derives from."""
    for derivation in bound.derivations:
        if isinstance(derivation, Fuse) and len({*derivation.sources} & {*names}) == 1:
            # One of two fused variables does not tell a coordinate of the fused one.
            kept = [n for n, name in enumerate(names) if name not in derivation.sources]
            names, columns = [names[n] for n in kept], [columns[n] for n in kept]
        columns = derivation.apart(names, columns, extents)
        names = derivation.replaced(names)
    return [column for name, column in zip(names, columns, strict=True) if name == bound.loop]
