"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path to write a large file to, piece by piece, which becomes the file at the end.

    If the block is left by an error or Ctrl-C, the file is as it was. A path that is no regular
    file is written directly. Raises UserError where the system refuses.
    """
    path = Path(path)
    require_folder(path)
    direct = path.exists() and not path.is_file()
    target = path.resolve()
    beside = path if direct else _beside(target)
    try:
        yield beside
        if not direct:
            beside.replace(target)
    except (OSError, ValueError) as mistake:
        raise _unwritable(path, getattr(mistake, "strerror", None) or str(mistake)) from None
    finally:
        if not direct:
            beside.unlink(missing_ok=True)


def require_folder(path: str | os.PathLike[str]) -> None:
    """Raises UserError where a file cannot be written, as far as that shows before: its folder is
    not there or takes no new files, or the file is a folder itself."""
    path = Path(path)
    if not path.parent.is_dir():
        raise _unwritable(path, f"there is no folder {path.parent}")
    if path.is_dir():
        raise _unwritable(path, "it is a folder")
    if not path.exists() and not os.access(path.parent, os.W_OK):
        raise _unwritable(path, f"the folder {path.parent} takes no new files")


def _replace(path: Path, data: bytes) -> None:
    beside = _beside(path)
    try:
        beside.write_bytes(data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{uuid.uuid4().hex}.tmp")


def _unwritable(path: Path, why: str) -> UserError:
    return UserError(f"cannot write {path}: {why}")
