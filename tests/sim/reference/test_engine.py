"""The reference engine: when things happen, where the cycles go, and how a run stops."""

import math
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import custard
from sam.blocks import KINDS
from sam.blocks.base import Block, Kind, Values, out
from sam.graph import Edge, End, Graph, Node
from sam.levels import Compressed, Dense
from sam.support.errors import UserError
from sam.tensor import Tensor
from sam.token import DATA, DONE, format_token, parse_stream
from sam.validate import validate
from sim import simulate
from sim.binding import bind
from sim.config.hardware import load
from sim.endless import Unfinished
from sim.reference import engine
from sim.reference.queues import Queue
from tests.support.profiles import examples
from tests.support.programs import programs
from tests.support.published import needs_published, read
from tests.support.streams import run_block

# Published timing: when each token comes out of one block


@pytest.fixture
def pushes(monkeypatch):
    """Collects, by output port, the tokens that are pushed by the cycle of their push."""
    seen = defaultdict(dict)
    push = Queue.push

    def record(queue, kind, value, made):
        seen[str(queue.edge.source)][int(queue.environment.now)] = format_token((kind, value))
        push(queue, kind, value, made)

    monkeypatch.setattr(Queue, "push", record)
    return seen


GAP = -1  # as a token of a paced source: a cycle without a token


@pytest.fixture
def paced(monkeypatch):
    """Lets sources pause, as the inputs of the published traces do."""

    def pace(p, s, m):
        kind, value = m.tokens[s.next]
        s.next += 1
        if kind != DATA or value != GAP:
            p.outs[0].give(kind, value)
        return True if kind == DONE else None

    def source(parameters):
        tokens = parse_stream(parameters["tokens"])
        return Block(
            ports=(
                out(parameters["stream"], parameters["stream"], parameters["depth"], group="outs"),
            ),
            step=pace,
            state={"next": 0},
            memory=lambda around: SimpleNamespace(tokens=tokens),
            values=Values(number=0.0),
        )

    monkeypatch.setitem(KINDS, "source", Kind("source", None, source, source=True))


def words(tokens):
    return ", ".join(str(GAP if token == "" else token) for token in tokens)


def number(token):
    """Their 0 is our 0.0."""
    return token if str(token)[0] in "SND" else float(token)


ROWS = Tensor(
    (3, 9),
    (0, 1),
    (Dense(3), Compressed(np.array([0, 3, 3, 5]), np.array([1, 4, 7, 0, 2]))),
    np.ones(5),
)
STORED = {
    "UncompressCrdRdScan root": np.ones((1, 3)),
    "UncompressCrdRdScan lvl2": np.ones((3, 2)),
    "UncompressCrdRdScan gap": np.ones((3, 2)),
    "Array": np.array([5.0, 6.0, 7.0]),
}
SCANNED = {"out_ref": "ref", "out_crd": "crd"}
MERGED = {"out_crd": "crd", "out_ref1": "ref0_0", "out_ref2": "ref1_0"}
SCANNER = ("level_scanner", {"slot": "B", "level": 1}, SCANNED)
INTERSECTER = ("intersecter", {"payloads": [["ref"], ["ref"]]}, MERGED)
UNIONER = ("unioner", {"payloads": [["ref"], ["ref"]]}, MERGED)
REPEATER = ("repeater", {"stream": "ref"}, {"out_ref": "ref"})

