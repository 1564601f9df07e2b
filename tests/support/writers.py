"""Level writers, run on the streams of their coordinates and values."""

import numpy as np

from sam.graph import Edge, End, Graph, Node, Result, Slot
from sam.levels import LEVELS, Compressed, repeats
from sam.support import c_compiler as cc
from sim import simulate
from tests.support.streams import check_block


def write(levels, shape, crds, val, ref=None, accumulate=False):
    """The tensor that the writers of ``levels`` make of the streams of its coordinates and values.

    As in compiled graphs, references go to a level that inserts or lies below one that does, and
    to values below such a level. In a chain all coordinates are as deep as the innermost ones;
    ``ref`` gives the references of a chain's head, where they have to be repeated.
    """
    variables = tuple("ijkl"[: len(levels)])
    hanging = repeats(levels)
    nodes, edges = [], []
    reference = None

    def add(node, inputs):
        nodes.append(node)
        for port, (stream_kind, depth, text) in inputs.items():
            name = f"{port} of {node.name}"
            nodes.append(
                Node(name, "source", {"stream": stream_kind, "depth": depth, "tokens": text})
            )
            edges.append(Edge(End(name, stream_kind), End(node.name, port)))
        if node.parameters["by_reference"] and "in_ref" not in inputs:
            edges.append(Edge(End(reference, "ref"), End(node.name, "in_ref")))

    for n, (code, crd) in enumerate(zip(levels, crds, strict=True)):
        inserts = any(LEVELS[one].inserts for one in levels[max(0, n - 1) : n + 1])
        parameters = {
            "slot": "X",
            "level": n,
            "format": code,
            "variable": variables[n],
            "by_reference": n > 0 and inserts,
            "repeats": hanging[n],
            "chained": n > 0 and hanging[n - 1] > 0,
        }
        writer = Node(f"write {n}", "level_writer", parameters)
        inputs = {"in_crd": ("crd", n + 1 + hanging[n] + accumulate, crd)}
        if ref and hanging[n] and n > 0 and inserts:
            inputs["in_ref"] = ("ref", n + hanging[n], ref)
        add(writer, inputs)
        reference = writer.name
    inserted = levels[-1:] != "" and LEVELS[levels[-1]].inserts
    parameters = {"slot": "X", "by_reference": inserted, "accumulate": accumulate}
    depth = len(levels) + accumulate
    add(Node("write", "value_writer", parameters), {"in_val": ("val", depth, val)})
    graph = Graph(
        nodes=tuple(nodes),
        edges=tuple(edges),
        result=Result(
            Slot("X", "X", levels, tuple((n,) for n in range(len(levels))), variables),
            levels,
            tuple(range(len(levels))),
        ),
        dims=tuple(zip(variables, shape, strict=True)),
    )
    output = simulate(graph, engine="simpy").output
    output.validate()
    if cc.available():
        assert same(simulate(graph, engine="compiled").output, output)
    return output


def same(one, other):
    """Whether two tensors have the same levels and values."""
    stored = [
        [(level.code, {k: np.asarray(v).tolist() for k, v in vars(level).items()}) for level in t]
        for t in (one.levels, other.levels)
    ]
    return stored[0] == stored[1] and one.values.tolist() == other.values.tolist()


def check(levels, shape, crds, val, *, stored, values):
    """``stored`` has segments and coordinates of each compressed level, None for a dense one."""
    tensor = write(levels, shape, crds, val)
    found = [
        (level.segments.tolist(), level.coordinates.tolist())
        if isinstance(level, Compressed)
        else None
        for level in tensor.levels
    ]
    assert found == stored
    assert tensor.values.tolist() == values


# The matrix of Figure 1.
FIGURE_1 = ["0, 1, 3, S0, D", "1, S0, 0, 2, S0, 1, 3, S1, D"]


VALUES = "1, S0, 2, 3, S0, 4, 5, S1, D"


DENSE = [[0, 1, 0, 0], [2, 0, 3, 0], [0, 0, 0, 0], [0, 4, 0, 5]]


def level(code, by_reference, number=1):
    return {"level": number, "format": code, "variable": "j", "by_reference": by_reference}


def check_references(parameters, inputs, due):
    check_block("level_writer", parameters, inputs, {"ref": due}, extents={"j": 10})
