"""Finds blocks that fire for ever: all that decides their firings is as it was before."""

from __future__ import annotations

from dataclasses import dataclass

from sim.compiled.cut import StoredAtCut, stored
from sim.compiled.layout import CompiledMachine
from sim.compiled.parts import CompiledPart
from sim.endless import no_progress

OBSERVED = 1024
"""How often blocks that have taken nothing for a while are observed before the next look."""


@dataclass
class _Suspect:
    """A block that has fired and taken nothing between two looks, as it was at some time since.

    ``looks``   for how many looks it has been one
    ``state``   its state, and where it reads wires how many tokens all blocks had given; None once
                its memory has been found to change
    ``fired``, ``given``  its firings, and the tokens that it had given
    ``memory``  what it had stored when it came to this state again
    """

    looks: int
    state: tuple[bytes, int] | None
    fired: int
    given: int
    memory: list[StoredAtCut] | None = None


class Standstill:
    """Looks at a machine now and then while it runs, and observes suspects more often.

    A block that has fired, taken nothing, and has the same state and the same memory as before does
    again what it has done since, and so for ever. A wire may still change, unless nothing is given
    in the whole machine. It is compared with how it was at its first look, at the second, at the
    fourth and so on, so that a state is found that comes again after many firings (Brent's way to
    find a cycle).
    """

    def __init__(self, machine: CompiledMachine) -> None:
        self.machine = machine
        self.before: dict[str, tuple[int, list[int]]] = {}
        self.suspects: dict[str, _Suspect] = {}

    def look(self) -> int:
        """Finds the suspects; gives how often they should be observed before the next look."""
        for n, one in enumerate(self.machine.parts):
            name, fired = one.part.name, int(one.block.fired)
            taken = [int(shared.queue.head) for shared in one.queues_in]
            earlier, same = self.before.get(name, (fired, taken))
            self.before[name] = fired, taken
            if fired == earlier or taken != same:
                self.suspects.pop(name, None)
                continue
            looks = 1 + (self.suspects[name].looks if name in self.suspects else 0)
            if looks & (looks - 1):
                self.suspects[name].looks = looks
            else:
                self.suspects[name] = _Suspect(looks, self._state(n), fired, _given(one))
        return OBSERVED if self.suspects else 0

    def observe(self) -> None:
        """Raises UserError if a suspect is as it was before."""
        for n, one in enumerate(self.machine.parts):
            name = one.part.name
            suspect = self.suspects.get(name)
            if suspect is None or self._state(n) != suspect.state:
                continue
            taken = [int(shared.queue.head) for shared in one.queues_in]
            if one.block.fired == suspect.fired or taken != self.before[name][1]:
                continue
            memory = self._memory(one)
            if suspect.memory is None:
                suspect.memory, suspect.fired = memory, one.block.fired
            elif memory == suspect.memory:
                raise no_progress(name, gives=_given(one) > suspect.given)
            else:
                suspect.state = None

    def _state(self, n: int) -> tuple[bytes, int]:
        """The state of a part, by its number, and of the wires that it reads."""
        wires = self.machine.parts[n].wires
        queues = self.machine.queues if wires else ()
        return self.machine.states[n].raw, sum(int(shared.queue.tail) for shared in queues)

    def _memory(self, one: CompiledPart) -> list[StoredAtCut]:
        """What a part has stored; of a memory that it only fills, how much."""
        filled = self.machine.objects.filled(one.part, one.residual.memory)
        return [stored(found, made, values) for found, made, values in filled]


def _given(one: CompiledPart) -> int:
    """The tokens that a part has given."""
    return sum(int(shared.queue.tail) for shared in one.queues_out)
