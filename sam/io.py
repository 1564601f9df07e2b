"""Tensors in files: read and write by the suffix of the name.

``.mtx``   MatrixMarket (https://math.nist.gov/MatrixMarket/formats.html)
``.ttx``   the same with the object "tensor" and any number of modes, as TACO writes it
``.tns``   FROSTT (http://frostt.io/tensors/file-formats.html): coordinates, then the value
``.smtx``  the pattern of a matrix, as in the Deep Learning Matrix Collection
``.npz``   what ``write`` makes of any tensor, what ``scipy.sparse.save_npz`` makes, or one array
``.npy``   one numpy array

The text formats may be compressed, as in ``.mtx.gz``.
"""

from __future__ import annotations

import codecs
import gzip
import io
import math
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse

from sam.levels import LEVELS, Ints, Level
from sam.support.errors import UserError, one_of
from sam.support.files import require_folder, write_whole
from sam.tensor import Tensor


def read(path: str | os.PathLike[str], shape: Sequence[int] | None = None) -> Tensor:
    """The tensor in the file.

    All compressed where the file lists entries, all dense where it lists every value; a tensor's
    own ``.npz`` comes back in its own format. Duplicate entries are summed, explicit zeros kept.
    A pattern's values are 1.0. A ``.tns`` file without a header has the largest coordinates for
    its shape, unless ``shape`` tells it; any other file must have the shape that is given.

    Raises UserError for a file that cannot be read, is malformed, or has a NaN (other than a
    tensor's own ``.npz``, which may be a result with NaNs); infinities are values.
    """
    path = Path(path)
    kind = _kind(path)
    try:
        data = path.read_bytes()
        if _is_gzip(path):
            data = gzip.decompress(data)
        if kind.text:
            data = data.removeprefix(codecs.BOM_UTF8)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read {path}: {reason}") from error
    shape = None if shape is None else tuple(shape)
    tensor = kind.read(path, data, shape)
    if shape not in (None, tensor.shape):
        raise UserError(f"{path} has the shape {tensor.shape}, not {shape}")
    return tensor


def write(path: str | os.PathLike[str], tensor: Any) -> None:
    """Writes a tensor (``Tensor.of``) to the file, which changes as a whole or not at all.

    ``.npz`` keeps everything; ``.npy`` the dense array; ``.mtx`` and ``.ttx`` the shape and the
    entries (every value where all levels are dense); ``.tns`` the entries; ``.smtx`` a pattern.

    Raises UserError where the file format cannot hold the tensor, or the file be written.
    """
    path = Path(path)
    tensor = Tensor.of(tensor)
    require_writable(path, tensor.ndim)
    data = _kind(path).write(path, tensor)
    if _is_gzip(path):
        data = gzip.compress(data, mtime=0)
    write_whole(path, data)


def require_writable(path: str | os.PathLike[str], modes: int) -> None:
    """Raises UserError where no tensor of that many modes can be written to a file of that name.

    ``write`` may still refuse the values of one.
    """
    path = Path(path)
    kind = _kind(path)
    if kind.modes not in (None, modes):
        raise UserError(
            f"{path}: a {_suffix(path)} file holds a matrix, and this tensor has "
            f"{_count(modes, 'mode')}",
            hint="write a .ttx, .tns or .npz file",
        )
    require_folder(path)


