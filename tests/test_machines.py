"""The machines of Section 6.5 of the SAM paper: their configs, and graphs of their structure."""

import re

import numpy as np
import pytest

from experiments import machines
from experiments.dense import evaluate
from sim import simulate
from sim.config import hardware as config

NAMES = list(machines.MACHINES)


def edges(graph):
    """The edges of a graph, as text."""
    return set(map(str, graph.edges))


def kinds(graph):
    """The names of the nodes of each kind."""
    found = {}
    for node in graph.nodes:
        found.setdefault(node.kind, []).append(node.name)
    return found


def lanes_of(name, count):
    """The names of the copies of a node in lanes."""
    return [name, *(f"{name}_{n}" for n in range(2, count + 1))]


def inputs(machine):
    """Tensors with values that sums of are exact: three in ten are not 0."""
    random = np.random.default_rng(1)
    shapes = {"B": (20, 15), "C": (15, 18), "b": (200,), "c": (200,)}
    return {
        name: np.where(random.random(shape) < 0.3, random.integers(1, 5, shape), 0)
        for name, shape in shapes.items()
        if f" {name}(" in machine.expression
    }


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("name", NAMES)
def test_a_machine_gives_what_the_dense_evaluator_gives(name, engine):
    machine = machines.MACHINES[name]
    given = inputs(machine)
    run = machines.compiled(name).simulate(given, machine.config, engine=engine)
    assert np.array_equal(run.output.to_numpy(), evaluate(machine.expression, given))
    run.output.validate()


@pytest.mark.parametrize("name", NAMES)
def test_a_machine_takes_the_same_cycles_on_both_engines(name):
    machine = machines.MACHINES[name]
    program, given = machines.compiled(name), inputs(machine)
    simpy, compiled = (
        program.simulate(given, machine.config, engine=e) for e in ("simpy", "compiled")
    )
    assert simpy.cycles == compiled.cycles
    assert simpy.blocks == compiled.blocks
    assert simpy.memory == compiled.memory
    ideal = program.simulate(given, "ideal")
    assert simpy.cycles > ideal.cycles


@pytest.mark.parametrize("name", NAMES)
def test_no_tensor_is_rearranged_for_a_machine(name):
    notes = " ".join(machines.compiled(name).notes)
    assert "transposed" not in notes
    assert "then stored as" not in notes


def test_extensor_goes_from_large_tiles_to_small_ones_to_elements():
    """At each level scanners that skip, an intersecter and repeaters; tiles between the levels."""
    program = machines.compiled("extensor")
    graph = program.simulate(inputs(machines.MACHINES["extensor"]), "extensor").graph
    for level in (2, 1, 0):
        assert {
            f"repeat_C_i{level}.ref -> scan_C_k{level}.in_ref",
            f"scan_B_k{level}.crd -> intersect_k{level}.in_crd0",
            f"scan_C_k{level}.crd -> intersect_k{level}.in_crd1",
            f"intersect_k{level}.skip0 -> scan_B_k{level}.in_skip",
            f"intersect_k{level}.skip1 -> scan_C_k{level}.in_skip",
            f"intersect_k{level}.ref1_0 -> scan_C_j{level}.in_ref",
            f"intersect_k{level}.ref0_0 -> repeat_B_j{level}.in_ref",
        } <= edges(graph)
    assert {
        "repeat_B_j2.ref -> load_B.in_ref",
        "load_B.ref -> scan_B_i1.in_ref",
        "scan_C_j2.ref -> load_C.in_ref",
        "load_C.ref -> repeat_C_i1.in_ref",
        "repeat_B_j1.ref -> load_B_2.in_ref",
        "load_B_2.ref -> scan_B_i0.in_ref",
        "scan_C_j1.ref -> load_C_2.in_ref",
        "load_C_2.ref -> repeat_C_i0.in_ref",
    } <= edges(graph)


def test_outerspace_multiplies_into_linked_lists():
    """Figure 16: the outer products of the columns of B and the rows of C, a list for each row."""
    multiply, _ = machines.compiled("outerspace").graphs
    assert edges(multiply) == {
        "root.ref -> scan_B_kw.in_ref",
        "root.ref -> scan_C_kw.in_ref",
        "scan_B_kw.crd -> intersect_kw.in_crd0",
        "scan_B_kw.ref -> intersect_kw.in_ref0_0",
        "scan_C_kw.crd -> intersect_kw.in_crd1",
        "scan_C_kw.ref -> intersect_kw.in_ref1_0",
        "intersect_kw.ref0_0 -> scan_B_i.in_ref",
        "scan_B_i.crd -> repeat_C_i.in_coordinates",
        "intersect_kw.ref1_0 -> repeat_C_i.in_ref",
        "repeat_C_i.ref -> scan_C_j.in_ref",
        "scan_C_j.crd -> repeat_B_j.in_coordinates",
        "scan_B_i.ref -> repeat_B_j.in_ref",
        "repeat_B_j.ref -> array_B.in_ref",
        "scan_C_j.ref -> array_C.in_ref",
        "array_B.val -> multiply.in_val0",
        "array_C.val -> multiply.in_val1",
        # i finds its list, and k, which is the same for all i, is appended to it.
        "scan_B_i.crd -> write_Y_i.in_crd",
        "intersect_kw.crd -> repeat_Y_kw_i.in_crd",
        "scan_B_i.crd -> repeat_Y_kw_i.in_coordinates",
        "repeat_Y_kw_i.crd -> write_Y_kw.in_crd",
        "write_Y_i.ref -> write_Y_kw.in_ref",
        "scan_C_j.crd -> write_Y_j.in_crd",
        "multiply.val -> write_Y_vals.in_val",
    }
    written = [n.parameters["format"] for n in multiply.nodes if n.kind == "level_writer"]
    assert written == ["d", "l", "s"]


