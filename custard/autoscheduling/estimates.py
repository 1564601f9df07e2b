"""What a candidate would take on a target: seconds in C, cycles on the ideal machine.

The loops of each statement are counted on the inputs, and weighed as the cost model of the target
has it. What is made of a schedule here is the rest: tiles repeat the loops around them, parts of a
shared loop run beside each other, and take as long as the largest of them.
"""

from __future__ import annotations

import math

from custard.autoscheduling.candidates import Candidate
from custard.autoscheduling.fibers import InputFibers
from custard.ir import cin
from custard.targets import Target
from custard.to_c.cost import cost
from custard.to_sam.cost import cycles

# Seconds that a unit of the cost model for C takes, and that threads take to begin and end.
_UNIT = 0.35e-9
_THREADS_BEGIN = 8e-6
# Units: to copy or add up a value of what threads made, and to find where a block begins.
_COPIED, _SOUGHT = 3.0, 170.0


def estimate(candidate: Candidate, fibers: InputFibers, target: Target) -> float:
    """About how many seconds, or cycles, a candidate takes."""
    return _cycles(candidate, fibers) if target.simulated else _seconds(candidate, fibers)


def _cycles(candidate: Candidate, fibers: InputFibers) -> float:
    """Those of its graphs, which run in turn."""
    formats = {**candidate.formats, **candidate.workspaces}
    shared = candidate.shared
    lanes = {} if shared is None else {shared.loop: shared.parts}
    return sum(cycles(one, formats, fibers, lanes) for one in candidate.statements)


def _seconds(candidate: Candidate, fibers: InputFibers) -> float:
    formats = {**candidate.formats, **candidate.workspaces}
    tiles = 1.0
    if candidate.tile is not None:
        loop, size = candidate.tile
        tiles = math.ceil(fibers.extent(loop) / size)
        fibers = fibers.with_extent(loop, size)
    work = tiles * sum(cost(one, formats, fibers, turns=False) for one in candidate.statements)
    return _UNIT * work if candidate.shared is None else _shared_out(candidate, fibers, work)


def _shared_out(candidate: Candidate, fibers: InputFibers, work: float) -> float:
    """The seconds of work that threads share."""
    shared, target = candidate.shared, candidate.statements[-1].target
    assert shared is not None
    read = [
        node for node in cin.walk(candidate.statements[-1].value) if isinstance(node, cin.Access)
    ]
    copied = 0.0
    if shared.tensor is not None or shared.loop not in target.variables:
        copied = shared.parts * math.prod(fibers.extent(v) for v in target.variables)
    if shared.tensor is not None:
        access = next(one for one in read if one.tensor == shared.tensor)
        blocks = fibers.entries(access, candidate.formats[access.tensor]) / shared.block
        work = (work + blocks * _SOUGHT) / max(1.0, min(shared.parts, blocks))
    else:
        shares = (fibers.largest_share(one, shared.loop, shared.parts) for one in read)
        work *= max(shares, default=1 / shared.parts)
    return _THREADS_BEGIN + _UNIT * (work + copied * _COPIED)
