"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sam.support.errors import UserError
from sam.support.locks import is_at, lock

_BESIDE = re.compile(r"\.[0-9a-f]{32}\.tmp")


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
            with _replaced(path.resolve()) as beside:
                beside.write_bytes(data)
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
    try:
        if path.exists() and not path.is_file():
            yield path
        else:
            with _replaced(path.resolve()) as beside:
                yield beside
    except (OSError, ValueError) as mistake:
        raise _unwritable(path, getattr(mistake, "strerror", None) or str(mistake)) from None


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


def clear_left(folder: Path) -> None:
    """Removes the files of other names that writers left in a folder who were killed.

    A writer holds the lock of its file. Where the file system has no locks, all stay.
    """
    for path in folder.glob(".*.tmp"):
        if not _BESIDE.fullmatch(path.name):
            continue
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                if lock(handle, wait=False):
                    path.unlink(missing_ok=True)
            finally:
                os.close(handle)


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """A file of another name, which takes the place of a file at the end."""
    beside, handle = _beside(path)
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
        os.close(handle)


def _beside(path: Path) -> tuple[Path, int]:
    """A new file beside another, and the handle that keeps its lock."""
    while True:
        beside = path.with_name(f".{uuid.uuid4().hex}.tmp")
        handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        lock(handle)
        if is_at(handle, beside):
            return beside, handle
        os.close(handle)  # somebody took it for a file that was left


def _unwritable(path: Path, why: str) -> UserError:
    return UserError(f"cannot write {path}: {why}")
