"""Level writers (Definition 3.8)."""

from types import SimpleNamespace

import numpy as np
import pytest

from sam.blocks.block_memory import Growing, Stored
from sam.blocks.writers import written
from sam.graph import Edge, End, Graph, Node, Result, Slot
from sam.levels import LEVELS, Bitvector, Compressed, CompressedNonUnique, Dense, Hashed, repeats
from sam.support import c_compiler as cc
from sam.tensor import Tensor
from sim import simulate
from tests.support.published import needs_published, stream, vectors
from tests.support.streams import check_block, run_block


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


# Lists of coordinates: each of the outer ones comes again for each of the inner ones.

FIGURE_1_LISTED = ["0, S0, 1, 1, S0, 3, 3, S1, D", FIGURE_1[1]]


@pytest.mark.parametrize("levels", ["uq", "uc"])
def test_figure_1_as_a_list_of_coordinates(levels):
    tensor = write(levels, (4, 4), FIGURE_1_LISTED, VALUES)
    rows, columns = tensor.levels
    assert isinstance(rows, CompressedNonUnique)
    assert (rows.segments.tolist(), rows.coordinates.tolist()) == ([0, 5], [0, 1, 1, 3, 3])
    assert (columns.code, columns.coordinates.tolist()) == (levels[1], [1, 0, 2, 1, 3])
    assert tensor.values.tolist() == [1, 2, 3, 4, 5]


def test_lists_of_coordinates_below_dense_rows():
    """Row 0 has (0,1) and (2,0), (2,3); row 1 nothing; row 2 has (1,1)."""
    crds = ["0, 2, S0, D", "0, S0, 2, 2, S1, 1, S2, D", "1, S0, 0, 3, S1, 1, S2, D"]
    tensor = write("duq", (3, 3, 4), crds, "5, S0, 6, 7, S1, 8, S2, D", ref="0, 0, S0, 2, S1, D")
    _, outer, inner = tensor.levels
    assert (outer.segments.tolist(), outer.coordinates.tolist()) == ([0, 3, 3, 4], [0, 2, 2, 1])
    assert inner.coordinates.tolist() == [1, 0, 3, 1]
    assert tensor.values.tolist() == [5, 6, 7, 8]


def test_lists_of_three_coordinates_below_compressed_rows():
    crds = [
        "1, 2, S0, D",
        "0, 0, S0, 3, S1, 3, S2, D",
        "1, 2, S0, 0, S1, 3, S2, D",
    ]
    tensor = write("suq", (3, 4, 4), crds, "5, 6, S0, 7, S1, 8, S2, D")
    _, outer, inner = tensor.levels
    assert (outer.segments.tolist(), outer.coordinates.tolist()) == ([0, 3, 4], [0, 0, 3, 3])
    assert inner.coordinates.tolist() == [1, 2, 0, 3]


def test_an_empty_list_of_coordinates():
    tensor = write("uq", (2, 3), ["S1, D", "S1, D"], "S1, D")
    assert tensor.levels[0].segments.tolist() == [0, 0]
    assert len(tensor.values) == 0


def test_what_does_not_repeat_is_written_like_a_compressed_level():
    for levels in ("us", "su", "uu"):
        tensor = write(levels, (4, 4), FIGURE_1, VALUES)
        assert tensor.format == f"{levels}:0,1"
        assert tensor.levels[0].segments.tolist() == [0, 3]
        assert tensor.levels[1].segments.tolist() == [0, 1, 3, 5]


def test_a_singleton_outside_of_a_list_is_one_if_each_position_has_one_coordinate():
    assert write("dq", (2, 4), ["0, 1, S0, D", "3, S0, 1, S1, D"], "5, S0, 6, S1, D").format == (
        "dq:0,1"
    )
    assert write("dq", (4, 4), FIGURE_1, VALUES).format == "ds:0,1"


# Bitvectors


