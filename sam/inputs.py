"""The inputs of a program: named tensors that go into slots, and the extents that they fix."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sam.derivations import Derivation, with_derived
from sam.graph import Slot
from sam.subscripts import Span, with_inferred
from sam.support.errors import UserError, one_of
from sam.tensor import Tensor


def gather(slots: Iterable[Slot], inputs: Mapping[str, Any]) -> dict[str, Tensor]:
    """The inputs as tensors; raises UserError for one that is missing, unknown or no tensor."""
    require_inputs(slots, inputs)
    return {name: as_tensor(name, value) for name, value in inputs.items()}


def require_inputs(slots: Iterable[Slot], inputs: Mapping[str, Any]) -> None:
    """Raises UserError unless every input is given, and nothing else."""
    names = {slot.tensor: slot.variables for slot in slots if slot.tensor is not None}
    if not isinstance(inputs, Mapping):
        raise UserError(
            f"the inputs are {type(inputs).__name__}, not a mapping from names",
            hint='as in {"B": B, "C": C}',
        )
    for name in inputs:
        if name not in names:
            raise no_input(name, names)
    missing = [name for name in names if name not in inputs]
    if missing:
        raise UserError(f"no input is given for {', '.join(missing)}")


def no_input(name: str, variables: Mapping[str, Collection[str]]) -> UserError:
    """The error for a name that is no input; ``variables`` are those that index each input."""
    indexed = [tensor for tensor, own in variables.items() if name in own]
    if indexed:
        hint = f"{name} indexes the tensor {indexed[0]}; an expression has no function but sum"
    else:
        hint = one_of(name, variables) if variables else "it has no inputs"
    return UserError(f"the program has no input {name}", hint=hint)


def as_tensor(name: str, value: Any) -> Tensor:
    """An input as a tensor whose storage is valid; raises UserError."""
    try:
        return Tensor.of(value).validated()
    except UserError as mistake:
        raise mistake.about(name) from None


def extents(
    slots: Iterable[Slot],
    given: Mapping[str, Any],
    dims: Mapping[str, int],
    needed: Iterable[str] = (),
    derived: Iterable[Derivation] = (),
    spans: Iterable[Span] = (),
) -> dict[str, int]:
    """The extent of each index variable: fixed by the tensors in their slots, by ``dims``, by
    computed subscripts and ``spans``, or ``derived`` from other variables.

    Of ``given`` only the shapes matter. Raises UserError where two disagree, and where nothing
    fixes one that is needed.
    """
    found = dict(dims)
    origin = dict.fromkeys(found, "dims")
    sizes = []
    for slot in slots:
        if slot.tensor is None:
            continue
        shape = given[slot.tensor].shape
        order = len(slot.subscripts) or sum(len(modes) for modes in slot.modes)
        if len(shape) != order:
            raise UserError(
                f"{slot.tensor} has {_modes(order)} in the program, and its input has "
                f"{_modes(len(shape))}",
                hint=None if order else with_subscripts(slot.tensor, len(shape)),
            )
        for level, form in enumerate(slot.computed):
            sizes += [] if form is None else [(form, shape[mode]) for mode in slot.modes[level]]
        for variable, mode in _variable_modes(slot):
            place = f"mode {mode} of {slot.tensor}"
            if found.setdefault(variable, shape[mode]) != shape[mode]:
                raise UserError(
                    f"the extent of {variable} is {found[variable]} by {origin[variable]} "
                    f"and {shape[mode]} by {place}"
                )
            origin.setdefault(variable, place)
    found = with_derived(with_inferred(found, sizes, spans), derived)
    for variable in needed:
        if variable not in found:
            raise UserError(
                f"no input fixes the extent of {variable}",
                hint=f'give it in dims, as in dims={{"{variable}": 8}}',
            )
    return found


def with_subscripts(name: str, modes: int) -> str:
    """A hint for a name without subscripts, where its input is no number."""
    subscripts = ",".join("ijklmnopqr"[:modes])
    return f"{name} without subscripts is a number; a tensor is written {name}({subscripts})"


def _variable_modes(slot: Slot) -> list[tuple[str, int]]:
    if slot.subscripts:
        return [(variable, mode) for mode, variable in enumerate(slot.subscripts)]
    pairs = [
        (variable, mode)
        for level, (variable, modes) in enumerate(zip(slot.variables, slot.modes, strict=True))
        for mode in modes
        if slot.form(level) is None
    ]
    return sorted(pairs, key=lambda pair: pair[1])


def _modes(count: int) -> str:
    return "1 mode" if count == 1 else f"{count} modes"
