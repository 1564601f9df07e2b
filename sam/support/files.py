"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from sam.support.errors import UserError


def write_whole(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Writes a file, text as UTF-8, which changes as a whole or not at all.

    The content goes to a file of another name beside it first. A path that is no regular file, such
    as ``/dev/stdout``, is written directly. Raises UserError where the file cannot be written.
    """
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    require_folder(path)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            _replace(path.resolve(), data)
    except (OSError, ValueError) as mistake:
        raise _unwritable(path, getattr(mistake, "strerror", None) or str(mistake)) from None


def require_folder(path: str | os.PathLike[str]) -> None:
    """Raises UserError where the folder of a file that is to be written does not exist."""
    path = Path(path)
    if not path.parent.is_dir():
        raise _unwritable(path, f"there is no folder {path.parent}")


def _replace(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _unwritable(path: Path, why: str) -> UserError:
    return UserError(f"cannot write {path}: {why}")
