"""Bitvector scanners, converters, intersecters and unioners (SAM paper, Sections 4.3 and 6.5)."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sam.blocks import StreamError
from sam.graph import Edge, End, Graph, Node
from sam.levels import Bitvector, Entries
from sam.support import c_compiler
from sam.tensor import Tensor
from sam.token import format_stream, to_tokens
from sim import simulate
from tests.support.profiles import examples
from tests.support.published import needs_published, stream, vectors
from tests.support.streams import check_block, run_block

MOST = 2**64 - 1
ENGINES = ("simpy", "compiled") if c_compiler.available() else ("simpy",)


def scan(tensor, in_ref, due, width, level=0):
    check_block(
        "bitvector_scanner",
        {"slot": "A", "level": level},
        {"in_ref": in_ref},
        {"bv": due[0], "ref": due[1]},
        tensors={"A": tensor},
        overrides={"blocks.word_bits": width},
    )


def test_figure_6_in_words_of_four_bits():
    """Section 4.3, read from the right: 0101, 0100, 0011 with the references 0, 2, 3."""
    b = np.zeros(12)
    b[[0, 2, 6, 8, 9]] = 1
    due = (f"{0b0101}, {0b0100}, {0b0011}, S0, D", "0, 2, 3, S0, D")
    scan(Tensor.of(b, "b"), "0, D", due, 4)
    check_block(
        "bitvector_converter",
        {"references": True},
        {"in_crd": "0, 2, 6, 8, 9, S0, D", "in_ref": "0, 1, 2, 3, 4, S0, D"},
        {"bv": due[0], "ref": due[1]},
        overrides={"blocks.word_bits": 4},
    )
    check_block(
        "coordinate_converter",
        {"references": True},
        {"in_bv": due[0], "in_ref": due[1]},
        {"crd": "0, 2, 6, 8, 9, S0, D", "ref": "0, 1, 2, 3, 4, S0, D"},
        overrides={"blocks.word_bits": 4},
    )


def test_an_absent_fiber_has_no_words():
    rows = Tensor.of([[0, 1.0], [1, 1], [0, 0]], "bb")
    due = ("2, S0, S0, 3, S1, S1, D", "0, S0, S0, 1, S1, S1, D")
    scan(rows, "0, N, 1, S0, S0, D", due, 64, level=1)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 200])
def test_words_of_every_width(size):
    """Two fibers: each begins with a word of its own, and no word has a bit of the other's."""
    bits = np.random.default_rng(size).random((2, size)) < 0.5
    built, _ = Bitvector.build(Entries(*np.nonzero(bits), 2, size))
    level = built.as_lists()
    for width, parent in itertools.product(range(1, 65), range(2)):
        begin, end = level.fiber(parent)
        for step in range(begin, end, width):
            here = step - begin
            due = sum(1 << k for k, bit in enumerate(bits[parent, here : here + width]) if bit)
            assert level.word(parent, step, width) == due
            assert level.position(parent, step) == bits[:parent].sum() + bits[parent, :here].sum()


def merge(kind, words, refs, due, refs_due):
    inputs = {f"in_bv{n}": text for n, text in enumerate(words)}
    inputs |= {f"in_ref{n}": text for n, text in enumerate(refs)}
    outputs = {"bv": due} | {f"ref{n}": text for n, text in enumerate(refs_due)}
    check_block(kind, {"operands": len(words)}, inputs, outputs)


def test_an_intersection_counts_the_ones_before_each_survivor():
    merge(
        "bitvector_intersecter",
        ["11, 1, S0, D", "14, 6, S0, D"],
        ["0, 3, S0, D", "0, 3, S0, D"],
        "10, 0, S0, D",
        ["1, 2, S0, D", "0, 2, S0, D"],
    )


def test_the_highest_bit_of_a_word_is_a_bit_like_any_other():
    merge(
        "bitvector_intersecter",
        [f"{MOST}, S0, D", f"{1 + 2**63}, S0, D", f"{2**62 + 2**63}, S0, D"],
        ["0, S0, D", "5, S0, D", "7, S0, D"],
        f"{2**63}, S0, D",
        ["63, S0, D", "6, S0, D", "8, S0, D"],
    )


def test_a_union_has_n_where_an_operand_lacks_a_one_or_has_ended():
    merge(
        "bitvector_unioner",
        ["1, S0, 2, S1, D", "3, 1, S0, S1, D"],
        ["4, S0, 5, S1, D", "0, 2, S0, S1, D"],
        "3, 1, S0, 2, S1, D",
        ["4, N, N, S0, 5, S1, D", "0, 1, 2, S0, N, S1, D"],
    )


def test_a_word_takes_a_firing_for_each_one_and_at_least_one():
    """The published block's: two for 1010, one for 0000, one for S0 and one for D."""
    words = {"in_bv0": "11, 1, S0, D", "in_bv1": "14, 6, S0, D"}
    refs = {"in_ref0": "0, 3, S0, D", "in_ref1": "0, 3, S0, D"}
    run = run_block("bitvector_intersecter", {"operands": 2}, words | refs).run
    assert run.blocks["block"].fired == 2 + 1 + 1 + 1


