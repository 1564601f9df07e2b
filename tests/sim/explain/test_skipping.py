"""Graphs with one more scanner that skips."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import custard
import sim
from sam.dot import from_dot
from sam.graph import Edge, End
from sim.explain.skipping import skippings
from tests.support.profiles import examples
from tests.support.programs import programs

SPMV = Path(__file__).parents[3] / "examples" / "spmv.gv"


def parts(graph):
    """The nodes and edges of a graph, in no order."""
    nodes = {(node.name, node.kind, repr(sorted(node.parameters.items()))) for node in graph.nodes}
    return nodes, set(graph.edges)


@pytest.mark.parametrize(
    ("text", "formats"),
    [
        ("y(i) = A(i,j) * x(j)", {"A": "ss", "x": "s"}),
        ("X(i,j) = B(i,k) * C(k,j)", {"B": "ss", "C": "ss"}),
        ("y(i) = b(i) * c(i) * d(i)", {"b": "s", "c": "s", "d": "s"}),
    ],
)
def test_they_are_the_graphs_that_the_compiler_makes(text, formats):
    program = custard.compile(text, formats)
    order = f"reorder({','.join(program.cin.loops)})"
    found = list(skippings(custard.compile(text, formats, [order]).graph))
    assert found
    for one in found:
        tensor, loop = one.scanner.removeprefix("scan_").split("_")
        other = custard.compile(text, formats, [order, f"skip({tensor},{loop})"]).graph
        assert parts(one.graph) == parts(other)


def test_a_scanner_that_skips_already_is_left():
    first, second = skippings(custard.compile("y(i) = b(i) * c(i)", {"b": "s", "c": "s"}).graph)
    [left] = skippings(first.graph)
    assert left.scanner == second.scanner
    assert left.how == (
        'scan_c_i: "skips": true',
        'intersect_i: "skips": [0, 1]',
        "intersect_i.skip1 -> scan_c_i.in_skip",
    )


def test_a_scanner_with_another_reader_may_not_skip():
    """Here a writer reads the coordinates of b too, and needs each of them."""
    graph = custard.compile("y(i) = b(i) * c(i)", {"b": "s", "c": "s"}).graph
    shared = replace(
        graph, edges=(*graph.edges, Edge(End("scan_b_i", "crd"), End("write_y_i", "in_x")))
    )
    assert [one.scanner for one in skippings(shared)] == ["scan_c_i"]


def test_unions_need_each_coordinate():
    graph = custard.compile("y(i) = b(i) + c(i)", {"b": "s", "c": "s"}).graph
    assert list(skippings(graph)) == []


@settings(suppress_health_check=list(HealthCheck), max_examples=examples(40))
@given(programs())
def test_the_result_stays_as_it_is(program):
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(program.expression, program.formats, schedule, dims=program.dims)
    if len(compiled.graphs) > 1:
        return
    for one in skippings(compiled.graph):
        run = sim.simulate(one.graph, program.tensors, validate=True)
        due = sim.simulate(compiled.graph, program.tensors)
        np.testing.assert_array_equal(run.output.to_numpy(), due.output.to_numpy())


def test_a_graph_by_itself_is_explained_with_skipping():
    """A column of 60 of which 2 are needed: a scanner that skips need not go through them."""
    graph = from_dot(SPMV.read_text())
    B = np.zeros((4, 60))
    B[:, [0, 59]] = 1.0
    run = sim.simulate(graph, {"B": B, "c": np.ones(60)})
    pickle.dumps(run)
    tried = {one.what: one for one in run.explain().what_ifs}
    best = tried["scan_c_j skipping as intersect_j asks"]
    assert best.saves > 0.5 * run.cycles
    [other] = [one for one in run.alternatives() if one.what == best.what]
    again = other.run()
    assert again.cycles == best.cycles
    np.testing.assert_array_equal(again.output.to_numpy(), B @ np.ones(60))


def test_runs_of_many_machines_are_explained_likewise():
    graph = from_dot(SPMV.read_text())
    inputs = {"B": np.eye(3), "c": np.ones(3)}
    [run] = sim.simulate_many(graph, inputs, [{"queues": {"depth": 2}}])
    one = sim.simulate(graph, inputs, {"queues": {"depth": 2}})
    assert run.explain().what_ifs == one.explain().what_ifs
