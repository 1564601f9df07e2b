"""Wires: the message that a block reads depends on time, and both engines agree on the cycle."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sim
from sam.blocks import KINDS
from sam.blocks.base import Block, Kind, into, out, wire
from sam.graph import Edge, End, Graph, Node
from sam.support.errors import UserError
from sam.token import DATA, DONE, format_stream
from sim.binding import bind
from sim.compiled import engine as compiled_engine
from sim.compiled.layout import CompiledMachine
from sim.config.hardware import load
from tests.support.compiler import needs_compiler
from tests.support.profiles import examples

pytestmark = needs_compiler


def stamp(p, s, m):
    """Passes values on, with a thousand times the newest message added."""
    kind, value = p.in_val.peek()
    p.in_val.take()
    _, message = p.in_news.latest()
    p.val.give(kind, value + 1000 * message if kind == DATA else value)
    return True if kind == DONE else None


def tell(p, s, m):
    """Passes values on, and tells of every third."""
    kind, value = p.in_val.peek()
    p.in_val.take()
    p.val.give(kind, value)
    s.count += 1
    if kind == DATA and s.count % 3 == 0:
        p.news.give(DATA, s.count)
    return True if kind == DONE else None


def both(p, s, m):
    """Does what ``tell`` does, but reads a wire as well."""
    kind, value = p.in_val.peek()
    p.in_val.take()
    _, message = p.in_news.latest()
    p.val.give(kind, value + message if kind == DATA else value)
    s.count += 1
    if kind == DATA and s.count % 2 == 0:
        p.news.give(DATA, s.count)
    return True if kind == DONE else None


@pytest.fixture(autouse=True)
def _kinds():
    values = (into("in_val", "val"), out("val", "val"))
    count = {"count": 0}
    blocks = {
        "stamp": Block((*values, wire("in_news", "crd")), stamp),
        "tell": Block((*values, out("news", "crd")), tell, count),
        "both": Block((*values, out("news", "crd"), wire("in_news", "crd")), both, count),
    }
    KINDS.update({n: Kind(n, None, lambda _, block=block: block) for n, block in blocks.items()})
    yield
    for name in blocks:
        del KINDS[name]


def chain(*kinds, tokens, news):
    """Blocks in a chain, from a source to a sink, with wires ``news`` from block to block."""
    names = ["given", *(f"{kind}{n}" for n, kind in enumerate(kinds)), "kept"]
    ports = ["val", *("in_val" for _ in kinds), "in_stream"]
    return Graph(
        nodes=(
            Node("given", "source", {"stream": "val", "depth": 1, "tokens": tokens}),
            *(Node(name, kind) for name, kind in zip(names[1:-1], kinds, strict=True)),
            Node("kept", "sink"),
        ),
        edges=(
            *(
                Edge(End(one, "val"), End(other, port))
                for one, other, port in zip(names, names[1:], ports[1:], strict=False)
            ),
            *(Edge(End(one, "news"), End(other, "in_news")) for one, other in news),
        ),
    )


TOKENS = ", ".join(map(str, range(1, 25))) + ", S0, D"


def outcome(graph, config, engine):
    try:
        run = sim.simulate(graph, overrides=config, engine=engine)
    except UserError as error:
        return str(error)
    return run.cycles, run.blocks, run.streams, format_stream(run.sinks["kept"])


def messages(graph, config):
    """The messages that the only block of kind stamp saw, by token."""
    _, _, _, kept = outcome(graph, config, "compiled")
    return [int(float(value)) // 1000 for value in kept.split(", ")[:-2]]


def test_a_message_is_seen_after_its_latency():
    """A token is stamped in a cycle and told of in the next; a message takes its latency more."""
    graph = chain("stamp", "tell", tokens=TOKENS, news=[("tell1", "stamp0")])
    assert messages(graph, {})[:11] == [0, 0, 0, 0, 3, 3, 3, 6, 6, 6, 9]
    late = {"queues.names": {"stamp0.in_news": {"latency_cycles": 4}}}
    assert messages(graph, late)[:11] == [0, 0, 0, 0, 0, 0, 0, 3, 3, 3, 6]


def test_a_wire_is_read_when_the_block_may_fire_and_not_when_it_does():
    """Its tokens come every third cycle; the one that fires in cycle 3n was read for in 3n - 2."""
    graph = chain("tell", "stamp", tokens=TOKENS, news=[("tell0", "stamp1")])
    slow = {"blocks.names": {"tell0": {"initiation_interval_cycles": 3}}}
    # The third token is told of in cycle 6, and stamped in cycle 7 by what was there in cycle 5.
    assert messages(graph, slow)[:8] == [0, 0, 0, 3, 3, 3, 6, 6]


depths = st.sampled_from([1, 2, 3, "unbounded"])
cycles = st.sampled_from([1, 1, 2, 5])
configs = st.fixed_dictionaries(
    {},
    optional={
        "queues.depth": depths,
        "queues.latency_cycles": cycles,
        "queues.kinds.crd.latency_cycles": cycles,
        "blocks.latency_cycles": cycles,
        "blocks.kinds.stamp.initiation_interval_cycles": cycles,
        "blocks.kinds.tell.initiation_interval_cycles": cycles,
        "blocks.kinds.both.latency_cycles": cycles,
    },
)


@settings(suppress_health_check=list(HealthCheck), max_examples=examples(500, compiles=True))
@given(st.lists(st.integers(0, 9), max_size=40), st.permutations(range(4)), configs)
def test_the_engines_agree(values, order, config):
    """Two that read, one that tells, and one that does both, told by each other."""
    kinds = ("stamp", "tell", "both", "stamp")
    placed = [kinds[n] for n in order]
    teller = next(f"tell{n}" for n, kind in enumerate(placed) if kind == "tell")
    forward = next(f"both{n}" for n, kind in enumerate(placed) if kind == "both")
    readers = [f"stamp{n}" for n, kind in enumerate(placed) if kind == "stamp"]
    news = [(teller, forward), (forward, readers[0]), (teller, readers[1])]
    tokens = ", ".join([*map(str, values), "S0", "D"])
    graph = chain(*placed, tokens=tokens, news=news)
    assert outcome(graph, config, "compiled") == outcome(graph, config, "simpy")


def test_a_long_wire_takes_no_more_places_than_it_needs():
    """Its messages come in many stretches, read as fast as they come; the newest is kept."""
    tokens = ", ".join(["1"] * 9000 + ["S0", "D"])
    graph = chain("stamp", "tell", tokens=tokens, news=[("tell1", "stamp0")])
    found = outcome(graph, {}, "compiled")
    assert found == outcome(graph, {}, "simpy")
    assert found[2]["tell1.news -> stamp0.in_news"].peak == 1
    running = compiled_engine.CompiledRun(CompiledMachine(bind(graph, {}), load(None)))
    try:
        running.run(None)
        assert all(c.queue.from_ == c.queue.to for c in running.machine.channels.values() if c.wire)
    finally:
        running.close()
