"""Tensors made by hand whose arrays do not fit: a UserError on every engine, or the right answer.

A segmentation fault ends the test run, so each engine is called in this process on purpose.
"""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import custard
import sam.io
import sim
from sam.levels import Compressed, Dense
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.profiles import examples

MATRIX = np.array([[0.0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0], [0, 5, 0, 6]])
FORMATS = (
    "dd",
    "ds",
    "ss",
    "uq",
    "dh",
    "hs",
    "ds:1,0",
    "dr",
    "bb",
    "sb",
    "dl",
    "ls",
    "dn",
    "ns",
    "dd:1,0",
)
ENGINES = ("simpy", "compiled", "c")
# Values that an index may be changed to: near the bounds, and far beyond the memory.
ODD = (-(2**40), -2, -1, 0, 1, 3, 4, 5, 2**20, 2**33, 2**62)


def run(engine: str, tensor: Tensor, format: str) -> np.ndarray:
    codes = {"A": format, "x": "d", "y": "d"}
    if engine == "c":
        program = custard.compile("y(i) = A(i,j) * x(j)", codes, target="c")
        return program.run({"A": tensor, "x": np.ones(4)}).to_numpy()
    graph = custard.compile("y(i) = A(i,j) * x(j)", codes).graph
    return sim.simulate(graph, {"A": tensor, "x": np.ones(4)}, engine=engine).output.to_numpy()


def stored(format: str) -> Tensor:
    codes, _, order = format.partition(":")
    return Tensor.from_numpy(MATRIX, codes, [int(m) for m in order.split(",")] if order else None)


def corrupted(draw, tensor: Tensor) -> Tensor:
    """The tensor with one array, or one number, of a level changed."""
    n = draw(st.integers(0, len(tensor.levels) - 1))
    level = tensor.levels[n]
    part = draw(st.sampled_from(fields(level))).name
    value = getattr(level, part)
    levels = list(tensor.levels)
    if isinstance(value, int):
        changed = draw(st.sampled_from((*ODD, 2.5)))
    else:
        changed = np.array(value)
        how = draw(st.sampled_from(("set", "cut", "empty", "extend", "reverse", "float", "deep")))
        if how == "set" and len(changed):
            at = draw(st.integers(0, len(changed) - 1))
            odd = draw(st.sampled_from(ODD))
            changed[at] = odd % 2**64 if changed.dtype == np.uint64 else odd
        elif how == "cut":
            changed = changed[:-1]
        elif how == "empty":
            changed = changed[:0]
        elif how == "extend":
            changed = np.append(changed, changed[-1:])
        elif how == "reverse":
            changed = changed[::-1]
        elif how == "float":
            changed = changed.astype(float)
        else:
            changed = changed.reshape(1, -1)
    levels[n] = replace(level, **{part: changed})
    values = tensor.values
    if draw(st.booleans()):  # as many values as the levels have positions now, if that can be
        try:
            positions = 1
            for one in levels:
                positions = one.positions(positions)
            if positions < 1000:
                values = np.resize(values, positions)
        except (IndexError, ValueError, TypeError, OverflowError):
            pass
    return Tensor(tensor.shape, tensor.mode_order, tuple(levels), values)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=examples(150))
@given(data=st.data())
def test_a_corrupt_tensor_is_refused_or_right(engine, format, data):
    try:
        tensor = corrupted(data.draw, stored(format))
        found = run(engine, tensor, format)
    except UserError:
        return
    np.testing.assert_array_equal(found, tensor.to_numpy().sum(axis=1))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("segments", "coordinates", "message"),
    [
        ([0, 2, 2, 4, 9], [1, 3, 0, 2, 1, 3], "its segments go from 0 to 9, not from 0 to its 6"),
        ([0, 2, 2, 4], [1, 3, 0, 2, 1, 3], "it has 4 segments, and 4 parents need 5"),
        ([0, 2, 2, 4, 6], [1, 3, 0, 2, 1, 4], "coordinate 4 at position 5 is outside the extent 4"),
        ([0, 2, 2, 4, 6], [1, 3, 0, -1, 1, 3], "coordinate -1 at position 3 is outside"),
        ([0, 2, 2, 4, 6], [3, 1, 0, 2, 1, 3], "its coordinates do not increase after position 0"),
        ([0, 2, 2, 4, 6], [1, 1, 0, 2, 1, 3], "its coordinates do not increase after position 0"),
    ],
)
def test_the_fault_of_a_level_is_told(engine, segments, coordinates, message):
    level = Compressed(np.array(segments), np.array(coordinates))
    tensor = Tensor((4, 4), (0, 1), (Dense(4), level), np.arange(6.0))
    with pytest.raises(UserError) as caught:
        run(engine, tensor, "ds")
    assert str(caught.value).startswith(f"A: level 1 (compressed) is not valid: {message}")


