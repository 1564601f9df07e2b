"""Graphs of the published dialect, written by hand, against numpy and the published simulator."""

from pathlib import Path

import numpy as np
import pytest

import sim
from sam.dot import from_dot
from sam.levels import LEVELS
from sam.support.errors import UserError
from sam.validate import validate
from tests.support import published

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[2] / "examples"
DRAW = np.random.default_rng(5)


def sparse(*shape):
    return (DRAW.integers(1, 9, shape) * (DRAW.random(shape) < 0.4)).astype(float)


def run(graph, inputs, engine="simpy"):
    """The result of a run, as an array, and its cycles; every stream is watched on simpy."""
    done = sim.simulate(graph, inputs, engine=engine, validate=engine == "simpy")
    return done.output.to_numpy(), done.cycles


FILES = {
    "spmv": (EXAMPLES / "spmv.gv", lambda B, c: B @ c, {"B": (5, 7), "c": (7,)}),
    "residual": (
        HERE / "residual.gv",
        lambda b, C, d: b - C @ d,
        {"b": (5,), "C": (5, 7), "d": (7,)},
    ),
    "sddmm": (
        HERE / "sddmm.gv",
        lambda B, C, D: B * (C @ D),
        {"B": (5, 6), "C": (5, 3), "D": (3, 6)},
    ),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
def test_values(name, engine):
    path, right, shapes = FILES[name]
    graph = from_dot(path.read_text())
    inputs = {tensor: sparse(*shape) for tensor, shape in shapes.items()}
    np.testing.assert_array_equal(run(graph, inputs, engine)[0], right(**inputs))


@published.needs_published
@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("spmv", "mat_vecmul_ij_s8_d20"),
        ("spmv", "mat_vecmul_ij_s50_d05"),
        ("residual", "mat_residual_s8_d20"),
        ("residual", "mat_residual_s20_d10"),
        ("sddmm", "paper_sddmm_coiter_fused_ref250x100_K1"),
    ],
)
def test_cycles_are_those_of_the_published_simulator(name, record):
    """Within 1 % and 10 cycles: a repeat-signal generator is no block here, and adds no hop."""
    figures = published.read("cycles.json")
    (known,) = [one for one in figures["records"] if one["name"] == record]
    path, right, _ = FILES[name]
    graph = from_dot(path.read_text())
    inputs = {
        tensor: _dense(stored) for tensor, stored in figures["inputs"][known["inputs"]].items()
    }
    if name == "sddmm":
        rows, columns = inputs["B"].shape
        inputs = {"B": inputs["B"], "C": np.ones((rows, 1)), "D": np.ones((1, columns))}
    values, cycles = run(graph, inputs, "compiled")
    np.testing.assert_array_equal(values, right(**inputs))
    assert abs(cycles - known["cycles"]) <= 0.01 * known["cycles"] + 10


def _dense(stored):
    array = np.zeros(stored["shape"])
    for place, value in zip(stored["coords"], stored["values"], strict=True):
        array[tuple(place)] = value
    return array


def dot(formats: str, nodes: str, edges: str) -> str:
    """A text of the dialect: a node a line, ``name type key=value ...``, and an edge a line,
    ``source target stream label``."""
    lines = ["digraph SAM {", f'    comment="{formats}"']
    for line in nodes.strip().splitlines():
        name, type, *attributes = line.split()
        quoted = (
            f'{key}="{value}"' for key, _, value in (one.partition("=") for one in attributes)
        )
        lines.append(f'    {name} [type="{type}" {" ".join(quoted)}]')
    for line in edges.strip().splitlines():
        source, target, kind, *label = line.split()
        comment = f' comment="{label[0]}"' if label else ""
        lines.append(f'    {source} -> {target} [type="{kind}"{comment}]')
    return "\n".join([*lines, "}"]) + "\n"


