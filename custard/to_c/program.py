"""Programs on target ``c``: kernels made for the types of their inputs, compiled and called.

The kernel's parameters are pointers to structs of 64-bit members, so each struct is an array of
int64 here: numbers, and the addresses of arrays.
"""

from __future__ import annotations

import ctypes
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from custard.ir import cin
from custard.language.formats import Format
from custard.program import Program
from custard.to_c.builder import Types
from custard.to_c.header import documented
from custard.to_c.levels import LEVEL_FUNCTIONS
from custard.to_c.loop_ir import INT, INT32, Type, verify
from custard.to_c.lowering import Lowered, lower
from custard.to_c.printer import printed
from custard.to_c.values import concrete
from sam.graph import Slot
from sam.inputs import as_tensor, extents, require_inputs
from sam.levels import LEVELS, Level
from sam.support import c_compiler as cc
from sam.support.errors import UserError
from sam.tensor import VALUE_TYPES, Tensor, sound

LIBRARY = ("-std=gnu11", "-shared", "-fPIC", "-fwrapv", "-fcx-fortran-rules")
# Sums may be taken in another order, so that they vectorise; NaN and infinity keep their meaning,
# whole numbers wrap around, and complex numbers are multiplied as numpy does it.
FLAGS = (
    *(*LIBRARY, "-O3", "-march=native", "-fno-math-errno"),
    *("-fno-signed-zeros", "-fno-trapping-math", "-fassociative-math"),
)
# What -ffast-math stands for, but that a library linked with it would have the whole process take
# the smallest numbers for 0.
FAST_MATH = (*FLAGS, "-ffinite-math-only", "-freciprocal-math", "-fcx-limited-range")

_INDEX_TYPES = {np.dtype(np.int32): INT32, np.dtype(np.int64): INT}