BROKEN = {
    "segments beyond the coordinates": ([0, 1, 2, 10**9], [0, 1, 2]),
    "segments that fall": ([0, 2, 1, 3], [0, 1, 2]),
    "segments below 0": ([-(10**9), 1, 2, 3], [0, 1, 2]),
    "too few segments": ([0, 3], [0, 1, 2]),
    "a coordinate below 0": ([0, 1, 2, 3], [0, -(10**12), 2]),
    "a coordinate out of range": ([0, 1, 2, 3], [0, 10**9, 2]),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize(
    "use",
    [
        *(Tensor.to_scipy, Tensor.to_numpy, Tensor.toarray, Tensor.to_coo, Tensor.scanned_levels),
        *(Tensor.diagonals, Tensor.ell, Tensor._repr_html_, np.asarray, np.sum),
        lambda tensor: tensor.to_scipy("coo"),
        lambda tensor: tensor + tensor,
        lambda tensor: tensor @ np.ones(3),
        lambda tensor: tensor == np.ones((3, 3)),
        lambda tensor: tensor.convert("dd"),
        lambda tensor: tensor.convert("ds", (1, 0)),
        lambda tensor: tensor.convert("ss"),
        lambda tensor: tensor.arrange("ss", ((1,), (0,))),
        lambda tensor: tensor.spread(((1,), (0,))),
        lambda tensor: tensor.spread(((0, 1), (2,))),
        lambda tensor: tensor.blocked((3, 3)),
        lambda tensor: tensor.summed(0),
        lambda tensor: sam.io.write_bytes(tensor),
    ],
)
def test_a_broken_tensor_is_told_whoever_reads_it(what, use):
    """scipy's code in C does not look at indices, and read foreign memory."""
    segments, coordinates = map(np.array, BROKEN[what])
    levels = Dense(3), Compressed(segments, coordinates)
    tensor = Tensor((3, 3), (0, 1), levels, np.ones(3))
    assert repr(tensor).startswith("Tensor(shape=(3, 3), format='ds:0,1', dtype=float64")
    with pytest.raises(UserError, match="level 1"):
        use(tensor)


def test_a_tensor_is_validated_once(monkeypatch):
    calls, validate = [], Tensor.validate
    monkeypatch.setattr(Tensor, "validate", lambda self: calls.append(self) or validate(self))
    levels = Dense(3), Compressed(np.arange(4), np.arange(3))
    tensor = Tensor((3, 3), (0, 1), levels, np.ones(3))
    tensor.to_scipy(), tensor.to_numpy(), tensor + tensor
    assert len(calls) == 1
    Tensor.of(np.eye(3), "ds").to_scipy()  # sound as it was made
    assert len(calls) == 1


@pytest.mark.parametrize("part", ["shape", "mode_order"])
@pytest.mark.parametrize("given", [None, 4, "ab", (0, "a"), (0.5, 1), {0: 1}])
def test_a_shape_or_order_that_is_none_is_refused(part, given):
    parts = {"shape": (2, 2), "mode_order": (0, 1), part: given}
    with pytest.raises(UserError, match=r"is not a shape|is not an order of|cannot have 2 levels"):
        Tensor(**parts, levels=(Dense(2), Dense(2)), values=np.arange(4.0))


def test_numbers_of_numpy_in_a_tensor_do_not_wrap_around():
    """int32 is the type of scipy's indices; 2^31 places are counted in Python's numbers."""
    whole = np.int32
    levels = (Dense(whole(2**16)), Dense(whole(2**15)))
    with pytest.raises(UserError, match="the levels have 2147483648 positions"):
        Tensor((2**16, 2**15), (0, 1), levels, np.zeros(1))
    tensor = Tensor((whole(2), whole(2)), (whole(0), whole(1)), (Dense(whole(2)),) * 2, np.ones(4))
    numbers = (*tensor.shape, *tensor.mode_order, *(level.size for level in tensor.levels))
    assert {type(one) for one in numbers} == {int}
    with pytest.raises(UserError, match="the size of a dense level is"):
        Tensor((4,), (0,), (Dense(2.5),), np.zeros(1))


@pytest.mark.parametrize("use", [Tensor.to_numpy, np.asarray, lambda tensor: tensor @ np.ones(4)])
def test_dense_sizes_that_are_not_the_shape_are_told(use):
    tensor = Tensor((4, 4), (0, 1), (Dense(3), Dense(4)), np.ones(12))
    with pytest.raises(UserError, match=r"level 0 \(dense\) is not valid"):
        use(tensor)