# Their trace -> our block, and by how many cycles theirs is late. Their mergers show a token only
# when the next one of both sides has come. Not used, as ours differs on purpose:
#   CompressedCrdRdScan gap   a fiber of theirs stalls until one more token waits at the input
#   CompressedCrdRdScan N     theirs makes a fiber of one N, in one cycle more
#   Intersect2 N, Union2 N    our coordinates are never N
#   Repeat late ref           theirs gives a stop token only when the next reference has come
#   CrdDrop                   ours also removes inner stop tokens, for which it looks ahead by one
#   SparseAccumulator         theirs takes points, and drains coordinates apart from values
TRACES = {
    "CompressedCrdRdScan root": (*SCANNER, 0),
    "CompressedCrdRdScan lvl2": (*SCANNER, 0),
    "CompressedCrdRdScan lvl3 stops": (*SCANNER, 0),
    "UncompressCrdRdScan root": (*SCANNER, 0),
    "UncompressCrdRdScan lvl2": (*SCANNER, 0),
    "UncompressCrdRdScan gap": (*SCANNER, 0),
    "Intersect2": (*INTERSECTER, 1),
    "Intersect2 skip outs": (*INTERSECTER, 1),
    "Union2": (*UNIONER, 1),
    "Repeat": (*REPEATER, 0),
    "Repeat root": (*REPEATER, 0),
    "Repeat N": (*REPEATER, 0),
    "Repeat empty": (*REPEATER, 0),
    "Array": ("array", {"slot": "B"}, {"out_val": "val"}, 0),
    "Multiply2": ("alu", {"operation": "multiply"}, {"out_val": "val"}, 0),
    "Multiply2 skew": ("alu", {"operation": "multiply"}, {"out_val": "val"}, 0),
    "Add2": ("alu", {"operation": "add"}, {"out_val": "val"}, 0),
    "Add2 neg2": ("alu", {"operation": "subtract"}, {"out_val": "val"}, 0),
    "Reduce": ("reducer", {"dimensions": 0, "empty": "zero"}, {"out_val": "val"}, 0),
}


def published_inputs(trace):
    """Their input streams as ours; their R and S become the coordinates that they stand for."""
    given_ = trace["inputs"]
    if "set_in_repsig" in given_:
        repeated = [row[0] for row in trace["per_cycle"] if row[0] != ""]
        coordinates = [t if str(t)[0] in "SD" else 0 for t in repeated]
        return {"in_ref": words(given_["set_in_ref"]), "in_coordinates": words(coordinates)}
    inputs = {}
    for port, tokens in given_.items():
        if isinstance(tokens[0], list):
            n = int(port[-1]) - 1
            inputs[f"in_ref{n}_0"] = words([ref for ref, _ in tokens])
            inputs[f"in_crd{n}"] = words([crd for _, crd in tokens])
        else:
            names = {"set_in_ref": "in_ref", "set_load": "in_ref", "set_in_val": "in_val"}
            inputs[names.get(port) or f"in_val{int(port[-1]) - 1}"] = words(tokens)
    return inputs


@needs_published
@pytest.mark.parametrize("name", TRACES)
def test_published_timing_traces(name, pushes, paced):
    kind, parameters, ports, late = TRACES[name]
    # Of "Repeat empty", theirs takes a cycle to start where its inputs are not there beforehand.
    mode = "preloaded" if name == "Repeat empty" else "streaming"
    (trace,) = (t for t in read("timing_traces.json") if (t["block"], t["mode"]) == (name, mode))
    tensors = {"B": STORED.get(name, ROWS)} if "slot" in parameters else {}
    run_block(kind, parameters, published_inputs(trace), tensors=tensors)
    for column, theirs in enumerate(trace["outputs"]):
        if theirs not in ports:
            continue
        due = {
            cycle - late: number(row[column])
            for cycle, row in enumerate(trace["per_cycle"])
            if row[column] != ""
        }
        came = {cycle: number(token) for cycle, token in pushes[f"block.{ports[theirs]}"].items()}
        assert came == due, theirs


def test_a_scanner_ends_a_fiber_once_the_next_token_of_its_input_is_there(pushes, paced):
    inputs = {"in_ref": words([0, *[""] * 5, 2, *[""] * 4, "S0", "D"])}
    run_block("level_scanner", {"slot": "B", "level": 1}, inputs, tensors={"B": ROWS})
    due = {0: "1", 1: "4", 2: "7", 6: "S0", 7: "0", 8: "2", 11: "S1", 12: "D"}
    assert pushes["block.crd"] == due


def test_a_repeater_ends_a_fiber_without_waiting_for_the_next_reference(pushes, paced):
    inputs = {
        "in_ref": words([0, *[""] * 5, 1, "S0", "D"]),
        "in_coordinates": "4, 5, S0, 4, S1, D",
    }
    run_block("repeater", {"stream": "ref"}, inputs)
    assert pushes["block.ref"] == {0: "0", 1: "0", 2: "S0", 6: "1", 7: "S1", 8: "D"}


def test_a_reducer_drains_one_vector_while_it_takes_the_next(pushes):
    crd = "1, S0, 1, 2, S1, 3, S1, S2, D"
    run_block("reducer", {"dimensions": 1}, {"in_crd0": crd, "in_val": crd})
    # It takes S1 in cycle 4, which its output side sees in cycle 5: 1, 2, S0. The next vector is
    # complete in cycle 6, waits for its turn until the first is out in cycle 7, and so on.
    assert pushes["block.crd0"] == {5: "1", 6: "2", 7: "S0", 9: "3", 10: "S0", 12: "S1", 14: "D"}


