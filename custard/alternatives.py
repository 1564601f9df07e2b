"""Other programs for the same expression, which the compiler offers besides the one asked for.

Each is named by the words to write for it: a scheduling command to add, a loop order or a format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations
from typing import TYPE_CHECKING

from custard.compiler import compile
from custard.language.commands import LANES, parse_schedule
from custard.language.formats import Format
from sam.support.errors import UserError

if TYPE_CHECKING:
    from custard.to_sam.program import SamProgram

_ORDERS, _OF_EACH, _TRIED = 5, 3, 48


def alternatives(program: SamProgram) -> dict[str, SamProgram]:
    """Programs that give the same result in another way, by the words to write for each.

    They use two lanes, skipping, locating, other loop orders or other formats, up to a few of each
    sort; only programs that compile without transposing a tensor.
    """
    found: dict[str, SamProgram] = {}
    for choices, most in (
        (_commands(program), 2 * _OF_EACH),
        (_orders(program), _ORDERS),
        (_formats(program), _OF_EACH),
    ):
        made = (
            (what, other)
            for what, schedule, formats in islice(choices, _TRIED)
            if (other := _compiled(program, schedule, formats)) is not None
        )
        found |= dict(islice(made, most))
    return found


_Choice = tuple[str, Sequence[str], dict[str, Format]]


def _commands(program: SamProgram) -> Iterator[_Choice]:
    """Programs with one more command in the schedule."""
    given = {one.name for one in parse_schedule(program.schedule)}
    formats = _given(program)
    loops = program.cin.loops
    if "parallelize" not in given and len(loops) > 0:
        yield _added(program, f"parallelize({loops[0]},{LANES},2)")
    for name in ("skip", "locate"):
        for tensor, loop in dict.fromkeys(
            (slot.tensor, loop) for slot in program.slots for loop in slot.variables
        ):
            if tensor in formats and loop in loops:
                yield _added(program, f"{name}({tensor},{loop})")


def _added(program: SamProgram, command: str) -> _Choice:
    return command, (*program.schedule, command), _given(program)


def _orders(program: SamProgram) -> Iterator[_Choice]:
    """Other orders of the loops, where the schedule only orders them."""
    commands = parse_schedule(program.schedule)
    if any(one.name != "reorder" for one in commands) or len(program.cin.loops) > 5:
        return
    for order in permutations(program.cin.loops):
        if order != tuple(program.cin.loops):
            command = f"reorder({','.join(order)})"
            yield command, (command,), _given(program)


def _formats(program: SamProgram) -> Iterator[_Choice]:
    """Formats whose first level is dense in place of compressed, or the other way around."""
    given = _given(program)
    for name, form in given.items():
        first = {"s": "d", "d": "s"}.get(form.levels[:1])
        if first is not None and len(form.levels) > 1 and name != program.cin.target.tensor:
            other = Format(first + form.levels[1:], form.mode_order)
            yield f"{name}:{other}", program.schedule, {**given, name: other}


def _given(program: SamProgram) -> dict[str, Format]:
    return {name: form for name, form in program.formats.items() if form.levels}


def _compiled(
    program: SamProgram, schedule: Sequence[str], formats: dict[str, Format]
) -> SamProgram | None:
    """The program with another schedule or formats, if it compiles so and differs."""
    try:
        found = compile(
            program.expression,
            formats,
            list(schedule),
            dims=program.dims,
            strict=True,
            drop_zeros=program.drop_zeros,
        )
    except UserError:
        return None
    return None if found.graphs == program.graphs else found
