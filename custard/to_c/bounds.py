"""What ``bound`` says of loops, checked against the inputs of a run."""

from __future__ import annotations

from collections.abc import Mapping

from custard.ir import cin
from custard.language.commands import mistake
from custard.scheduling.loops import Bounded, LoopNest, broken
from sam.derivations import Fuse, parts, with_derived
from sam.support.errors import UserError
from sam.tensor import Tensor

# The most values that a loop can count.
_MOST = 2**62


def require_bounds(
    nest: LoopNest,
    program: cin.LoopProgram,
    extents: Mapping[str, int],
    tensors: Mapping[str, Tensor],
) -> None:
    """Raises UserError where inputs are not within what a schedule says of them.

    ``MaxExact`` and ``MaxConstraint`` tell the extent of a loop, or the most that it may be.
    ``MinExact`` and ``MinConstraint`` tell the first coordinate at which an input has a value, or
    the least that it may be.
    """
    known = with_derived(extents, nest.derivations)
    for derivation in nest.derivations:
        if isinstance(derivation, Fuse) and known.get(derivation.fused, 0) > _MOST:
            outer, inner = derivation.sources
            raise UserError(
                f"{outer} and {inner} have {known[derivation.fused]} pairs of values, too many to "
                "be fused",
                hint=f"leave out fuse({outer},{inner},{derivation.fused})",
            )
    for one in nest.bounds:
        if one.kind.startswith("Max"):
            problem = broken(one.kind, one.number, known[one.variable])
            if problem:
                raise _refused(one, f"{one.variable} has {known[one.variable]} values, {problem}")
            continue
        first = _first(nest, program, one.variable, tensors)
        if first is None:
            continue
        if first < one.number or (one.kind == "MinExact" and first != one.number):
            least = "" if one.kind == "MinExact" else "not before "
            said = f"and bound says {least}at {one.number}"
            raise _refused(one, f"{one.variable} has its first value at {first}, {said}")


def _refused(bound: Bounded, what: str) -> UserError:
    return mistake(bound.command, what, 2)


def _first(
    nest: LoopNest, program: cin.LoopProgram, loop: str, tensors: Mapping[str, Tensor]
) -> int | None:
    """The first coordinate of a variable with a value in some input; None where there is none."""
    (variable,) = nest.originals(loop)
    found: list[int] = []
    for node in cin.walk(program.value):
        if not isinstance(node, cin.Access):
            continue
        for mode, name in enumerate(node.variables):
            if parts(name)[0] == variable:
                coordinates, values = tensors[node.tensor].to_coo()
                stored = coordinates[mode][values != 0]
                found += [int(stored.min())] if stored.size else []
    return min(found, default=None)
