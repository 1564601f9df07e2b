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

from custard import cin
from custard.c_printer import printed
from custard.formats import Format
from custard.kernel_builder import Types
from custard.kernel_values import concrete
from custard.level_functions import LEVEL_FUNCTIONS
from custard.loop_ir import INT, INT32, Type, verify
from custard.loop_lowering import Lowered, lower
from custard.program import Program
from sam import cc
from sam.errors import UserError
from sam.graph import Slot
from sam.levels import LEVELS, Level
from sam.slots import extents, gather
from sam.tensor import Tensor

# Sums may be taken in another order, so that they vectorise; NaN and infinity keep their meaning,
# whole numbers wrap around, and complex numbers are multiplied as numpy does it.
FLAGS = (
    *("-std=gnu11", "-O3", "-march=native", "-shared", "-fPIC", "-fwrapv", "-fno-math-errno"),
    *("-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-fcx-fortran-rules"),
)

_INDEX_TYPES = {np.dtype(np.int32): INT32, np.dtype(np.int64): INT}


@dataclass(frozen=True)
class CProgram(Program):
    """A program on target ``c``.

    ``header``   what the C file says it is
    ``lowered``  its kernel for inputs of float64 with int32 indices
    ``kernels``  those that have been compiled, by what they are specialised for
    """

    header: tuple[str, ...]
    lowered: Lowered
    kernels: dict[Any, Kernel] = field(default_factory=dict, compare=False, repr=False)

    @property
    def slots(self) -> tuple[Slot, ...]:
        return self.lowered.slots

    @property
    def source(self) -> str:
        """The C file, for inputs of float64 with int32 indices.

        ``kernel`` gives that for other inputs.
        """
        return printed(self.lowered.kernel)

    def run(self, inputs: Mapping[str, Any] | None = None) -> Tensor:
        """The result for inputs given by name: numpy, scipy.sparse, ``sam.Tensor``, numbers.

        Raises UserError.
        """
        return self.bind(inputs).run()

    def bind(self, inputs: Mapping[str, Any] | None = None) -> Bound:
        """The program with its inputs, ready to run, and to be run again.

        Raises UserError for inputs that do not fit.
        """
        given = {} if inputs is None else dict(inputs)
        tensors = gather(self.slots, given)
        found = extents(self.slots, tensors, self.dims, map(cin.base, self.cin.loops))
        dense = self.dense_arrays(given, tensors)
        slots = self._lower({**self.formats, **dense}, Types()).slots if dense else self.slots
        stored = {slot.name: _stored(slot, given, tensors) for slot in slots}
        runs = frozenset(slot.tensor or "" for slot in slots if _has_runs(slot, stored[slot.name]))
        types = replace(_types(slots, stored), wide=self._needs_wide_keys(found), runs=runs)
        stored = {
            slot.name: stored[slot.name].widened(types.index(slot.tensor or "")) for slot in slots
        }
        around = tensors.get(self.cin.target.tensor) if self.cin.accumulates else None
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
        )
        if key not in self.kernels:
            self.kernels[key] = Kernel(self._lower({**self.formats, **formats}, types))
        return self.kernels[key]


class Kernel:
    """A compiled kernel."""

    def __init__(self, lowered: Lowered) -> None:
        verify(lowered.kernel)
        self.lowered = lowered
        self.source = printed(lowered.kernel)
        (library,) = cc.build([self.source], flags=FLAGS)
        self.compute, self.release = library.compute, library.release
        self.compute.restype = ctypes.c_int


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
        """The result. Raises MemoryError where it does not fit."""
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
            raise MemoryError
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
                raise MemoryError
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
            struct.hold("values", np.empty(count, concrete(lowered.dtype)))
        return struct

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
        weakref.finalize(memory, _FREE, self[name])
        return np.frombuffer(memory, dtype)


_FREE = ctypes.CDLL(None).free
_FREE.argtypes = (ctypes.c_void_p,)


def _stored(slot: Slot, inputs: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> Stored:
    """An input in the storage that a slot asks for."""
    name = slot.tensor or ""
    direct = _compressed(slot, inputs[name])
    if direct is not None:
        return direct
    try:
        tensor = _checked(tensors[name]).arrange(slot.levels, slot.modes)
    except UserError as mistake:
        raise mistake.about(name) from None
    members: dict[str, Any] = {}
    for n, (level, mode) in enumerate(zip(tensor.levels, tensor.mode_order, strict=True)):
        members[f"size{n}"] = tensor.shape[mode]
        functions = LEVEL_FUNCTIONS[level.code]
        for part in (*functions.numbers, *functions.arrays):
            value = getattr(level, part)
            members[f"{part}{n}"] = np.ascontiguousarray(value) if np.ndim(value) else value
    members["values"] = np.ascontiguousarray(tensor.values)
    return _narrowed(members)


def _narrowed(members: dict[str, Any]) -> Stored:
    """An input whose index arrays have 32 bits if its extents and positions fit."""
    indices = {
        name: value
        for name, value in members.items()
        if isinstance(value, np.ndarray) and value.dtype == np.int64 and name != "values"
    }
    sizes = [value for name, value in members.items() if name.startswith("size")]
    if not indices:
        return Stored(members, None)
    largest = max(*sizes, *map(len, indices.values()), len(members["values"]))
    if largest > np.iinfo(np.int32).max:
        return Stored(members, INT)
    narrow = {name: value.astype(np.int32) for name, value in indices.items()}
    return Stored({**members, **narrow}, INT32)


_CHECKED: weakref.WeakSet[Tensor] = weakref.WeakSet()


def _checked(tensor: Tensor) -> Tensor:
    """The tensor, looked at once: a coordinate out of range would be an address out of range."""
    if tensor not in _CHECKED:
        tensor.validate()
        _CHECKED.add(tensor)
    return tensor


def _compressed(slot: Slot, data: Any) -> Stored | None:
    """A canonical CSR or CSC matrix, whose arrays are taken as they are."""
    orders = {"csr": ((0,), (1,)), "csc": ((1,), (0,))}
    if not scipy.sparse.issparse(data) or data.ndim != 2 or slot.levels != "ds":
        return None
    if orders.get(data.format) != slot.modes or not data.has_canonical_format:
        return None
    if data.indptr.dtype != data.indices.dtype or data.data.dtype.name not in _VALUE_TYPES:
        return None
    try:
        data.check_format(full_check=True)
    except ValueError as error:
        raise UserError(f"the scipy.sparse matrix is not valid: {error}").about(
            slot.tensor or ""
        ) from error
    rows, columns = (data.shape[group[0]] for group in slot.modes)
    count = int(data.indptr[-1])
    members = {
        "size0": rows,
        "size1": columns,
        "segments1": np.ascontiguousarray(data.indptr),
        "coordinates1": np.ascontiguousarray(data.indices[:count]),
        "values": np.ascontiguousarray(data.data[:count]),
    }
    return Stored(members, _INDEX_TYPES[data.indices.dtype])


_VALUE_TYPES = ("bool", "int32", "int64", "float32", "float64", "complex64", "complex128")


# Terms to a sum from which on it pays to find out where they end before they are added up.
_LONG_RUN = 32


def _has_runs(slot: Slot, stored: Stored) -> bool:
    """Whether an input repeats the coordinates of its first level many times."""
    entries, coordinates = len(stored.members["values"]), stored.members.get("size0", 0)
    return slot.levels != "" and entries >= _LONG_RUN * max(1, coordinates)


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
    return Tensor(tuple(shape), order, tuple(levels), values)