@dataclass(frozen=True)
class CProgram(Program):
    """A program on target ``c``.

    ``header``   what the C file says it is
    ``lowered``  its kernel for inputs of float64 with int32 indices
    ``flags``    of the C compiler; those that it does not know are left out
    ``kernels``  those that have been compiled, by what they are specialised for
    """

    header: tuple[str, ...]
    lowered: Lowered
    flags: tuple[str, ...] = FLAGS
    kernels: dict[Any, Kernel] = field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or another process gets: all but the kernels, which are of this process."""
        return {**self.__dict__, "kernels": {}}

    @property
    def slots(self) -> tuple[Slot, ...]:
        return self.lowered.slots

    @property
    def source(self) -> str:
        """The C file, for inputs of float64 with int32 indices.

        ``kernel`` gives that for other inputs.
        """
        return printed(documented(self.lowered, self.flags))

    def run(self, inputs: Mapping[str, Any] | None = None) -> Tensor:
        """The result for inputs given by name: numpy, scipy.sparse, ``sam.Tensor``, numbers.

        Raises UserError.
        """
        return self.bind(inputs).run()

    def bind(self, inputs: Mapping[str, Any] | None = None) -> Bound:
        """The program with its inputs, ready to run, and to be run again.

        Raises UserError for inputs that do not fit.
        """
        given = {} if inputs is None else inputs
        require_inputs(self.slots, given)
        tensors = _Tensors(given)
        shaped = {n: x if scipy.sparse.issparse(x) else tensors[n] for n, x in given.items()}
        found = extents(self.slots, shaped, self.dims, map(cin.base, self.cin.loops))
        dense = self.dense_arrays(given, tensors)
        slots = self._lower({**self.formats, **dense}, Types()).slots if dense else self.slots
        stored = {slot.name: _stored(slot, given, tensors) for slot in slots}
        runs = frozenset(slot.tensor or "" for slot in slots if _has_runs(slot, stored[slot.name]))
        types = replace(_types(slots, stored), wide=self._needs_wide_keys(found), runs=runs)
        stored = {
            slot.name: stored[slot.name].widened(types.index(slot.tensor or "")) for slot in slots
        }
        around = tensors[self.cin.target.tensor] if self.cin.accumulates else None
        return Bound(self, types, dense, stored, found, around)

    def _needs_wide_keys(self, extents: Mapping[str, int]) -> bool:
        """Whether the coordinates of a sparse workspace need a key of more than 64 bits."""
        bits = [
            sum(extents[variable].bit_length() for variable in variables)
            for variables in self.lowered.keyed
        ]
        if max(bits, default=0) > 128:
            raise UserError("the extents of the result are too large for a sparse workspace")
        return max(bits, default=0) > 63

    def _lower(self, formats: Mapping[str, Format], types: Types) -> Lowered:
        return lower(self.cin, formats, self.choices, types, self.header, self.drop_zeros)

    def kernel(self, types: Types, formats: Mapping[str, Format] | None = None) -> Kernel:
        """The compiled kernel for inputs of some types, and of other formats than declared."""
        formats = formats or {}
        key = (
            tuple(sorted((n, t.name) for n, t in types.values.items())),
            tuple(sorted((n, t.name) for n, t in types.indices.items())),
            types.result.name,
            types.runs,
            types.wide,
            tuple(sorted((n, str(f)) for n, f in formats.items())),
            self.flags,
        )
        if key not in self.kernels:
            lowered = self._lower({**self.formats, **formats}, types)
            self.kernels[key] = Kernel(lowered, self.flags)
        return self.kernels[key]


class Kernel:
    """A compiled kernel."""

    def __init__(self, lowered: Lowered, flags: tuple[str, ...]) -> None:
        verify(lowered.kernel)
        self.lowered = lowered
        flags = _exact_where_complex(lowered, flags)
        self.source = printed(documented(lowered, flags))
        (library,) = cc.build([self.source], flags=cc.supported(flags))
        self.compute, self.release = library.compute, library.release
        self.compute.restype = ctypes.c_int


def _exact_where_complex(lowered: Lowered, flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags; where values are complex, without those that pass over the sign of a zero, and
    with each product rounded.

    Under these gcc takes a real factor for one that has no imaginary part, and infinity times it
    for infinity, where numpy has NaN.
    """
    fields = (field for struct in lowered.kernel.structs for field in struct.fields)
    if "-ffinite-math-only" in flags or not any("complex" in type.name for _, type in fields):
        return flags
    loose = ("-fno-signed-zeros", "-fassociative-math")
    return (*(flag for flag in flags if flag not in loose), "-ffp-contract=off")


@dataclass(frozen=True)
class Stored:
    """An input in its slot: the numbers and arrays of the struct, by member.

    ``index``  the type of its index arrays, None if it has none
    """

    members: Mapping[str, Any]
    index: Type | None

    def widened(self, index: Type) -> Stored:
        """The same with index arrays of a type."""
        if self.index in (None, index):
            return self
        wide = {
            name: value.astype(np.int64)
            if isinstance(value, np.ndarray) and name != "values" and value.dtype == np.int32
            else value
            for name, value in self.members.items()
        }
        return Stored(wide, index)


