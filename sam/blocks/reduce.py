"""Reducers over any number of dimensions (Definition 3.7).

Parameter ``dimensions`` is the paper's n: the levels of the result that lie inside the variable
that is summed over. A reducer of n = 0 holds one number. One of n > 0 holds an n-dimensional
sub-tensor: it takes all the points in, each with its n coordinates, then emits them in order,
each once, while it takes in the next sub-tensor.

Parameter ``empty`` of one of n = 0 tells what an empty fiber comes to: "zero", "drop" (nothing),
or "absent" (``N``); for that it sees the coordinates that the fibers belong to.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sam.blocks.arithmetic import Operation
from sam.blocks.base import Block, Emitter, Kind, StreamError, into, out
from sam.blocks.memories import Accumulator
from sam.graph import Parameters
from sam.token import DATA, DONE, EMPTY, STOP


def reduce_scalar(p: Any, s: Any, m: Any) -> bool | None:
    """Adds a value, or emits the sum at the end of a fiber.

    An empty fiber gives 0 under ``empty: zero``, and nothing under ``empty: drop``. The end of
    more than one fiber takes two firings: the sum, then the stop token, lowered by one.
    """
    kind, value = p.in_val.peek()
    if kind == DATA or kind == EMPTY:
        p.in_val.take()
        if not s.filled:
            s.sum = m.zero
            s.filled = True
        if kind == DATA:
            s.sum = m.add(s.sum, value)
    elif kind == STOP:
        if not s.emitted and (s.filled or m.explicit):
            p.val.give(DATA, s.sum if s.filled else m.zero)
            s.filled = False
            s.emitted = value > 0
            if value == 0:
                p.in_val.take()
        else:
            p.in_val.take()
            s.emitted = False
            if value > 0:
                p.val.give(STOP, value - 1)
    else:
        p.in_val.take()
        p.val.give(DONE, 0)
        return True
    return None


def reduce_owned(p: Any, s: Any, m: Any) -> bool | None:
    """Adds a value, or emits the sum at the end of the fiber of an outer coordinate.

    There is one for each coordinate: ``N`` for one whose fiber is empty.
    """
    kind, value = p.in_val.peek()
    outer_kind, outer_value = p.in_outer.peek()
    if kind == DATA or kind == EMPTY:
        p.in_val.take()
        if not s.filled:
            s.sum = m.zero
            s.filled = True
        if kind == DATA:
            s.sum = m.add(s.sum, value)
    elif kind == STOP and outer_kind == DATA:
        p.val.give(DATA if s.filled else EMPTY, s.sum if s.filled else m.zero)
        s.filled = False
        p.in_outer.take()
        if value == 0:
            p.in_val.take()
    elif kind != outer_kind or (kind == STOP and outer_value != value - 1):
        raise StreamError("the stop tokens of an outer and an inner stream do not match")
    else:
        p.in_outer.take()
        p.in_val.take()
        p.val.give(outer_kind, outer_value)
    return True if kind == DONE else None


def reduce_tensor(p: Any, s: Any, m: Any) -> bool | None:
    """Takes in one point; a stop token of level n or more completes the sub-tensor."""
    kind, value = p.in_val.peek()
    p.in_crds[-1].peek()
    if kind == DATA or kind == EMPTY:
        _take_point(p, s, m, value if kind == DATA else m.zero)
    elif kind == STOP:
        _take_stop(p, s, m, value)
    else:
        for stream in p.in_crds:
            stream.peek()
        for stream in (*p.in_crds, p.in_val):
            stream.take()
        p.handover.give(DONE, 0)
        return True
    return None


def _take_point(p: Any, s: Any, m: Any, value: Any) -> None:
    """Adds a value at the coordinates of the fibers that it lies in."""
    last = len(p.in_crds) - 1
    for level in range(last):
        if not s.open[level]:
            p.in_crds[level].peek()
    for level in range(last):
        if not s.open[level]:
            s.point[level] = p.in_crds[level].peek()[1]
            p.in_crds[level].take()
            s.open[level] = True
    s.point[last] = p.in_crds[last].peek()[1]
    p.in_crds[last].take()
    p.in_val.take()
    m.memory.add(tuple(s.point), value)


def _take_stop(p: Any, s: Any, m: Any, level: int) -> None:
    """Takes a stop token of the values, and what ends with it in the coordinates.

    A coordinate whose fiber is empty is taken by itself, if more than its fiber ends here.
    """
    last = len(p.in_crds) - 1
    for outer in range(last - 1, -1, -1):
        ended = level - (last - 1 - outer)
        if ended > 0 or (ended == 0 and not s.open[outer]):
            kind, _ = p.in_crds[outer].peek()
            if kind == DATA and ended > 0:
                p.in_crds[outer].take()
                return
    if level > last:
        p.handover.give(DATA, level)
        m.memory.complete()
    for outer in range(last):
        ended = level - (last - 1 - outer)
        if ended > 0 or (ended == 0 and not s.open[outer]):
            p.in_crds[outer].take()
        if ended >= 0:
            s.open[outer] = False
    p.in_crds[last].take()
    p.in_val.take()


def emit_tensor(p: Any, s: Any, m: Any) -> bool | None:
    """Emits a point, with the coordinates in which it differs from the last, or a stop token.

    The n coordinate streams have the nesting of the values; an empty sub-tensor is an empty fiber.
    """
    n = len(p.crds)
    kind, ended = p.handed.peek()
    if kind == DONE:
        p.handed.take()
        for stream in (*p.crds, p.val):
            stream.give(DONE, 0)
        return True
    if s.next == m.memory.count():
        p.handed.take()
        for level in range(n):
            p.crds[level].give(STOP, ended - n + level)
        p.val.give(STOP, ended - 1)
        s.next = 0
        m.memory.release()
        return None
    shared = m.memory.shared(s.next) if s.next > 0 else 0
    if s.next > 0 and shared < n - 1 and not s.ended:
        for level in range(n):
            if level > shared:
                p.crds[level].give(STOP, level - shared - 1)
        p.val.give(STOP, n - 2 - shared)
        s.ended = True
        return None
    for level in range(n):
        if level >= shared:
            p.crds[level].give(DATA, m.memory.coordinate(s.next, level))
    p.val.give(DATA, m.memory.value(s.next))
    s.next += 1
    s.ended = False
    return None


def _reducer(parameters: Parameters) -> Block:
    n = parameters["dimensions"]
    if n > 0:
        return _tensor_reducer(n)
    if parameters["empty"] == "absent":
        return _owned_reducer()
    return _scalar_reducer(parameters["empty"] == "zero")


def _scalar_reducer(zero: bool) -> Block:
    return Block(
        ports=(into("in_val", "val", 1), out("val", "val")),
        step=reduce_scalar,
        state={"sum": 0, "filled": False, "emitted": False},
        memory=lambda around: SimpleNamespace(
            explicit=zero, zero=around.zero, add=Operation("add", around.dtype)
        ),
    )


def _owned_reducer() -> Block:
    return Block(
        ports=(into("in_outer", "crd"), into("in_val", "val", 1), out("val", "val")),
        step=reduce_owned,
        state={"sum": 0, "filled": False},
        memory=lambda around: SimpleNamespace(zero=around.zero, add=Operation("add", around.dtype)),
    )


def _tensor_reducer(n: int) -> Block:
    return Block(
        ports=(
            *(into(f"in_crd{k}", "crd", k + 2, group="in_crds") for k in range(n)),
            into("in_val", "val", n + 1),
            *(out(f"crd{k}", "crd", k + 1, group="crds") for k in range(n)),
            out("val", "val", n),
        ),
        step=reduce_tensor,
        state={"open": [False] * (n - 1), "point": [0] * n},
        memory=lambda around: SimpleNamespace(
            zero=around.zero,
            memory=Accumulator(n, around.capacity, Operation("add", around.dtype)),
        ),
        emitter=Emitter(emit_tensor, {"next": 0, "ended": False}),
    )


REDUCER = Kind("reducer", "reducer", _reducer)