@needs_published
@pytest.mark.parametrize(
    "name", ["mat_identity_s8_d20", "mat_identity_s20_d10", "mat_identity_s100_d05"]
)
def test_published_cycles_of_the_identity(name):
    """22 + 1 + 1 + 1 cycles for 13 values in 8 rows, as the reference explains."""
    reference = read("cycles.json")
    (record,) = (r for r in reference["records"] if r["name"] == name)
    b = reference["inputs"][record["inputs"]]["B"]
    matrix = scipy.sparse.coo_array((b["values"], np.transpose(b["coords"])), b["shape"])
    program = custard.compile("X(i,j) = B(i,j)", {"X": "ss:0,1", "B": "ss:0,1"})
    assert program.simulate({"B": matrix}).cycles == record["cycles"]


# Pipelines


def chain(length, tokens="1, 2, 3, 4, S0, D"):
    """A source, ``length`` ALUs that negate, called a1, a2 and so on, and a sink."""
    names = ["source", *(f"a{n + 1}" for n in range(length)), "sink"]
    return Graph(
        nodes=(
            Node("source", "source", {"stream": "val", "depth": 1, "tokens": tokens}),
            *(Node(name, "alu", {"operation": "negate"}) for name in names[1:-1]),
            Node("sink", "sink"),
        ),
        edges=tuple(
            Edge(End(a, "val"), End(b, "in_stream" if b == "sink" else "in_val0"))
            for a, b in pairwise(names)
        ),
    )


def cycles(graph, **overrides):
    return simulate(graph, overrides={k.replace("__", "."): v for k, v in overrides.items()}).cycles


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("depth", [2, 3, "unbounded"])
def test_a_pipeline_runs_at_full_rate_with_room_for_two(length, depth):
    # Six tokens; the last enters in cycle 5 and takes one cycle for each hop.
    assert cycles(chain(length), queues__depth=depth) == 6 + length


@pytest.mark.parametrize("length", [1, 3])
def test_a_pipeline_with_room_for_one_takes_two_cycles_per_token(length):
    # Room that is made in cycle t can be used in t + 1: a token enters in cycles 0, 2, ..., 10.
    assert cycles(chain(length), queues__depth=1) == 11 + length


def test_latencies_add_up_along_the_pipeline():
    assert cycles(chain(3), blocks__latency_cycles=3) == 6 + 3 * 3
    assert cycles(chain(3), queues__latency_cycles=2) == 6 + 3 * 2
    # From a firing to the push is 3, of which a firing's own cycle is one.
    assert cycles(chain(3), blocks__latency_cycles=3, queues__latency_cycles=2) == 6 + 3 * 4


def test_a_long_latency_needs_deep_queues():
    # A place is taken for latency + 1 cycles: pushes in cycles 0, 1, 4, 5, 8, 9; the last token
    # is taken in cycle 12.
    assert cycles(chain(1), queues__depth=2, queues__latency_cycles=3) == 13
    assert cycles(chain(1), queues__depth=4, queues__latency_cycles=3) == 9


def test_an_initiation_interval_spaces_the_firings():
    # Six firings in cycles 0, 3, ..., 15, and one hop to the sink.
    assert cycles(chain(1), blocks__kinds__alu__initiation_interval_cycles=3) == 17
    assert cycles(chain(3), blocks__kinds__alu__initiation_interval_cycles=3) == 19


def test_settings_by_kind_and_by_name():
    latency = {"blocks.kinds.alu.latency_cycles": 3, "blocks.names.a2.latency_cycles": 5}
    assert simulate(chain(3), overrides=latency).cycles == 6 + 3 + 5 + 3
    interval = {
        "blocks.kinds.alu.initiation_interval_cycles": 2,
        "blocks.names.a3.initiation_interval_cycles": 4,
    }
    # a3 fires in cycles 2, 6, ..., 22.
    assert simulate(chain(3), overrides=interval).cycles == 24
    assert simulate(chain(3), overrides={"queues.kinds.val.latency_cycles": 2}).cycles == 12
    assert simulate(chain(3), overrides={"queues.kinds.crd.latency_cycles": 2}).cycles == 9
    assert simulate(chain(3), overrides={"queues.names.a2.in_val0.depth": 1}).cycles == 14
    by_edge = {"queues.names.a1.val -> a2.in_val0.latency_cycles": 6}
    assert simulate(chain(3), overrides=by_edge).cycles == 6 + 1 + 6 + 1


