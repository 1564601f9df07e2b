"""Programs on target ``c``: kernels made for the types of their inputs, and compiled."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod
from numbers import Integral
from types import SimpleNamespace
from typing import Any

from custard.ir import cin
from custard.language.formats import Format, are_full
from custard.program import Program
from custard.scheduling.bounds import require_bounds, require_few_pairs
from custard.scheduling.loops import LoopNest
from custard.to_c.arguments import (
    NUMBERS,
    StoredInput,
    Tensors,
    is_steady,
    stored,
    types_of,
)
from custard.to_c.blocks import block_extents
from custard.to_c.builder import Types
from custard.to_c.call import Bound, Plan
from custard.to_c.compiler_flags import FLAGS, flags_for
from custard.to_c.factored import factored_for
from custard.to_c.header import documented
from custard.to_c.linked import CFiles, linked
from custard.to_c.lookups import candidates, looked_up
from custard.to_c.loop_ir import INT
from custard.to_c.loop_order import in_place_for
from custard.to_c.lowered import Lowered
from custard.to_c.lowering import lower
from custard.to_c.printer import printed
from custard.to_c.verify import verify
from custard.to_c.workspaces.choice import (
    LOCATED,
    MOST_PLACES,
    Sizes,
    chosen,
    pays,
    positions,
    spreads,
)
from sam.graph import Slot
from sam.inputs import extents, require_inputs
from sam.support import c_compiler as cc
from sam.support.errors import UserError, one_of
from sam.support.kept_memory import keep_freed
from sam.tensor import Tensor


@dataclass(frozen=True, repr=False)
class CProgram(Program):
    """A program on target ``c``.

    ``header``   the first lines of the C file
    ``lowered``  its kernel for inputs of float64 with int32 indices
    ``nest``     the loops that its schedule makes
    ``flags``    of the C compiler; those that it does not know are left out
    ``told``     notes for the user of a bound program
    ``kernels``  the compiled kernels, by their specialisation
    ``plans``, ``known``  results of earlier calls that later ones use again
    """

    header: tuple[str, ...]
    lowered: Lowered
    nest: LoopNest
    flags: tuple[str, ...] = FLAGS
    told: tuple[str, ...] = ()
    kernels: dict[Any, LoadedKernel] = field(default_factory=dict, compare=False, repr=False)
    plans: dict[Any, Plan] = field(default_factory=dict, compare=False, repr=False)
    known: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    target = "c"

    def described(self) -> dict[str, Any]:
        compiler = cc.available() and " ".join(cc.compiler())
        return {"compiler": compiler, "flags": list(self.flags)}

    def shown(self) -> dict[str, Any]:
        return {"source": self.source}

    def __getstate__(self) -> dict[str, Any]:
        """The state without the kernels, which belong to this process."""
        return {**self.__dict__, "kernels": {}, "plans": {}, "known": {}}

    @property
    def slots(self) -> tuple[Slot, ...]:
        return self.lowered.slots

    @cached_property
    def _input_names(self) -> frozenset[str]:
        return frozenset(slot.tensor for slot in self.slots if slot.tensor is not None)

    @property
    def identity(self) -> str:
        return printed(replace(self.lowered.kernel, header=()))

    @property
    def rearranged(self) -> bool:
        return bool(self.lowered.rearranged)

    @property
    def source(self) -> str:
        """The C file, for inputs of float64 with int32 indices.

        ``kernel`` has the source for other inputs.
        """
        return printed(documented(self.lowered, flags_for(self.lowered, self.flags)))

    def linkable(self, prefix: str = "", types: Types | None = None) -> CFiles:
        """The C file as other programs link it, and its header for C and C++.

        For inputs of float64 with int32 indices, or of the ``types`` of a bound program.

        The names of all functions and structs begin with ``prefix`` and ``_``. A result that is
        assembled has ``assemble`` and ``recompute`` beside ``compute``
        (``custard.to_c.linked``). Raises UserError for a prefix that is no name.
        """
        # Others link it to inputs of any extents.
        types = Types() if types is None else replace(types, extents={})
        lowered = self._lower(self.formats, types)
        placed = self._lower(self.formats, types, in_place=True) if lowered.threaded else lowered
        flags = flags_for(lowered, self.flags)
        return linked(lowered, placed.kernel, flags, prefix, self.drop_zeros)

    def run(self, inputs: Mapping[str, Any] | None = None, threads: int | None = None) -> Tensor:
        """The result for inputs given by name: numpy, scipy.sparse, ``sam.Tensor``, numbers.

        ``threads`` share the loops that the schedule parallelizes, as many as there are CPUs unless
        told. Raises UserError.
        """
        return self.bind(inputs, threads).run()

    def bind(self, inputs: Mapping[str, Any] | None = None, threads: int | None = None) -> Bound:
        """The program with its inputs, ready to run, and to be run again.

        Raises UserError for inputs that do not fit, and for a number of threads that is none.
        """
        if threads is not None or self.lowered.threaded:
            threads = number_of_threads(threads)
        given = {} if inputs is None else inputs
        if not isinstance(given, dict) or given.keys() != self._input_names:
            require_inputs(self.slots, given)
        tensors = Tensors(given)
        shapes = {n: _shape(n, x, tensors) for n, x in given.items()}
        decided = self._decisions(shapes, given, tensors)
        if decided.program is not self:
            return decided.program.bind(inputs, threads)
        if self.nest.bounds:
            require_bounds(self.nest.bounds, self.cin, decided.extents, tensors)
        slots = decided.lowered.slots
        kept = {slot.name: stored(slot, given, tensors) for slot in slots}
        types = self._types(decided, kept)
        if types.result == INT:  # some indices have 64 bits
            for slot in slots:
                kept[slot.name] = kept[slot.name].widened(types.index(slot.tensor or ""))
        target = self.cin.target.tensor
        return Bound(
            self,
            types,
            decided.formats,
            kept,
            decided.extents,
            given[target] if self.cin.accumulates else None,
            partial(_restored, slots, shapes),
            self.plans,
            decided.asked,
            (*decided.told, *self._filled(decided, kept, shapes))
            if decided.large
            else decided.told,
            threads or 1,
        )

    def _decisions(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        given: Mapping[str, Any],
        tensors: Mapping[str, Tensor],
    ) -> Decisions:
        """What the shapes and the classes of inputs decide. Raises UserError."""
        key = "decided", *shapes.items(), *map(type, given.values())
        found: Decisions | None = self.known.get(key)
        if found is None:
            found = self._decisions_for(shapes, given, tensors)
            self._remember(key, found)
        return found

    def _decisions_for(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        given: Mapping[str, Any],
        tensors: Mapping[str, Tensor],
    ) -> Decisions:
        shaped = {name: SimpleNamespace(shape=shape) for name, shape in shapes.items()}
        names = map(cin.base, self.cin.loops)
        by_variable = extents(self.slots, shaped, self.dims, names, (), self.cin.spans)
        if self.nest.derivations:
            require_few_pairs(self.nest.derivations, by_variable)
        target = self.cin.target
        sizes = {target.tensor: tuple(by_variable[cin.base(v)] for v in target.variables), **shapes}
        far = self._far_rows(sizes)
        dense = self.dense_arrays(given, tensors) if self.undeclared else {}
        other = {**far, **dense}
        formats = {**self.formats, **other}
        program, lowered = self, self.lowered
        if self.cin.whole is not None or self.cin.target in self.cin.turned:
            program = self._suited(formats, by_variable)
        if other and program is self:
            lowered = self._lower(formats, Types())
        told = tuple(
            f"{name} is stored as {form}, as it has too many rows for an array of all of them"
            for name, form in far.items()
            if name not in dense
        )
        large = tuple(
            name
            for name, size in sizes.items()
            if name in self.undeclared
            if not are_full(formats[name].levels) and prod(size) >= _LARGE
        )
        asked = far.get(target.tensor, self.formats[target.tensor])
        listed = candidates(lowered.slots, self.cin.loops) if self.nest.is_plain else {}
        notes = *self.told, *told
        return Decisions(program, lowered, other, by_variable, asked, large, listed, notes)

    def _suited(self, formats: Mapping[str, Format], by_variable: Mapping[str, int]) -> CProgram:
        """The program with the products, or the place of its result, that suit inputs of some
        formats and extents."""
        program, notes = factored_for(self.cin, formats, by_variable)
        if program is not self.cin:
            return self._with(replace(program, whole=None), notes)
        program, notes = in_place_for(self.cin, self.formats, by_variable)
        return self if program is self.cin else self._with(program, notes)

    def _with(self, program: cin.LoopProgram, notes: Sequence[str]) -> CProgram:
        """The program with its products split, or its loops ordered, in another way."""
        key = "other", str(program)
        found: CProgram | None = self.known.get(key)
        if found is None:
            nest = LoopNest(tuple(dict.fromkeys(map(cin.base, program.loops))))
            lowered = lower(
                program, self.formats, self.choices, Types(), self.header, self.drop_zeros, nest
            )
            told = tuple(f"for these inputs, {note}" for note in notes)
            made = replace(self, cin=program, lowered=lowered, nest=nest, told=told)
            found = replace(made, kernels={}, plans={}, known={})
            self._remember(key, found)
        return found

    def _far_rows(self, sizes: Mapping[str, Sequence[int]]) -> dict[str, Format]:
        """The formats of matrices without a declared format that have too many rows for CSR."""
        return {
            name: Format("ss", (0, 1))
            for name, size in sorted(sizes.items())
            if name in self.undeclared and len(size) == 2 and size[0] > MOST_PLACES
        }

    def _filled(
        self,
        decided: Decisions,
        kept: Mapping[str, StoredInput],
        shapes: Mapping[str, tuple[int, ...]],
    ) -> list[str]:
        """A note on the large tensors without a declared format that are stored compressed, and
        have a value at every place: inputs, and a result of which no operand lacks a place."""
        target = self.cin.target
        whole = [
            (slot.tensor, len(kept[slot.name].members["values"]) == prod(shapes[slot.tensor]) > 0)
            for slot in decided.lowered.slots
            if slot.tensor is not None
        ]
        plain = len({*target.variables}) == len(target.variables) and not self.cin.spans
        if plain and whole and all(filled for _, filled in whole):
            whole.append((target.tensor, True))
        names = [name for name, filled in dict(whole).items() if filled and name in decided.large]
        formats = {**self.formats, **decided.formats}
        dense = ", ".join(f"{name}:{'d' * len(formats[name].levels)}" for name in names)
        return [f"{dense} would take less time: every place has a value"] if names else []

    def _types(self, decided: Decisions, kept: Mapping[str, StoredInput]) -> Types:
        """The types that the kernel for inputs is specialised for."""
        lowered, extents, slots = decided.lowered, decided.extents, decided.lowered.slots
        gathered = slots if lowered.gathers else ()
        steady = [slot.tensor or "" for slot in gathered if is_steady(slot, kept[slot.name])]
        policies, wide, far = self._workspaces(lowered, kept, extents)
        small = block_extents(slots, kept, extents) if self.nest.is_plain else {}
        sought = looked_up(decided.listed, kept) if decided.listed else frozenset()
        facts = (*steady,), wide, far, sought, *policies.items(), *small.items()
        # A slot has indices or none, and those of 64 bits are told by the type.
        key = *facts, *((one.dtype, one.index is INT) for one in kept.values())
        found = self.known.get(key)
        if found is None:
            types = types_of(slots, kept)
            found = replace(
                types,
                steady=frozenset(steady),
                wide=wide,
                far=far,
                policies=policies,
                extents=small,
                looked_up=sought,
            )
            self._remember(key, found)
        return found

    def _workspaces(
        self, lowered: Lowered, kept: Mapping[str, StoredInput], extents: Mapping[str, int]
    ) -> tuple[dict[tuple[str, ...], str], bool, frozenset[str]]:
        """The workspaces for inputs, whether their keys are wide, and the variables of vectors for
        which nothing is computed first."""
        if not lowered.fillings:
            return {}, False, frozenset()
        counts = {one.name: positions(one, kept[one.name].members) for one in lowered.slots}
        apart = {name: spreads(kept[name].members, count) for name, count in counts.items()}
        # Inputs of about the same sizes have the same workspaces, which need not be chosen again.
        key = "workspaces", id(lowered), *extents.values(), *counts.values(), *apart.values()
        known, found = self.known.get(key, (None, None))
        if known is not lowered:
            sizes = Sizes(extents, counts, apart)
            policies = chosen(lowered.fillings, sizes)
            wide = _needs_wide_keys(lowered, policies, extents)
            firsts = [one for one in lowered.fillings if one.policy == LOCATED]
            far = frozenset(v for one in firsts if not pays(one, sizes) for v in one.variables)
            found = policies, wide, far
            self._remember(key, (lowered, found))
        return found

    def _remember(self, key: Any, found: Any) -> None:
        """Keeps a result for later calls; old ones are dropped."""
        if len(self.known) >= _MOST_KNOWN:
            self.known.clear()
            self.plans.clear()
        self.known[key] = found

    def _lower(
        self, formats: Mapping[str, Format], types: Types, in_place: bool = False
    ) -> Lowered:
        header, dropped = self.header, self.drop_zeros
        return lower(self.cin, formats, self.choices, types, header, dropped, self.nest, in_place)

    def kernel(self, types: Types, formats: Mapping[str, Format] | None = None) -> LoadedKernel:
        """The compiled kernel for inputs of some types, and of other formats than declared."""
        formats = formats or {}
        key = (
            tuple(sorted((n, t.name) for n, t in types.values.items())),
            tuple(sorted((n, t.name) for n, t in types.indices.items())),
            types.result.name,
            types.steady,
            types.wide,
            types.far,
            tuple(types.policies.items()),
            tuple(types.extents.items()),
            types.looked_up,
            tuple(sorted((n, str(f)) for n, f in formats.items())),
            self.flags,
        )
        if key not in self.kernels:
            lowered = self._lower({**self.formats, **formats}, types)
            self.kernels[key] = LoadedKernel(lowered, self.flags)
        return self.kernels[key]


@dataclass(frozen=True)
class Decisions:
    """What the shapes and the classes of inputs decide.

    ``program``  the one that computes them: the same, or one with other products or loops
    ``lowered``  the kernel for its inputs, of float64 with int32 indices
    ``formats``  of tensors that are stored otherwise than the program declares
    ``extents``  by variable
    ``asked``    the format that is asked for, of the result
    ``large``    the large tensors without a declared format that are stored compressed
    ``listed``   the inputs that may be looked up (``lookups.candidates``)
    ``told``     notes on the formats
    """

    program: CProgram
    lowered: Lowered
    formats: Mapping[str, Format]
    extents: Mapping[str, int]
    asked: Format
    large: tuple[str, ...]
    listed: Mapping[str, Sequence[tuple[str, int]]]
    told: tuple[str, ...]


_MOST_KNOWN = 256
# From how many values on the format of a tensor without zeros is worth a note.
_LARGE = 4096

# More threads would only wait for one another.
_MOST_THREADS = 1024


def number_of_threads(asked: int | None) -> int:
    """How many threads share a loop: those asked for, or one for each CPU of this process.

    Raises UserError unless that is a number of threads.
    """
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    whole = isinstance(asked, Integral) and not isinstance(asked, bool)
    if not whole or not 1 <= asked <= _MOST_THREADS:
        raise UserError(f"threads is {asked!r}, not a whole number from 1 to {_MOST_THREADS}")
    return int(asked)


def _shape(name: str, value: Any, tensors: Tensors) -> tuple[int, ...]:
    """The shape of an input."""
    found: tuple[int, ...] | None = getattr(value, "shape", None)
    return found or (() if type(value) in NUMBERS else tensors[name].shape)


def _needs_wide_keys(
    lowered: Lowered, policies: Mapping[tuple[str, ...], str], extents: Mapping[str, int]
) -> bool:
    """Whether the coordinates of a sparse workspace need a key of more than 64 bits."""
    bits = [
        sum(extents[variable].bit_length() for variable in one.variables)
        for one in lowered.fillings
        if (one.policy or policies[one.variables]) not in ("dense", LOCATED)
    ]
    if max(bits, default=0) > 127:
        raise UserError("the extents of the result are too large for a sparse workspace")
    return max(bits, default=0) > 63


class LoadedKernel:
    """A compiled kernel."""

    def __init__(self, lowered: Lowered, flags: tuple[str, ...]) -> None:
        verify(lowered.kernel)
        if not lowered.threaded:  # threads grow their parts of a result faster in new memory
            keep_freed()
        self.lowered = lowered = lowered.for_zeros()
        flags = flags_for(lowered, flags)
        self.source = printed(documented(lowered, flags))
        (library,) = cc.build([self.source], flags=cc.supported(flags))
        self.compute, self.release = library.compute, library.release
        self.compute.restype = ctypes.c_int


def _restored(
    slots: Sequence[Slot],
    shapes: Mapping[str, tuple[int, ...]],
    bound: Bound,
    name: str,
    value: Any,
) -> dict[str, StoredInput]:
    """The slots of an input with a new value for it; raises UserError."""
    if name not in shapes:
        raise UserError(f"the program has no input {name}", hint=one_of(name, shapes))
    tensors = Tensors({name: value})
    shape = tuple(_shape(name, value, tensors))
    if shape != tuple(shapes[name]):
        raise UserError(
            f"{name} is bound with the shape {tuple(shapes[name])}, and the new one has {shape}",
            hint="bind it anew",
        )
    found = {}
    for slot in slots:
        if slot.tensor == name:
            one = stored(slot, {name: value}, tensors).widened(bound.types.index(name))
            old = bound.stored[slot.name]
            if one.dtype != old.dtype or (
                one.index is not None and one.index != bound.types.index(name)
            ):
                raise UserError(
                    f"{name} is bound with values or indices of another type", hint="bind it anew"
                )
            found[slot.name] = one
    return found
