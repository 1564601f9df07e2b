"""Mistakes in machines and graphs, and runs that cannot go on."""

import numpy as np
import pytest

import custard
import sam
import sim
from sam.dot import from_dot, to_dot
from sam.support.free_memory import tightest
from tests.support.mistakes import INPUTS, MATMUL, MATVEC, ONES, SHIPPED, refused, text


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"engine": "compile"}, ["unknown engine compile", "hint: did you mean compiled?"]),
        ({"engine": None}, ["unknown engine None", "hint: one of auto, simpy, compiled"]),
        ({"config": "finit"}, [
            'there is no config "finit"',
            f"hint: did you mean finite? {SHIPPED}",
        ]),
        ({"config": "no.yaml"}, ['cannot read the config "no.yaml": No such file or directory']),
        ({"config": 3}, [
            "the config is int, not a name, a path or a mapping",
            'hint: as in config="finite" or config={"queues": {"depth": 4}}',
        ]),
        ({"config": {"queues": {"dept": 3}}}, [
            'config: unknown key "queues.dept"', "hint: did you mean depth?",
        ]),
        ({"config": {"blocks": {"kinds": {"redcer": {}}}}}, [
            'config: unknown key "blocks.kinds.redcer"', "hint: did you mean reducer?",
        ]),
        ({"config": {"queues": {"depth": "deep"}}}, [
            'config: queues.depth is "deep"; it must be a whole number of at least 1, or '
            '"unbounded"',
        ]),
        ({"overrides": {"depth": 3}}, [
            'overrides: unknown key "depth"', "hint: did you mean queues.depth?",
        ]),
        ({"overrides": {"queues.depth": np.float64(3)}}, [
            'overrides: queues.depth is 3.0; it must be a whole number of at least 1, or '
            '"unbounded"',
        ]),
        ({"overrides": {3: 1}}, [
            "overrides: the key 3 is not text", 'hint: as in "queues.depth"',
        ]),
        ({"overrides": "queues.depth=1"}, [
            "overrides is str, not a mapping from keys",
            'hint: as in overrides={"queues.depth": 8}',
        ]),
        ({"overrides": {"blocks.names.scan_A_k.latency_cycles": 2}}, [
            'blocks.names sets "scan_A_k", and the graph has no such block',
            "hint: did you mean scan_A_j?",
        ]),
        ({"overrides": {"queues.names.array_x.in_re.depth": 2}}, [
            'queues.names sets "array_x.in_re", and the graph has no such queue',
            "hint: did you mean array_x.in_ref?",
        ]),
        ({"config": {"queues": {"names": {"scan_A_i.rf -> scan_A_j.in_ref": {"depth": 2}}}}}, [
            'queues.names sets "scan_A_i.rf -> scan_A_j.in_ref", and the graph has no such queue',
            "hint: did you mean scan_A_i.ref -> scan_A_j.in_ref?",
        ]),
    ],
)  # fmt: skip
def test_machines(options, lines):
    assert refused(custard.compile(MATVEC).run, INPUTS, **options) == text(*lines)


def test_the_machine_that_was_meant_is_named():
    """A machine has kinds that this graph lacks; integers may be numpy's; names may be ports."""
    overrides = {
        "queues.depth": np.int64(8),
        "blocks.kinds.repeater.latency_cycles": np.int32(2),
        "blocks.names.scan_x_i.latency_cycles": 3,
        "queues.names.array_x.in_ref.depth": 1,
        "queues.names.scan_x_i.ref -> array_x.in_ref.latency_cycles": 4,
    }
    run = sim.simulate(custard.compile("y(i) = x(i)").graph, {"x": ONES}, overrides=overrides)
    assert run.config["queues"]["depth"] == 8
    assert type(run.config["queues"]["depth"]) is int


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize(
    ("level", "lines"),
    [
        ("d", [
            "there is no memory for x(i), which is 4503599627370496, stored as d",
            "hint: compressed levels instead of dense ones",
        ]),
        ("b", [
            f"there is no memory for the arrays that the graph stores; {tightest().words}",
            "hint: compressed levels instead of dense or bitvector ones, or smaller inputs",
        ]),
    ],
)  # fmt: skip
def test_a_result_for_which_there_is_no_memory(engine, level, lines):
    program = custard.compile("x(i) = b(i,j)", {"x": level})
    b = sam.Tensor.from_coo([[3], [0]], [2.0], (2**52, 1))
    assert refused(program.run, {"b": b}, engine=engine) == text(*lines)


