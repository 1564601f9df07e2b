"""Arrays of pydata/sparse and torch, by their public conversions, without importing them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sam.levels import Ints
from sam.support.errors import UserError

CoordinateList = tuple[Ints, Any, tuple[int, ...]]


def entries_of(data: Any) -> CoordinateList | None:
    """The coordinates (modes, entries), values and shape of a sparse array of another library.

    Known are ``sparse.COO``, ``sparse.GCXS`` and ``sparse.DOK``, and torch's tensors of any sparse
    layout; None for anything else. Raises UserError for a fill value other than 0.
    """
    if hasattr(data, "fill_value") and hasattr(data, "asformat"):
        require_zero_fill(type(data).__name__, data.fill_value)
        listed = data.asformat("coo")
        return np.asarray(listed.coords), np.asarray(listed.data), tuple(listed.shape)
    if str(getattr(data, "layout", "")).startswith("torch.sparse"):
        return _torch_entries(data)
    return None


def dense_of(data: Any) -> Any:
    """A dense tensor of torch as a numpy array, without its gradient; anything else as it is.

    Raises UserError for values that numpy lacks, and where there are none.
    """
    return _in_numpy(data.detach()) if str(getattr(data, "layout", "")) == "torch.strided" else data


def require_zero_fill(name: str, fill: Any) -> None:
    """Raises UserError if the fill value is not 0."""
    if fill != 0:
        raise UserError(
            f"{name} has the fill value {fill}, and entries that are not stored must be 0",
            hint="subtract the fill value first, or give the dense array: x.todense()",
        )


def _torch_entries(data: Any) -> CoordinateList:
    """The entries; modes of torch's that are dense are listed in full."""
    listed = data.detach()
    if not str(listed.layout).endswith("sparse_coo"):
        listed = listed.to_sparse_coo()
    listed = listed.coalesce()
    coordinates, values = _in_numpy(listed.indices()), _in_numpy(listed.values())
    dense = values.shape[1:]
    if dense:
        count = math.prod(dense)
        inner = np.indices(dense).reshape(len(dense), count)
        outer = np.repeat(coordinates, count, axis=1)
        coordinates = np.concatenate([outer, np.tile(inner, len(values))])
    return coordinates, values.reshape(-1), tuple(listed.shape)


def _in_numpy(data: Any) -> Any:
    """The numbers of a dense tensor of torch. Raises UserError."""
    try:
        return data.cpu().resolve_conj().resolve_neg().numpy()
    except (TypeError, RuntimeError) as error:
        why = str(error).partition("\n")[0]
        raise UserError(f"values of the type {data.dtype} are not numbers here: {why}") from None