def test_outerspace_merges_the_linked_lists():
    """Three level scanners, a vector reducer that sums over k, and three writers."""
    _, merge = machines.compiled("outerspace").graphs
    assert edges(merge) == {
        "root.ref -> scan_Y_i.in_ref",
        "scan_Y_i.ref -> scan_Y_k.in_ref",
        "scan_Y_k.ref -> scan_Y_j.in_ref",
        "scan_Y_j.ref -> array_Y.in_ref",
        "scan_Y_j.crd -> reduce_k.in_crd0",
        "array_Y.val -> reduce_k.in_val",
        "scan_Y_i.crd -> write_X_i.in_crd",
        "reduce_k.crd0 -> write_X_j.in_crd",
        "write_X_i.ref -> write_X_j.in_ref",
        "reduce_k.val -> write_X_vals.in_val",
    }
    assert merge.node("reduce_k").parameters == {"dimensions": 1}


def test_outerspace_merges_the_format_that_it_has_written():
    """Each node of a list is read as it was appended; k counts up along each list."""
    machine = machines.MACHINES["outerspace"]
    given = inputs(machine)
    run = machines.compiled("outerspace").simulate(given)
    partial = run.parts[0].output
    assert partial.format == "dls:0,2,1"
    products = np.einsum("ik,kj->ijk", given["B"], given["C"])
    assert np.array_equal(partial.to_numpy(), products)
    heads, nexts, ks = (partial.levels[1].as_lists().__dict__[n]
                        for n in ("heads", "nexts", "coordinates"))  # fmt: skip
    assert ks == sorted(ks), "the nodes are numbered as k goes"
    for row, head in enumerate(heads):
        listed = []
        while head >= 0:
            listed.append(ks[head])
            head = nexts[head]
        assert listed == np.flatnonzero(products[row].any(axis=0)).tolist()


def test_gamma_deals_behind_the_intersecter_and_merges_by_one_reducer():
    graph = machines.compiled("gamma").graph
    found, known = kinds(graph), edges(graph)
    assert found["parallelizer"] == ["deal_k"]
    assert found["intersecter"] == ["intersect_k"]
    assert found["reducer"] == ["reduce_k"]
    assert "serializer" not in found
    assert graph.node("reduce_k").parameters == {"dimensions": 1, "ways": 4}
    for dealt, port in (("crd", "crd"), ("ref0_0", "ref0"), ("ref1_0", "ref1")):
        assert f"intersect_k.{dealt} -> deal_k.in_{port}" in known
    for n in range(4):
        scan, repeat, multiply = (
            lanes_of(name, 4)[n] for name in ("scan_C_j", "repeat_B_j", "multiply")
        )
        assert f"deal_k.ref1_{n} -> {scan}.in_ref" in known
        assert f"deal_k.ref0_{n} -> {repeat}.in_ref" in known
        assert f"{scan}.crd -> reduce_k.in_crd0_{n}" in known
        assert f"{multiply}.val -> reduce_k.in_val_{n}" in known
    assert "reduce_k.crd0 -> write_X_j.in_crd" in known


@pytest.mark.parametrize("dtype", ["bool", "complex128"])
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_gamma_merges_values_of_any_type(dtype, engine):
    given = inputs(machines.MACHINES["gamma"])
    typed = {name: array.astype(dtype) for name, array in given.items()}
    found = machines.compiled("gamma").run(typed, engine=engine)
    assert found.dtype == dtype
    assert np.array_equal(found.to_numpy(), typed["B"] @ typed["C"])


def test_gamma_has_a_merger_in_each_element():
    found = kinds(machines.compiled("gamma, 2 PEs").graph)
    assert found["parallelizer"] == ["deal_i", "deal_k", "deal_k_2"]
    assert found["reducer"] == ["reduce_k", "reduce_k_2"]
    assert len(found["alu"]) == 8


def test_more_ways_take_fewer_cycles():
    """Where C is found by location: the rows of C are then all that takes time."""
    machine = machines.MACHINES["gamma"]
    random = np.random.default_rng(2)
    given = {name: (random.random((40, 40)) < 0.3).astype(float) for name in "BC"}
    cycles = []
    for ways in (1, 2, 4):
        schedule = ["reorder(i,k,j)", f"parallelize(k,Lanes,{ways})"]
        formats = {**machine.formats, "C": "ds:0,1"}
        program = machines.custard.compile(machine.expression, formats, schedule)
        run = program.simulate(given, "finite", {"queues.depth": 8})
        assert np.array_equal(run.output.to_numpy(), given["B"] @ given["C"])
        cycles.append(run.cycles)
    products = int((given["B"] @ given["C"]).sum())
    assert cycles[0] > products
    assert cycles == sorted(cycles, reverse=True)
    assert cycles[0] > 1.7 * cycles[1] > 1.7 * 1.4 * cycles[2]