def test_bits_across_words():
    tensor = write("b", (70,), ["0, 63, 64, 69, S0, D"], "1, 2, 3, 4, S0, D")
    (level,) = tensor.levels
    assert isinstance(level, Bitvector)
    assert level.words.tolist() == [1 + (1 << 63), 1 + (1 << 5)]
    assert level.ranks.tolist() == [0, 2, 4]
    assert tensor.values.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("levels", "rows", "words"),
    [
        ("bb", [0b1011], [0b0010, 0b0101, 0b1010]),
        ("sb", None, [0b0010, 0b0101, 0b1010]),
        ("db", None, [0b0010, 0b0101, 0, 0b1010]),
    ],
)
def test_figure_1_in_bits(levels, rows, words):
    tensor = write(levels, (4, 4), FIGURE_1, VALUES)
    assert rows is None or tensor.levels[0].words.tolist() == rows
    assert tensor.levels[1].words.tolist() == words
    assert tensor.values.tolist() == [1, 2, 3, 4, 5]


def test_empty_bitvectors():
    assert write("b", (70,), ["S0, D"], "S0, D").levels[0].words.tolist() == [0, 0]
    assert write("db", (2, 3), ["S0, D", "S1, D"], "S1, D").levels[1].words.tolist() == [0, 0]
    assert write("b", (0,), ["S0, D"], "S0, D").levels[0].words.tolist() == []


def test_references_to_bits_count_the_ones():
    check_references(
        level("b", by_reference=False),
        {"in_crd": "4, S0, 0, 2, S1, S2, D"},
        "0, S0, 1, 2, S1, S2, D",
    )
    check_references(
        level("b", by_reference=True),
        {"in_crd": "4, S0, S0, 0, 2, S1, D", "in_ref": "3, 5, 9, S0, D"},
        "0, S0, S0, 1, 2, S1, D",
    )


# Hash tables


def test_a_hash_table():
    """Buckets 1, 5 and 5 of 8 are wanted: the second 5 gets 6."""
    tensor = write("h", (20,), ["1, 5, 13, S0, D"], "7, 8, 9, S0, D")
    (level,) = tensor.levels
    assert isinstance(level, Hashed)
    assert (level.width, level.coordinates.tolist()) == (8, [-1, 1, -1, -1, -1, 5, 13, -1])
    assert tensor.values.tolist() == [0, 7, 0, 0, 0, 8, 9, 0]


@pytest.mark.parametrize("levels", ["hh", "dh", "sh", "bh", "hd", "hs", "hb", "hu"])
def test_figure_1_in_hash_tables(levels):
    tensor = write(levels, (4, 4), FIGURE_1, VALUES)
    assert same(tensor, Tensor.from_numpy(np.array(DENSE, float), levels))


def test_lists_of_coordinates_below_a_hash_table():
    crds = ["0, 2, S0, D", "0, S0, 2, 2, S1, 1, S2, D", "1, S0, 0, 3, S1, 1, S2, D"]
    tensor = write("huq", (3, 3, 4), crds, "5, S0, 6, 7, S1, 8, S2, D", ref="0, 0, S0, 1, S1, D")
    due = np.zeros((3, 3, 4))
    due[0, 0, 1], due[0, 2, 0], due[0, 2, 3], due[2, 1, 1] = 5, 6, 7, 8
    assert same(tensor, Tensor.from_numpy(due, "huq"))


def test_empty_hash_tables():
    for levels in ("h", "dh", "hh"):
        shape = (3,) * len(levels)
        crds = ["S0, D", "S1, D"][: len(levels)]
        tensor = write(levels, shape, crds, f"S{len(levels) - 1}, D")
        assert same(tensor, Tensor.from_numpy(np.zeros(shape), levels))


def test_coordinates_inserted_in_any_order_are_summed():
    """The fibers (0,2), (1,2), (0) of a sum over an outer loop."""
    crd, val = "0, 2, S0, 1, 2, S0, 0, S1, D", "1, 2, S0, 3, 4, S0, 5, S1, D"
    assert write("h", (3,), [crd], val, accumulate=True).to_numpy().tolist() == [6, 3, 6]