# X(i,j) = B(i,k) * C(k,j) in the order k, i, j: the accumulator takes points of i and j, so i is
# held over j.
KIJ = dot(
    "X=ss01,B=ss10,C=ss01",
    """
    1 fiberlookup index=k tensor=B mode=1 format=compressed root=true
    2 fiberlookup index=k tensor=C mode=0 format=compressed root=true
    3 intersect index=k
    4 fiberlookup index=i tensor=B mode=0 format=compressed root=false
    5 broadcast
    6 repsiggen index=i
    7 repeat index=i tensor=C root=false
    8 fiberlookup index=j tensor=C mode=1 format=compressed root=false
    9 broadcast
    10 repsiggen index=j
    11 repeat index=j tensor=B root=false
    12 crdhold outer=i inner=j
    13 arrayvals tensor=B
    14 arrayvals tensor=C
    15 mul
    16 spaccumulator order=2 in0=j in1=i
    17 fiberwrite index=i tensor=X mode=0 format=compressed
    18 fiberwrite index=j tensor=X mode=1 format=compressed
    19 fiberwrite mode=vals tensor=X
    """,
    """
    1 3 crd in-B
    1 3 ref in-B
    2 3 crd in-C
    2 3 ref in-C
    3 4 ref out-B
    3 7 ref out-C
    3 16 crd k
    4 5 crd
    5 6 crd
    5 12 crd i
    6 7 repsig
    7 8 ref
    8 9 crd
    9 10 crd
    9 12 crd j
    10 11 repsig
    4 11 ref
    11 13 ref
    8 14 ref
    13 15 val
    14 15 val
    15 16 val
    12 16 crd outer-i
    12 16 crd inner-j
    16 17 crd out-i
    16 18 crd out-j
    16 19 val
    """,
)

# The same in the order i, k, j: j is accumulated for each i, whose coordinates come out again.
IKJ = dot(
    "X=ss01,B=ss01,C=ss01",
    """
    1 fiberlookup index=i tensor=B mode=0 format=compressed root=true
    2 broadcast
    3 repsiggen index=i
    4 repeat index=i tensor=C root=true
    5 fiberlookup index=k tensor=B mode=1 format=compressed root=false
    6 fiberlookup index=k tensor=C mode=0 format=compressed root=false
    7 intersect index=k
    8 fiberlookup index=j tensor=C mode=1 format=compressed root=false
    9 broadcast
    10 repsiggen index=j
    11 repeat index=j tensor=B root=false
    12 crdhold outer=i inner=k
    13 crdhold outer=i inner=j
    14 arrayvals tensor=B
    15 arrayvals tensor=C
    16 mul
    17 spaccumulator order=1 in0=j in1=i
    18 fiberwrite index=i tensor=X mode=0 format=compressed
    19 fiberwrite index=j tensor=X mode=1 format=compressed
    20 fiberwrite mode=vals tensor=X
    """,
    """
    1 2 crd
    2 3 crd
    2 12 crd i
    3 4 repsig
    1 5 ref
    4 6 ref
    5 7 crd in-B
    5 7 ref in-B
    6 7 crd in-C
    6 7 ref in-C
    7 12 crd k
    7 11 ref out-B
    7 8 ref out-C
    8 9 crd
    9 10 crd
    9 13 crd j
    10 11 repsig
    12 13 crd outer-i
    12 17 crd inner-k
    13 17 crd outer-i
    13 17 crd inner-j
    11 14 ref
    8 15 ref
    14 16 val
    15 16 val
    16 17 val
    17 18 crd out-i
    17 19 crd out-j
    17 20 val
    """,
)