def is_tensor_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file of that name holds a tensor."""
    return _suffix(Path(path)).removesuffix(".gz") in _KINDS


_Shape = tuple[int, ...]


@dataclass(frozen=True)
class _Kind:
    """One file format. A reader is told the shape that the caller expects, if any.

    ``modes`` is the number of modes of every tensor in such a file, if there is one.
    """

    read: Callable[[Path, bytes, _Shape | None], Tensor]
    write: Callable[[Path, Tensor], bytes]
    text: bool = True
    modes: int | None = None


def _kind(path: Path) -> _Kind:
    suffix = _suffix(path)
    kind = _KINDS.get(suffix.removesuffix(".gz"))
    if kind is None or (suffix.endswith(".gz") and not kind.text):
        why = f'"{suffix}" is not a known suffix' if suffix else "it has no suffix"
        raise UserError(
            f"cannot tell the format of {path}: {why}",
            hint=one_of(suffix, _KINDS),
        )
    return kind


def _suffix(path: Path) -> str:
    inner = path.with_suffix("") if _is_gzip(path) else path
    return path.name[len(inner.stem) :].lower()


def _is_gzip(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


# Lines of text

# A longer line is not shown whole in an error.
_LONGEST_LINE = 100


@dataclass(frozen=True)
class _Text:
    """The lines of a text file that are neither blank nor a comment, and where they stand."""

    path: Path
    lines: list[str]
    numbers: list[int]

    @staticmethod
    def of(path: Path, data: bytes, comment: str = "#") -> _Text:
        lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        kept = [
            (line, n)
            for n, line in enumerate(lines, 1)
            if line.strip() and not line.lstrip().startswith(comment)
        ]
        return _Text(path, [line for line, _ in kept], [n for _, n in kept])

    def error(
        self, n: int, what: str, word: int | None = None, hint: str | None = None
    ) -> UserError:
        """The error for line n, marked at one of its words, or as a whole."""
        line = self.lines[n].strip()
        words = _words(line)
        start, end = (0, len(line)) if word is None else words[min(word, len(words) - 1)]
        if len(line) > _LONGEST_LINE:
            line = line[start:end][:_LONGEST_LINE]
            start, end = 0, len(line)
        what = f"{self.path}, line {self.numbers[n]}: {what}"
        return UserError(what, source=line, span=(start, end), hint=hint)

    def integers(self, n: int, meaning: str) -> list[int]:
        """The integers, each at least 0 and of 64 bits, that line n consists of."""
        words = self.lines[n].split()
        for word, text in enumerate(words):
            if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 2**63):
                raise self.error(n, f'"{text}" is not {meaning}', word)
        return [int(text) for text in words]

    def table(self, begin: int, modes: int, value: str) -> tuple[Ints, Any]:
        """What the lines from ``begin`` on list: coordinates (modes, entries) and the values.

        ``value`` is the values' type; empty where there are none, and 1.0 is meant.
        """
        columns: list[tuple[Any, ...]] = [("coordinates", np.int64, (modes,))] if modes else []
        if value:
            real = "float64" if value == "complex128" else value
            columns.append(("value", real, (2 if value == "complex128" else 1,)))
        lines = self.lines[begin:]
        if not lines:
            return np.zeros((modes, 0), np.int64), np.zeros(0, value or "float64")
        try:
            with warnings.catch_warnings():
                # An older numpy reads 1.5 as the integer 1, with a warning.
                warnings.simplefilter("error", DeprecationWarning)
                rows = np.loadtxt(lines, np.dtype(columns), comments=None, ndmin=1)
        except (ValueError, DeprecationWarning) as error:
            self._explain(begin, modes, value)
            raise UserError(f"{self.path} is malformed: {error}") from error
        coordinates = rows["coordinates"].T if modes else np.zeros((0, len(rows)), np.int64)
        if not value:
            return coordinates, np.ones(len(rows))
        values = rows["value"].copy().view(value)[:, 0]
        nans = np.flatnonzero(np.isnan(values))
        if len(nans):
            raise self.error(begin + nans[0], "the value is NaN", modes)
        return coordinates, values

    def _explain(self, begin: int, modes: int, value: str) -> None:
        """Raises the error of the first line from ``begin`` on that is not an entry."""
        parsers: list[tuple[Callable[[str], Any], str]] = [(_int64, "a coordinate")] * modes
        if value:
            parser = _int64 if value == "int64" else float
            parsers += [(parser, f"a value of the type {value}")] * (1 + (value == "complex128"))
        for n in range(begin, len(self.lines)):
            words = self.lines[n].split()
            for word, (text, (parse, meaning)) in enumerate(zip(words, parsers, strict=False)):
                try:
                    parse(text)
                except ValueError:
                    raise self.error(n, f'"{text}" is not {meaning}', word) from None
            if len(words) != len(parsers):
                raise self.error(n, f"expected {_count(len(parsers), 'number')}, not {len(words)}")

    def zero_based(self, begin: int, coordinates: Ints, shape: _Shape) -> Ints:
        """The coordinates counted from 0; raises UserError at the first outside the shape."""
        if len(shape):
            outside = (coordinates < 1) | (coordinates > np.array(shape)[:, np.newaxis])
            if outside.any():
                entry = np.flatnonzero(outside.any(axis=0))[0]
                mode = int(np.flatnonzero(outside[:, entry])[0])
                found = coordinates[mode, entry]
                why = (
                    "coordinates count from 1"
                    if found < 1
                    else f"mode {mode} has the extent {shape[mode]}"
                )
                raise self.error(begin + entry, f"the coordinate {found} is outside: {why}", mode)
        return coordinates - 1


def _words(line: str) -> list[tuple[int, int]]:
    """Where the words of a line begin and end."""
    spans, end = [], 0
    for word in line.split():
        start = line.index(word, end)
        end = start + len(word)
        spans.append((start, end))
    return spans


def _int64(text: str) -> int:
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return number


# .mtx and .ttx

_OBJECTS = ("matrix", "vector", "tensor")
_FIELDS = {
    "real": "float64",
    "double": "float64",
    "integer": "int64",
    "complex": "complex128",
    "pattern": "",
}
_MIRRORS: dict[str, Callable[[Any], Any]] = {
    "symmetric": lambda values: values,
    "skew-symmetric": lambda values: -values,
    "hermitian": np.conj,
}


def _read_market(path: Path, data: bytes, _: _Shape | None) -> Tensor:
    banner = data.split(b"\n", 1)[0]
    header = _Text(path, [banner.decode("utf-8", "replace")], [1])
    kind, layout, field, symmetry = _read_banner(header)
    text = _Text.of(path, data, comment="%")
    if not text.lines:
        raise UserError(f"{path} ends before its line of sizes")
    sizes = text.integers(0, "a size")
    shape = tuple(sizes if layout == "array" else sizes[:-1])
    modes = {"matrix": 2, "vector": 1}.get(kind, len(shape))
    if len(shape) != modes or len(sizes) == 0:
        sizes_due = modes + (layout == "coordinate")
        raise text.error(0, f"expected {_count(sizes_due, 'size')}, not {len(sizes)}")
    if symmetry != "general" and (modes != 2 or shape[0] != shape[1]):
        raise text.error(0, f"a {symmetry} matrix is square")
    if field == "" and modes == 0:
        raise text.error(0, "a pattern needs modes")
    if layout == "array":
        return _read_array(text, shape, field, symmetry)
    coordinates, values = text.table(1, modes, field)
    _check_entries(text, len(values), sizes[-1])
    coordinates = text.zero_based(1, coordinates, shape)
    if symmetry != "general":
        off = coordinates[0] != coordinates[1]
        coordinates = np.hstack([coordinates, coordinates[::-1, off]])
        values = np.concatenate([values, _MIRRORS[symmetry](values[off])])
    return Tensor.from_coo(coordinates, values, shape)


def _read_banner(header: _Text) -> tuple[str, str, str, str]:
    """The object, the layout, the type of the values, and the symmetry."""
    words = header.lines[0].lower().split()
    if words[:1] != ["%%matrixmarket"]:
        raise UserError(
            f"{header.path} does not begin with %%MatrixMarket",
            hint="%%MatrixMarket matrix coordinate real general",
        )
    if len(words) != 5:
        raise header.error(0, "expected an object, a layout, a field and a symmetry")
    known = (_OBJECTS, ("coordinate", "array"), _FIELDS, ("general", *_MIRRORS))
    for n, (word, those) in enumerate(zip(words[1:], known, strict=True), 1):
        if word not in those:
            raise header.error(0, f'"{word}" is not known here', n, one_of(word, those))
    kind, layout, field, symmetry = words[1:]
    if field == "pattern" and (layout == "array" or symmetry not in ("general", "symmetric")):
        what = layout if layout == "array" else symmetry
        raise header.error(0, f"a pattern cannot be {what}", 3)
    if symmetry == "hermitian" and field != "complex":
        raise header.error(0, f"a hermitian matrix is complex, not {field}", 3)
    return kind, layout, _FIELDS[field], symmetry


def _read_array(text: _Text, shape: _Shape, field: str, symmetry: str) -> Tensor:
    """Every value, the first mode fastest; with a symmetry, those of the lower triangle."""
    _, values = text.table(1, 0, field)
    if symmetry == "general":
        _check_entries(text, len(values), math.prod(shape))
        return Tensor.from_numpy(values.reshape(shape, order="F"))
    skew = symmetry == "skew-symmetric"
    _check_entries(text, len(values), shape[0] * (shape[0] + (-1 if skew else 1)) // 2)
    columns, rows = np.triu_indices(shape[0], k=int(skew))
    array = np.zeros(shape, values.dtype)
    array[columns, rows] = _MIRRORS[symmetry](values)
    array[rows, columns] = values
    return Tensor.from_numpy(array)


def _check_entries(text: _Text, found: int, due: int) -> None:
    if found != due:
        entries = _count(found, "entry", "entries")
        raise UserError(f"{text.path} has {entries}, its sizes say {due}")


def _write_market(_: Path, tensor: Tensor) -> bytes:
    kind = "matrix" if tensor.ndim == 2 else "tensor"
    field = {"b": "integer", "i": "integer", "f": "real", "c": "complex"}[tensor.dtype.kind]
    if tensor.ndim and all(level.full for level in tensor.levels):
        banner = f"%%MatrixMarket {kind} array {field} general"
        sizes: _Shape = tensor.shape
        rows = _value_texts(tensor.to_numpy().reshape(-1, order="F"))
    else:
        coordinates, values = tensor.to_coo()
        banner = f"%%MatrixMarket {kind} coordinate {field} general"
        sizes = (*tensor.shape, len(values))
        rows = _rows(coordinates, values)
    return "\n".join([banner, " ".join(map(str, sizes)), *rows, ""]).encode()


def _rows(coordinates: Ints, values: Any) -> Iterator[str]:
    columns = [map(str, (mode + 1).tolist()) for mode in coordinates]
    return map(" ".join, zip(*columns, _value_texts(values), strict=True))


def _value_texts(values: Any) -> Iterator[str]:
    if values.dtype.kind == "c":
        return (f"{value.real!r} {value.imag!r}" for value in values.tolist())
    return map(repr, (values * 1 if values.dtype.kind == "b" else values).tolist())


# .tns


_GIVE_SHAPE = "give it: sam.io.read(path, shape=(3, 4)), or --dims i=3,j=4"


def _read_tns(path: Path, data: bytes, shape: _Shape | None) -> Tensor:
    text = _Text.of(path, data)
    begin, header_shape, entries = _tns_header(text)
    shape = shape if header_shape is None else header_shape
    if shape is None and not text.lines:
        raise UserError(f"{text.path} has no entries, so its shape is not known", hint=_GIVE_SHAPE)
    modes = len(text.lines[0].split()) - 1 if shape is None else len(shape)
    coordinates, values = text.table(begin, modes, "float64")
    if entries is not None:
        _check_entries(text, len(values), entries)
    if shape is None:
        shape = tuple(coordinates.max(axis=1, initial=0).tolist())
    return Tensor.from_coo(text.zero_based(begin, coordinates, shape), values, shape)


def _tns_header(text: _Text) -> tuple[int, _Shape | None, int | None]:
    """The line on which the entries begin; the shape and the number of entries, where told.

    ParTI writes a line with the number of modes, MLIR's extended FROSTT one with the number of
    modes and of entries; a line with the shape follows. Entries have one number more than modes,
    so that no plain FROSTT file begins like this.
    """
    lengths = [len(line.split()) for line in text.lines[:3]]
    first = text.lines[0].split() if text.lines else []
    if len(lengths) < 2 or not 1 <= len(first) <= 2 or not all(w.isdecimal() for w in first):
        return 0, None, None
    modes = int(first[0])
    if lengths[1] != modes or lengths[2:] not in ([], [modes + 1]) or lengths == [2, 2]:
        return 0, None, None
    return 2, tuple(text.integers(1, "a size")), int(first[1]) if len(first) == 2 else None


def _write_tns(path: Path, tensor: Tensor) -> bytes:
    if tensor.dtype.kind == "c":
        raise UserError(f"{path}: a .tns file has no complex values", hint="write a .ttx file")
    return "".join(row + "\n" for row in _rows(*tensor.to_coo())).encode()


# .smtx


def _read_smtx(path: Path, data: bytes, _: _Shape | None) -> Tensor:
    text = _Text.of(path, data.replace(b",", b" "))
    if len(text.lines) < 2:
        raise UserError(f"{path} ends before its row offsets")
    sizes = text.integers(0, "a size")
    if len(sizes) != 3:
        raise text.error(0, f"expected rows, columns and entries, not {len(sizes)} numbers")
    rows, columns, entries = sizes
    offsets = np.array(text.integers(1, "a row offset"), np.int64)
    if len(offsets) != rows + 1:
        raise UserError(f"{path} has {len(offsets)} row offsets for {rows} rows")
    lengths = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != entries or (lengths < 0).any():
        raise UserError(f"{path}: its row offsets do not rise from 0 to {entries}")
    listed = text.integers(2, "a column") if len(text.lines) > 2 else []
    if len(text.lines) > 3:
        raise text.error(3, "expected nothing more")
    _check_entries(text, len(listed), entries)
    coordinates = np.stack([np.repeat(np.arange(rows), lengths), np.array(listed, np.int64)])
    outside = np.flatnonzero(coordinates[1] >= columns)
    if len(outside):
        raise UserError(f"{path}: column {listed[outside[0]]} is outside the extent {columns}")
    tensor = Tensor.from_coo(coordinates, np.ones(entries), (rows, columns))
    if tensor.nnz != entries:
        raise UserError(f"{path}: a row lists a column twice")
    return tensor


def _write_smtx(path: Path, tensor: Tensor) -> bytes:
    coordinates, values = tensor.to_coo()
    if (values != 1).any():
        raise UserError(
            f"{path}: a .smtx file holds the pattern of a matrix: every value is 1",
            hint="write a .mtx file",
        )
    offsets = np.searchsorted(coordinates[0], np.arange(tensor.shape[0] + 1))
    sizes = ", ".join(map(str, (*tensor.shape, len(values))))
    lines = [sizes, *(" ".join(map(str, row.tolist())) for row in (offsets, coordinates[1])), ""]
    return "\n".join(lines).encode()


# .npz and .npy


def _read_npz(path: Path, data: bytes, _: _Shape | None) -> Tensor:
    stored = _load(path, data)
    if not isinstance(stored, dict):
        return _finite_array(path, stored)
    if "sam_levels" in stored:
        return _unpack(path, stored)
    if "format" in stored:
        try:
            matrix = scipy.sparse.load_npz(io.BytesIO(data))
        except (ValueError, KeyError, TypeError, NotImplementedError) as error:
            raise UserError(f"{path} is not a scipy.sparse file: {error}") from error
        _check_nan(path, matrix.tocoo().data)
        return Tensor.from_scipy(matrix)
    if len(stored) != 1:
        raise UserError(f"{path} has {len(stored)} arrays, not 1: {', '.join(sorted(stored))}")
    return _finite_array(path, next(iter(stored.values())))


def _write_npz(path: Path, tensor: Tensor) -> bytes:
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


def _unpack(path: Path, stored: dict[str, Any]) -> Tensor:
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
        raise UserError(f"{path} has no array {error}") from error
    except (UserError, ValueError, TypeError, IndexError) as error:
        raise UserError(f"{path} is not valid: {error}") from error
    return tensor


def _read_npy(path: Path, data: bytes, _: _Shape | None) -> Tensor:
    stored = _load(path, data)
    if isinstance(stored, dict):
        raise UserError(f"{path} has several arrays", hint="a file of that kind is named .npz")
    return _finite_array(path, stored)


def _write_npy(path: Path, tensor: Tensor) -> bytes:
    return _saved(np.save, tensor.to_numpy())


def _load(path: Path, data: bytes) -> Any:
    """The array in the file, or a dict of its arrays."""
    if not data.startswith((b"PK", np.lib.format.MAGIC_PREFIX)):
        raise UserError(f"{path} is not a numpy file")
    try:
        stored = np.load(io.BytesIO(data), allow_pickle=False)
        return stored if isinstance(stored, np.ndarray) else dict(stored)
    except (ValueError, OSError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{path} is not a numpy file: {error}") from error


def _saved(save: Callable[..., None], *arrays: Any, **named: Any) -> bytes:
    buffer: BinaryIO = io.BytesIO()
    save(buffer, *arrays, **named)
    buffer.seek(0)
    return buffer.read()


def _finite_array(path: Path, array: Any) -> Tensor:
    try:
        tensor = Tensor.from_numpy(array)
    except UserError as mistake:
        raise mistake.about(str(path)) from None
    _check_nan(path, tensor.values)
    return tensor


def _check_nan(path: Path, values: Any) -> None:
    nans = np.flatnonzero(np.isnan(values))
    if len(nans):
        raise UserError(f"{path}: value {nans[0]} is NaN")


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one}" if n == 1 else f"{n} {many or one + 's'}"


_KINDS = {
    ".mtx": _Kind(_read_market, _write_market, modes=2),
    ".ttx": _Kind(_read_market, _write_market),
    ".tns": _Kind(_read_tns, _write_tns),
    ".smtx": _Kind(_read_smtx, _write_smtx, modes=2),
    ".npz": _Kind(_read_npz, _write_npz, text=False),
    ".npy": _Kind(_read_npy, _write_npy, text=False),
}
