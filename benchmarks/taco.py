"""Kernels of TACO, the published compiler, called in this process.

Its command ``taco`` (https://github.com/tensor-compiler/taco; the source is also in the package
``tensora-taco`` of PyPI) prints C for an expression in some formats, here without a schedule. The C
is compiled for this machine, with TACO's own flags, and called on the arrays of our tensors:
``evaluate``, which assembles the result and computes its values, or ``assemble`` and ``compute``.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from custard.language.formats import Format
from sam.support import c_compiler as cc
from sam.support.errors import UserError
from sam.tensor import Tensor

FLAGS = ("-O3", "-ffast-math", "-std=c99", "-march=native", "-fPIC", "-shared", "-w")
_FREE = ctypes.CDLL(None).free
_FREE.argtypes = [ctypes.c_void_p]


class Refused(Exception):
    """TACO has no kernel for a program, or one that crashes or takes too long."""


class _CTensor(ctypes.Structure):
    """``taco_tensor_t`` of the C that TACO prints."""

    _fields_ = (
        ("order", ctypes.c_int32),
        ("dimensions", ctypes.c_void_p),
        ("csize", ctypes.c_int32),
        ("mode_ordering", ctypes.c_void_p),
        ("mode_types", ctypes.c_void_p),
        ("indices", ctypes.c_void_p),
        ("vals", ctypes.c_void_p),
        ("fill_value", ctypes.c_void_p),
        ("vals_size", ctypes.c_int32),
    )


class _Argument:
    """A tensor as TACO's C has it; with no arrays but extents for a result."""

    def __init__(self, form: Format, shape: tuple[int, ...], tensor: Tensor | None = None) -> None:
        self.form, self.shape = form, shape
        self.slots = np.zeros((len(form.levels), 2), np.uintp)
        rows = np.uintp(self.slots.ctypes.data) + self.slots.strides[0] * np.arange(
            len(self.slots), dtype=np.uintp
        )
        extents = np.array(shape, np.int32)
        order = np.array(form.mode_order, np.int32)
        self.kept = [rows, extents, order]
        self.c = _CTensor(
            len(shape), extents.ctypes.data, 64, order.ctypes.data, None, rows.ctypes.data
        )
        if tensor is not None:
            for slots, level in zip(self.slots, tensor.levels, strict=True):
                for at, name in enumerate(("segments", "coordinates")):
                    if hasattr(level, name):
                        array = np.ascontiguousarray(getattr(level, name), np.int32)
                        self.kept.append(array)
                        slots[at] = array.ctypes.data
            values = np.ascontiguousarray(tensor.values, np.float64)
            self.kept.append(values)
            self.c.vals, self.c.vals_size = values.ctypes.data, values.size

    def release(self) -> None:
        """Frees the arrays of a result."""
        for place in (*self.slots[self.slots != 0].tolist(), self.c.vals):
            _FREE(place)
        self.slots[:] = 0

    def read(self) -> Tensor:
        """The result that a kernel has stored."""
        parents = np.zeros(1, np.int64)
        coordinates: list[np.ndarray] = []
        extents = [self.shape[mode] for mode in self.form.mode_order]
        for level, extent, slots in zip(
            self.form.levels, extents, self.slots.tolist(), strict=True
        ):
            if level == "d":
                counts = np.full(len(parents), extent)
                begins = parents * extent
            elif level == "q":
                counts, begins = np.ones(len(parents), np.int64), parents
            else:
                segments = _array(slots[0], parents.max(initial=-1) + 2, ctypes.c_int32)
                counts = np.diff(segments)[parents]
                begins = segments[parents].astype(np.int64)
            coordinates = [np.repeat(one, counts) for one in coordinates]
            starts = np.repeat(begins - (np.cumsum(counts) - counts), counts)
            parents = starts + np.arange(counts.sum())
            stored = parents - np.repeat(begins, counts)
            if level != "d":
                stored = _array(slots[1], parents.max(initial=-1) + 1, ctypes.c_int32)[parents]
            coordinates.append(stored)
        values = _array(self.c.vals, parents.max(initial=-1) + 1, ctypes.c_double)[parents]
        modes = np.argsort(self.form.mode_order)
        places = np.array([coordinates[level] for level in modes]).reshape(len(modes), len(values))
        return Tensor.from_coo(places, values, self.shape)


def _array(place: int, count: int, kind: type[ctypes._SimpleCData]) -> np.ndarray:
    if count == 0:
        return np.zeros(0, kind)
    return np.ctypeslib.as_array(ctypes.cast(place, ctypes.POINTER(kind)), (int(count),))


class Kernel:
    """TACO's kernel of an expression, bound to its inputs; raises Refused.

    ``functions`` are called, one after the other; ``most`` is the seconds that the first time may
    take.
    """

    def __init__(
        self,
        command: str,
        expression: str,
        formats: Mapping[str, Format],
        inputs: Mapping[str, Tensor],
        shape: tuple[int, ...],
        most: float,
        functions: tuple[str, ...] = ("evaluate",),
    ) -> None:
        source = _source(command, expression, formats)
        found = re.search(r"^int evaluate\((.*)\) \{", source, re.MULTILINE)
        if found is None:
            raise Refused("it prints no kernel")
        target, *operands = re.findall(r"taco_tensor_t \*(\w+)", found[1])
        self.result = _Argument(formats[target], shape)
        stored = {
            name: inputs[name].convert(formats[name].levels, formats[name].mode_order)
            for name in operands
        }
        self.arguments = [self.result] + [
            _Argument(formats[name], one.shape, one) for name, one in stored.items()
        ]
        try:
            [library] = cc.build([source], flags=FLAGS)
        except UserError as error:
            raise Refused("its C does not compile") from error
        self._functions = [getattr(library, name) for name in functions]
        self._places = [ctypes.byref(one.c) for one in self.arguments]
        self._filled = False
        self._try(most)

    def __call__(self) -> None:
        """Computes the result; the one before must have been released."""
        for function in self._functions:
            function(*self._places)
        self._filled = True

    def release(self) -> None:
        """Frees the result of the last call."""
        if self._filled:
            self.result.release()
            self._filled = False

    def _try(self, most: float) -> None:
        """A call in a process of its own, which may crash or go on for ever."""
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, most)
            self()
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            slow = status == -signal.SIGALRM
            raise Refused(f"its kernel takes more than {most:.1f} s" if slow else "it crashes")


def _source(command: str, expression: str, formats: Mapping[str, Format]) -> str:
    """The C that TACO prints."""
    told = [f"-f={name}:{form.levels}:{','.join(map(str, form.mode_order))}"
            for name, form in formats.items() if form.levels]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.c"
        line = [command, expression, *told, "-print-nocolor", f"-write-source={path}"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60)
        if done.returncode or not path.exists():
            raise Refused((done.stderr or done.stdout).strip().split("\n")[0] or "it crashes")
        return path.read_text()
