"""Tensors in files: read and write by the suffix of the name.

``.mtx``   MatrixMarket (https://math.nist.gov/MatrixMarket/formats.html)
``.ttx``   the same with the object "tensor" and any number of modes, as TACO writes it
``.tns``   FROSTT (http://frostt.io/tensors/file-formats.html): coordinates, then the value
``.smtx``  the pattern of a matrix, as in the Deep Learning Matrix Collection
``.npz``   any tensor as ``write`` stores it, a file that scipy.sparse or pydata/sparse saved, or
           one array
``.npy``   one numpy array
``.mat``   MATLAB's one array, up to version 7.2; read only
``.hb``    Harwell-Boeing, also named ``.rb``, ``.rua``, ``.rsa``, ``.psa`` and so on; read only

The text formats may be compressed, as in ``.mtx.gz``, ``.bz2`` and ``.xz``.
"""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sam.io import (
    compression,
    frostt,
    harwell_boeing,
    matlab,
    matrix_market,
    numpy_arrays,
    smtx,
    sparse_arrays,
)
from sam.io.text import count
from sam.levels import LEVELS, Level
from sam.support.errors import UserError, one_of
from sam.support.files import require_folder, write_whole
from sam.tensor import Tensor


def read(
    path: str | os.PathLike[str],
    shape: Sequence[int] | None = None,
    *,
    modes: int | None = None,
    pattern: bool = False,
    zero_based: bool = False,
) -> Tensor:
    """The tensor in the file.

    All compressed where the file lists entries, all dense where it lists every value; a tensor's
    own ``.npz`` comes back in its own format. Duplicate entries are summed, explicit zeros kept.
    A pattern's values are 1.0. A ``.tns`` file without a header has the largest coordinates for
    its shape, unless ``shape`` tells it; any other file must have the shape that is given.

    The other options are for ``.tns`` files, which do not describe their content: ``modes`` is the
    expected number of modes; with ``pattern`` the lines have coordinates and no value; with
    ``zero_based`` coordinates count from 0.

    Raises UserError for a file that cannot be read or is malformed. It names the line.
    """
    path = Path(path)
    kind = _kind(path)
    try:
        data = path.read_bytes() if kind.text else _writable(path)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # a zero byte in the name
        raise UserError(f"cannot read {str(path)!r}: {error}") from error
    except MemoryError:
        raise UserError(f"{path} does not fit in memory") from None
    suffix = compression.compression_of(path)
    asked = _Asked(None if shape is None else tuple(shape), modes, pattern, zero_based)
    return _read(str(path), data, kind, suffix, asked)


def _writable(path: Path) -> bytearray:
    """The bytes of a file, which an array may share."""
    with path.open("rb") as file:
        data = bytearray(os.fstat(file.fileno()).st_size)
        read = file.readinto(data)
        del data[read:]
        data += file.read()  # of a pipe, which has no size
    return data


def read_bytes(
    data: bytes,
    name: str,
    shape: Sequence[int] | None = None,
    *,
    modes: int | None = None,
    pattern: bool = False,
    zero_based: bool = False,
) -> Tensor:
    """The tensor in the bytes of a file whose name tells no format: its first bytes do.

    MatrixMarket, numpy and MATLAB files are known by them, compressed or not; any other is taken
    for a ``.tns`` file. ``name`` stands in errors; all else is as in ``read``.
    """
    asked = _Asked(None if shape is None else tuple(shape), modes, pattern, zero_based)
    suffix = compression.compression_of_data(data)
    if suffix is not None:
        data = compression.decompress(data, suffix, name)
    start = data.removeprefix(codecs.BOM_UTF8)[:20].lower()
    known = next((suffix for magic, suffix in _MAGIC.items() if start.startswith(magic)), ".tns")
    return _read(name, data, _KINDS[known], None, asked)


def write(path: str | os.PathLike[str], tensor: Any) -> None:
    """Writes a tensor (``Tensor.of``) to the file, which changes as a whole or not at all.

    ``.npz`` keeps everything; ``.npy`` the dense array; ``.mtx`` and ``.ttx`` the shape and the
    entries (every value where all levels are dense); ``.tns`` the entries; ``.smtx`` a pattern.

    Raises UserError where the file format cannot hold the tensor, or the file be written.
    """
    path = Path(path)
    tensor = Tensor.of(tensor).validated()
    require_writable(path, tensor.ndim)
    kind = _kind(path)
    assert kind.write is not None
    data = kind.write(str(path), tensor)
    suffix = compression.compression_of(path)
    write_whole(path, data if suffix is None else compression.compress(data, suffix))


