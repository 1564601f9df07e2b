"""The gate of a machine: the block that everything comes through, so that a run can be cut there.

Once a gate has fired as often as it is allowed to, the other blocks do what they can, and come to a
stop. Only the work is interrupted: tokens carry their cycles in the whole run. What the blocks have
done by then does not depend on the order of their calls (Kahn 1974).
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sam.blocks import KINDS
from sam.blocks.block_memory import Growing, Stored
from sim.compiled.objects import Room, at
from sim.compiled.structures import CMachine

if TYPE_CHECKING:
    from sim.compiled.layout import CompiledMachine
    from sim.compiled.parts import CompiledPart, SharedQueue

WITHOUT_END = 2**62
"""More firings than there ever are."""

_ROUNDS = 4096


def gate_of(parts: Sequence[CompiledPart], queues: Iterable[SharedQueue]) -> CompiledPart | None:
    """The part that is the gate, if there is one.

    All others lie above it, and give to nothing else; or below it; or stand outside the machine,
    and have their few tokens ready.
    """
    passages = [(shared.bundle.giver, shared.bundle.taker) for shared in queues]
    readers, writers = _steps(passages), _steps((taker, giver) for giver, taker in passages)
    outside = {one.part.name for one in parts if _is_outside(one)}
    inside = {one.part.name for one in parts} - outside
    for one in parts:
        name = one.part.name
        above, below = _reached(name, writers), _reached(name, readers)
        leaks = any(readers[other] - above - {name} for other in above - outside)
        if name in inside - above and not inside - above - below - {name} and not leaks:
            return one
    return None


def _is_outside(one: CompiledPart) -> bool:
    return KINDS[one.part.node.kind].source


def _steps(pairs: Iterable[tuple[str, str]]) -> Mapping[str, set[str]]:
    """Where each part leads to."""
    found: dict[str, set[str]] = defaultdict(set)
    for start, end in pairs:
        found[start].add(end)
    return found


def _reached(start: str, steps: Mapping[str, set[str]]) -> set[str]:
    """What is reached from a part in one step or more."""
    found: set[str] = set()
    left = [start]
    while left:
        new = steps.get(left.pop(), set()) - found
        found |= new
        left += new
    return found


def why_whole(machine: CompiledMachine) -> str | None:
    """Why a machine is not cut, in words, if it is not."""
    for one in machine.parts:
        if one.asks:
            return f"{one.part.name} asks memory"
        if one.wires:
            return f"{one.part.name} reads a wire"
    for shared in machine.queues:
        if not shared.depth and not _is_outside(machine.by_name[shared.bundle.giver]):
            return "queues are unbounded"
    for one in machine.parts:
        for path in one.residual.memory:
            kept = at(one.part.memory, path)
            if isinstance(kept, Stored) and kept.written is None:
                return f"{one.part.name} reads what it has stored"
            if isinstance(kept, Growing) and kept.written is not None and one.queues_out:
                return f"{one.part.name} counts what it has stored"
    if machine.gate is None:
        return "no block has all others above or below it"
    return None


def let_through(
    machine: CompiledMachine, firings: int, stop: Callable[[], bool] = lambda: False
) -> int | None:
    """Has the gate of a new machine fire so often, if it can, and drops all that it gives.

    Returns how often it has fired; None if it was told to stop before.
    """
    gate = machine.gate
    assert gate is not None, "the machine is not holdable"
    writers = _steps((shared.bundle.taker, shared.bundle.giver) for shared in machine.queues)
    names = {gate.part.name, *_reached(gate.part.name, writers)}
    parts = [one.block for one in machine.parts if one.part.name in names]
    room = Room()
    awake = room.numbers(len(parts) // 64 + 1)
    some = CMachine(count=len(parts), blocks=room.pointers(parts), awake=ctypes.addressof(awake))
    for shared in gate.queues_out:
        shared.arrays()[1][:] = 0
        shared.queue.head = WITHOUT_END  # there is always room
    gate.block.allowed = firings
    machine.runtime.prepare(ctypes.byref(some))
    while not stop():
        if machine.runtime.run(ctypes.byref(some), ctypes.c_int64(_ROUNDS)):
            break
    else:
        return None
    for shared in gate.queues_out:
        shared.queue.head = shared.queue.tail = 0
    machine.wake()
    return int(gate.block.fired)
