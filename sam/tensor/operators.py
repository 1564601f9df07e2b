"""The operators of numpy and scipy on tensors, done by numpy and scipy."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from numpy.typing import NDArray

from sam.tensor.scipy_arrays import is_scipy_sparse

Array = NDArray[Any]


class ArrayOperators:
    """The operators of a tensor. A matrix that is not dense computes as a scipy.sparse array does,
    any other tensor as a numpy array."""

    # numpy leaves operators with a tensor to it.
    __array_ufunc__ = None

    shape: tuple[int, ...]

    @abstractmethod
    def to_numpy(self) -> Array:
        """The dense array."""

    @abstractmethod
    def operand(self) -> Any:
        """The array that computes in place of the tensor."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """``numpy.asarray(tensor)``; raises UserError where the memory does not hold it."""
        array = self.to_numpy()
        return array.astype(dtype) if copy or dtype not in (None, array.dtype) else array

    def toarray(self) -> Array:
        """The dense array, as scipy.sparse calls it."""
        return self.to_numpy()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __float__(self) -> float:
        return float(self.to_numpy())

    def __int__(self) -> int:
        return int(self.to_numpy())

    def __complex__(self) -> complex:
        return complex(self.to_numpy())

    def __eq__(self, other: object) -> Any:
        """Element by element, as numpy has it."""
        return self.to_numpy() == _plain(other)

    def __ne__(self, other: object) -> Any:
        return self.to_numpy() != _plain(other)

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Any:
        return self.operand() + _operand(other)

    def __radd__(self, other: Any) -> Any:
        return _operand(other) + self.operand()

    def __sub__(self, other: Any) -> Any:
        return self.operand() - _operand(other)

    def __rsub__(self, other: Any) -> Any:
        return _operand(other) - self.operand()

    def __mul__(self, other: Any) -> Any:
        return self.operand() * _operand(other)

    def __rmul__(self, other: Any) -> Any:
        return _operand(other) * self.operand()

    def __truediv__(self, other: Any) -> Any:
        return self.operand() / _operand(other)

    def __matmul__(self, other: Any) -> Any:
        return self.operand() @ _operand(other)

    def __rmatmul__(self, other: Any) -> Any:
        return _operand(other) @ self.operand()

    def __neg__(self) -> Any:
        return -self.operand()

    def __abs__(self) -> Any:
        return abs(self.operand())


def _operand(other: Any) -> Any:
    return other.operand() if isinstance(other, ArrayOperators) else other


def _plain(other: Any) -> Any:
    """The operand as numpy compares it."""
    if is_scipy_sparse(other):
        return other.toarray()
    return other.to_numpy() if isinstance(other, ArrayOperators) else other
