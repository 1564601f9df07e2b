"""Parts and arguments of tensors that are refused."""

import numpy as np
import pytest

import custard
from sam.levels import Compressed, Dense, Singleton
from sam.support import c_compiler
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.tensors import refused


class TestChecks:
    @pytest.mark.parametrize(
        ("parts", "text"),
        [
            (((2,), (0,), (), np.ones(1)), "1 mode cannot have 0 levels"),
            (
                ((2,), (0,), (Dense(2),), np.ones(3)),
                "the levels have 2 positions, the values have the shape (3,)",
            ),
            (
                ((), (), (), np.ones(0)),
                "the levels have 1 positions, the values have the shape (0,)",
            ),
            (
                ((2,), (1,), (Dense(2),), np.ones(2)),
                "(1,) is not an order of 1 mode\nhint: each mode once, counted from 0",
            ),
        ],
    )
    def test_the_constructor_counts(self, parts, text):
        assert refused(Tensor, *parts) == text

    @pytest.mark.parametrize(
        ("level", "text"),
        [
            (
                Compressed(np.array([0, 1, 1, 2]), np.array([0, 2])),
                "level 1 (compressed) is not valid: "
                "coordinate 2 at position 1 is outside the extent 2",
            ),
            (
                Singleton(np.array([1, 1])),
                "level 1 (singleton) is not valid: it has 2 coordinates for 3 parents",
            ),
        ],
    )
    def test_validate_names_the_level(self, level, text):
        tensor = Tensor((3, 2), (0, 1), (Dense(3), level), np.ones(2))
        assert refused(tensor.validate) == text


def test_parts_of_wrong_types_are_refused():
    levels = (Dense(1), Compressed(np.array([0, 1]), np.array([0])))
    with pytest.raises(UserError, match="its values are of the type float16\nhint: the types of"):
        Tensor((1, 1), (0, 1), levels, np.ones(1, "float16")).validate()
    levels = (Dense(1), Compressed(np.array([0, 1.0]), np.array([0])))
    with pytest.raises(
        UserError, match="the segments of a compressed level are of the type float64, not int64"
    ):
        Tensor((1, 1), (0, 1), levels, np.ones(1)).validate()


@pytest.mark.parametrize("engine", ["simpy", "compiled", "c"])
def test_levels_made_of_lists(engine):
    if engine != "simpy" and not c_compiler.available():
        pytest.skip("needs a C compiler")
    levels = (Dense(2), Compressed([0, 0, 2], [0, 2]))
    tensor = Tensor((2, 3), (0, 1), levels, np.array([1.0, 2]))
    empty = Tensor((2, 3), (0, 1), (Dense(2), Compressed([0, 0, 0], ())), np.ones(0))
    for matrix, due in ((tensor, [[0, 0, 0], [2, 0, 4]]), (empty, [[0, 0, 0]] * 2)):
        target, options = ("c", {}) if engine == "c" else ("sam", {"engine": engine})
        program = custard.compile("Y(i,j) = A(i,j) + A(i,j)", {"A": "ds"}, target=target)
        assert program.run({"A": matrix}, **options).to_numpy().tolist() == due


def test_whole_numbers_as_objects():
    assert Tensor.of(np.array([1, 0, -3], object)).values.tolist() == [1, 0, -3]
    assert Tensor.of(np.array([1, 0, -3], object)).dtype == np.int64
    assert refused(Tensor.of, [1, -(2**70)]) == f"the value {-(2**70)} does not fit in 64 bits"
