"""Operators of tensors, as numpy and scipy have them."""

import numpy as np
import pytest
import scipy.sparse

from sam.support.errors import UserError
from sam.tensor import Tensor

DENSE = np.array([[0.0, 2.0], [3.0, 0.0]])
SPARSE, FULL = Tensor.from_numpy(DENSE, "ds"), Tensor.from_numpy(DENSE)


def plain(found):
    return found.toarray() if scipy.sparse.issparse(found) else np.asarray(found)


@pytest.mark.parametrize("tensor", [SPARSE, FULL], ids=["sparse", "dense"])
@pytest.mark.parametrize(
    "function",
    [
        *(np.sum, np.mean, np.max, np.trace, np.transpose, np.count_nonzero, np.abs, np.negative),
        *(np.sqrt, np.exp, np.isnan, np.cumsum, np.linalg.norm, np.linalg.inv, abs),
        lambda x: +x,
        lambda x: -x,
        lambda x: x**2,
        lambda x: np.sum(x, axis=0),
        lambda x: np.sum(x, axis=1, keepdims=True),
        lambda x: np.reshape(x, (4, 1)),
        lambda x: np.multiply(2, x),
        lambda x: np.multiply(np.float64(2), x),
        lambda x: np.float64(2) * x,
        lambda x: np.add(x, [[1, 2], [3, 4]]),
        lambda x: x - [[1, 2], [3, 4]],
        lambda x: np.maximum(x, 1),
        lambda x: np.add(x, 1, out=np.zeros((2, 2))),
        lambda x: np.multiply.outer(x, [1, 2]),
        lambda x: np.add.reduce(x),
        lambda x: np.where(x > 2, x, 0),
        lambda x: np.concatenate([x, x]),
        lambda x: x.T,
        lambda x: x[1],
        lambda x: x[1, 0],
        lambda x: x[:, 1],
        lambda x: np.dot(x, np.ones(2)),
        lambda x: np.einsum("ij,j->i", x, np.ones(2)),
        lambda x: np.stack([x, x], out=np.zeros((2, 2, 2))),
    ],
)
def test_functions_of_numpy_give_what_they_give_for_the_array(tensor, function):
    np.testing.assert_array_equal(plain(function(tensor)), function(DENSE))


def test_a_sum_of_a_sparse_matrix_needs_no_dense_array():
    huge = Tensor.from_coo([[5, 10**8], [7, 1]], [1.0, 2.0], (10**9, 10**9), "uq")
    assert np.sum(SPARSE) == 5
    with pytest.raises(UserError, match="the dense array of shape"):
        np.exp(huge)


def test_arrays_take_tensors_in_place():
    array = DENSE.copy()
    array += SPARSE
    np.testing.assert_array_equal(array, 2 * DENSE)


@pytest.mark.parametrize(
    "operation",
    [
        lambda: 1 / SPARSE,
        lambda: 2**SPARSE,
        lambda: SPARSE + 1,
        lambda: SPARSE // 2,
        lambda: np.divide(1, SPARSE),
        lambda: FULL + "a",
        lambda: FULL @ np.ones(3),
        lambda: SPARSE + np.ones((5, 5)),
        lambda: float(FULL),
    ],
)
def test_what_scipy_or_numpy_refuse_is_told_with_the_ways_out(operation):
    with pytest.raises(UserError) as caught:
        operation()
    assert " refuses this operation on a tensor: " in caught.value.what
    assert caught.value.hint == (
        "X.to_numpy() gives the dense array of a tensor X, X.to_scipy() the sparse one"
    )


def test_1_by_a_dense_tensor_is_numpys():
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(1 / FULL, 1 / DENSE)


def test_methods_of_arrays_are_told():
    with pytest.raises(AttributeError, match=r"the arrays that to_numpy\(\) and to_scipy"):
        SPARSE.sum()


def test_tensors_answer_numpy_and_scipy():
    dense = np.array([[0.0, 2.0], [3.0, 0.0]])
    tensor = Tensor.from_numpy(dense, "ds")
    np.testing.assert_array_equal(np.asarray(tensor), dense)
    assert np.asarray(tensor, "float32").dtype == np.float32
    np.testing.assert_array_equal(tensor.toarray(), dense)
    assert (tensor == dense).all()
    assert not (tensor != scipy.sparse.csr_array(dense)).any()
    assert (tensor == Tensor.from_numpy(dense)).all()
    for found, due in (
        (tensor + tensor, 2 * dense),
        (tensor - scipy.sparse.csr_array(dense), 0 * dense),
        (2 * tensor, 2 * dense),
        (tensor @ np.array([1.0, 1.0]), dense @ np.ones(2)),
        (dense @ tensor, dense @ dense),
        (dense - tensor, 0 * dense),
        (-tensor, -dense),
        (tensor / 2, dense / 2),
    ):
        np.testing.assert_array_equal(found.toarray() if hasattr(found, "toarray") else found, due)
    assert len(tensor) == 2
    assert float(Tensor.of(2.5)) == 2.5
    assert (int(Tensor.of(2**53 + 1)), complex(Tensor.of(3j))) == (2**53 + 1, 3j)
    vector = Tensor.from_numpy(np.array([1, 0, 2]), "s")
    np.testing.assert_array_equal(vector + np.array([1, 1, 1]), [2, 1, 3])


@pytest.mark.parametrize("tensor", [SPARSE, FULL], ids=["sparse", "dense"])
def test_rows_come_one_by_one(tensor):
    assert [plain(row).tolist() for row in tensor] == DENSE.tolist()
    with pytest.raises(IndexError):
        tensor[2]


def test_only_a_single_value_has_a_truth():
    assert Tensor.of(3.0)
    assert not Tensor.of([[0.0]])
    assert not Tensor.from_numpy(np.zeros((1, 1)), "ss")
    with pytest.raises(UserError, match=r"truth value of an array .* is ambiguous"):
        bool(SPARSE)
    with pytest.raises(UserError, match="iteration over a 0-d array"):
        iter(Tensor.of(3.0))
