"""The Sparse Abstract Machine: tensors, streams, blocks and graphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sam.support.errors import UserError
from sam.support.version import release

if TYPE_CHECKING:
    from sam import dot, io
    from sam.graph import Graph
    from sam.tensor import Tensor

__all__ = ["Graph", "Tensor", "UserError", "__version__", "dot", "io"]

# Imported when they are first asked for, so that the command has its help at once.
_LATER = {"Graph": "sam.graph", "Tensor": "sam.tensor"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return release()
    if name in ("dot", "io"):
        return import_module(f"sam.{name}")
    if name in _LATER:
        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found
    raise AttributeError(f"module {__name__} has no attribute {name}")