# Accounting


def test_where_the_cycles_of_a_slow_reader_go():
    run = simulate(
        chain(1, "1, 2, S0, D"),
        overrides={"blocks.names.sink.initiation_interval_cycles": 3, "queues.depth": 2},
    )
    # a1 fires in cycles 0, 1, 2 and, when the sink has taken its second token in 4, in 5.
    # The sink fires in cycles 1, 4, 7 and 10.
    assert run.cycles == 11
    a1, sink = run.blocks["a1"], run.blocks["sink"]
    assert (a1.fired, a1.busy, a1.starved, a1.blocked, a1.done) == (4, 4, {}, {"val": 2}, 5)
    assert (sink.fired, sink.busy, sink.starved, sink.blocked, sink.done) == (
        *(4, 10, {"in_stream": 1}, {}),
        0,
    )
    assert a1.tokens == {"val": {"data": 2, "empty": 0, "stop": 1, "done": 1}}
    edge = run.streams["a1.val -> sink.in_stream"]
    assert edge.tokens == a1.tokens["val"]
    assert edge.peak == 2
    assert run.tokens == 8


def test_the_peak_of_an_unbounded_queue():
    run = simulate(
        chain(1, "1, 2, S0, D"), overrides={"blocks.names.sink.initiation_interval_cycles": 3}
    )
    # Pushed in cycles 0 to 3, taken in 1, 4, 7 and 10; in cycle 3 three tokens are there.
    assert run.cycles == 11
    assert run.streams["a1.val -> sink.in_stream"].peak == 3
    assert run.blocks["a1"].blocked == {}


def test_a_block_starves_on_the_port_whose_token_came_last():
    run = run_block(
        "alu",
        {"operation": "add"},
        {"in_val0": "1, 2, S0, D", "in_val1": "3, 4, S0, D"},
        overrides={"blocks.names.in_val1.initiation_interval_cycles": 4},
    ).run
    block = run.blocks["block"]
    # in_val1 comes in cycles 0, 4, 8 and 12; the sink takes the last sum in 13.
    assert (run.cycles, block.busy, block.starved, block.done) == (14, 4, {"in_val1": 9}, 1)


DEPTHS = (1, 2, 3, 4, 8, "unbounded")
RANDOM = settings(max_examples=examples(200), suppress_health_check=[HealthCheck.too_slow])
MACHINES = st.fixed_dictionaries(
    {
        "queues.depth": st.sampled_from(DEPTHS),
        "queues.latency_cycles": st.integers(1, 3),
        "blocks.latency_cycles": st.integers(1, 2),
        "blocks.initiation_interval_cycles": st.integers(1, 2),
        "blocks.kinds.alu.initiation_interval_cycles": st.integers(1, 4),
        "blocks.kinds.level_scanner.latency_cycles": st.integers(1, 5),
        "queues.kinds.val.depth": st.sampled_from(DEPTHS),
    }
)


def compiled(program):
    order = [f"reorder({','.join(program.order)})"] if program.order else []
    return custard.compile(program.expression, program.formats, order, dims=program.dims)


def run_or_deadlock(compiled_program, tensors, overrides):
    """The run; None where it deadlocks."""
    try:
        return compiled_program.simulate(tensors, overrides=overrides)
    except UserError as error:
        if not str(error).startswith("deadlock after cycle "):
            raise
        return None


@RANDOM
@given(programs(), MACHINES)
def test_the_cycles_of_every_block_add_up(program, machine):
    run = run_or_deadlock(compiled(program), program.tensors, machine)
    if run is None:
        return
    for name, block in run.blocks.items():
        waited = sum(block.starved.values()) + sum(block.blocked.values()) + block.memory
        assert block.busy + waited + block.done == run.cycles, name
        assert block.fired <= block.busy, name
        assert block.done >= 0, name
    config = load(overrides=machine)
    kinds = {node.name: node.kind for node in run.graph.nodes}
    for edge, carried in validate(run.graph).items():
        found = run.streams[str(edge)]
        depth, _ = config.queue(str(edge), carried.kind, kinds[edge.target.node])
        assert found.peak <= sum(found.tokens.values()), edge
        if depth is not None and kinds[edge.source.node] != "root":
            assert found.peak <= depth, edge


