"""Level writers (Definition 3.8)."""

from types import SimpleNamespace

import numpy as np
import pytest

from sam.blocks.memories import Growing, Stored
from sam.blocks.write import written
from sam.graph import Edge, End, Graph, Node, Result, Slot
from sam.levels import Compressed, Dense
from sim import simulate
from tests.published import needs_published, stream, vectors
from tests.streams import check_block


def write(levels, shape, crds, val):
    """The tensor that the writers of ``levels`` make of the streams of its coordinates and values.

    As in compiled graphs, references go to a level that is dense or lies below a dense one, and
    to values below a dense level.
    """
    variables = tuple("ijk"[: len(levels)])
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
        if node.parameters["by_reference"]:
            edges.append(Edge(End(reference, "ref"), End(node.name, "in_ref")))

    for n, (code, crd) in enumerate(zip(levels, crds, strict=True)):
        above = levels[n - 1] if n else ""
        parameters = {
            "slot": "X",
            "level": n,
            "format": code,
            "variable": variables[n],
            "by_reference": n > 0 and "d" in (code, above),
        }
        writer = Node(f"write {n}", "level_writer", parameters)
        add(writer, {"in_crd": ("crd", n + 1, crd)})
        reference = writer.name
    parameters = {"slot": "X", "by_reference": levels[-1:] == "d", "accumulate": False}
    add(Node("write", "value_writer", parameters), {"in_val": ("val", len(levels), val)})
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
    output = simulate(graph).output
    output.validate()
    return output


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


def test_figure_1_compressed_rows_and_columns():
    check(
        "ss",
        (4, 4),
        FIGURE_1,
        VALUES,
        stored=[([0, 3], [0, 1, 3]), ([0, 1, 3, 5], [1, 0, 2, 1, 3])],
        values=[1, 2, 3, 4, 5],
    )


def test_figure_1_dense_rows_and_compressed_columns():
    check(
        "ds",
        (4, 4),
        FIGURE_1,
        VALUES,
        stored=[None, ([0, 1, 3, 3, 5], [1, 0, 2, 1, 3])],
        values=[1, 2, 3, 4, 5],
    )


def test_figure_1_compressed_rows_and_dense_columns():
    check(
        "sd",
        (4, 4),
        FIGURE_1,
        VALUES,
        stored=[([0, 3], [0, 1, 3]), None],
        values=[*DENSE[0], *DENSE[1], *DENSE[3]],
    )


def test_figure_1_dense_rows_and_columns():
    check(
        "dd",
        (4, 4),
        FIGURE_1,
        VALUES,
        stored=[None, None],
        values=[value for row in DENSE for value in row],
    )


@pytest.mark.parametrize("levels", ["ss", "ds", "sd", "dd"])
def test_all_formats_hold_the_same_matrix(levels):
    assert write(levels, (4, 4), FIGURE_1, VALUES).to_numpy().tolist() == DENSE


@pytest.mark.parametrize("levels", ["sss", "ssd", "sds", "sdd", "dss", "dsd", "dds", "ddd"])
def test_three_levels(levels):
    due = np.zeros((3, 2, 4))
    due[0, 1, [0, 3]] = 1, 2
    due[2, 0, 2] = 3
    due[2, 1, 2] = 4
    tensor = write(
        levels,
        (3, 2, 4),
        ["0, 2, S0, D", "1, S0, 0, 1, S1, D", "0, 3, S1, 2, S0, 2, S2, D"],
        "1, 2, S1, 3, S0, 4, S2, D",
    )
    np.testing.assert_array_equal(tensor.to_numpy(), due)


def test_vectors():
    check("s", (5,), ["1, 4, S0, D"], "7, 8, S0, D", stored=[([0, 2], [1, 4])], values=[7, 8])
    check("d", (5,), ["1, 4, S0, D"], "7, 8, S0, D", stored=[None], values=[0, 7, 0, 0, 8])


def test_a_scalar():
    check("", (), [], "2.5, D", stored=[], values=[2.5])


def test_empty_results():
    check("s", (5,), ["S0, D"], "S0, D", stored=[([0, 0], [])], values=[])
    check("d", (2,), ["S0, D"], "S0, D", stored=[None], values=[0, 0])
    empty = ["S0, D", "S1, D"]
    check("ss", (2, 3), empty, "S1, D", stored=[([0, 0], []), ([0], [])], values=[])
    check("ds", (2, 3), empty, "S1, D", stored=[None, ([0, 0, 0], [])], values=[])
    check("sd", (2, 3), empty, "S1, D", stored=[([0, 0], []), None], values=[])
    check("dd", (2, 3), empty, "S1, D", stored=[None, None], values=[0] * 6)