@pytest.mark.parametrize("text", [KIJ, IKJ], ids=["kij", "ikj"])
@pytest.mark.parametrize("seed", range(4))
def test_accumulators_take_held_coordinates_without_copies(text, seed):
    draw = np.random.default_rng(seed)
    B = (draw.integers(1, 9, (5, 7)) * (draw.random((5, 7)) < 0.3)).astype(float)
    C = (draw.integers(1, 9, (7, 6)) * (draw.random((7, 6)) < 0.3)).astype(float)
    graph = from_dot(text)
    output = sim.simulate(graph, {"B": B, "C": C}, validate=True).output
    np.testing.assert_array_equal(output.to_numpy(), B @ C)
    assert not [node for node in graph.nodes if node.name.startswith("hold")]
    # A row is stored where the product has an entry in it.
    assert len(output.levels[0].coordinates) == np.count_nonzero((B != 0) @ (C != 0) @ np.ones(6))


def test_held_coordinates_are_repeated_for_any_other_reader():
    """The rows of the entries of B, one for each: what a list of coordinates has."""
    text = dot(
        "x=s0,B=ss01",
        """
        1 fiberlookup index=i tensor=B mode=0 root=true
        2 fiberlookup index=j tensor=B mode=1 root=false
        3 crdhold outer=i inner=j
        4 arrayvals tensor=B
        5 spaccumulator order=1 in0=i
        6 fiberwrite index=i tensor=x mode=0
        7 fiberwrite mode=vals tensor=x
        8 union index=i
        9 fiberlookup index=i tensor=B mode=0 root=true
        10 broadcast
        """,
        """
        1 2 ref
        1 3 crd i
        2 3 crd j
        2 4 ref
        3 5 crd outer-i
        4 5 val
        5 6 crd out-i
        5 7 val
        3 10 crd outer-i
        10 8 crd in-held
        9 8 crd in-again
        """,
    )
    graph = from_dot(text)
    (held,) = [node for node in graph.nodes if node.kind == "repeater"]
    assert (held.name, held.parameters) == ("hold_i_j", {"stream": "crd"})


def test_zeros_are_dropped_and_dense_results_are_written():
    drop = dot(
        "x=s0,b=d0",
        """
        1 fiberlookup index=i tensor=b mode=0 format=dense root=true
        2 arrayvals tensor=b
        3 crddrop outer=i inner=vals vals=true
        4 fiberwrite index=i tensor=x mode=0 format=compressed
        5 fiberwrite mode=vals tensor=x
        """,
        """
        1 3 crd in-i
        1 2 ref
        2 3 val in-vals
        3 4 crd outer-i
        3 5 val inner-vals
        """,
    )
    b = np.array([1.0, 0, 0, 4])
    output = sim.simulate(from_dot(drop), {"b": b}, validate=True).output
    assert (output.nnz, output.to_numpy().tolist()) == (2, [1, 0, 0, 4])
    copy = dot(
        "X=dd10,B=ss01",
        """
        1 fiberlookup index=i tensor=B mode=0 format=compressed root=true
        2 fiberlookup index=j tensor=B mode=1 format=compressed root=false
        3 arrayvals tensor=B
        4 fiberwrite index=j tensor=X mode=0 format=dense
        5 fiberwrite index=i tensor=X mode=1 format=dense
        6 fiberwrite mode=vals tensor=X
        """,
        """
        1 2 ref
        2 3 ref
        1 5 crd
        2 4 crd
        3 6 val
        """,
    )
    B = sparse(4, 3)
    np.testing.assert_array_equal(run(from_dot(copy), {"B": B})[0], B.T)


