"""Measurements that are kept: numbers in the cache, by the facts that decide them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from sam.support import disk_cache
from sam.tensor import Tensor


def digest(inputs: Mapping[str, Tensor]) -> str:
    """A digest of the content of inputs."""
    found = hashlib.sha256()
    for name, tensor in sorted(inputs.items()):
        coordinates, values = tensor.to_coo()
        found.update(f"{name} {tensor.shape} {tensor.dtype}".encode())
        found.update(coordinates.tobytes())
        found.update(values.tobytes())
    return found.hexdigest()


def known(*parts: str) -> float | None:
    """The number that was kept for some parts."""
    path = disk_cache.find(_name(*parts))
    if path is None:
        return None
    try:
        return float(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def keep(number: float, *parts: str) -> None:
    """Keeps a number for some parts."""
    disk_cache.put(_name(*parts), repr(number).encode("ascii"))


def _name(*parts: str) -> str:
    return f"{disk_cache.key('measured', *parts)}.number"