def test_modes_of_extent_0():
    check("s", (0,), ["S0, D"], "S0, D", stored=[([0, 0], [])], values=[])
    check("d", (0,), ["S0, D"], "S0, D", stored=[None], values=[])
    check("dd", (2, 0), ["0, 1, S0, D", "S0, S1, D"], "S0, S1, D", stored=[None] * 2, values=[])


def test_dense_rows_may_have_empty_fibers_anywhere():
    for crds, val, segments in (
        (["0, 1, 2, S0, D", "S0, 1, S0, 2, S1, D"], "S0, 7, S0, 8, S1, D", [0, 0, 1, 2]),
        (["0, 1, 2, S0, D", "1, S0, S0, 2, S1, D"], "7, S0, S0, 8, S1, D", [0, 1, 1, 2]),
        (["0, 1, 2, S0, D", "1, S0, 2, S0, S1, D"], "7, S0, 8, S0, S1, D", [0, 1, 2, 2]),
        (["1, 2, S0, D", "1, S0, 2, S1, D"], "7, S0, 8, S1, D", [0, 0, 1, 2]),
    ):
        stored = [None, (segments, [1, 2])]
        check("ds", (3, 4), crds, val, stored=stored, values=[7, 8])


def test_an_outer_fiber_without_children():
    crds = ["0, 1, S0, D", "S0, 1, S1, D", "S1, 2, S2, D"]
    for levels in ("dds", "ddd", "dsd", "dss"):
        due = np.zeros((2, 2, 3))
        due[1, 1, 2] = 7
        tensor = write(levels, (2, 2, 3), crds, "S1, 7, S2, D")
        np.testing.assert_array_equal(tensor.to_numpy(), due)


def test_explicit_zeros_are_stored():
    stored = [([0, 2], [1, 4])]
    check("s", (5,), ["1, 4, S0, D"], "0, N, S0, D", stored=stored, values=[0, 0])


def level(code, by_reference, number=1):
    return {"level": number, "format": code, "variable": "j", "by_reference": by_reference}


def check_references(parameters, inputs, due):
    check_block("level_writer", parameters, inputs, {"ref": due}, extents={"j": 10})


def test_references_to_appended_coordinates_count_up():
    check_references(
        level("s", by_reference=False),
        {"in_crd": "4, S0, 0, 2, S1, S12, D"},
        "0, S0, 1, 2, S1, S12, D",
    )
    check_references(
        level("s", by_reference=True),
        {"in_crd": "4, S0, S0, 0, 2, S1, D", "in_ref": "3, 5, 9, S0, D"},
        "0, S0, S0, 1, 2, S1, D",
    )


def test_references_to_dense_coordinates_are_positions():
    check_references(
        level("d", by_reference=False, number=0), {"in_crd": "4, 7, S0, D"}, "4, 7, S0, D"
    )
    check_references(
        level("d", by_reference=True),
        {"in_crd": "4, S0, S0, 0, 2, S1, S2, D", "in_ref": "3, 5, 9, S0, S1, D"},
        "34, S0, S0, 90, 92, S1, S2, D",
    )


def test_written_puts_memories_together():
    """Two rows of three; what no writer has stored is empty, or 0."""
    slot = Slot("X", "X", "ds")
    rows = SimpleNamespace()
    columns = SimpleNamespace(segments=Growing([0]), coordinates=Growing([2]))
    values = SimpleNamespace(values=Growing([4], values=True), stored=Stored(0))
    tensor = written(slot, (2, 3), [rows, columns, values], np.dtype(np.int32))
    assert isinstance(tensor.levels[0], Dense)
    assert tensor.levels[1].segments.tolist() == [0, 1, 1]
    assert tensor.values.dtype == np.int32
    assert tensor.to_numpy().tolist() == [[0, 0, 4], [0, 0, 0]]


# The published vectors. Not used: test_val_wr_scan_1d and test_comp_wr_scan_1d, whose streams are
# drawn at random.


@needs_published
@pytest.mark.parametrize("vector", vectors("test_comp_wr_scan_direct"))
def test_published_compressed_writes(vector):
    crd = stream(vector["in_crd"])
    rows = len(vector["gold_seg"]) - 1
    tensor = write("ss", (rows, 10), [stream([*range(rows), "S0", "D"]), crd], crd)
    assert tensor.levels[1].segments.tolist() == vector["gold_seg"]
    assert tensor.levels[1].coordinates.tolist() == vector["gold_crd"]