def test_scalars():
    text = dot(
        "x=s0,a=none,b=s0",
        """
        1 fiberlookup index=i tensor=b mode=0 format=compressed root=true
        2 broadcast
        3 repsiggen index=i
        4 repeat index=i tensor=a root=true
        5 arrayvals tensor=a
        6 arrayvals tensor=b
        7 mul
        8 fiberwrite index=i tensor=x mode=0 format=compressed
        9 fiberwrite mode=vals tensor=x
        """,
        """
        1 2 crd
        2 3 crd
        2 8 crd
        3 4 repsig
        4 5 ref
        1 6 ref
        5 7 val
        6 7 val
        7 9 val
        """,
    )
    b = sparse(8)
    np.testing.assert_array_equal(run(from_dot(text), {"a": 2.5, "b": b})[0], 2.5 * b)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            dot("x=s0,b=s0", "1 fiberlokup index=i", ""),
            'node "1" of type fiberlokup has no counterpart among our blocks\n'
            "hint: did you mean fiberlookup?",
        ),
        (
            dot("x=s0,b=s0", "1 sparsesort index=i", ""),
            'node "1" of type sparsesort has no counterpart among our blocks\n'
            "hint: one of fiberlookup, repeat, intersect, union, arrayvals, mul, add, reduce, "
            "spaccumulator, crddrop, crdhold, fiberwrite, broadcast, repsiggen",
        ),
        (
            dot("x=s0,b=s0", "1 fiberlookup index=i mode=0", ""),
            'node "1" of type fiberlookup has no attribute "tensor"',
        ),
        (
            dot("x=s0,b=s0", "1 fiberlookup index=i tensor=b mode=one", ""),
            'node "1" of type fiberlookup: attribute "mode" is not a whole number: one',
        ),
        (
            dot("x=s0,b=s0", "1 fiberlookup index=i tensor=b mode=1 root=true", ""),
            'node "1" of type fiberlookup has the mode 1, and the tensor has 1',
        ),
        (
            dot("x=s0,b=s0", "1 fiberlookup index=i tensor=b mode=0 root=false", ""),
            'node "1" of type fiberlookup reads 0 ref streams; it must read one',
        ),
        (
            dot("x=s0,b=s0", "1 fiberlookup index=i tensor=b mode=0 format=dense root=true", ""),
            'node "1" of type fiberlookup says that mode 0 is dense, and the graph\'s comment that '
            "it is compressed",
        ),
        (
            dot("x=s0", "1 fiberlookup index=i tensor=b mode=0 root=true", ""),
            'node "1" of type fiberlookup names the tensor b, whose format the graph\'s comment '
            'does not tell\nhint: comment="x=s0,B=ss01" has a format for each tensor',
        ),
        (
            dot("x=s0,b=z0", "1 fiberlookup index=i tensor=b mode=0 root=true", ""),
            f"b has the unknown level format z\nhint: one of {', '.join(LEVELS)}",
        ),
        (
            dot("x=s0,b=ss00", "1 fiberlookup index=i tensor=b mode=0 root=true", ""),
            'the format "b=ss00" does not store each mode once\n'
            "hint: a digit for each level, as in B=ss10",
        ),
        (
            dot("x:s0", "1 fiberlookup index=i tensor=b mode=0 root=true", ""),
            'the graph\'s comment has no format in "x:s0"\nhint: as in x=s0,B=ss10,a=none',
        ),
        (
            dot("x=s0,b=s0", "1 broadcast\n2 broadcast\n3 reduce", "1 2 val\n2 1 val\n2 3 val"),
            'node "2" of type broadcast is in a loop of nothing but such nodes',
        ),
        (
            dot("x=s0,b=none", "1 arrayvals tensor=b\n2 reduce", "1 2 ref"),
            'node "2" of type reduce reads a ref stream, which it does not take',
        ),
        (
            dot("x=s0,b=s0", "1 mul", "1 1 val"),
            'node "1" of type mul reads 1 values; it must read two',
        ),
        (
            dot("x=s0,b=s0", "1 mul\n2 reduce", "1 2 vals"),
            'edge "1" -> "2" carries vals\nhint: did you mean val?',
        ),
        (
            dot(
                "x=s0,y=s0", "1 fiberwrite mode=vals tensor=x\n2 fiberwrite mode=vals tensor=y", ""
            ),
            "the graph writes x and y; it must write one",
        ),
        ("digraph { 1 [type=mul]; 2 }", 'node "2" has no attribute "type"'),
    ],
)
def test_mistakes(text, error):
    with pytest.raises(UserError) as refusal:
        validate(from_dot(text))
    assert str(refusal.value) == error
