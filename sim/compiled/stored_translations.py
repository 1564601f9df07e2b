"""Translations on disk, so that a new process need not translate steps again.

The name of an entry tells the key of the translation (made by ``sim.compiled.translations``) and a
digest of all Python sources that take part: the steps, the levels and memories that they use, and
the translator. Only what this project and numpy define is stored: a user's step or level may change
without a change of these sources.
"""

from __future__ import annotations

import builtins
import hashlib
import operator
import pickle
import platform
import sys
from collections.abc import Hashable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache, reduce
from importlib import resources
from typing import Any

import numpy as np

from sam.memory_regions import Region
from sam.support import disk_cache
from sam.support.errors import UserError
from sim.compiled.residual import Residual

_PACKAGES = ("sam", "sim.compiled")
_OURS = ("sam", "sim", "numpy", "types", "builtins")


class _Foreign(Exception):
    """Raised for an object that neither this project nor numpy defines."""


def name(key: Hashable) -> str | None:
    """The name of the entry for a key; None if the translation must not be stored."""
    try:
        return f"{disk_cache.key(_text(key), _digest())}.kernel"
    except _Foreign:
        return None


def find(name: str, regions: Sequence[Region]) -> Residual | None:
    """The residual code of an entry, with the regions of a memory; None if it is not there."""
    found = disk_cache.find(name)
    if found is None:
        return None
    try:
        residual, numbers = pickle.loads(found.read_bytes())
        return replace(residual, regions=tuple(regions[number] for number in numbers))
    except Exception:  # a file that another process has just removed, or one made by nobody
        return None


def put(name: str, residual: Residual, regions: Sequence[Region]) -> None:
    """Stores residual code whose regions are some of a memory's; nothing if the disk is full."""
    places = {id(region): number for number, region in enumerate(regions)}
    numbers = tuple(places[id(region)] for region in residual.regions)
    try:
        disk_cache.put(name, pickle.dumps((replace(residual, regions=()), numbers)))
    except UserError:  # the disk is full: the next process translates again
        return


def _text(part: Any) -> str:
    """A text that tells keys apart, and is the same in every process."""
    if part is None or isinstance(part, bool | int | float | complex | str | np.dtype):
        return repr(part)
    if isinstance(part, tuple):
        return f"({','.join(map(_text, part))})"
    if isinstance(part, frozenset):
        return f"{{{','.join(sorted(map(_text, part)))}}}"
    if is_dataclass(part) and not isinstance(part, type):
        compared = (field.name for field in fields(part) if field.compare)
        inner = (_text(getattr(part, name)) for name in compared)
        return f"{_text(type(part))}({','.join(inner)})"
    return _definition(part)


def _definition(part: Any) -> str:
    """A class or function by module and name, under which it must be found there."""
    module, path = getattr(part, "__module__", None), getattr(part, "__qualname__", "")
    home = builtins if module == "builtins" else sys.modules.get(module or "")
    if (module or "").partition(".")[0] not in _OURS or home is None:
        raise _Foreign
    try:
        if reduce(getattr, path.split("."), home) is not part:
            raise _Foreign
    except AttributeError:  # made within a function
        raise _Foreign from None
    return f"{module}:{path}"


@cache
def _digest() -> str:
    """A digest of the sources, and of the versions of Python and numpy."""
    found = hashlib.sha256(f"{platform.python_version()} {np.__version__}".encode())
    for package in _PACKAGES:
        for text in _sources(resources.files(package)):
            found.update(len(text).to_bytes(8, "little") + text)
    return found.hexdigest()


def _sources(folder: Any) -> list[bytes]:
    """The Python files of a folder and those below it, in the order of their names."""
    texts = []
    for entry in sorted(folder.iterdir(), key=operator.attrgetter("name")):
        if entry.is_dir():
            texts += _sources(entry)
        elif entry.name.endswith(".py"):
            texts.append(entry.read_bytes())
    return texts
