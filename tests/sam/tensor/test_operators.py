"""Operators of tensors, as numpy and scipy have them."""

import numpy as np
import scipy.sparse

from sam.tensor import Tensor


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