@dataclass
class Bound:
    """A program with its inputs: ``run`` computes, ``seconds`` tells how long it takes.

    ``around``  where the result is a diagonal that is added to, the entries off it
    """

    program: CProgram
    types: Types
    formats: Mapping[str, Format]
    stored: Mapping[str, Stored]
    extents: Mapping[str, int]
    around: Tensor | None

    @property
    def kernel(self) -> Kernel:
        """The compiled kernel for the inputs."""
        return self.program.kernel(self.types, self.formats)

    def run(self) -> Tensor:
        """The result. Raises UserError where there is no memory for it."""
        result = self._compute()
        lowered = self.kernel.lowered
        shape = [self.extents[cin.base(v)] for v in lowered.result.variables]
        whole = _tensor(lowered, result, shape).spread(lowered.result.modes, self.around)
        asked = self.program.formats[self.program.cin.target.tensor]
        try:
            return whole.convert(asked.levels, asked.mode_order)
        except UserError:
            return whole  # a singleton level cannot hold it

    def seconds(self) -> float:
        """How long the kernel takes, assembly of the result included, conversions excluded."""
        result, inputs = self._result_struct(), self._inputs()
        arguments = self._arguments(inputs)
        begin = time.perf_counter()
        status = self.kernel.compute(result.address, *arguments)
        took = time.perf_counter() - begin
        if status:
            raise self._too_large()
        self.kernel.release(result.address)
        return took

    def _compute(self) -> _Struct:
        """The struct of the result, once with 32-bit indices, then with 64 if they need them."""
        inputs = self._inputs()
        while True:
            result = self._result_struct()
            if not self.kernel.compute(result.address, *self._arguments(inputs)):
                return result
            if self.types.result == INT:
                raise self._too_large()
            self.types = replace(self.types, result=INT)

    def _result_struct(self) -> _Struct:
        lowered = self.kernel.lowered
        fields = [name for name, _ in lowered.kernel.structs[0].fields]
        struct = _Struct(fields)
        for level, variable in enumerate(lowered.result.variables):
            struct[f"size{level}"] = self.extents[cin.base(variable)]
        if not lowered.kernel.functions:
            count = 1
            for variable in lowered.result.variables:
                count *= self.extents[cin.base(variable)]
            try:
                struct.hold("values", np.empty(count, concrete(lowered.dtype)))
            except (MemoryError, ValueError):
                raise self._too_large() from None
        return struct

    def _too_large(self) -> UserError:
        target = self.program.cin.target
        if not target.variables:
            return UserError(f"there is no memory for what {target} is computed in")
        extents = " x ".join(str(self.extents[cin.base(v)]) for v in target.variables)
        form = self.program.formats[target.tensor]
        return UserError(f"there is no memory for {target}, which is {extents}, stored as {form}")

    def _arguments(self, inputs: Sequence[_Struct]) -> list[Any]:
        numbers = [self.extents[name] for name in self.kernel.lowered.numbers]
        return [*(s.address for s in inputs), *map(ctypes.c_int64, numbers)]

    def _inputs(self) -> list[_Struct]:
        structs = []
        for declared in self.kernel.lowered.kernel.structs[1:]:
            struct = _Struct([name for name, _ in declared.fields])
            for name, value in self.stored[declared.name].members.items():
                if isinstance(value, np.ndarray):
                    struct.hold(name, value)
                else:
                    struct[name] = value
            structs.append(struct)
        return structs


class _Struct:
    """A struct of 64-bit members."""

    def __init__(self, names: Sequence[str]) -> None:
        self.places = {name: n for n, name in enumerate(names)}
        self.words = np.zeros(max(1, len(names)), np.int64)
        self.held: dict[str, np.ndarray[Any, Any]] = {}

    def __setitem__(self, name: str, value: int) -> None:
        self.words[self.places[name]] = value

    def __getitem__(self, name: str) -> int:
        return int(self.words[self.places[name]])

    def hold(self, name: str, values: np.ndarray[Any, Any]) -> None:
        """Puts the address of an array into a member."""
        self.held[name] = values
        self[name] = values.ctypes.data

    @property
    def address(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.words.ctypes.data)

    def take(self, name: str, count: int, dtype: Any) -> np.ndarray[Any, Any]:
        """The array that a member points to; its memory is freed with it."""
        size = count * np.dtype(dtype).itemsize
        memory = (ctypes.c_char * size).from_address(self[name])
        weakref.finalize(memory, _FREE, self[name]).atexit = False
        return np.frombuffer(memory, dtype)


_FREE = ctypes.CDLL(None).free
_FREE.argtypes = (ctypes.c_void_p,)


