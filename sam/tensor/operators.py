"""The operators and functions of numpy and scipy on tensors, done by numpy and scipy."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sam.support.errors import UserError
from sam.tensor.scipy_arrays import is_scipy_sparse

Array = NDArray[Any]

_OPERATORS: Mapping[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.power: operator.pow,
    np.matmul: operator.matmul,
    np.negative: operator.neg,
    np.positive: lambda array: array,  # scipy.sparse has no unary plus
    np.absolute: abs,
}
"""The functions of numpy that are operators, which scipy.sparse has too."""

_METHODS = {
    *("sum", "mean", "max", "min", "argmax", "argmin", "count_nonzero"),
    *("trace", "diagonal", "transpose", "reshape", "dot"),
}
"""The functions of numpy that are methods of a scipy.sparse array, with the same meaning."""


def _told(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What numpy or scipy gives; what they refuse is a UserError."""
    try:
        return function(*given, **named)
    except (TypeError, ValueError, NotImplementedError) as error:
        sparse = any(map(is_scipy_sparse, given))
        raise UserError(
            f"{'scipy.sparse' if sparse else 'numpy'} refuses this operation on a tensor: {error}",
            hint="X.to_numpy() gives the dense array of a tensor X, X.to_scipy() the sparse one",
        ) from error


def _binary(function: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """An operator with a tensor on its left, and one with a tensor on its right."""

    def on_left(self: ArrayOperators, other: Any) -> Any:
        return _told(function, self.operand(), _operand(other))

    def on_right(self: ArrayOperators, other: Any) -> Any:
        return _told(function, _operand(other), self.operand())

    return on_left, on_right


def _compared(function: Callable[[Any, Any], Any]) -> Any:
    """A comparison element by element, as numpy has it."""

    def compared(self: ArrayOperators, other: object) -> Any:
        return _told(function, self.to_numpy(), _dense(other))

    return compared


class ArrayOperators:
    """The operators of a tensor, and the functions of numpy on it. A matrix that is not dense
    computes as a scipy.sparse array does, any other tensor as a numpy array; a function that
    scipy.sparse does not have gets the dense array. Raises UserError for what they refuse."""

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

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **named: Any) -> Any:
        """``numpy.multiply(2, tensor)`` and such."""
        if method == "__call__" and not named and ufunc in _OPERATORS:
            return _told(_OPERATORS[ufunc], *map(_operand, given))
        return _told(getattr(ufunc, method), *_dense(given), **_dense(named))

    def __array_function__(
        self, function: Any, types: Sequence[type], given: Any, named: Mapping[str, Any]
    ) -> Any:
        """``numpy.sum(tensor)`` and such."""
        if given and isinstance(given[0], ArrayOperators):
            first, others = _operand(given[0]), map(_operand, given[1:])
            known = function.__name__ in _METHODS and named.keys() <= {"axis", "dtype"}
            if is_scipy_sparse(first) and known:
                return _told(getattr(first, function.__name__), *others, **named)
        return _told(function, *_dense(given), **_dense(named))

    def toarray(self) -> Array:
        """The dense array, as scipy.sparse calls it."""
        return self.to_numpy()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(_told(bool, self.to_numpy()))

    def __getitem__(self, key: Any) -> Any:
        return _told(operator.getitem, self.operand(), key)

    def __iter__(self) -> Iterator[Any]:
        return iter(_told(iter, self.operand()))

    @property
    def T(self) -> Any:
        """The transpose, as an array of scipy.sparse or numpy."""
        return self.operand().T

    def __float__(self) -> float:
        return float(_told(float, self.to_numpy()))

    def __int__(self) -> int:
        return int(_told(int, self.to_numpy()))

    def __complex__(self) -> complex:
        return complex(_told(complex, self.to_numpy()))

    __eq__ = _compared(operator.eq)
    __ne__ = _compared(operator.ne)
    __lt__ = _compared(operator.lt)
    __le__ = _compared(operator.le)
    __gt__ = _compared(operator.gt)
    __ge__ = _compared(operator.ge)
    __hash__ = object.__hash__

    __add__, __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _binary(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul)
    __truediv__, __rtruediv__ = _binary(operator.truediv)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod)
    __pow__, __rpow__ = _binary(operator.pow)
    __matmul__, __rmatmul__ = _binary(operator.matmul)

    def __neg__(self) -> Any:
        return _told(operator.neg, self.operand())

    def __pos__(self) -> Any:
        return self.operand()

    def __abs__(self) -> Any:
        return _told(abs, self.operand())


def _operand(other: Any) -> Any:
    """An operand as scipy takes it: no nested lists."""
    if isinstance(other, list):
        return _told(np.asarray, other)
    return other.operand() if isinstance(other, ArrayOperators) else other


def _dense(other: Any) -> Any:
    """An operand as numpy takes it, or several in a list, a tuple or a dict."""
    if isinstance(other, list | tuple) and type(other) in (list, tuple):
        return type(other)(map(_dense, other))
    if isinstance(other, dict):
        return {name: _dense(value) for name, value in other.items()}
    if is_scipy_sparse(other):
        return other.toarray()
    return other.to_numpy() if isinstance(other, ArrayOperators) else other
