"""Finds blocks that fire for ever: all that decides their firings is as it was before."""

from __future__ import annotations

from typing import Any

from sim.compiled.cut import StoredAtCut, stored
from sim.compiled.layout import CompiledMachine
from sim.compiled.parts import CompiledPart
from sim.endless import no_progress


class Standstill:
    """Looks at a machine now and then while it runs.

    A block that has fired since the last look, and has the same tokens before it, the same state
    and the same memory as then, does again what it has done since, and so for ever. A wire may
    still change, unless nothing is given in the whole machine.
    """

    def __init__(self, machine: CompiledMachine) -> None:
        self.machine = machine
        self.fired, self.given = dict[str, int](), dict[str, int]()
        self.marks: dict[str, Any] = {}
        self.memories: dict[str, list[StoredAtCut]] = {}

    def require_progress(self) -> None:
        """Raises UserError if a block has been found to fire for ever."""
        all_given = sum(int(shared.queue.tail) for shared in self.machine.queues)
        memories = {}
        for one, state in zip(self.machine.parts, self.machine.states, strict=True):
            name, fired = one.part.name, int(one.block.fired)
            taken = [int(shared.queue.head) for shared in one.queues_in]
            given = sum(int(shared.queue.tail) for shared in one.queues_out)
            mark = taken, state.raw, all_given if one.wires else None
            if fired > self.fired.get(name, fired) and mark == self.marks[name]:
                memories[name] = self._memory(one)
                if memories[name] == self.memories.get(name):
                    raise no_progress(name, gives=given > self.given[name])
            self.fired[name], self.given[name], self.marks[name] = fired, given, mark
        self.memories = memories

    def _memory(self, one: CompiledPart) -> list[StoredAtCut]:
        """What a part has stored; of a memory that it only fills, how much."""
        filled = self.machine.objects.filled(one.part, one.residual.memory)
        return [stored(found, made, values) for found, made, values in filled]
