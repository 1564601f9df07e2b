"""A graph's inputs: what is refused, what extents and types come out, what reaches the slots."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

import custard
from sam.blocks.block_memory import Growing, Stored
from sam.graph import Edge, End, Graph, Node, Result, Slot
from sam.inputs import gather
from sam.support.errors import UserError
from sam.tensor import Tensor
from sim import simulate
from sim.binding import BoundGraph, bind, extents
from sim.config.hardware import load
from sim.value_types import ValueTypes

B = Slot("B", "B", "ss", ((0,), (1,)), ("i", "j"))
C = Slot("c", "c", "s", ((0,),), ("j",))
TWO = Slot("two", None, constant=2)


def graph(*slots, nodes=(), **more):
    return Graph(nodes, (), slots, **more)


def refused(graph, **inputs):
    with pytest.raises(UserError) as error:
        bind(graph, inputs)
    return str(error.value)


MATRIX, VECTOR = np.ones((2, 3)), np.ones(3)


def test_extents_come_from_the_inputs():
    bound = bind(graph(B, C, TWO), {"B": MATRIX, "c": VECTOR})
    assert bound.extents == {"i": 2, "j": 3}
    assert set(bound.tensors) == {"B", "c", "two"}


def test_extents_come_from_dims_too():
    bound = bind(graph(C, dims=(("k", 7), ("j", 3))), {"c": VECTOR})
    assert bound.extents == {"k": 7, "j": 3}


def test_missing_inputs():
    assert refused(graph(B, C), B=MATRIX) == "no input is given for c"
    assert refused(graph(B, C)) == "no input is given for B, c"


def test_unknown_inputs():
    assert refused(graph(B, C), B=MATRIX, c=VECTOR, cc=VECTOR) == (
        "the program has no input cc\nhint: did you mean c?"
    )
    assert refused(graph(B, C), B=MATRIX, c=VECTOR, xyz=VECTOR) == (
        "the program has no input xyz\nhint: one of B, c"
    )
    assert refused(graph(TWO), B=MATRIX) == ("the program has no input B\nhint: it has no inputs")


def test_inputs_that_are_no_tensors():
    assert refused(graph(C), c="ones") == (
        "c: str is not a tensor\nhint: a number, nested lists, a numpy array, scipy.sparse or "
        "sam.Tensor; sam.io.read reads a file"
    )


def test_inputs_of_the_wrong_order():
    assert refused(graph(B), B=VECTOR) == "B has 2 modes in the program, and its input has 1 mode"
    assert refused(graph(C), c=MATRIX) == "c has 1 mode in the program, and its input has 2 modes"
    assert refused(graph(C), c=4) == "c has 1 mode in the program, and its input has 0 modes"


def test_a_diagonal_counts_all_its_modes():
    diagonal = Slot("B", "B", "s", ((0, 1),), ("i",))
    assert refused(graph(diagonal), B=VECTOR) == (
        "B has 2 modes in the program, and its input has 1 mode"
    )
    assert refused(graph(diagonal), B=MATRIX) == (
        "the extent of i is 2 by mode 0 of B and 3 by mode 1 of B"
    )
    bound = bind(graph(diagonal), {"B": np.diag([1.0, 0.0, 2.0])})
    assert bound.extents == {"i": 3}
    assert bound.tensors["B"].to_numpy().tolist() == [1, 0, 2]


def test_extents_that_disagree():
    assert refused(graph(B, C), B=MATRIX, c=np.ones(4)) == (
        "the extent of j is 3 by mode 1 of B and 4 by mode 0 of c"
    )
    transposed = Slot("B", "B", "ss", ((1,), (0,)), ("j", "i"))
    assert refused(graph(transposed, C), B=MATRIX, c=np.ones(4)) == (
        "the extent of j is 3 by mode 1 of B and 4 by mode 0 of c"
    )
    assert refused(graph(C, dims=(("j", 5),)), c=VECTOR) == (
        "the extent of j is 5 by dims and 3 by mode 0 of c"
    )


def test_an_extent_that_nothing_fixes():
    nodes = (Node("root", "root"), Node("scan_k", "level_scanner", {"variable": "k"}))
    edges = (Edge(End("root", "ref"), End("scan_k", "in_ref")),)
    assert refused(Graph(nodes, edges)) == (
        'no input fixes the extent of k\nhint: give it in dims, as in dims={"k": 8}'
    )
    assert bind(Graph(nodes, edges, dims=(("k", 4),)), {}).extents == {"k": 4}


def test_an_extent_of_0():
    empty = np.ones((0, 3))
    assert bind(graph(B), {"B": empty}).extents == {"i": 0, "j": 3}
    assert bind(graph(B, nonempty=("j",)), {"B": empty}).extents == {"i": 0, "j": 3}
    assert refused(graph(B, nonempty=("i", "j")), B=empty) == (
        "the extent of i is 0, and the graph is compiled for 1 or more\n"
        'hint: compile it with dims={"i": 0}'
    )


def test_an_unsound_graph():
    assert refused(graph(nodes=(Node("a", "sink"), Node("a", "sink")))) == (
        "two nodes of the graph are named a"
    )


def test_one_input_in_two_slots():
    """B as it is and transposed, from one dense array."""
    other = Slot("B'", "B", "ds", ((1,), (0,)), ("j", "i"))
    matrix = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]])
    bound = bind(graph(B, other), {"B": matrix})
    assert bound.extents == {"i": 3, "j": 2}
    assert bound.tensors["B"].format == "ss:0,1"
    assert bound.tensors["B"].to_numpy().tolist() == matrix.tolist()
    assert bound.tensors["B'"].format == "ds:0,1"
    assert bound.tensors["B'"].to_numpy().tolist() == matrix.T.tolist()


def test_gather_and_extents_find_mistakes_before_binding():
    found = gather(graph(B, C).slots, {"B": scipy.sparse.csr_array(MATRIX), "c": [1, 2, 3]})
    assert [tensor.shape for tensor in found.values()] == [(2, 3), (3,)]
    assert extents(graph(B, C), found) == {"i": 2, "j": 3}


def computed(operation, *operands):
    """A graph that writes the operation on operands, each a type or a number of the program."""
    nodes = [Node("compute", "alu", {"operation": operation}), Node("write", "value_writer", ROOT)]
    edges = [Edge(End("compute", "val"), End("write", "in_val"))]
    slots, inputs = [], {}
    for n, operand in enumerate(operands):
        name = f"b{n}"
        number = isinstance(operand, int | float)
        slots.append(Slot(name, None if number else name, constant=operand if number else None))
        inputs |= {} if number else {name: np.ones((), operand)}
        nodes += [Node(f"root {n}", "root"), Node(name, "array", {"slot": name})]
        edges += [
            Edge(End(f"root {n}", "ref"), End(name, "in_ref")),
            Edge(End(name, "val"), End("compute", f"in_val{n}")),
        ]
    return Graph(tuple(nodes), tuple(edges), tuple(slots), SCALAR), inputs


def test_a_result_on_a_diagonal():
    """Spread over both modes; under ``around``, with what the input has beside it."""
    slot = Slot("X", "X", "d", ((0, 1),), ("i",))
    memories = {
        "write_i": SimpleNamespace(),
        "write": SimpleNamespace(values=Growing(values=True), stored=Stored(0.0)),
    }
    memories["write"].stored[1] = 9.0
    writer = {"slot": "X", "level": 0, "format": "d", "variable": "i", "by_reference": False}
    stored = Node("write", "value_writer", {"by_reference": True})
    nodes = (Node("write_i", "level_writer", writer), stored)
    given = {"X": Tensor.of(np.array([[1.0, 2.0], [3.0, 4.0]]))}
    for around, due in ((None, [[0, 0], [0, 9]]), ("X", [[0, 2], [3, 9]])):
        result = Result(slot, "uq", (1, 0), around)
        types = ValueTypes({"write": np.dtype(float)}, {})
        bound = BoundGraph(Graph(nodes, (), result=result), given, {}, {}, {"i": 2}, types)
        output, notes = bound.output(memories)
        assert output.format == "uq:1,0"
        assert output.to_numpy().tolist() == due
        assert notes == ()


ROOT = {"by_reference": False}
SCALAR = Result(Slot("x", "x"), "", ())


@pytest.mark.parametrize(
    ("operation", "operands", "due"),
    [
        ("add", (np.float64, np.float64), np.float64),
        ("add", (np.float32, np.float32), np.float32),
        ("add", (np.float32, np.float64), np.float64),
        ("add", (np.int32, np.int32), np.int32),
        ("multiply", (np.int32, np.int64), np.int64),
        ("multiply", (np.int32, np.float32), np.float64),
        ("multiply", (np.bool_, np.bool_), np.bool_),
        ("add", (np.bool_, np.int32), np.int32),
        ("subtract", (np.complex64, np.float32), np.complex64),
        ("subtract", (np.complex64, np.float64), np.complex128),
        ("negate", (np.int32,), np.int32),
        ("divide", (np.int32, np.int32), np.float64),
        ("divide", (np.bool_, np.bool_), np.float64),
        ("divide", (np.float32, np.float32), np.float32),
        ("divide", (np.complex64, np.complex64), np.complex64),
    ],
)
def test_the_type_of_the_result_follows_numpy(operation, operands, due):
    graph, inputs = computed(operation, *operands)
    bound = bind(graph, inputs)
    assert bound.types.nodes["write"] == due
    timing = load().block("compute", "alu")
    assert bound.surroundings("compute", timing).dtype == due
    assert simulate(graph, inputs).output.dtype == due


@pytest.mark.parametrize("given", [np.int32, np.float32, np.complex64])
def test_a_number_of_the_program_takes_the_type_of_what_it_meets(given):
    assert bind(*computed("multiply", given, 2)).types.nodes["write"] == given
    assert bind(*computed("multiply", 2, given)).types.nodes["write"] == given


def test_bool_values_are_not_subtracted():
    graph, inputs = computed("subtract", np.bool_, np.bool_)
    assert refused(graph, **inputs) == (
        "subtract has no meaning for bool values\nhint: convert the inputs to int64 first"
    )


def test_a_graph_without_a_result():
    assert bind(Graph((), ()), {}).output({}) == (None, ())


def test_the_output_is_in_the_modes_and_the_format_that_the_graph_asks_for():
    """Written column by column, asked for as dense rows of compressed columns."""
    nodes = (
        *(
            Node(
                f"write {n}",
                "level_writer",
                {"level": n, "format": "s", "variable": "ji"[n], "by_reference": False},
            )
            for n in (1, 0)
        ),
        Node("write", "value_writer", {"by_reference": False}),
        Node("crds", "source", {"stream": "crd", "depth": 2, "tokens": "D"}),
        Node("vals", "source", {"stream": "val", "depth": 2, "tokens": "D"}),
    )
    edges = (
        Edge(End("crds", "crd"), End("write 0", "in_crd")),
        Edge(End("crds", "crd"), End("write 1", "in_crd")),
        Edge(End("vals", "val"), End("write", "in_val")),
    )
    result = Result(Slot("X", "X", "ss", ((1,), (0,)), ("j", "i")), "ds", (0, 1))
    bound = bind(Graph(nodes, edges, (), result, dims=(("i", 3), ("j", 2))), {})
    output, notes = bound.output(
        {
            "write 0": SimpleNamespace(segments=Growing([0, 1]), coordinates=Growing([1])),
            "write 1": SimpleNamespace(segments=Growing([0, 2]), coordinates=Growing([0, 2])),
            "write": SimpleNamespace(values=Growing([5, 6], values=True), stored=Stored(0)),
        }
    )
    assert output.format == "ds:0,1"
    assert notes == ()
    assert output.to_numpy().tolist() == [[0, 5], [0, 0], [0, 6]]


VALUES = (
    None,
    True,
    -1,
    0,
    1,
    7,
    2**70,
    1.5,
    "",
    "d",
    "q",
    "val",
    "zero",
    "B",
    [],
    ["ref"],
    [[]],
    {},
)


@pytest.mark.parametrize(
    ("expression", "formats", "schedule"),
    [
        ("X(i,j) = B(i,k) * C(k,j)", {"B": "CSR", "X": "ds"}, ["reorder(i,k,j)"]),
        ("X(i,j) = B(i,j) * C(i,j)", {"X": "COO", "C": "bb", "B": "bb"}, []),
        ("X(i,j) = B(i,j) * C(j,i)", {"X": "dd"}, ["parallelize(i, Lanes, 2)"]),
    ],
)
def test_a_wrong_parameter_of_any_node_is_taken_or_refused(expression, formats, schedule):
    program = custard.compile(expression, formats, schedule)
    graph = program.stages[-1].graph
    inputs = {slot.tensor: np.eye(3) for slot in graph.slots if slot.tensor is not None}
    refused = 0
    for n, node in enumerate(graph.nodes):
        for name in node.parameters:
            others = {key: kept for key, kept in node.parameters.items() if key != name}
            for parameters in (others, *({**others, name: value} for value in VALUES)):
                changed = (*graph.nodes[:n], replace(node, parameters=parameters))
                try:
                    bind(replace(graph, nodes=(*changed, *graph.nodes[n + 1 :])), inputs)
                except UserError:
                    refused += 1
    assert refused > 100
