"""Reducers over any number of dimensions (Definition 3.7).

Parameter ``dimensions`` is the paper's n: the levels of the result that lie inside the variable
that is summed over. A reducer of n = 0 holds one number. One of n > 0 holds an n-dimensional
sub-tensor: it takes all the points in, each with its n coordinates, then emits them in order,
each once, while it takes in the next sub-tensor.

Parameter ``ways`` is how many lanes (``sam.blocks.lanes``) it takes in at once, each of which has a
part of the values, or sub-tensors, that are added up. A firing takes a value of each: that is a
tree of adders, or a memory of as many ports.

Parameter ``empty`` of one of n = 0 tells what an empty fiber comes to: "zero", "drop" (nothing),
or "absent" (``N``); for that it sees the coordinates that the fibers belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from sam.arithmetic import Operation
from sam.blocks.base import COMPUTER, Block, Drawing, Emitter, Kind, StreamError, Values
from sam.blocks.block_memory import Accumulator
from sam.blocks.parameters import choice, optional, whole
from sam.blocks.ports import Port, into, out
from sam.graph import End, Parameters
from sam.graph_builder import GraphBuilder
from sam.token import DATA, DONE, EMPTY, STOP

_MOST_PLACES = 2**28
"""The largest extent for which a reducer of one dimension may have a place for each coordinate."""

_ALL = 2**62
"""The level of ``D``, which ends all: above that of any stop token."""


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


def reduce_lanes(p: Any, s: Any, m: Any) -> bool | None:
    """Adds a value of each lane that has one; at the end of a fiber as ``reduce_scalar``."""
    if _add_values(p, s, m):
        return None
    kind, value = p.in_vals[0].peek()
    if kind == STOP and not s.emitted and (s.filled or m.explicit):
        p.val.give(DATA, s.sum if s.filled else m.zero)
        s.filled = False
        s.emitted = value > 0
        if value == 0:
            for val in p.in_vals:
                val.take()
        return None
    for val in p.in_vals:
        val.take()
    s.emitted = False
    if kind == DONE or value > 0:
        p.val.give(kind, value - 1 if kind == STOP else 0)
    return True if kind == DONE else None


def reduce_owned(p: Any, s: Any, m: Any) -> bool | None:
    """Adds a value of each lane, or emits the sum at the end of the fiber of an outer coordinate.

    There is one for each coordinate: ``N`` for one whose fiber is empty.
    """
    outer_kind, outer_value = p.in_outer.peek()
    if _add_values(p, s, m):
        return None
    kind, value = p.in_vals[0].peek()
    if kind == STOP and outer_kind == DATA:
        p.val.give(DATA if s.filled else EMPTY, s.sum if s.filled else m.zero)
        s.filled = False
        p.in_outer.take()
        if value == 0:
            for val in p.in_vals:
                val.take()
    elif kind != outer_kind or (kind == STOP and outer_value != value - 1):
        raise StreamError("the stop tokens of an outer and an inner stream do not match")
    else:
        p.in_outer.take()
        for val in p.in_vals:
            val.take()
        p.val.give(outer_kind, outer_value)
    return True if kind == DONE else None


def _add_values(p: Any, s: Any, m: Any) -> bool:
    """Takes and adds a value of each lane that has one; tells whether any lane had."""
    having = 0
    for val in p.in_vals:
        kind, _ = val.peek()
        having += kind == DATA or kind == EMPTY
    if having == 0:
        first_kind, first_value = p.in_vals[0].peek()
        for val in p.in_vals:
            kind, value = val.peek()
            if kind != first_kind or value != first_value:
                raise StreamError("the lanes end their fibers differently")
        return False
    if not s.filled:
        s.sum = m.zero
        s.filled = True
    for val in p.in_vals:
        kind, value = val.peek()
        if kind == DATA or kind == EMPTY:
            val.take()
        if kind == DATA:
            s.sum = m.add(s.sum, value)
    return True


def reduce_tensor(p: Any, s: Any, m: Any) -> bool | None:
    """Takes in a point of each lane; a stop token of level n or more completes the sub-tensor.

    Lanes whose own sub-tensor has ended, by a stop token of level n - 1 or more, wait for the
    others: all lanes begin the next sub-tensor together, and none runs ahead.
    """
    n = len(p.in_crds) // len(p.in_vals)
    going = 0
    for lane in range(len(p.in_vals)):
        going += _goes_on(p, s, lane, n)
    if going > 0:
        for lane in range(len(p.in_vals)):
            if _goes_on(p, s, lane, n):
                _go_on(p, s, m, lane, n)
        return None
    lowest, highest = _ALL, 0
    for lane in range(len(p.in_vals)):
        kind, value = p.in_crds[lane * n + n - 1].peek()
        level = value if kind == STOP else _ALL
        lowest = min(lowest, level)
        highest = max(highest, level)
    if lowest > n - 1 and lowest != highest:
        raise StreamError("the lanes end their fibers differently")
    if lowest == _ALL:
        for stream in p.in_crds + p.in_vals:
            stream.take()
        p.handover.give(DONE, 0)
        return True
    if lowest > n - 1:
        p.handover.give(DATA, lowest)
        m.memory.complete()
    for lane in range(len(p.in_vals)):
        kind, value = p.in_crds[lane * n + n - 1].peek()
        if kind == STOP and value == lowest:
            _take_stop(p, s, lane, n)
    return None


def _goes_on(p: Any, s: Any, lane: int, n: int) -> bool:
    """Whether a lane has more of its sub-tensor: a point, a stop token, or a childless coordinate.

    Peeks at every token that a firing of the lane takes.
    """
    kind, value = p.in_crds[lane * n + n - 1].peek()
    p.in_vals[lane].peek()
    if kind == STOP:
        for level in range(n - 2, -1, -1):
            ended = value - (n - 2 - level)
            if ended > 0 or (ended == 0 and not s.open[lane * (n - 1) + level]):
                outer_kind, _ = p.in_crds[lane * n + level].peek()
                if outer_kind == DATA and ended > 0:
                    return True
        return value < n - 1
    for level in range(n - 1):
        if kind == DONE or not s.open[lane * (n - 1) + level]:
            p.in_crds[lane * n + level].peek()
    return kind != DONE


def _go_on(p: Any, s: Any, m: Any, lane: int, n: int) -> None:
    """Takes a point of a lane and adds it at its coordinates."""
    if p.in_crds[lane * n + n - 1].peek()[0] == STOP:
        _take_stop(p, s, lane, n)
        return
    kind, value = p.in_vals[lane].peek()
    for level in range(n - 1):
        if not s.open[lane * (n - 1) + level]:
            s.open[lane * (n - 1) + level] = True
            s.points[lane * (n - 1) + level] = p.in_crds[lane * n + level].peek()[1]
            p.in_crds[lane * n + level].take()
        s.outer[level] = s.points[lane * (n - 1) + level]
    _, coordinate = p.in_crds[lane * n + n - 1].peek()
    p.in_crds[lane * n + n - 1].take()
    p.in_vals[lane].take()
    m.memory.add((*tuple(s.outer), coordinate), value if kind == DATA else m.zero)


def _take_stop(p: Any, s: Any, lane: int, n: int) -> None:
    """Takes a stop token of a lane's values, and what ends with it in the coordinates.

    A coordinate whose fiber is empty is taken by itself, if more than its fiber ends here.
    """
    value = p.in_crds[lane * n + n - 1].peek()[1]
    for level in range(n - 2, -1, -1):
        ended = value - (n - 2 - level)
        if ended > 0:
            kind, _ = p.in_crds[lane * n + level].peek()
            if kind == DATA:
                p.in_crds[lane * n + level].take()
                return
    for level in range(n - 1):
        ended = value - (n - 2 - level)
        if ended > 0 or (ended == 0 and not s.open[lane * (n - 1) + level]):
            p.in_crds[lane * n + level].take()
        if ended >= 0:
            s.open[lane * (n - 1) + level] = False
    p.in_crds[lane * n + n - 1].take()
    p.in_vals[lane].take()


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
        return _tensor_reducer(n, parameters.get("ways", 1))
    if parameters["empty"] == "absent":
        return _owned_reducer(parameters.get("ways", 1))
    return _scalar_reducer(parameters["empty"] == "zero", parameters.get("ways", 1))


def _scalar_reducer(zero: bool, ways: int) -> Block:
    return Block(
        ports=(*_values(1, ways, "in_vals" if ways > 1 else None), out("val", "val")),
        step=reduce_lanes if ways > 1 else reduce_scalar,
        state={"sum": 0, "filled": False, "emitted": False},
        memory=lambda around: SimpleNamespace(
            explicit=zero, zero=around.zero, add=Operation("add", around.dtype)
        ),
        values=Values(sums=True),
    )


def _owned_reducer(ways: int) -> Block:
    return Block(
        ports=(into("in_outer", "crd"), *_values(1, ways, "in_vals"), out("val", "val")),
        step=reduce_owned,
        state={"sum": 0, "filled": False},
        memory=lambda around: SimpleNamespace(zero=around.zero, add=Operation("add", around.dtype)),
        values=Values(sums=True),
    )


def _lanes(ways: int) -> list[str]:
    """The suffixes of the port names of each lane."""
    return [f"_{lane}" for lane in range(ways)] if ways > 1 else [""]


def _values(depth: int, ways: int, group: str | None) -> tuple[Port, ...]:
    """The ports of the values of each lane."""
    return tuple(
        into(f"in_val{lane}", "val", depth, group=group, operand=n)
        for n, lane in enumerate(_lanes(ways))
    )


def _tensor_reducer(n: int, ways: int) -> Block:
    return Block(
        ports=(
            *(
                into(f"in_crd{k}{lane}", "crd", k + 2, group="in_crds", operand=number, own=1)
                for number, lane in enumerate(_lanes(ways))
                for k in range(n)
            ),
            *_values(n + 1, ways, "in_vals"),
            *(
                out(
                    f"crd{k}",
                    "crd",
                    k + 1,
                    group="crds",
                    of=tuple(f"in_crd{k}{lane}" for lane in _lanes(ways)),
                )
                for k in range(n)
            ),
            out("val", "val", n),
        ),
        step=reduce_tensor,
        state={
            "open": [False] * (ways * (n - 1)),
            "points": [0] * (ways * (n - 1)),
            "outer": [0] * (n - 1),
        },
        memory=lambda around: SimpleNamespace(
            zero=around.zero,
            memory=Accumulator(
                n,
                around.capacity,
                Operation("add", around.dtype),
                far=max(around.extents.values(), default=0) > _MOST_PLACES,
            ),
        ),
        emitter=Emitter(emit_tensor, {"next": 0, "ended": False}),
        values=Values(sums=True),
    )


REDUCER = Kind(
    "reducer",
    "reducer",
    _reducer,
    {
        "dimensions": whole(),
        "empty": optional(choice(("zero", "drop", "absent"))),
        "ways": optional(whole(1)),
    },
    drawing=Drawing("octagon", COMPUTER),
    work="sums up",
)


def reduce_to_scalars(
    graph: GraphBuilder, name: str, values: Sequence[End], empty: str, outer: End | None = None
) -> End:
    """Adds a reducer of the values of each fiber to one number.

    ``values`` has a stream for each lane; ``outer`` are the coordinates that fibers belong to,
    which an ``empty`` of "absent" needs.
    """
    ways = {"ways": len(values)} if len(values) > 1 else {}
    inputs = {} if outer is None else {"outer": outer}
    inputs |= {f"val{lane}": end for lane, end in zip(_lanes(len(values)), values, strict=True)}
    return graph.add("reducer", name, {"dimensions": 0, "empty": empty, **ways}, **inputs)["val"]


def reduce_to_tensors(
    graph: GraphBuilder, name: str, lanes: Sequence[tuple[Sequence[End], End]]
) -> tuple[list[End], End]:
    """Adds a reducer of sub-tensors: each lane is coordinates, outermost first, and values.

    Gives the coordinates and the values of the sums.
    """
    inputs: dict[str, End] = {}
    for lane, (crds, values) in zip(_lanes(len(lanes)), lanes, strict=True):
        inputs |= {f"crd{k}{lane}": crd for k, crd in enumerate(crds)}
        inputs[f"val{lane}"] = values
    dimensions = len(lanes[0][0])
    ways = {"ways": len(lanes)} if len(lanes) > 1 else {}
    ports = graph.add("reducer", name, {"dimensions": dimensions, **ways}, **inputs)
    return [ports[f"crd{k}"] for k in range(dimensions)], ports["val"]