@pytest.mark.parametrize(
    ("name", "header", "operation"),
    [
        ("capstan, and", "bitvector_intersecter", "multiply"),
        ("capstan, or", "bitvector_unioner", "add"),
    ],
)
def test_capstan_scans_bits_and_has_a_vector_of_bodies(name, header, operation):
    """Two bitvector scanners and their merger give the header's four outputs; 16 lanes follow."""
    graph = machines.compiled(name).graph
    found, known = kinds(graph), edges(graph)
    merger = "intersect_i" if operation == "multiply" else "unite_i"
    assert found["bitvector_scanner"] == ["scan_b_i", "scan_c_i"]
    assert found[header] == [merger]
    assert "level_scanner" not in found
    assert found["alu"] == lanes_of(operation, 16)
    assert len(found["array"]) == 32
    for n, name_of in enumerate(found["bitvector_scanner"]):
        assert f"{name_of}.bv -> {merger}.in_bv{n}" in known
        assert f"{name_of}.ref -> {merger}.in_ref{n}" in known
        # The addresses for both, and the dense index, which the writer makes an address of.
        assert f"{merger}.ref{n} -> deal_i.in_ref{n}" in known
    assert f"{merger}.bv -> unpack_i.in_bv" in known
    assert "unpack_i.crd -> deal_i.in_crd" in known
    assert "join_i.crd -> write_x_i.in_crd" in known


def test_sigma_multiplies_what_both_bitmaps_have_and_adds_it_up_in_a_tree():
    graph = machines.compiled("sigma").graph
    found, known = kinds(graph), edges(graph)
    assert sorted(found["level_scanner"]) == ["scan_B_i", "scan_C_j"]
    assert found["bitvector_intersecter"] == lanes_of("intersect_k", 2)
    assert found["parallelizer"] == ["deal_j", *lanes_of("deal_k", 2)]
    assert found["alu"] == lanes_of("multiply", 8)
    assert found["reducer"] == lanes_of("reduce_k", 2)
    for engine in range(2):
        scan_b, scan_c, merger, unpack, deal, reducer = (
            lanes_of(name, 2)[engine]
            for name in ("scan_B_k", "scan_C_k", "intersect_k", "unpack_k", "deal_k", "reduce_k")
        )
        assert f"{scan_b}.bv -> {merger}.in_bv0" in known
        assert f"{scan_c}.bv -> {merger}.in_bv1" in known
        assert f"{merger}.bv -> {unpack}.in_bv" in known
        assert f"{unpack}.crd -> {deal}.in_crd" in known
        assert graph.node(reducer).parameters["dimensions"] == 0
        assert graph.node(reducer).parameters["ways"] == 4
        for lane in range(4):
            array_b, array_c, multiply = (
                lanes_of(name, 8)[4 * engine + lane] for name in ("array_B", "array_C", "multiply")
            )
            assert f"{deal}.ref0_{lane} -> {array_b}.in_ref" in known
            assert f"{deal}.ref1_{lane} -> {array_c}.in_ref" in known
            assert f"{multiply}.val -> {reducer}.in_val_{lane}" in known


@pytest.mark.parametrize("name", ["capstan", "extensor", "gamma", "outerspace", "sigma"])
def test_a_config_names_the_source_of_each_number(name):
    """A number without a source says that it is the default."""
    found = config.load(name)
    text = (config.resources.files("hw_configs") / f"{name}.yaml").read_text()
    about = text.split("\n\n")[0]
    assert any(place in about for place in ("ASPLOS", "HPCA", "MICRO"))
    for line in re.findall(r"^[^#\n]*: \d.*", text, re.MULTILINE):
        comment = line.partition("#")[2]
        marks = {mark for part in re.findall(r"\[(.*?)\]", comment) for mark in part.split(", ")}
        assert marks or "the default" in comment or "the most that" in comment, line
        assert all(f"[{mark}]" in about for mark in marks), line
    outer, *inner = found.memory.levels
    assert outer.capacity_bytes == "unbounded"
    assert outer.bandwidth_gb_per_s >= 50
    assert all(level.capacity_bytes != "unbounded" for level in inner)


def test_the_memory_of_a_machine_counts():
    machine = machines.MACHINES["gamma"]
    program, given = machines.compiled("gamma"), inputs(machine)
    slow = program.simulate(given, "gamma", engine="simpy")
    assert simulate(program.graph, given, "ideal").cycles <= slow.cycles
    traffic = slow.memory["HBM"].tensors
    entries = {name: np.count_nonzero(array) for name, array in given.items()}
    for name, rows in (("B", 21), ("C", 0)):
        least = entries[name] * (4 + 8) + rows * 4
        assert traffic[name].bytes_read >= least
