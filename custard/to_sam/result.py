"""Construction of the result: the levels that are written, their order, and their writers."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from custard.ir import cin
from custard.language.commands import OF_STREAMS, Command
from custard.language.formats import (
    LEVEL_FORMATS,
    Format,
    are_full,
    require_writable,
    unconditional_levels,
)
from custard.to_sam.builder import Builder, diagonal_levels, modes_of
from custard.to_sam.reduction import dropped, without
from custard.to_sam.streams import Fiber, Nest, Payload
from sam.blocks.writers import write_level, write_values
from sam.graph import Result, Slot
from sam.levels import repeats
from sam.support.errors import UserError


@dataclass(frozen=True)
class ResultLevels:
    """The levels that a result is written in, outermost first: their formats, modes, variables.

    ``beside``  how many of the outermost levels are written beside each other, down to a linked
                list, as the loops have them in another order
    """

    codes: str
    modes: tuple[tuple[int, ...], ...]
    variables: tuple[str, ...]
    beside: int = 0


def result_levels(builder: Builder) -> ResultLevels:
    """The levels that the result is written in.

    They have the order of storage where the result can be written so, else that of the loops.
    """
    target = builder.program.target
    asked = builder.formats[target.tensor]
    require_writable(asked, target.tensor)
    variables = tuple(v for v in builder.program.loops if v in target.variables)
    modes = modes_of(target, variables)
    if len(modes) < len(target.variables):
        return ResultLevels(diagonal_levels(asked.levels, modes), modes, variables)
    if [mode for (mode,) in modes] == list(asked.mode_order):
        return ResultLevels(asked.levels, modes, variables)
    in_storage = tuple(target.variables[mode] for mode in asked.mode_order)
    beside = _beside(asked.levels, in_storage, variables)
    if beside:
        return ResultLevels(asked.levels, modes_of(target, in_storage), in_storage, beside)
    return ResultLevels(unconditional_levels(asked.levels), modes, variables)


def _beside(codes: str, variables: Sequence[str], loops: Sequence[str]) -> int:
    """How many levels of a result can be written beside each other, down to a linked list, so that
    all are written in the order of the loops; 0 if none.

    ``variables`` are those of the levels. All levels above the list insert, and the loops inside
    have the order of the levels below it.
    """
    for n, code in enumerate(codes, 1):
        together = {*variables[:n]} == {*loops[:n]} and tuple(variables[n:]) == tuple(loops[n:])
        if LEVEL_FORMATS[code].appends_anywhere and together:
            return n if all(LEVEL_FORMATS[above].inserts for above in codes[: n - 1]) else 0
    return 0


def scatters(builder: Builder, stored: ResultLevels, summed: Container[str]) -> bool:
    """Whether values are added to the result in the order in which they come.

    They are if all levels of the result are full, or if the schedule asks for it; then levels whose
    coordinates come in any order must insert. Raises UserError for levels that cannot.
    """
    target = builder.program.target
    loops = {cin.base(variable) for variable in target.variables}
    forced = [
        choice
        for (name, loop), choice in builder.choices.items()
        if name == target.tensor and loop in loops and choice.name not in OF_STREAMS
    ]
    if any(choice.name == "coiterate" for choice in forced):
        return False
    for choice in forced:
        _require_insertable(builder, choice, stored, summed)
    return bool(forced) or are_full(stored.codes)


def _require_insertable(
    builder: Builder, choice: Command, stored: ResultLevels, summed: Container[str]
) -> None:
    """Raises UserError unless the levels of the result at and inside of the loop that a choice
    names, or of a summed loop, support insert."""
    target, loops = builder.program.target, builder.program.loops
    begins = [n for n, v in enumerate(loops) if v in summed or cin.base(v) == choice.arguments[1]]
    inside = {*loops[min(begins) :]}
    if inside & {*stored.variables[: stored.beside]}:
        inside |= {*stored.variables[: stored.beside]}
    levels = zip(stored.variables, stored.codes, strict=True)
    if not all(LEVEL_FORMATS[code].inserts for v, code in levels if v in inside):
        raise UserError(
            f"{target.tensor} cannot be located into: it is stored as "
            f"{builder.formats[target.tensor]}, and only "
            f"{' and '.join(form.name for form in LEVEL_FORMATS.values() if form.inserts)} "
            "levels can be",
            source=choice.text,
            span=choice.span,
            hint=f"store it as {target.tensor}:{'d' * len(target.variables)}",
        )
    if builder.drop_zeros and not are_full(stored.codes):
        raise UserError(
            f"zeros cannot be dropped while {target.tensor} is located into: whether a sum is "
            "zero is known only at the end",
            source=choice.text,
            span=choice.span,
        )


def write(builder: Builder, stored: ResultLevels, nest: Nest) -> Result:
    """Writes the result, its levels in the order of the loops."""
    access = builder.program.target
    asked = builder.formats[access.tensor]
    scattered = any(level.scattered for level in nest.fibers)
    diagonal = len(stored.modes) < len(access.variables)
    _note_storage(builder, stored, asked, diagonal)
    if builder.drop_zeros and nest.fibers and not LEVEL_FORMATS[stored.codes[-1]].full:
        *outer, innermost = nest.fibers
        innermost, value = without(builder, innermost, nest.value, "zeros")
        nest = Nest((*outer, innermost), value)
    if not (scattered and are_full(stored.codes)):
        nest = _without_childless(builder, nest, stored)
    reference = _write_levels(builder, nest.fibers, stored)
    write_values(
        builder.graph,
        f"write_{access.tensor}_vals",
        access.tensor,
        nest.value,
        None if reference is None else reference.end,
        accumulate=scattered,
    )
    slot = Slot(access.tensor, access.tensor, stored.codes, stored.modes, stored.variables)
    around = access.tensor if diagonal and builder.program.accumulates else None
    return Result(slot, asked.levels, asked.mode_order, around)


def _note_storage(builder: Builder, stored: ResultLevels, asked: Format, diagonal: bool) -> None:
    """Notes that the result is converted after it is written."""
    access = builder.program.target
    order = tuple(mode for group in stored.modes for mode in group)
    if diagonal:
        stay = ", whose other entries stay" if builder.program.accumulates else ""
        builder.note(
            f"{access} is written as {stored.codes}, then put on the diagonal of {asked}{stay}"
        )
    elif order != asked.mode_order:
        written = Format(stored.codes, order)
        note = f"{access} is written as {written}, then stored as {asked}"
        builder.rearranged[note] = f"{access.tensor}:{written}"


def _without_childless(builder: Builder, nest: Nest, stored: ResultLevels) -> Nest:
    """Drops coordinates of levels that are not full if they have nothing below them.

    Streams further in must be moved accordingly, unless all of them are appended as they come. Of
    levels that are written beside each other, the innermost loop decides which coordinates come to
    the list.
    """
    levels, value = list(nest.fibers), nest.value
    codes, hanging = stored.codes, repeats(stored.codes)
    for n in range(len(levels) - 2, max(0, stored.beside - 1) - 1, -1):
        outer, inner = levels[n], levels[n + 1]
        written = sum(not level.scattered for level in levels[: n + 1])
        full = not outer.scattered and LEVEL_FORMATS[codes[written - 1]].full
        if inner.nonempty or full:
            continue
        inside = Nest(tuple(levels[n + 1 :]), value)
        first, *further = inside.layers()
        levels[n], first = dropped(builder, outer, first)
        inside = inside.with_layers([first, *further])
        levels[n + 1 :], value = inside.fibers, inside.value
        appended = all(LEVEL_FORMATS[code].appends for code in codes[written:])
        follow = not appended or any(hanging[written:]) or max(hanging[:written], default=0) > 1
        if further and follow:
            inside = Nest(tuple(levels[n + 2 :]), value)
            inside = builder.aligned(inside, 2, outer.end, levels[n])
            levels[n + 2 :], value = inside.fibers, inside.value
    return Nest(tuple(levels), value)


def _write_levels(
    builder: Builder, levels: Sequence[Fiber], stored: ResultLevels
) -> Payload | None:
    """Writes the levels; gives the positions of the last one, if the values need them.

    The coordinates of a level that repeats them are repeated over the levels that hang on it, along
    with the positions of the level above.
    """
    hanging = repeats(stored.codes)
    reference = _write_beside(builder, levels[: stored.beside], stored)
    n = stored.beside
    for place, level in enumerate(levels[n:], n):
        if level.scattered:
            if reference is not None:
                reference = builder.repeated(reference, level)
            continue
        coordinates = _coordinates(builder, level)
        for k in range(hanging[n]):
            coordinates = builder.repeated(coordinates, levels[place + 1 + k])
            if reference is not None:
                reference = builder.repeated(reference, levels[place + k])
        more: dict[str, Any] = {"repeats": hanging[n]} if hanging[n] else {}
        if n > 0 and hanging[n - 1]:
            more["chained"] = True
        reference = _write_level(builder, n, stored, coordinates, reference, **more)
        n += 1
    return reference


def _write_beside(
    builder: Builder, levels: Sequence[Fiber], stored: ResultLevels
) -> Payload | None:
    """Writes the levels down to a linked list, each with a coordinate for each node of the list."""
    reference = None
    for n, variable in enumerate(stored.variables[: stored.beside]):
        (place,) = (k for k, level in enumerate(levels) if level.variable == variable)
        coordinates = _coordinates(builder, levels[place])
        for inner in levels[place + 1 :]:
            coordinates = builder.repeated(coordinates, inner)
        reference = _write_level(builder, n, stored, coordinates, reference, beside=True)
        if n + 1 == stored.beside:
            form = LEVEL_FORMATS[stored.codes[n]]
            builder.note(
                f"{builder.program.target} is written in the order of the loops: its level at "
                f"{variable} is a {form.name}"
            )
    return reference


def _coordinates(builder: Builder, level: Fiber) -> Payload:
    """The coordinates of a level of the result."""
    return Payload(level.end, "crd", f"{builder.program.target.tensor}_{level.variable}")


def _write_level(
    builder: Builder,
    n: int,
    stored: ResultLevels,
    coordinates: Payload,
    reference: Payload | None,
    **more: Any,
) -> Payload | None:
    """Writes a level; gives its positions where the next level, or the values, need them."""
    tensor, variable = builder.program.target.tensor, stored.variables[n]
    positions = write_level(
        builder.graph,
        f"write_{tensor}_{variable}",
        tensor,
        n,
        stored.codes[n],
        variable,
        coordinates.end,
        None if reference is None else reference.end,
        **more,
    )
    told = not all(LEVEL_FORMATS[code].appends for code in stored.codes[n : n + 2])
    return Payload(positions, "ref", tensor) if told else None