@RANDOM
@given(programs())
def test_shorter_queues_never_save_cycles(program):
    found = compiled(program)
    runs = [run_or_deadlock(found, program.tensors, {"queues.depth": d}) for d in DEPTHS]
    counts = [math.inf if run is None else run.cycles for run in runs]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < math.inf
    for run in runs[:-1]:
        if run is not None:
            np.testing.assert_array_equal(run.output.to_numpy(), runs[-1].output.to_numpy())


@RANDOM
@given(programs(), MACHINES, st.randoms(use_true_random=False))
def test_neither_repetition_nor_the_order_of_nodes_changes_a_run(program, machine, random):
    found = compiled(program)
    graph = found.graph
    nodes, edges = list(graph.nodes), list(graph.edges)
    random.shuffle(nodes)
    random.shuffle(edges)
    (stage,) = found.stages
    lowered = replace(stage.lowered, graph=replace(graph, nodes=tuple(nodes), edges=tuple(edges)))
    shuffled = replace(found)
    shuffled.__dict__["stages"] = (replace(stage, lowered=lowered),)
    first, again, other = (
        run_or_deadlock(p, program.tensors, machine) for p in (found, found, shuffled)
    )
    for run in (again, other):
        assert (run is None) == (first is None)
        if run is not None:
            assert (run.cycles, run.blocks, run.streams) == (
                *(first.cycles, first.blocks),
                first.streams,
            )
            np.testing.assert_array_equal(run.output.to_numpy(), first.output.to_numpy())


# Runs that stop


def normalized(*first):
    """Values divided by their sum, which is known when all of them have passed.

    ``first`` names the nodes that stand first.
    """
    nodes = {
        "values": Node(
            "values", "source", {"stream": "val", "depth": 1, "tokens": "1, 2, 3, 4, S0, D"}
        ),
        "crds": Node(
            "crds", "source", {"stream": "crd", "depth": 1, "tokens": "0, 1, 2, 3, S0, D"}
        ),
        "copy": Node("copy", "alu", {"operation": "negate"}),
        "sum": Node("sum", "reducer", {"dimensions": 0, "empty": "zero"}),
        "repeat": Node("repeat", "repeater", {"stream": "val"}),
        "join": Node("join", "alu", {"operation": "divide"}),
        "sink": Node("sink", "sink"),
    }
    edges = [
        ("values.val", "copy.in_val0"),
        ("copy.val", "sum.in_val"),
        ("copy.val", "join.in_val0"),
        ("sum.val", "repeat.in_val"),
        ("crds.crd", "repeat.in_coordinates"),
        ("repeat.val", "join.in_val1"),
        ("join.val", "sink.in_stream"),
    ]
    order = [*first, *(name for name in nodes if name not in first)]
    return Graph(tuple(nodes[name] for name in order), tuple(wire(*edge) for edge in edges))


def wire(source, target):
    return Edge(End(*source.split(".")), End(*target.split(".")))


def text_of_error(graph, **overrides):
    with pytest.raises(UserError) as error:
        cycles(graph, **overrides)
    return str(error.value)


def test_a_deadlock_names_the_blocks_that_wait_for_each_other():
    # The copy fires in cycles 0 and 1; the last to fire are the sources, in cycle 5.
    assert text_of_error(normalized(), queues__depth=2) == (
        "deadlock after cycle 5: 4 blocks wait for each other\n"
        "  copy waits for room on copy.val -> join.in_val0 (full, 2 tokens)\n"
        "  join waits for a token on repeat.val -> join.in_val1 (empty)\n"
        "  repeat waits for a token on sum.val -> repeat.in_val (empty)\n"
        "  sum waits for a token on copy.val -> sum.in_val (empty)\n"
        "hint: make the full queues deeper, as in --set queues.depth=64"
    )


