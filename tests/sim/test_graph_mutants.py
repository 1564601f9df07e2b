"""Graphs that are rewired and changed at random run to the same end on both engines, or are refused
with one UserError: nobody's graph reads foreign memory, hangs, or makes a tensor that is none."""

import pickle

import numpy as np

import custard
import sim
from sam.graph import Graph
from sam.support.errors import UserError
from tests.support.graph_mutants import mutate_graph
from tests.support.mutants import require_survival

DRAW = np.random.default_rng(3)


def _sparse(*shape):
    return (DRAW.integers(1, 9, shape) * (DRAW.random(shape) < 0.4)).astype(float)


# Extents that all differ, so that what is read with the coordinates of another is found out.
INPUTS = {
    "B": _sparse(5, 7),
    "C": _sparse(7, 6),
    "D": _sparse(5, 6),
    "E": _sparse(5, 7),
    "T": _sparse(3, 4, 5),
    "b": _sparse(5),
    "c": _sparse(7),
}
PROGRAMS = [
    ("X(i,j) = B(i,k) * C(k,j)", {"B": "CSR", "X": "ds"}, ["reorder(i,k,j)"]),
    ("X(i,j) = B(i,k) * C(k,j)", {}, ["reorder(i,j,k)"]),
    ("X(i,j) = B(i,k) * C(k,j)", {}, ["reorder(k,i,j)"]),
    ("X(i,j) = D(i,j) * B(i,k) * C(k,j)", {"B": "dd", "C": "dd:1,0"}, []),
    ("y(i) = 2 * B(i,j) * c(j) + b(i)", {"B": "bb", "c": "d", "y": "h"}, []),
    ("y(i) = B(i,j) * c(j)", {}, ["parallelize(i,Lanes,2)"]),
    ("y(i) = b(i) - B(i,j) * c(j)", {}, []),
    ("X(i,j) = B(i,j) * E(i,j)", {"B": "bb", "E": "bb", "X": "bb"}, []),
    ("X(i,j) = B(i,j) + E(i,j)", {"X": "uc", "B": "uc"}, []),
    ("X(i,j) = B(i,j) * E(i,j)", {"X": "dl"}, ["skip(B,j)"]),
    ("y(i) = B(i,j) * c(j)", {}, ["split(i,i0,i1,2)"]),
    ("y = T(i,j,k) * B(k,l)", {}, []),
]
MOST_CYCLES = 100_000


def _outcome(graph: Graph, engine: str):
    used = {slot.tensor for slot in graph.slots}
    inputs = {name: tensor for name, tensor in INPUTS.items() if name in used}
    return sim.simulate(graph, inputs, engine=engine, validate=False, max_cycles=MOST_CYCLES)


def _use(data: bytes) -> None:
    graph = pickle.loads(data)
    try:
        run = _outcome(graph, "simpy")
    except UserError:
        run = None
    try:
        other = _outcome(graph, "compiled")
    except UserError:
        assert run is None, "compiled refuses what simpy does"
        return
    assert run is not None, "compiled does what simpy refuses"
    assert run.cycles == other.cycles
    if run.output is not None:
        first, second = run.output, other.output
        assert first.format == second.format
        np.testing.assert_array_equal(first.to_numpy(), second.to_numpy())


def test_mutants_of_graphs_end_alike_on_both_engines():
    graphs = [graph for program in PROGRAMS for graph in custard.compile(*program).graphs]
    require_survival(_use, [pickle.dumps(graph) for graph in graphs], mutate_graph)