def _stored(slot: Slot, inputs: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Stored:
    """An input in the storage that a slot asks for."""
    name = slot.tensor or ""
    shared = _shared(slot, inputs[name])
    if shared is not None:
        return shared
    tensor = tensors[name]
    if isinstance(inputs[name], np.ndarray) and slot.levels and set(slot.levels) == {"d"}:
        order = tuple(mode for group in slot.modes for mode in group)
        if len(order) == len(slot.levels):
            # An array whose memory is in the order of the levels is taken as it is.
            tensor = Tensor.from_numpy(inputs[name], slot.levels, order)
    try:
        tensor = tensor.arrange(slot.levels, slot.modes)
    except UserError as mistake:
        raise mistake.about(name) from None
    members: dict[str, Any] = {}
    for n, (level, mode) in enumerate(zip(tensor.levels, tensor.mode_order, strict=True)):
        members[f"size{n}"] = tensor.shape[mode]
        functions = LEVEL_FUNCTIONS[level.code]
        members |= {f"{part}{n}": getattr(level, part) for part in functions.numbers}
        members |= {f"{part}{n}": np.asarray(getattr(level, part)) for part in functions.arrays}
    members["values"] = np.ascontiguousarray(tensor.values)
    return _narrowed(members)


def _narrowed(members: Mapping[str, Any]) -> Stored:
    """An input whose index arrays have 32 bits if its extents and positions fit."""
    arrays = {name: one for name, one in members.items() if isinstance(one, np.ndarray)}
    sizes = [
        *(one for name, one in members.items() if name.startswith("size")),
        *map(len, arrays.values()),
        *(abs(one).max(initial=0) for name, one in arrays.items() if name.startswith("offsets")),
    ]
    index = INT if max(sizes) > np.iinfo(np.int32).max else INT32
    indices = {
        name: np.ascontiguousarray(one, np.int64 if index == INT else np.int32)
        for name, one in arrays.items()
        if not name.startswith(("values", "words"))
    }
    words = {
        name: np.ascontiguousarray(one, np.uint64)
        for name, one in arrays.items()
        if name.startswith("words")
    }
    return Stored({**members, **words, **indices}, index if indices else None)


class _Tensors(dict[str, Tensor]):
    """The inputs as tensors, each made when it is first asked for."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__()
        self.given = given

    def __missing__(self, name: str) -> Tensor:
        self[name] = as_tensor(name, self.given[name])
        return self[name]


def _shared(slot: Slot, data: Any) -> Stored | None:
    """A scipy.sparse matrix whose arrays can be taken as they are; None for all others."""
    if not scipy.sparse.issparse(data) or data.format not in ("csr", "csc", "coo"):
        return None
    if data.data.dtype not in VALUE_TYPES:
        return None
    return _listed(slot, data) if data.format == "coo" else _compressed(slot, data)


def _compressed(slot: Slot, data: Any) -> Stored | None:
    """A canonical CSR or CSC matrix in the same order."""
    order = ((0,), (1,)) if data.format == "csr" else ((1,), (0,))
    if (slot.levels, slot.modes) != ("ds", order):
        return None
    try:
        data.check_format(full_check=True)
    except ValueError as error:
        raise UserError(f"the scipy.sparse matrix is not valid: {error}").about(
            slot.tensor or ""
        ) from error
    if not data.has_canonical_format or data.indptr.dtype != data.indices.dtype:
        return None
    count = int(data.indptr[-1])
    arrays = {
        "segments1": data.indptr,
        "coordinates1": data.indices[:count],
        "values": data.data[:count],
    }
    return _with_sizes(slot, data.shape, arrays, data.indices.dtype)


def _listed(slot: Slot, data: Any) -> Stored | None:
    """A list of coordinates in order, without duplicates."""
    chain = "u" + "c" * (data.ndim - 2) + "q"
    if data.ndim < 2 or slot.levels != chain or len(slot.modes) != data.ndim:
        return None
    coordinates = [np.asarray(data.coords[group[0]]) for group in slot.modes]
    index = coordinates[0].dtype
    if index not in _INDEX_TYPES or any(one.dtype != index for one in coordinates):
        return None
    if any(one.shape != data.data.shape for one in coordinates):
        return None
    inside = all(
        len(one) == 0 or (one.min() >= 0 and one.max() < data.shape[group[0]])
        for one, group in zip(coordinates, slot.modes, strict=True)
    )
    if not inside or not _increase(coordinates):
        return None
    arrays = {f"coordinates{level}": one for level, one in enumerate(coordinates)}
    arrays |= {"segments0": np.array([0, len(data.data)], index), "values": data.data}
    return _with_sizes(slot, data.shape, arrays, index)


def _increase(coordinates: Sequence[np.ndarray[Any, Any]]) -> bool:
    """Whether each entry's coordinates come after those of the one before it."""
    equal: Any = True
    for one in coordinates:
        step = np.diff(one)
        if (equal & (step < 0)).any():
            return False
        equal = equal & (step == 0)
    return not np.any(equal)


def _with_sizes(
    slot: Slot, shape: Sequence[int], arrays: Mapping[str, Any], index: np.dtype[Any]
) -> Stored:
    """An input of these arrays."""
    sizes = {f"size{level}": shape[group[0]] for level, group in enumerate(slot.modes)}
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return Stored({**sizes, **whole}, _INDEX_TYPES[index])


# Terms to a sum from which on it pays to find out where they end before they are added up; fewer
# do where there are so many entries that they come from memory (measured).
_LONG_RUN, _LONG_RUN_IN_MEMORY, _IN_MEMORY = 16, 8, 1 << 20


def _has_runs(slot: Slot, stored: Stored) -> bool:
    """Whether an input repeats the coordinates of its first level many times."""
    entries, coordinates = len(stored.members["values"]), stored.members.get("size0", 0)
    long = _LONG_RUN if entries < _IN_MEMORY else _LONG_RUN_IN_MEMORY
    return slot.levels != "" and entries >= long * max(1, coordinates)


def _types(slots: Sequence[Slot], stored: Mapping[str, Stored]) -> Types:
    """What the kernel for these inputs is specialised for."""
    values = {slot.tensor or "": stored[slot.name].members["values"].dtype for slot in slots}
    indices: dict[str, Type] = {}
    for slot in slots:
        index = stored[slot.name].index
        if index is not None and indices.setdefault(slot.tensor or "", index) != index:
            indices[slot.tensor or ""] = INT
    return Types(values, indices, INT if INT in indices.values() else INT32)


def _tensor(lowered: Lowered, struct: _Struct, shape: Sequence[int]) -> Tensor:
    """The tensor that a kernel has assembled."""
    slot, members = lowered.result, lowered.kernel.structs[0].fields
    index = {name: type.name.removesuffix("_t") for name, type in members}
    levels: list[Level] = []
    positions = 1
    for level, code in enumerate(slot.levels):
        functions = LEVEL_FUNCTIONS[code]
        if not functions.arrays:
            levels.append(LEVELS[code](shape[level]))  # type: ignore[call-arg]
            positions *= shape[level]
            continue
        parts: dict[str, Any] = {}
        for part in functions.arrays:
            name = f"{part}{level}"
            if part == "segments":
                segments = struct.take(name, positions + 1, index[name])
                parts[part] = segments.astype(np.int64, copy=False)
                positions = int(segments[-1])
            else:
                found = struct.take(name, positions, index[name])
                parts[part] = found.astype(np.int64, copy=False)
        levels.append(LEVELS[code](**parts))
    if lowered.kernel.functions:
        values = struct.take("values", positions, concrete(lowered.dtype))
    else:
        values = struct.held["values"]
    order = tuple(range(len(shape)))
    return sound(Tensor(tuple(shape), order, tuple(levels), values))