def test_blocks_that_only_wait_for_a_circle_are_no_part_of_it():
    assert text_of_error(normalized("sink", "repeat"), queues__depth=1) == (
        "deadlock after cycle 5: 4 blocks wait for each other\n"
        "  join waits for a token on repeat.val -> join.in_val1 (empty)\n"
        "  repeat waits for a token on sum.val -> repeat.in_val (empty)\n"
        "  sum waits for a token on copy.val -> sum.in_val (empty)\n"
        "  copy waits for room on copy.val -> join.in_val0 (full, 1 token)\n"
        "hint: make the full queues deeper, as in --set queues.depth=64"
    )


def test_a_deadlock_goes_away_with_room_for_the_whole_fiber():
    text_of_error(normalized(), queues__depth=4)
    # The sum takes S0 in 5 and gives -10; the repeater takes it in 6 for the first coordinate,
    # the division follows in 7, and the last of its six tokens is kept in 7 + 5 + 1.
    assert cycles(normalized(), queues__depth=5) == 14
    text_of_error(normalized(), queues__names={"join.in_val0": {"depth": 4}})
    assert cycles(normalized(), queues__names={"join.in_val0": {"depth": 5}}, queues__depth=2) == 14


def test_a_deadlock_behind_the_output_side_of_a_reducer():
    crd = "0, 1, 2, 3, S1, D"
    graph = Graph(
        nodes=(
            Node("crds", "source", {"stream": "crd", "depth": 2, "tokens": crd}),
            Node("values", "source", {"stream": "val", "depth": 2, "tokens": crd}),
            Node("vector", "reducer", {"dimensions": 1}),
            Node("sum", "reducer", {"dimensions": 0, "empty": "zero"}),
            Node("repeat", "repeater", {"stream": "val"}),
            Node("sink", "sink"),
        ),
        edges=(
            wire("crds.crd", "vector.in_crd0"),
            wire("values.val", "vector.in_val"),
            wire("vector.val", "sum.in_val"),
            wire("vector.crd0", "repeat.in_coordinates"),
            wire("sum.val", "repeat.in_val"),
            wire("repeat.val", "sink.in_stream"),
        ),
    )
    assert cycles(graph) == 18
    assert text_of_error(graph, queues__depth=2) == (
        "deadlock after cycle 7: 3 blocks wait for each other\n"
        "  vector.emitter waits for room on vector.crd0 -> repeat.in_coordinates "
        "(full, 2 tokens)\n"
        "  repeat waits for a token on sum.val -> repeat.in_val (empty)\n"
        "  sum waits for a token on vector.val -> sum.in_val (empty)\n"
        "hint: make the full queues deeper, as in --set queues.depth=64"
    )


def test_a_stream_that_is_too_short_is_reported():
    with pytest.raises(UserError) as error:
        run_block(
            "intersecter", {"payloads": [["ref"]]}, {"in_crd0": "1, 2, S0, D", "in_ref0_0": "7, D"}
        )
    assert str(error.value) == (
        "the simulation stops after cycle 3: block waits for a token on "
        "in_ref0_0.ref -> block.in_ref0_0, and in_ref0_0 is done"
    )


def test_progress_is_told_now_and_then():
    told = []
    tokens = ", ".join(["1"] * 10_000)
    run = simulate(chain(1, f"{tokens}, S0, D"), progress=told.append)
    assert run.cycles == 10_003
    assert len(told) == 2
    assert told == sorted(told)
    assert all(0 < cycle < run.cycles for cycle in told)


def test_an_empty_graph_takes_no_cycles():
    run = simulate(Graph((), ()))
    assert (run.cycles, run.blocks, run.output, run.tokens) == (0, {}, None, 0)


def test_a_run_tells_its_engine_and_its_whole_config():
    run = simulate(chain(1), config="finite", overrides={"queues.depth": 3}, engine="simpy")
    assert run.engine == "simpy"
    assert run.config["queues"]["depth"] == 3
    assert run.config["blocks"]["latency_cycles"] == 1


def test_no_run_is_begun_that_must_take_more_events_than_it_may(monkeypatch):
    graph = custard.compile("y(i) = A(i,j) * x(j)").graph
    bound = bind(graph, {"A": np.eye(2), "x": np.ones(2)})
    least = 2 * len(graph.nodes)  # each process begins and ends
    with pytest.raises(Unfinished):
        engine.run(bound, load(), most_events=least)
    assert engine.run(bound, load(), most_events=100 * least).cycles > 0
    monkeypatch.setattr(engine, "_Processes", None)
    with pytest.raises(Unfinished):
        engine.run(bound, load(), most_events=least - 1)
