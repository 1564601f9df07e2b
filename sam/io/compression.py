"""Compressed text files: .gz, .bz2 and .xz, by the last suffix of the name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sam.support.errors import UserError

# Deflate shrinks a run of one byte to a thousandth; no tensor in a text shrinks further.
MOST_EXPANSION = 1100
_SMALL = 1 << 16

_COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
_DECOMPRESSORS: dict[str, tuple[bytes, Callable[[], Any]]] = {
    ".gz": (b"\x1f\x8b", lambda: zlib.decompressobj(wbits=31)),
    ".bz2": (b"BZh", bz2.BZ2Decompressor),
    ".xz": (b"\xfd7zXZ\x00", lzma.LZMADecompressor),
}


def compression_of(path: Path) -> str | None:
    """The suffix of the compression that the name ends with, or None."""
    suffix = path.suffix.lower()
    return suffix if suffix in _COMPRESS else None


def compression_of_data(data: bytes) -> str | None:
    """The compression that the bytes begin like, or None."""
    return next(
        (name for name, (magic, _) in _DECOMPRESSORS.items() if data[:6][: len(magic)] == magic),
        None,
    )


def compress(data: bytes, suffix: str) -> bytes:
    """The data in that compression."""
    return _COMPRESS[suffix](data)


def decompress(data: bytes, suffix: str, name: str) -> bytes:
    """The data that a file's bytes hold; raises UserError, which calls the file ``name``.

    More than 1,100 times the size of the file is refused before memory is taken for it.
    """
    room = _SMALL + MOST_EXPANSION * len(data)
    parts: list[bytes] = []
    rest = data
    # A file may consist of several compressed parts, one after the other.
    while rest or not parts:
        stream = _DECOMPRESSORS[suffix][1]()
        try:
            part = stream.decompress(rest, room + 1)
        except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
            if parts and not rest.strip(b"\x00"):
                break
            raise UserError(f"cannot read {name}: {error}") from error
        room -= len(part)
        if room < 0:
            raise UserError(
                f"cannot read {name}: it expands to more than {MOST_EXPANSION} times its size"
            )
        if not stream.eof:
            raise UserError(f"cannot read {name}: the compressed data end too early")
        parts.append(part)
        rest = stream.unused_data
    return b"".join(parts)
