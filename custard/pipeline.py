"""The passes of the compiler, in order, and a way to see the program after one of them.

    notation  the text of the expression, as a syntax tree
    cin       concrete index notation: what is summed where
    order     the order of the loops that the formats suggest
    schedule  the scheduling commands applied: statements or a loop nest
    lower     target sam: a graph for each statement, as DOT; target c: C

``custard.compiler`` calls ``done`` after each pass, which verifies concrete index notation
(``custard.ir.verify``). Loops are verified where they are made (``custard.to_c.loop_ir``), graphs
where they are bound to inputs (``sam.validate``). ``custard --print-after PASS`` shows the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from custard.ir import cin
from custard.ir.verify import verify
from sam.derivations import Derivation
from sam.support.errors import UserError, one_of

PASSES = ("notation", "cin", "order", "schedule", "lower")

Tell = Callable[[str], None]

_watched: ContextVar[tuple[str, Tell] | None] = ContextVar("watched", default=None)


@contextmanager
def printed_after(name: str, tell: Tell) -> Iterator[None]:
    """Calls ``tell`` with the program's text after a pass. Raises UserError for an unknown pass."""
    if name not in PASSES:
        raise UserError(f"there is no pass {name}", hint=one_of(name, PASSES))
    token = _watched.set((name, tell))
    try:
        yield
    finally:
        _watched.reset(token)


def done(name: str, program: object, text: Callable[[], str] | None = None) -> None:
    """To be called when a pass has made a program; ``text`` is ``str`` of it if not given."""
    if isinstance(program, cin.LoopProgram):
        verify(program)
    watched = _watched.get()
    if watched is not None and watched[0] == name:
        watched[1](str(program) if text is None else text())


def nested(
    program: cin.LoopProgram, loops: Sequence[str], derivations: Sequence[Derivation]
) -> str:
    """A scheduled program: its loops, and below it how they are derived."""
    head = "".join(f"forall({loop}) " for loop in loops)
    return "\n  ".join([f"{head}{program.target} = {program.value}", *map(str, derivations)])
