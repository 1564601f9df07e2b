"""The gates of machines, and what keeps a machine from being cut."""

import pytest
import scipy.sparse

import custard
from sam.graph import Edge, End, Graph, Node
from sim.binding import bind
from sim.compiled.engine import CompiledRun
from sim.compiled.gate import WITHOUT_END, let_through, why_whole
from sim.compiled.layout import CompiledMachine
from sim.config.hardware import load
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

B = scipy.sparse.random(6, 5, 0.5, format="csr", random_state=1)

TOKENS = {"stream": "val", "depth": 0, "tokens": "1, D"}
TWO = Graph(
    nodes=(
        *(Node(f"source{n}", "source", TOKENS) for n in range(2)),
        *(Node(f"sink{n}", "sink") for n in range(2)),
    ),
    edges=tuple(Edge(End(f"source{n}", "val"), End(f"sink{n}", "in_stream")) for n in range(2)),
)
"""A graph in two pieces."""


def machine(expression, formats=None, commands=(), **config):
    program = custard.compile(expression, formats or {}, [*commands])
    bound = bind(program.graph, {name: B for name in "BC" if name in expression})
    config = load(None, {"queues.depth": 2, **config})
    return CompiledMachine(bound, config, holdable=True)


@pytest.mark.parametrize(
    ("expression", "gate"),
    [
        ("X(i,j) = B(i,j)", "scan_B_i"),
        ("X(i,j) = B(i,j) * C(i,j)", "intersect_i"),
        ("X(i,j) = B(i,j) + C(i,j)", "unite_i"),
    ],
)
def test_the_gate_is_the_block_that_all_comes_through(expression, gate):
    assert machine(expression).gate.part.name == gate


def test_a_gate_is_let_through_as_often_as_it_is_allowed():
    one = machine("X(i,j) = B(i,j)")
    assert let_through(one, 4) == 4
    assert let_through(one, WITHOUT_END) == 6 + 2  # rows, a stop token, a done token
    assert [shared.queue.tail for shared in one.gate.queues_out] == [0] * len(one.gate.queues_out)
    one.close()


def test_a_gate_holds_the_others():
    one = machine("X(i,j) = B(i,j)")
    one.allow(3)
    CompiledRun(one).go_on()
    assert (one.at_cut, one.finished, one.gate.block.fired) == (True, False, 3)
    one.allow(WITHOUT_END)
    CompiledRun(one).go_on()
    assert (one.at_cut, one.finished) == (False, True)
    one.close()


@pytest.mark.parametrize(
    ("result", "depth", "why"),
    [
        ("ss", 2, None),
        ("ss", "unbounded", "queues are unbounded"),
        ("bb", 2, "write_X_i reads what it has stored"),
    ],
)
def test_why_a_machine_is_not_cut(result, depth, why):
    one = machine("X(i,j) = B(i,j)", {"X": result}, **{"queues.depth": depth})
    assert why_whole(one) == why


def test_a_graph_in_two_pieces_has_no_gate():
    one = CompiledMachine(bind(TWO, {}), load(None), holdable=True)
    assert why_whole(one) == "no block has all others above or below it"
