"""The validator on streams made by hand, one for each mistake, and on compiled programs."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
from experiments.dense import evaluate
from sam.blocks import StreamError
from sam.graph import Edge, End, Graph, Node, Slot
from sam.support.errors import UserError
from sam.token import parse_stream
from sam.validate import validate
from sim import simulate
from sim.stream_checker import Validator
from tests.custard.to_c.test_levels import LEVELS, RESULT_LEVELS, chained
from tests.support.profiles import examples
from tests.support.programs import programs
from tests.support.streams import around

# One stream


def read(stream, depth, tokens):
    """The graph of a source and of a block that reads it alone."""
    reader = {
        "crd": Node("read", "level_writer", _writer(0)),
        "ref": Node("read", "array", {"slot": "number"}),
        "val": Node("read", "reducer", {"dimensions": 0, "empty": "zero"}),
        "bv": Node("read", "coordinate_converter", {"references": False}),
    }[stream]
    return Graph(
        nodes=(_source("given", stream, depth, tokens), reader),
        edges=(Edge(End("given", stream), End("read", f"in_{stream}")),),
        slots=(Slot("number", None, constant=1),),
        dims=(("i", 9),),
    )


def _source(name, stream, depth, tokens):
    return Node(name, "source", {"stream": stream, "depth": depth, "tokens": tokens})


def _writer(level, by_reference=False):
    return {"level": level, "format": "s", "variable": "i", "by_reference": by_reference}


@pytest.mark.parametrize(
    ("stream", "depth", "tokens", "mistake"),
    [
        ("ref", 0, "D", "token 0: D came, one token before D was due"),
        ("ref", 0, "S0, D", "token 0: S0 came, one token before D was due"),
        ("ref", 0, "0, N, D", "token 1: N came, D at depth 0 was due"),
        ("ref", 0, "0, S0, D", "token 1: S0 came, D at depth 0 was due"),
        ("val", 2, "D", "token 0: D came, S1 before D was due"),
        ("val", 2, "1, S0, D", "token 2: D came, S1 before D was due"),
        ("val", 2, "1, S2, D", "token 1: S2 came, a stop token below S2 was due"),
        ("val", 2, "1, S1, 2, S1, D", "token 2: 2 came, D at depth 2 was due"),
        ("val", 1, "1, S0, S0, D", "token 2: S0 came, D at depth 1 was due"),
        ("crd", 1, "1, 3, 3, S0, D", "token 2: 3 came, a coordinate above 3 was due"),
        ("crd", 2, "1, S0, 3, 0, S1, D", "token 3: 0 came, a coordinate above 3 was due"),
        ("crd", 1, "-1, S0, D", "token 0: -1 came, a coordinate was due"),
        ("crd", 1, "1.5, S0, D", "token 0: 1.5 came, a coordinate was due"),
        ("crd", 1, "1, N, S0, D", "token 1: N came, a coordinate was due"),
        ("ref", 1, "-1, S0, D", "token 0: -1 came, a reference was due"),
        ("ref", 1, "0, N, 0.5, S0, D", "token 2: 0.5 came, a reference was due"),
        ("bv", 1, f"3, {2**64}, S0, D", f"token 1: {2**64} came, a word of bits was due"),
        ("bv", 1, "3, N, S0, D", "token 1: N came, a word of bits was due"),
    ],
)
def test_a_stream_that_is_no_nested_list(stream, depth, tokens, mistake):
    with pytest.raises(StreamError) as error:
        simulate(read(stream, depth, tokens), validate=True)
    assert str(error.value) == f"edge given.{stream} -> read.in_{stream}, {mistake}"


def test_a_token_behind_the_last_and_a_stream_without_it():
    graph = read("ref", 0, "0, D")
    validator = Validator(graph, validate(graph))
    for token in parse_stream("0, D"):
        validator.watch(graph.edges[0])(*token)
    validator.finish()
    with pytest.raises(StreamError) as error:
        validator.watch(graph.edges[0])(*parse_stream("D")[0])
    assert str(error.value) == (
        "edge given.ref -> read.in_ref, token 2: D came, no token behind D was due"
    )
    with pytest.raises(StreamError) as error:
        Validator(graph, validate(graph)).finish()
    assert str(error.value) == "edge given.ref -> read.in_ref has ended without D"


# Two streams of a block

ADD = ("alu", {"operation": "add"})
INTERSECT = ("intersecter", {"payloads": [["ref"], []]})
REPEAT = ("repeater", {"stream": "ref"})
UNITE_WORDS = ("bitvector_unioner", {"operands": 2})
DROP = ("coordinate_dropper", {"drop": "coordinates", "inner": ["crd", "val"]})
ALIGN = ("fiber_aligner", {"streams": ["crd"], "depth": 2})
REPEAT_FIBERS = ("fiber_repeater", {"streams": ["val"], "depth": 2})
STORE = ("value_writer", {"by_reference": True})
REDUCE = ("reducer", {"dimensions": 1})


@pytest.mark.parametrize(
    ("block", "inputs", "mistake"),
    [
        (
            ADD,
            {"in_val0": "1, 2, S0, D", "in_val1": "1, S0, D"},
            "val1, token 1: S0 came, a token was due; edge val0 has 2 as its token 1",
        ),
        (
            ADD,
            {"in_val0": "1, S0, S1, D", "in_val1": "N, S1, D"},
            "val1, token 1: S1 came, S0 was due; edge val0 has S0 as its token 1",
        ),
        (
            INTERSECT,
            {"in_crd0": "1, S0, D", "in_ref0_0": "7, 8, S0, D", "in_crd1": "1, S0, D"},
            "ref0_0, token 1: 8 came, S0 was due; edge crd0 has S0 as its token 1",
        ),
        (
            INTERSECT,
            {"in_crd0": "1, S0, S1, D", "in_ref0_0": "7, S0, S1, D", "in_crd1": "3, 4, S1, D"},
            "crd1, token 2: S1 came, S0 was due; edge crd0 has S0 as its token 1",
        ),
        (
            UNITE_WORDS,
            {
                "in_bv0": "1, 2, S0, D",
                "in_ref0": "0, S0, D",
                "in_bv1": "1, S0, D",
                "in_ref1": "0, S0, D",
            },
            "ref0, token 1: S0 came, a token was due; edge bv0 has 2 as its token 1",
        ),
        (
            REPEAT,
            {"in_coordinates": "1, S0, 2, S1, D", "in_ref": "7, S0, D"},
            "coordinates, token 1: S0 came, S1 was due; edge ref has S0 as its token 1",
        ),
        (
            REPEAT,
            {"in_coordinates": "1, S1, D", "in_ref": "7, 8, S0, D"},
            "coordinates, token 1: S1 came, S0 was due; edge ref has 8 as its token 1",
        ),
        (
            REPEAT,
            {"in_coordinates": "S1, D", "in_ref": "7, 8, S0, D"},
            "coordinates, token 0: S1 came, S0 was due; edge ref has 8 as its token 1",
        ),
        (
            DROP,
            {
                "in_outer": "1, S0, D",
                "in_inner_crd": "5, S0, 6, S1, D",
                "in_inner_val": "1, S0, 2, S1, D",
            },
            "inner_crd, token 1: S0 came, S1 was due; edge outer has S0 as its token 1",
        ),
        (
            DROP,
            {"in_outer": "1, S0, D", "in_inner_crd": "5, S1, D", "in_inner_val": "1, 2, S1, D"},
            "inner_val, token 1: 2 came, S1 was due; edge inner_crd has S1 as its token 1",
        ),
        (
            ALIGN,
            {"in_old": "1, 2, S0, D", "in_new": "1, S0, D", "in_crd": "5, S0, 6, S2, D"},
            "crd, token 3: S2 came, S1 was due; edge old has 2 as its token 1",
        ),
        (
            ALIGN,
            {"in_old": "S0, S1, D", "in_new": "1, S1, D", "in_crd": "S2, S3, D"},
            "new, token 1: S1 came, S0 was due; edge old has S0 as its token 0",
        ),
        (
            REPEAT_FIBERS,
            {"in_coordinates": "1, 2, S0, 3, S1, D", "in_val": "5, S0, 6, S2, D"},
            "val, token 3: S2 came, S1 was due; edge coordinates has S0 as its token 2",
        ),
        (
            STORE,
            {"in_val": "1.5, S0, D", "in_ref": "0, 1, S0, D"},
            "ref, token 1: 1 came, S0 was due; edge val has S0 as its token 1",
        ),
        (
            REDUCE,
            {"in_crd0": "1, S1, D", "in_val": "5, 6, S1, D"},
            "val, token 1: 6 came, S1 was due; edge crd0 has S1 as its token 1",
        ),
    ],
)
def test_streams_that_do_not_go_together(block, inputs, mistake):
    graph = around(*block, inputs, {}, {})
    with pytest.raises(StreamError) as error:
        simulate(graph, validate=True)
    text = str(error.value)
    for edge in graph.edges:
        text = text.replace(f"edge {edge}", f"edge {edge.target.port.removeprefix('in_')}")
    assert text == f"edge {mistake}"


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("7, D", "S0, D"),
        ("S0, D", "S1, D"),
        ("7, S0, D", "S1, D"),
        ("7, 8, S0, D", "S0, S1, D"),
        ("N, 8, S0, S1, D", "1, 2, S0, 3, S1, S2, D"),
        ("7, S0, 8, S1, D", "S1, S2, D"),
    ],
)
def test_empty_fibers_are_in_place(outer, inner):
    graph = around(*REPEAT, {"in_coordinates": inner, "in_ref": outer}, {}, {})
    simulate(graph, validate=True)


# The streams of a result


def write(i, j, k, val):
    """The graph that writes a result of three compressed levels."""
    streams = {"i": i, "j": j, "k": k}
    sources = [_source(name, "crd", n + 1, text) for n, (name, text) in enumerate(streams.items())]
    writers = [Node(f"write_{name}", "level_writer", _writer(n)) for n, name in enumerate(streams)]
    return Graph(
        nodes=(
            *sources,
            _source("val", "val", 3, val),
            *writers,
            Node("write_val", "value_writer", {"by_reference": False}),
        ),
        edges=(
            *(Edge(End(name, "crd"), End(f"write_{name}", "in_crd")) for name in streams),
            Edge(End("val", "val"), End("write_val", "in_val")),
        ),
        dims=(("i", 10),),
    )


def test_writers_pass_over_the_fibers_that_were_dropped():
    k = "7, S0, 8, S1, S1, S1, 9, S2, D"
    simulate(write("1, 4, S0, D", "2, 3, S0, 2, S1, D", k, k), validate=True)
    simulate(write("S0, D", "S1, D", "S1, S1, S2, D", "S1, S1, S2, D"), validate=True)


J, K = "2, 3, S0, 2, S1, D", "7, S0, 8, S1, 9, S2, D"


@pytest.mark.parametrize(
    ("streams", "mistake"),
    [
        (
            ("1, S0, D", J, K, K),
            "edge j.crd -> write_j.in_crd, token 3: 2 came, D was due; "
            "edge i.crd -> write_i.in_crd has D as its token 2",
        ),
        (
            ("1, 2, 3, S0, D", J, K, K),
            "edge j.crd -> write_j.in_crd, token 5: D came, a fiber was due; "
            "edge i.crd -> write_i.in_crd has 3 as its token 2",
        ),
        (
            ("1, 4, S0, D", J, "7, S0, 8, S0, 9, S2, D", "7, S0, 8, S0, 9, S2, D"),
            "edge k.crd -> write_k.in_crd, token 4: 9 came, S1 before it was due; "
            "edge j.crd -> write_j.in_crd has 2 as its token 3",
        ),
        (
            ("1, 4, S0, D", J, K, "7, S0, 8, S1, S1, 9, S2, D"),
            "edge val.val -> write_val.in_val, token 4: S1 came, a token was due; "
            "edge k.crd -> write_k.in_crd has 9 as its token 4",
        ),
    ],
)
def test_levels_that_do_not_go_together(streams, mistake):
    with pytest.raises(StreamError) as error:
        simulate(write(*streams), validate=True)
    assert str(error.value) == mistake


# Who validates


def test_only_the_engine_simpy_validates():
    program = custard.compile("x(i) = b(i)")
    with pytest.raises(UserError) as error:
        program.run({"b": [1, 2]}, engine="compiled", validate=True)
    assert str(error.value) == (
        "the engine compiled does not validate streams\nhint: use engine simpy"
    )
    assert program.simulate({"b": [1, 2]}, engine="auto", validate=True).engine == "simpy"


def test_tests_validate_and_others_do_if_asked_to(monkeypatch):
    wrong = read("crd", 1, "1, 1, S0, D")
    with pytest.raises(StreamError):
        simulate(wrong)
    simulate(wrong, validate=False)
    monkeypatch.delenv("SAM_VALIDATE")
    simulate(wrong)
    with pytest.raises(StreamError):
        simulate(wrong, validate=True)


# Compiled programs

relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@settings(relaxed, max_examples=examples(1000))
@given(st.data())
def test_random_programs_are_valid_and_right(data):
    program = data.draw(
        programs(4, 4, LEVELS, "+-*", result_levels=RESULT_LEVELS, explicit_sums=True)
    )
    formats = {name: data.draw(chained(form)) for name, form in program.formats.items()}
    schedule = [f"reorder({','.join(program.order)})"] if program.order else []
    compiled = custard.compile(program.expression, formats, schedule, dims=program.dims)
    found = compiled.run(program.tensors, validate=True)
    due = evaluate(program.expression, program.tensors, program.dims)
    np.testing.assert_array_equal(found.to_numpy(), due)
