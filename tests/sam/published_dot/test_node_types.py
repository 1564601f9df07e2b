"""Each type of published nodes becomes blocks that compute the same."""

import numpy as np
import pytest

import sim
from sam.dot import from_dot
from sam.support.errors import UserError
from sam.validate import validate
from tests.support.published_text import dot

DRAW = np.random.default_rng(5)


def sparse(*shape):
    return (DRAW.integers(1, 9, shape) * (DRAW.random(shape) < 0.4)).astype(float)


def run(graph, inputs):
    """The result of a run, as an array; every stream is watched."""
    return sim.simulate(graph, inputs, validate=True).output.to_numpy()


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
    """The row of each entry of B, as in a list of coordinates."""
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
    np.testing.assert_array_equal(run(from_dot(copy), {"B": B}), B.T)


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
    np.testing.assert_array_equal(run(from_dot(text), {"a": 2.5, "b": b}), 2.5 * b)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            dot("x=s0,b=s0", "1 mul", "1 1 val"),
            'node "1" of type mul reads 1 values; it must read two',
        ),
    ],
)
def test_mistakes(text, error):
    with pytest.raises(UserError) as refusal:
        validate(from_dot(text))
    assert str(refusal.value) == error