def test_a_converter_takes_a_coordinate_a_firing_and_fills_gaps_with_zeros():
    inputs = {"in_crd": "0, 1, 2, 4, 11, S0, S0, 3, S1, D"}
    due = {"bv": "7, 1, 8, S0, S0, 8, S1, D"}
    four = {"blocks.word_bits": 4}
    check_block("bitvector_converter", {"references": False}, inputs, due, overrides=four)
    run = run_block("bitvector_converter", {"references": False}, inputs, overrides=four).run
    assert run.blocks["block"].fired == 5 + 1 + 1 + 1 + 1 + 1 + 1 + 1  # 5, 8, S0, S0, 3, 8, S1, D


def test_references_that_leave_gaps_have_no_word():
    with pytest.raises(StreamError, match="do not follow each other"):
        run_block(
            "bitvector_converter",
            {"references": True},
            {"in_crd": "0, 1, S0, D", "in_ref": "0, 2, S0, D"},
        )


def test_operands_that_end_differently_are_found():
    inputs = {"in_bv0": "1, S0, 1, S1, D", "in_bv1": "1, S1, D"}
    refs = {"in_ref0": "1, S0, 1, S1, D", "in_ref1": "1, S1, D"}
    with pytest.raises(StreamError, match="end their fibers differently"):
        run_block("bitvector_unioner", {"operands": 2}, inputs | refs)


@needs_published
@pytest.mark.parametrize("test", vectors("test_intersectbv_direct"))
def test_the_published_intersecter(test):
    """It leaves zero words out; here they tell where the next word begins."""
    ports = [(what, n) for what in ("bv", "ref") for n in (0, 1)]
    inputs = {f"in_{what}{n}": stream(test[f"{what}{n + 1}_in"]) for what, n in ports}
    found = run_block("bitvector_intersecter", {"operands": 2}, inputs).streams
    words = [token for token in found["bv"].split(", ") if token != "0"]
    assert ", ".join(words) == stream(test["bv_gold"])
    assert found["ref0"] == stream(test["ref1_gold"])
    assert found["ref1"] == stream(test["ref2_gold"])


@st.composite
def cases(draw):
    """As many operands as ``n``, each with as many fibers of coordinates."""
    n, count = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    coordinates = st.integers(0, 20) | st.sampled_from([62, 63, 64, 65, 127, 128])
    sets = st.sets(coordinates).map(sorted)
    return [draw(st.lists(sets, min_size=count, max_size=count)) for _ in range(n)]


@settings(max_examples=examples(300), deadline=None)
@given(
    cases(),
    st.sampled_from(["intersecter", "unioner"]),
    st.just(64) | st.integers(1, 64),
    st.sampled_from([1, 2, 5, "unbounded"]),
)
def test_random_fibers_in_words_and_back(operands, kind, width, depth):
    """Packed, merged, and unpacked, as sets are; the engines agree in all, to the cycle."""
    overrides = {"blocks.word_bits": width, "queues.depth": depth}
    graph = packed_and_merged(kind, operands)
    runs = [simulate(graph, {}, None, overrides, engine=one) for one in ENGINES]
    combine = set.intersection if kind == "intersecter" else set.union
    merged = [sorted(combine(*map(set, row))) for row in zip(*operands, strict=True)]
    streams = {name: format_stream(tokens) for name, tokens in runs[0].sinks.items()}
    assert streams["crd"] == format_stream(to_tokens(merged, 2))
    for n, rows in enumerate(operands):
        numbers = numbered(rows)
        due = [[of_row.get(c) for c in row] for row, of_row in zip(merged, numbers, strict=True)]
        assert streams[f"ref{n}"] == format_stream(to_tokens(due, 2))
    for run in runs[1:]:
        assert (run.cycles, run.blocks, run.sinks) == (
            runs[0].cycles,
            runs[0].blocks,
            runs[0].sinks,
        )


def numbered(rows):
    """The reference of each coordinate, fiber by fiber."""
    starts = np.cumsum([0, *map(len, rows)])
    return [
        {c: start + k for k, c in enumerate(row)} for row, start in zip(rows, starts, strict=False)
    ]


def packed_and_merged(kind, operands):
    """Sources of coordinates and references, a converter each, a merger, and a converter back."""
    nodes = [
        Node("merge", f"bitvector_{kind}", {"operands": len(operands)}),
        Node("unpack", "coordinate_converter", {"references": False}),
        Node("crd", "sink"),
    ]
    edges = [
        Edge(End("merge", "bv"), End("unpack", "in_bv")),
        Edge(End("unpack", "crd"), End("crd", "in_stream")),
    ]
    for n, rows in enumerate(operands):
        refs = [list(one.values()) for one in numbered(rows)]
        nodes += [
            Node(f"{stream} {n}", "source", {"stream": stream, "depth": 2, "tokens": text})
            for stream, text in (
                ("crd", format_stream(to_tokens(rows, 2))),
                ("ref", format_stream(to_tokens(refs, 2))),
            )
        ]
        nodes += [
            Node(f"pack {n}", "bitvector_converter", {"references": True}),
            Node(f"ref{n}", "sink"),
        ]
        edges += [
            *(Edge(End(f"{s} {n}", s), End(f"pack {n}", f"in_{s}")) for s in ("crd", "ref")),
            *(Edge(End(f"pack {n}", s), End("merge", f"in_{s}{n}")) for s in ("bv", "ref")),
            Edge(End("merge", f"ref{n}"), End(f"ref{n}", "in_stream")),
        ]
    return Graph(tuple(nodes), tuple(edges))
