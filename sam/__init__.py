"""The Sparse Abstract Machine: tensors, streams, blocks and graphs."""

from sam import dot, io
from sam.graph import Graph
from sam.support.errors import UserError
from sam.tensor import Tensor

__all__ = ["Graph", "Tensor", "UserError", "dot", "io"]