def write_bytes(tensor: Any) -> bytes:
    """The tensor as a text that ``read_bytes`` takes: MatrixMarket, with the object "tensor"."""
    return matrix_market.write(Tensor.of(tensor))


def require_writable(path: str | os.PathLike[str], modes: int) -> None:
    """Raises UserError where no tensor of that many modes can be written to a file of that name.

    ``write`` may still refuse the values of one.
    """
    path = Path(path)
    kind = _kind(path, to_write=True)
    if kind.write is None:
        raise UserError(
            f"{path}: {_suffix(path)} files are read, and not written",
            hint="write a .mtx, .ttx, .tns or .npz file",
        )
    if kind.modes not in (None, modes):
        raise UserError(
            f"{path}: a {_suffix(path)} file holds a matrix, and this tensor has "
            f"{count(modes, 'mode')}",
            hint="write a .ttx, .tns or .npz file",
        )
    require_folder(path)


def is_tensor_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file of that name holds a tensor."""
    return _format_suffix(Path(path)) in _KINDS


@dataclass(frozen=True)
class _Asked:
    """The options that the caller of ``read`` gives."""

    shape: tuple[int, ...] | None
    modes: int | None
    pattern: bool
    zero_based: bool


@dataclass(frozen=True)
class _FileFormat:
    """A file format, with the functions that read and write it, if there are such. They take the
    name for errors, and the bytes or the tensor.

    ``modes`` is the number of modes of every tensor in such a file, if there is one.
    """

    read: Callable[[str, Any, _Asked], Tensor]
    write: Callable[[str, Tensor], bytes] | None
    text: bool = True
    modes: int | None = None


def _read(name: str, data: Any, kind: _FileFormat, suffix: str | None, asked: _Asked) -> Tensor:
    if (asked.pattern or asked.zero_based) and kind is not _KINDS[".tns"]:
        raise UserError(
            f"{name} describes its own content: pattern and 0-based are options of .tns files"
        )
    try:
        if suffix is not None:
            data = compression.decompress(data, suffix, name)
        if kind.text:
            data = data.removeprefix(codecs.BOM_UTF8)
        tensor = kind.read(name, data, asked)
    except MemoryError:
        raise UserError(f"{name} does not fit in memory") from None
    if asked.shape not in (None, tensor.shape):
        raise UserError(f"{name} has the shape {tensor.shape}, not {asked.shape}")
    return tensor


def _kind(path: Path, to_write: bool = False) -> _FileFormat:
    suffix = _suffix(path)
    kind = _KINDS.get(_format_suffix(path))
    if kind is None or (compression.compression_of(path) and not kind.text):
        if kind is not None:
            raise UserError(
                f"{path} is compressed, and {_format_suffix(path)} files are not",
                hint=f"write {path.stem}" if to_write else f"decompress it to {path.stem}",
            )
        why = f'"{suffix}" is not a known suffix' if suffix else "it has no suffix"
        raise UserError(
            f"cannot tell the format of {path}: {why}",
            hint=one_of(suffix, [name for name in _NAMED if _KINDS[name].write or not to_write]),
        )
    return kind


def _format_suffix(path: Path) -> str:
    """The suffix that tells the format, without that of a compression."""
    return _suffix(path).removesuffix(compression.compression_of(path) or "\0")


def _suffix(path: Path) -> str:
    inner = path.with_suffix("") if compression.compression_of(path) else path
    return path.name[len(inner.stem) :].lower()


# .npz and .npy


def _read_numpy(name: str, data: bytes, _: _Asked) -> Tensor:
    stored = numpy_arrays.load(name, data)
    if not isinstance(stored, dict):
        return _array(name, stored)
    if "sam_levels" in stored:
        return _unpack(name, stored)
    if sparse_arrays.is_pydata(stored):
        return sparse_arrays.from_pydata(name, stored)
    if sparse_arrays.is_scipy(stored):
        return sparse_arrays.from_scipy(name, stored)
    if not stored:
        raise UserError(f"{name} has no arrays")
    if len(stored) != 1:
        raise UserError(
            f"{name} has {len(stored)} arrays, and a tensor is one: {', '.join(sorted(stored))}",
            hint="numpy.save keeps one array in a .npy file",
        )
    return _array(name, next(iter(stored.values())))


def _write_npz(_: str, tensor: Tensor) -> bytes:
    stored = {
        f"level{n}_{field.name}": np.asarray(getattr(level, field.name))
        for n, level in enumerate(tensor.levels)
        for field in fields(level)
    }
    return _saved(
        np.savez_compressed,
        sam_levels=np.array([level.code for level in tensor.levels], "U1"),
        shape=np.array(tensor.shape, np.int64),
        mode_order=np.array(tensor.mode_order, np.int64),
        values=tensor.values,
        **stored,
    )


def _unpack(name: str, stored: dict[str, Any]) -> Tensor:
    """The tensor that ``_write_npz`` wrote, checked in full."""
    try:
        levels: list[Level] = []
        for n, code in enumerate(stored["sam_levels"].tolist()):
            parts = {f.name: stored[f"level{n}_{f.name}"] for f in fields(LEVELS[code])}
            levels.append(
                LEVELS[code](**{k: v.item() if v.ndim == 0 else v for k, v in parts.items()})
            )
        shape, order = (tuple(stored[key].tolist()) for key in ("shape", "mode_order"))
        tensor = Tensor(shape, order, tuple(levels), stored["values"]).validated()
    except KeyError as error:
        raise UserError(f"{name} has no array {error}") from error
    except (UserError, ValueError, TypeError, IndexError) as error:
        raise UserError(f"{name} is not valid: {error}") from error
    return tensor


def _read_npy(name: str, data: bytes, asked: _Asked) -> Tensor:
    if data.startswith(b"PK"):
        raise UserError(f"{name} has several arrays", hint="a file of that kind is named .npz")
    return _read_numpy(name, data, asked)


def _write_npy(_: str, tensor: Tensor) -> bytes:
    return _saved(np.save, tensor.to_numpy())


def _saved(save: Callable[..., None], *arrays: Any, **named: Any) -> bytes:
    buffer: BinaryIO = io.BytesIO()
    save(buffer, *arrays, **named)
    buffer.seek(0)
    return buffer.read()


def _array(name: str, array: Any) -> Tensor:
    try:
        return Tensor.from_numpy(array)
    except UserError as mistake:
        raise mistake.about(name) from None


def _read_market(name: str, data: bytes, _: _Asked) -> Tensor:
    return matrix_market.read(name, data)


def _write_market(_: str, tensor: Tensor) -> bytes:
    return matrix_market.write(tensor)


def _read_tns(name: str, data: bytes, asked: _Asked) -> Tensor:
    return frostt.read(name, data, asked.shape, asked.modes, asked.pattern, asked.zero_based)


_HARWELL_BOEING = _FileFormat(lambda name, data, _: harwell_boeing.read(name, data), None, modes=2)

_KINDS = {
    ".mtx": _FileFormat(_read_market, _write_market, modes=2),
    ".ttx": _FileFormat(_read_market, _write_market),
    ".tns": _FileFormat(_read_tns, frostt.write),
    ".smtx": _FileFormat(lambda name, data, _: smtx.read(name, data), smtx.write, modes=2),
    ".npz": _FileFormat(_read_numpy, _write_npz, text=False),
    ".npy": _FileFormat(_read_npy, _write_npy, text=False),
    ".mat": _FileFormat(lambda name, data, _: matlab.read(name, data), None, text=False),
    **dict.fromkeys((".hb", ".rb"), _HARWELL_BOEING),
    **{f".{type}{form}a": _HARWELL_BOEING for type in "rcip" for form in "suhzr"},
}

# Harwell-Boeing files have a suffix for each type of matrix; a hint names the common one.
_NAMED = [name for name, kind in _KINDS.items() if kind is not _HARWELL_BOEING or name == ".hb"]

_MAGIC = {
    b"%%matrixmarket": ".mtx",
    b"\x93numpy": ".npy",
    b"pk\x03\x04": ".npz",
    b"matlab 5.0": ".mat",
}
