"""Sparse arrays of other libraries as inputs: stand-ins, and the libraries where installed."""

from dataclasses import dataclass

import numpy as np
import pytest

import custard
from sam.io import read
from sam.support.errors import UserError
from sam.tensor import Tensor

ARRAY = np.zeros((2, 3, 4))
ARRAY[0, 1, 3], ARRAY[1, 2, 0] = 5, 7


@dataclass
class Listed:
    """The interface of ``sparse.COO`` that entries_of uses."""

    coords: np.ndarray
    data: np.ndarray
    shape: tuple[int, ...]
    fill_value: float = 0.0

    def asformat(self, format):
        assert format == "coo"
        return self


class TestPydata:
    def test_entries(self):
        listed = Listed(np.array([[0, 1], [1, 2], [3, 0]]), np.array([5.0, 7.0]), (2, 3, 4))
        tensor = Tensor.of(listed)
        assert tensor.format == "sss:0,1,2"
        assert np.array_equal(tensor.to_numpy(), ARRAY)
        assert Tensor.of(listed, "dss", (1, 0, 2)).format == "dss:1,0,2"

    def test_a_fill_value_is_refused(self):
        listed = Listed(np.zeros((1, 0), int), np.zeros(0), (2,), fill_value=1.5)
        with pytest.raises(UserError, match=r"Listed has the fill value 1\.5"):
            Tensor.of(listed)

    @pytest.mark.parametrize("kind", ["COO", "GCXS", "DOK"])
    def test_the_library_itself(self, kind, tmp_path):
        sparse = pytest.importorskip("sparse")
        for array in (ARRAY, ARRAY[0], ARRAY[0, 1]):
            given = getattr(sparse, kind)(sparse.COO.from_numpy(array))
            assert np.array_equal(Tensor.of(given).to_numpy(), array)
            if kind != "DOK" and (kind, array.ndim) != ("GCXS", 1):
                sparse.save_npz(tmp_path / "a.npz", given)
                assert np.array_equal(read(tmp_path / "a.npz").to_numpy(), array)


class Torch:
    """The interface of torch tensors that entries_of uses; numpy arrays stand in for dense ones."""

    def __init__(self, layout, indices, values, shape):
        self.layout, self.shape, self.dtype = layout, shape, values.dtype
        self._indices, self._values = indices, values

    def _same(self):
        return self

    detach = cpu = coalesce = _same

    def to_sparse_coo(self):
        return Torch("torch.sparse_coo", self._indices, self._values, self.shape)

    def indices(self):
        assert self.layout == "torch.sparse_coo"
        return self._Dense(self._indices)

    def values(self):
        assert self.layout == "torch.sparse_coo"
        return self._Dense(self._values)

    class _Dense:
        def __init__(self, array):
            self._array, self.dtype = array, array.dtype

        def _same(self):
            return self

        cpu = resolve_conj = resolve_neg = _same

        def numpy(self):
            if self._array.dtype == object:
                raise TypeError("Got unsupported ScalarType BFloat16\nand more")
            return self._array


class TestTorch:
    @pytest.mark.parametrize("layout", ["torch.sparse_coo", "torch.sparse_csr"])
    def test_entries(self, layout):
        indices, values = np.array([[0, 1], [1, 2]]), np.array([5.0, 7.0])
        tensor = Tensor.of(Torch(layout, indices, values, (2, 3)))
        assert tensor.to_numpy().tolist() == [[0, 5, 0], [0, 0, 7]]

    def test_dense_modes_are_listed(self):
        indices, values = np.array([[1, 0]]), np.array([[1.0, 0, 2], [3, 4, 5]])
        tensor = Tensor.of(Torch("torch.sparse_coo", indices, values, (2, 3)))
        assert tensor.to_numpy().tolist() == [[3, 4, 5], [1, 0, 2]]

    def test_values_that_numpy_lacks(self):
        indices, values = np.array([[0]]), np.array([None])
        with pytest.raises(UserError, match="are not numbers here: Got unsupported ScalarType BF"):
            Tensor.of(Torch("torch.sparse_coo", indices, values, (2,)))

    def test_dense_tensors(self):
        torch = pytest.importorskip("torch")
        matrix = torch.tensor(ARRAY[0])
        for given in (matrix, matrix.clone().requires_grad_(), (matrix * 1j).conj() * 1j):
            assert np.array_equal(Tensor.of(given).to_numpy(), ARRAY[0])
        for given in (matrix.to("meta"), matrix.bfloat16()):
            with pytest.raises(UserError, match="are not numbers here"):
                Tensor.of(given)

    def test_sparse_layouts(self):
        torch = pytest.importorskip("torch")
        matrix = torch.tensor(ARRAY[0])
        layouts = [matrix.to_sparse(), matrix.to_sparse_csr(), matrix.to_sparse_csc()]
        for given in (*layouts, matrix.requires_grad_().to_sparse()):
            assert np.array_equal(Tensor.of(given).to_numpy(), ARRAY[0])
        dense_modes = torch.tensor(ARRAY).to_sparse(1)
        assert np.array_equal(Tensor.of(dense_modes).to_numpy(), ARRAY)
        twice = torch.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (3,))
        assert Tensor.of(twice).to_numpy().tolist() == [0, 5, 0]


class NotOnThisMachine:
    """An array of a library that numpy may not have without being asked."""

    def __array__(self, *_, **__):
        raise TypeError("implicit conversion to a numpy array is not allowed")


def test_an_array_that_numpy_may_not_have():
    with pytest.raises(UserError) as caught:
        Tensor.of(NotOnThisMachine())
    assert str(caught.value) == (
        "NotOnThisMachine is not a tensor: implicit conversion to a numpy array is not allowed"
    )


def test_an_input_of_a_program():
    listed = Listed(np.array([[0, 1], [1, 2]]), np.array([5.0, 7.0]), (2, 3))
    run = custard.compile("y(i) = A(i,j)").simulate({"A": listed})
    assert run.output.to_numpy().tolist() == [5, 7]


def test_an_input_of_a_program_in_c():
    listed = Listed(np.array([[0, 1], [1, 2]]), np.array([5.0, 7.0]), (2, 3))
    output = custard.compile("y(i) = A(i,j)", target="c").run({"A": listed})
    assert Tensor.of(output).to_numpy().tolist() == [5, 7]