def test_a_deadlock_at_a_small_depth():
    """The dropper needs the coordinates of a whole row before it takes that of the row."""
    program = custard.compile(MATVEC, {"A": "ss", "x": "s"})
    given = {"A": [[1, 0], [1, 0], [1, 0]], "x": [0, 1]}
    found = refused(program.run, given, overrides={"queues.depth": 1})
    assert found == text(
        "deadlock after cycle 3: 4 blocks wait for each other",
        "  scan_A_i waits for room on scan_A_i.crd -> drop_i.in_outer (full, 1 token)",
        "  drop_i waits for a token on intersect_j.crd -> drop_i.in_inner_crd (empty)",
        "  intersect_j waits for a token on scan_A_j.crd -> intersect_j.in_crd0 (empty)",
        "  scan_A_j waits for a token on scan_A_i.ref -> scan_A_j.in_ref (empty)",
        "hint: make the full queues deeper, as in --set queues.depth=64",
    )


def test_values_of_a_type_without_the_operation():
    program = custard.compile("y(i) = a(i) - b(i)")
    assert refused(program.run, {"a": ONES > 0, "b": ONES > 1}) == text(
        "subtract has no meaning for bool values", "hint: convert the inputs to int64 first"
    )


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_a_reducer_that_is_too_small(engine):
    program = custard.compile(MATMUL, schedule="reorder(k,i,j)")
    given = {"B": np.ones((2, 2)), "C": np.ones((2, 2))}
    overrides = {"blocks.kinds.reducer.capacity": 3}
    found = refused(program.run, given, overrides=overrides, engine=engine).splitlines()
    assert "has room for 3 entries, and the sum needs more" in found[0]
    assert found[1:] == [
        "hint: raise blocks.capacity, or reorder the loops so that the sum is further in"
    ]


DOT = to_dot(custard.compile("y(i) = x(i)").graph)
FED = '  "array_x" -> "write_y_vals" [source_port="val", target_port="in_val"'


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("digraph sam {", "digraph sam (", [
            "the text is not DOT: line 1 cannot be read", "  digraph sam (", "              ^",
        ]),
        ('kind="array"', 'kind="aray"', [
            "node array_x is of the unknown kind aray", "hint: did you mean array?",
        ]),
        ('source_port="val"', 'source_port="vals"', [
            "edge array_x.vals -> write_y_vals.in_val names an unknown output port of array_x",
            "hint: did you mean val?",
        ]),
        ('target_port="in_val"', 'target_port="in_crd"', [
            "edge array_x.val -> write_y_vals.in_crd names an unknown input port of write_y_vals",
            "hint: did you mean in_val?",
        ]),
        (FED, f"//{FED}", ["input write_y_vals.in_val has no producer"]),
        ('"array_x" -> "write_y_vals"', '"aray_x" -> "write_y_vals"', [
            'edge "aray_x" -> "write_y_vals": there is no node "aray_x"',
        ]),
    ],
)  # fmt: skip
def test_graphs(old, new, lines):
    changed = DOT.replace(old, new, 1)
    assert changed != DOT
    assert refused(lambda: sim.simulate(from_dot(changed), {"x": ONES})) == text(*lines)


def test_other_objects_than_graphs():
    assert refused(sim.simulate, custard.compile(MATVEC), INPUTS) == text(
        "SamProgram is not a graph", "hint: program.graph, or sam.dot.from_dot(text)"
    )
