"""Runs that would not end: no progress, a limit of cycles, queues that fill the memory."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

import custard
import sim
from sam.blocks import KINDS
from sam.blocks.base import Block, Kind, into, out
from sam.blocks.block_memory import Growing, Written
from sam.graph import Edge, End, Graph, Node
from sam.support import free_memory
from sam.support.errors import UserError
from sam.token import DATA, DONE
from tests.support.compiler import needs_compiler

engines = pytest.mark.parametrize(
    "engine",
    [
        "simpy",
        pytest.param(
            "compiled",
            marks=needs_compiler,
        ),
    ],
)


def idle(p, s, m):
    """Looks at its input, and does nothing."""
    p.in_val.peek()
    return None


def gush(p, s, m):
    """Gives the first value again and again."""
    _, value = p.in_val.peek()
    p.val.give(DATA, value)
    return None


def blink(p, s, m):
    """Gives the first value in every other firing."""
    _, value = p.in_val.peek()
    s.n = 1 - s.n
    if s.n:
        p.val.give(DATA, value)
    return None


def turn(p, s, m):
    """Goes through a thousand states, and begins anew; before, through as many others."""
    p.in_val.peek()
    s.n += 1
    if s.n == 2000:
        s.n = 1000
    return None


def turn_and_gush(p, s, m):
    """Gives the first value in one of so many firings that they have no divisor."""
    _, value = p.in_val.peek()
    s.n += 1
    if s.n == 997:
        s.n = 0
        p.val.give(DATA, value)
    return None


def gush_and_count(p, s, m):
    """Gives the first value again and again, and counts: nobody knows that this has no end."""
    _, value = p.in_val.peek()
    p.val.give(DATA, value)
    s.n += 1
    return None


def hoard(p, s, m):
    """Looks at its input, and stores more and more."""
    p.in_val.peek()
    m.kept.append(1)
    return None


def wait_long(p, s, m):
    """Passes on each token after 30,000 firings."""
    kind, value = p.in_val.peek()
    s.n += 1
    if s.n < 30_000:
        return None
    s.n = 0
    p.in_val.take()
    p.val.give(kind, value)
    return kind == DONE


def gush_twice(p, s, m):
    """Gives the first value again and again, and 258 times to another output."""
    _, value = p.in_val.peek()
    p.val.give(DATA, value)
    s.n += 1
    if s.n < 259:
        p.more.give(DATA, value)
    return None


def drop(p, s, m):
    p.in_val.peek()
    p.in_val.take()
    return None


def drop_slowly(p, s, m):
    """Takes a value in every other firing."""
    p.in_val.peek()
    s.n = 1 - s.n
    if s.n:
        p.in_val.take()
    return None


IN, OUT = into("in_val", "val"), out("val", "val")


def add_kind(monkeypatch, step, ports=(IN, OUT)) -> str:
    """A kind of block, by the name of its step."""
    block = Block(
        ports=ports,
        step=step,
        state={"n": 0},
        memory=lambda around: SimpleNamespace(kept=Growing(written=Written.IN_ORDER)),
    )
    monkeypatch.setitem(KINDS, step.__name__, Kind(step.__name__, None, lambda parameters: block))
    return step.__name__


def wired(reader: str, port: str, kind: str, *more: tuple[Node, Edge]) -> Graph:
    """A source, a block of a kind, and one that reads its output at a port."""
    tokens = {"tokens": "1.5, S0, D", "stream": "val", "depth": 1}
    nodes = Node("source", "source", tokens), Node("spin", kind), Node("last", reader)
    edges = (
        Edge(End("source", "val"), End("spin", "in_val")),
        Edge(End("spin", "val"), End("last", port)),
    )
    return Graph((*nodes, *(one for one, _ in more)), (*edges, *(edge for _, edge in more)))


def graph(step, monkeypatch) -> Graph:
    return wired("sink", "in_stream", add_kind(monkeypatch, step))


def fill_memory(monkeypatch) -> None:
    limit = free_memory.MemoryLimit(1000, "the address space is limited to 1 GiB (ulimit -v)")
    monkeypatch.setattr(free_memory, "tightest", lambda: limit)


@engines
def test_a_block_that_makes_no_progress_is_told(engine, monkeypatch):
    with pytest.raises(UserError) as caught:
        sim.simulate(graph(idle, monkeypatch), {}, engine=engine)
    assert str(caught.value).startswith("no progress: spin fires again and again, and neither")


@engines
@pytest.mark.parametrize(
    ("step", "does"), [(turn, "fires again and again"), (turn_and_gush, "gives")]
)
def test_a_state_that_comes_again_after_many_firings_is_found(engine, step, does, monkeypatch):
    with pytest.raises(UserError, match=f"no progress: spin {does}"):
        sim.simulate(graph(step, monkeypatch), {}, engine=engine)


@engines
def test_a_block_that_counts_for_long_makes_progress(engine, monkeypatch):
    """It takes its tokens after 30,000 firings each."""
    endless = graph(wait_long, monkeypatch)
    run = sim.simulate(endless, {}, engine=engine)
    assert run.blocks["spin"].fired == 3 * 30_000


@engines
@pytest.mark.parametrize("step", [gush, blink])
def test_a_block_that_gives_the_same_for_ever_is_told(engine, step, monkeypatch):
    """Also where another one drops all that it gives; with more configs than few, too."""
    graphs = [
        graph(step, monkeypatch),
        wired(
            add_kind(monkeypatch, drop, (IN,)),
            "in_val",
            add_kind(monkeypatch, step),
        ),
    ]
    for endless in graphs:
        with pytest.raises(UserError, match="the run is not done after 5000 cycles"):
            sim.simulate(endless, {}, engine=engine, max_cycles=5000)
        with pytest.raises(UserError) as caught:
            sim.simulate(endless, {}, engine=engine)
        assert caught.value.what == (
            "no progress: spin gives tokens for ever: it neither takes a token nor changes its "
            "state"
        )


@engines
def test_what_grew_when_the_memory_is_full_is_named_with_the_limit(engine, monkeypatch):
    """A sink that keeps all; a queue whose reader is slow, though another block stores a little;
    and a block that stores without end."""
    fill_memory(monkeypatch)
    limit = "the address space is limited to 1 GiB (ulimit -v)"
    with pytest.raises(UserError) as caught:
        sim.simulate(graph(gush_and_count, monkeypatch), {}, engine=engine)
    assert re.fullmatch(
        r"there is no memory for what last stores: [\d,]+ numbers, from the tokens on spin.val -> "
        rf"last.in_stream; {re.escape(limit)}",
        caught.value.what,
    )
    ports = IN, OUT, out("more", "val")
    slow = wired(
        add_kind(monkeypatch, drop_slowly, (IN,)),
        "in_val",
        add_kind(monkeypatch, gush_twice, ports),
        (Node("sink", "sink"), Edge(End("spin", "more"), End("sink", "in_stream"))),
    )
    with pytest.raises(UserError) as caught:
        sim.simulate(slow, {}, engine=engine)
    assert re.fullmatch(
        r"there is no memory for the tokens in the queues: spin has given [\d,]+ that wait on "
        rf"spin.val -> last.in_val; {re.escape(limit)}",
        caught.value.what,
    )
    with pytest.raises(UserError) as caught:
        sim.simulate(graph(hoard, monkeypatch), {}, engine=engine)
    assert caught.value.what.startswith("there is no memory for what spin stores: ")


@needs_compiler
def test_a_block_without_end_under_many_configs(monkeypatch):
    """Their firings are found once for all, but not for ever."""
    endless = wired(
        add_kind(monkeypatch, drop, (IN,)),
        "in_val",
        add_kind(monkeypatch, gush_and_count),
    )
    configs = [{"queues": {"latency_cycles": n}} for n in range(1, 7)]
    outcomes = sim.simulate_many(
        endless, {}, configs, engine="compiled", max_cycles=5000, return_errors=True
    )
    assert [type(one) for one in outcomes] == [sim.OutOfCycles] * 6


@engines
def test_what_a_run_has_reached_at_its_limit(engine):
    """Of y = 2 b with 6 entries: the scanner gives one in each cycle, and all blocks follow."""
    program = custard.compile("y(i) = 2 * b(i)")
    with pytest.raises(sim.OutOfCycles) as caught:
        program.simulate({"b": np.arange(1.0, 7)}, engine=engine, max_cycles=5)
    run = caught.value.reached
    assert run.cycles == 5
    assert run.output is None
    assert run.engine == engine
    assert run.blocks["scan_b_i"].fired == 5
    assert run.blocks["scan_b_i"].done == 0
    assert run.blocks["array_b"].fired == 4
    for block in run.blocks.values():
        waits = sum(block.starved.values()) + sum(block.blocked.values())
        assert block.busy + waits + block.memory + block.done == 5
    assert run.streams["scan_b_i.ref -> array_b.in_ref"].tokens["data"] == 5


@engines
def test_what_a_program_of_two_graphs_has_reached(engine):
    program = custard.compile(
        "y(i) = A(i,j) * x(j) * x(j)", schedule=["precompute(x(j)*x(j),j,j,w)"]
    )
    inputs = {"A": np.eye(4), "x": np.ones(4)}
    parts = program.simulate(inputs, engine=engine).parts
    limit = parts[0].cycles + 2
    with pytest.raises(sim.OutOfCycles, match=f"not done after {limit} cycles") as caught:
        program.simulate(inputs, engine=engine, max_cycles=limit)
    reached = caught.value.reached
    assert reached.cycles == limit
    assert [part.cycles for part in reached.parts] == [parts[0].cycles, 2]
    [failed] = program.simulate_many(
        inputs, [{}], engine=engine, max_cycles=limit, return_errors=True
    )
    assert failed.reached.blocks == reached.blocks


@engines
def test_a_limit_of_cycles(engine):
    program = custard.compile("X(i,j) = B(i,k) * C(k,j)", schedule="reorder(i,k,j)")
    inputs = {"B": np.eye(5), "C": np.eye(5)}
    cycles = sim.simulate(program.graph, inputs, engine=engine).cycles
    run = sim.simulate(program.graph, inputs, engine=engine, max_cycles=cycles)
    assert run.cycles == cycles
    with pytest.raises(UserError) as caught:
        program.run(inputs, engine=engine, max_cycles=cycles - 1)
    assert str(caught.value) == (
        f"the run is not done after {cycles - 1} cycles, the limit that it was given\n"
        "hint: raise --max-cycles (max_cycles in Python, limits.cycles in a sweep)"
    )