def test_references_into_a_hash_table_are_numbers_in_the_order_of_coming():
    check_references(
        level("h", by_reference=False, number=0),
        {"in_crd": "7, S0, 2, 7, S0, 2, 3, S1, D"},
        "0, S0, 1, 0, S0, 1, 2, S1, D",
    )
    check_references(
        level("h", by_reference=True),
        {"in_crd": "4, S0, S0, 4, 5, S0, 4, S1, D", "in_ref": "3, 5, 9, 3, S0, D"},
        "0, S0, S0, 1, 2, S0, 0, S1, D",
    )


def test_tables_that_have_grown_still_know_their_coordinates():
    """Position 2 has two, so the tables of 0 and 1 have moved when these come again."""
    check_references(
        level("h", by_reference=True),
        {"in_crd": "4, S0, 4, S0, 4, 5, S0, 4, S0, 4, S1, D", "in_ref": "0, 1, 2, 0, 1, S0, D"},
        "0, S0, 1, S0, 2, 3, S0, 0, S0, 1, S1, D",
    )


@pytest.mark.parametrize(
    ("crd", "firings"),
    [
        # Each coordinate and the two last tokens; before that: the width grows to 2, 4 and 8 with
        # the first, second and third coordinate, and all that have come move.
        ("1, S0, D", 3),
        ("0, 1, S0, D", 4 + 1),
        ("0, 1, 2, S0, D", 5 + 1 + 2),
        ("0, 1, 2, 3, S0, D", 6 + 1 + 2 + 3),
        # Of 8 buckets, 9 finds its own taken by 1, and the next free; the move of 2 meets no other.
        ("1, 2, 3, 9, S0, D", 6 + 1 + 2 + 3 + 3),
        # Coming again, 9 looks at the same buckets 1, 2, 3 and 4.
        ("1, 2, 3, 9, S0, 9, S1, D", 6 + 1 + 2 + 3 + 3 + 4 + 1),
    ],
)
def test_a_firing_for_each_bucket(crd, firings):
    run = run_block(
        "level_writer", level("h", by_reference=False, number=0), {"in_crd": crd}, extents={"j": 10}
    ).run
    assert run.blocks["block"].fired == firings


# Linked lists


@pytest.mark.parametrize("levels", ["ll", "dl", "sl", "hl", "bl", "ld", "ls", "lh", "lb", "lu"])
def test_figure_1_in_linked_lists(levels):
    tensor = write(levels, (4, 4), FIGURE_1, VALUES)
    assert same(tensor, Tensor.from_numpy(np.array(DENSE, float), levels))


def test_nodes_are_numbered_as_they_are_appended():
    """To any list at any time: those of positions 3, 5, 9 and 3 again."""
    check_references(
        level("l", by_reference=True),
        {"in_crd": "4, S0, S0, 4, 5, S0, 7, S1, D", "in_ref": "3, 5, 9, 3, S0, D"},
        "0, S0, S0, 1, 2, S0, 3, S1, D",
    )
    beside = {**level("l", by_reference=True), "beside": True}
    inputs = {"in_crd": "2, 2, S0, S0, 4, S1, D", "in_ref": "3, 0, S0, S0, 3, S1, D"}
    check_references(beside, inputs, "0, 1, S0, S0, 2, S1, D")


def test_positions_of_coordinates_that_come_beside_those_above():
    """In rows of ten, and in hash tables by the order of their first coming."""
    inputs = {"in_crd": "2, 2, S0, S0, 4, 2, S1, D", "in_ref": "3, 0, S0, S0, 3, 3, S1, D"}
    beside = {**level("d", by_reference=True), "beside": True}
    check_references(beside, inputs, "32, 2, S0, S0, 34, 32, S1, D")
    beside = {**level("h", by_reference=True), "beside": True}
    check_references(beside, inputs, "0, 1, S0, S0, 2, 0, S1, D")


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
