"""Tensors: one file for each thing that they are made of or turned into."""

from sam.tensor.arguments import VALUE_TYPES
from sam.tensor.scipy_arrays import canonical, has_rows, is_scipy_sparse
from sam.tensor.storing import no_memory
from sam.tensor.tensor import Tensor, made

__all__ = [
    "VALUE_TYPES",
    "Tensor",
    "canonical",
    "has_rows",
    "is_scipy_sparse",
    "made",
    "no_memory",
]
