"""A reducer with saturation: sums stay between two limits, as in fixed-point accumulators."""

from types import SimpleNamespace
from typing import Any

from sam.arithmetic import Operation
from sam.blocks.base import Block, Kind, into, out
from sam.blocks.parameters import whole
from sam.token import DATA, DONE, STOP


def reduce_saturating(p: Any, s: Any, m: Any) -> bool | None:
    """Adds a value, saturating, or emits the sum at the end of a fiber (0 if it is empty).

    A stop token above S0 takes two firings: the sum, then the token, lowered by one.
    """
    kind, value = p.in_val.peek()
    if kind == STOP and not s.emitted:
        p.val.give(DATA, s.sum)
        s.sum = m.zero
        s.emitted = value > 0
        if value == 0:
            p.in_val.take()
        return None
    p.in_val.take()
    if kind == DATA:
        s.sum = min(max(m.add(s.sum, value), m.least), m.most)
    elif kind >= STOP:
        s.emitted = False
        p.val.give(kind, value - 1 if kind == STOP else 0)
    return True if kind == DONE else None


SATURATING_REDUCER = Kind(
    "saturating_reducer",
    None,  # no primitive of the SAM paper
    lambda parameters: Block(
        ports=(into("in_val", "val", 1), out("val", "val")),
        step=reduce_saturating,
        state={"sum": 0, "emitted": False},
        memory=lambda around: SimpleNamespace(
            **parameters, zero=around.zero, add=Operation("add", around.dtype)
        ),
    ),
    {"least": whole(-(2**31), 0), "most": whole(0, 2**31 - 1)},
    work="sums up",
)
