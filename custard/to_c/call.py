"""A kernel with its inputs, ready to be called, and the tensor that a call makes."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from custard.ir import cin
from custard.language.commands import WORKSPACES
from custard.language.formats import Format
from custard.scheduling.loops import LoopNest
from custard.to_c.arguments import StoredInput
from custard.to_c.builder import Types
from custard.to_c.compiler_flags import has_threads
from custard.to_c.levels import LEVEL_FUNCTIONS
from custard.to_c.loop_ir import INT
from custard.to_c.loop_ir import Struct as Declared
from custard.to_c.lowered import Lowered
from custard.to_c.structs import Packer, Words, address, taken, words
from custard.to_c.values import concrete
from custard.to_c.workspaces.choice import LOCATED, UNKNOWN, Filling, chosen, described
from sam.inputs import as_tensor
from sam.levels import LEVELS, Level, least_bytes
from sam.support import free_memory
from sam.support.errors import UserError
from sam.tensor import Tensor, made, no_memory

Array = np.ndarray[Any, Any]


class CompiledKernel(Protocol):
    """A compiled kernel: see ``custard.to_c.program.LoadedKernel``."""

    lowered: Lowered
    compute: Any
    release: Any


class Source(Protocol):
    """The program that makes kernels."""

    @property
    def cin(self) -> cin.LoopProgram: ...
    @property
    def formats(self) -> Mapping[str, Format]: ...
    @property
    def nest(self) -> LoopNest: ...
    @property
    def lowered(self) -> Lowered: ...
    def kernel(self, types: Types, formats: Mapping[str, Format]) -> CompiledKernel: ...


class Bound:
    """A program with its inputs: ``run`` computes, ``seconds`` tells how long it takes.

    ``types``    the types that its kernel is specialised for
    ``formats``  of inputs that are stored otherwise than the program declares
    ``stored``   the inputs by slot
    ``extents``  by variable
    ``around``   the tensor that the result is added to; its entries off a diagonal stay
    ``restored``  stores a new array for an input: gives its slots with their new contents
    ``plans``    the plans of earlier calls, by types and extents
    ``asked``    the format that is asked for, of the result
    ``told``     notes on the formats
    ``threads``  how many threads share a loop, if the schedule has a parallel loop
    """

    def __init__(
        self,
        program: Source,
        types: Types,
        formats: Mapping[str, Format],
        stored: Mapping[str, StoredInput],
        extents: Mapping[str, int],
        around: Any,
        restored: Callable[[Bound, str, Any], Mapping[str, StoredInput]],
        plans: dict[Any, Plan],
        asked: Format,
        told: tuple[str, ...] = (),
        threads: int = 1,
    ) -> None:
        self.program, self.types, self.formats = program, types, formats
        self.stored, self.extents, self.around = stored, extents, around
        self._restored, self._plans = restored, plans
        self.asked, self.told, self.threads = asked, told, threads
        self._last: Ready | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out what holds addresses of this process; it is made anew where it is needed."""
        return {**self.__dict__, "_plans": {}, "_last": None}

    @property
    def notes(self) -> tuple[str, ...]:
        """The decisions, and which inputs are converted on their way to the kernel."""
        converted = (
            f"{slot} is converted from {one.converted} on each call, as the kernel reads another "
            "format"
            for slot, one in self.stored.items()
            if one.converted is not None
        )
        return *self.decisions, *converted

    @property
    def decisions(self) -> tuple[str, ...]:
        """Which tensors are stored otherwise than by default, which workspaces serve these inputs,
        and why one thread does the work if several were asked for, in sentences."""
        alone: tuple[str, ...] = ()
        if self.program.lowered.threaded and not has_threads():
            alone = ("the C compiler has no OpenMP: one thread does the work of all",)
        elif self.threads > 1 and not self.program.nest.has_threads:
            alone = (
                "one thread does the work: the schedule shares no loop out, as "
                "parallelize(LOOP,CPUThread,NoRaces) does",
            )
        return *self.told, *self._workspaces(), *alone

    def _workspaces(self) -> Iterator[str]:
        """The workspaces that differ from the program's notes, in sentences."""
        fillings = {one.variables: one for one in self.program.lowered.fillings}
        usual = chosen(fillings.values(), UNKNOWN)
        for variables, policy in self.types.policies.items():
            if usual.get(variables, policy) != policy:
                kind = described(fillings[variables], policy)
                yield f"for these inputs, {self.program.cin.target} goes through {kind}"
        slots = {slot.name: slot for slot in self.program.lowered.slots}
        for name in sorted(self.types.looked_up & {*slots}):
            variable = slots[name].variables[0]
            yield f"for these inputs, {variable} is looked up in an array for {slots[name].tensor}"
        far = self.types.far
        places = (one.variables for one in fillings.values() if one.policy == LOCATED)
        for names in (", ".join(one) for one in places if {*one} & far):
            yield f"for these inputs, nothing is computed first for all {names}"

    @property
    def kernel(self) -> CompiledKernel:
        """The compiled kernel for the inputs."""
        return self._ready.plan.kernel

    @property
    def structs(self) -> Mapping[str, Mapping[str, int]]:
        """The structs of the inputs by slot: the number or the address of each member."""
        plan, arguments, _ = self._ready
        inputs = zip(plan.inputs.items(), arguments, strict=False)
        return {name: packer.unpacked(one) for (name, packer), one in inputs}

    @property
    def _ready(self) -> Ready:
        """What calls the kernel for the present types and inputs."""
        last = self._last
        if last is None or last.plan.types is not self.types or last.stored is not self.stored:
            last = self._last = self._made_ready(self.stored)
        return last

    def _made_ready(self, stored: Mapping[str, StoredInput]) -> Ready:
        key = id(self.types), id(self.extents)
        plan = self._plans.get(key)
        if plan is None or plan.types is not self.types or plan.extents is not self.extents:
            plan = self._plans[key] = Plan(self)
        packers = plan.inputs.items()
        arguments: list[Any] = [one.packed(stored[name].members) for name, one in packers]
        arguments += plan.numbers
        if plan.threaded:
            arguments.append(ctypes.c_int64(self.threads))
        return Ready(plan, arguments, stored)

    def prepare(self) -> None:
        """Compiles the kernel if it is not there yet, so that the first call takes no longer."""
        _ = self._ready

    def run(self, **inputs: Any) -> Tensor:
        """The result. Raises UserError where there is no memory for it.

        ``inputs`` take the place of those that are bound, from this run on; each must have the
        shape and the type of the one before.
        """
        if inputs:
            stored = dict(self.stored)
            for name, value in inputs.items():
                stored |= self._restored(self, name, value)
            self.stored = stored
            self.around = inputs.get(self.program.cin.target.tensor, self.around)
        plan, struct, values = self._computed()
        try:
            return plan.tensor(struct, values, self.around)
        except MemoryError:
            raise plan.too_large() from None

    def _computed(self) -> tuple[Plan, Words, Array | None]:
        """The struct and the values of the result, first with 32-bit indices, and with 64 if they
        are too short; and the plan that has made them."""
        while True:
            ready = self._ready
            plan = ready.plan
            struct, values = plan.empty()
            if not plan.compute(struct, *ready.arguments):
                return plan, struct, values
            if self.types.result == INT or plan.large_workspace is not None:
                raise plan.out_of_memory()
            self.types = replace(self.types, result=INT)

    def seconds(self) -> float:
        """How long the kernel takes, with the assembly of the result, or the zeros that it adds to,
        and without conversions."""
        ready = self._ready
        plan = ready.plan
        begin = time.perf_counter()
        struct, values = plan.empty()
        if not plan.kernel.lowered.on_zeros:
            begin = time.perf_counter()
        status = plan.compute(struct, *ready.arguments)
        took = time.perf_counter() - begin
        if status:
            raise plan.out_of_memory()
        if values is None:
            plan.kernel.release(struct)
        return took


class Ready(NamedTuple):
    """A plan with the arguments for some inputs, which hold the addresses of their arrays."""

    plan: Plan
    arguments: list[Any]
    stored: Mapping[str, StoredInput]


class LevelLayout:
    """Where a level of a result lies in its struct, whose members have some ``places`` and types.

    ``level``   itself, if it has no arrays
    ``arrays``  otherwise: name, place and type of each, and how many elements it has more than the
                level has parents
    """

    def __init__(
        self, code: str, extent: int, n: int, places: Mapping[str, int], types: Mapping[str, str]
    ) -> None:
        self.make, self.extent = LEVELS[code], extent
        self.arrays = [
            (part, places[f"{part}{n}"], np.dtype(types[f"{part}{n}"]), part == "segments")
            for part in LEVEL_FUNCTIONS[code].arrays
        ]
        self.level: Level | None = None if self.arrays else self.make(extent)  # type: ignore[call-arg]

    def taken(self, struct: Words, parents: int) -> tuple[Level, int]:
        """The level below so many positions, and how many it has itself."""
        if self.level is not None:
            return self.level, parents * self.extent
        positions, parts = parents, {}
        for part, place, type, more in self.arrays:
            parts[part] = taken(struct[place], positions + more, type)
            if more:
                positions = int(parts[part][-1])
        return self.make(**parts), positions


class Plan:
    """The data shared by all calls whose inputs agree in types and extents.

    ``inputs``   make the struct of each input, by slot
    ``numbers``  the arguments behind the structs
    ``places``   of the members of the result's struct
    ``levels``   where each level of the result lies in it
    ``empty``    makes the struct of a result, and its values
    ``order``    the modes of these levels; ``shape_of_tensor`` has the extents by mode
    """

    def __init__(self, bound: Bound) -> None:
        self.types = bound.types
        self.kernel = bound.program.kernel(bound.types, bound.formats)
        self.compute = self.kernel.compute
        lowered = self.kernel.lowered
        inputs = lowered.kernel.structs[1:]
        self.inputs = {
            one.name: Packer(
                [name for name, _ in one.fields],
                [name for name, type in one.fields if type.pointer],
            )
            for one in inputs
        }
        self.threaded = lowered.threaded
        self.numbers = [ctypes.c_int64(bound.extents[name]) for name in lowered.numbers]
        fields = lowered.kernel.structs[0].fields
        self.places = _places(lowered.kernel.structs[0])
        types = {name: type.name.removesuffix("_t") for name, type in fields}
        self.shape = [bound.extents[cin.base(v)] for v in lowered.result.variables]
        self.levels = [
            LevelLayout(code, extent, level, self.places, types)
            for level, (code, extent) in enumerate(
                zip(lowered.result.levels, self.shape, strict=True)
            )
        ]
        known = tuple(layout.level for layout in self.levels if layout.level is not None)
        self.known_levels = known if len(known) == len(self.levels) else None
        self.assembles = bool(lowered.kernel.functions)
        self.dtype = concrete(lowered.dtype)
        self.target = bound.program.cin.target
        self.extents = bound.extents
        self.asked = bound.asked
        index = 8 if self.types.result == INT else 4
        self.least_bytes = least_bytes(
            lowered.result.levels, self.shape, index, self.dtype.itemsize
        )
        modes = lowered.result.modes
        stored_in = tuple(mode for group in modes for mode in group)
        # Whether the kernel's result needs no conversion.
        self.whole = all(len(group) == 1 for group in modes) and (
            lowered.result.levels,
            stored_in,
        ) == (self.asked.levels, self.asked.mode_order)
        self.empty = self._empty()
        self.order = stored_in if self.whole else tuple(range(len(self.shape)))
        self.shape_of_tensor = tuple(
            self.shape[self.order.index(mode)] for mode in range(len(self.order))
        )

    def _empty(self) -> Callable[[], tuple[Words, Array | None]]:
        """A function that makes the struct of a result that is still to be computed, with its
        sizes; and its values, if the kernel does not make them itself: zeros, if it needs them.

        All that it needs has a name of its own: to look it up in the plan takes as long again.
        """
        sizes = words(len(self.places))
        for level, extent in enumerate(self.shape):
            sizes[self.places[f"size{level}"]] = extent
        copied, assembles, least = type(sizes).from_buffer_copy, self.assembles, self.least_bytes
        empty = np.zeros if self.kernel.lowered.on_zeros else np.empty
        count, dtype = math.prod(self.shape), self.dtype
        place, lacks, address_of = self.places["values"], free_memory.lacks, address

        def made() -> tuple[Words, Array | None]:
            if lacks(least):
                raise self.too_large()
            struct = copied(sizes)
            if assembles:
                return struct, None
            try:
                values = empty(count, dtype)
            except (MemoryError, ValueError):
                raise self.too_large() from None
            struct[place] = address_of(values)
            return struct, values

        return made

    def tensor(self, struct: Words, values: Array | None, around: Any) -> Tensor:
        """The result, in the format that is asked for if that can hold it.

        ``around``  the tensor that it is added to, None for none
        """
        found = self._assembled(struct, values)
        if self.whole:
            return found
        before = None if around is None else as_tensor(self.target.tensor, around)
        whole = found.spread(self.kernel.lowered.result.modes, before)
        try:
            return whole.convert(self.asked.levels, self.asked.mode_order)
        except UserError:
            return whole  # a singleton level cannot hold it

    def _assembled(self, struct: Words, values: Array | None) -> Tensor:
        """The tensor that a kernel has assembled, level by level."""
        if self.known_levels is not None and values is not None:
            return made(self.shape_of_tensor, self.order, self.known_levels, values)
        levels: list[Level] = []
        positions = 1
        for layout in self.levels:
            level, positions = layout.taken(struct, positions)
            levels.append(level)
        if values is None:
            values = taken(struct[self.places["values"]], positions, self.dtype)
        return made(self.shape_of_tensor, self.order, tuple(levels), values, narrow=self.assembles)

    @property
    def large_workspace(self) -> tuple[Filling, int] | None:
        """The largest dense workspace and its bytes, if the free memory does not hold it."""
        sizes = []
        for one in self.kernel.lowered.fillings:
            names = [cin.base(variable) for variable in one.variables]
            policy = one.policy or self.types.policies[one.variables]
            known = {*names} <= {*self.extents} and not {*names} & self.types.far
            if policy in ("dense", LOCATED) and known:
                places = math.prod(self.extents[name] for name in names)
                sizes.append((places * concrete(one.value.dtype).itemsize, one))
        size, filling = max(sizes, key=lambda found: found[0], default=(0, None))
        return (filling, size) if filling is not None and free_memory.lacks(size) else None

    def out_of_memory(self) -> UserError:
        """The error that a kernel has found no memory: for a large workspace, or for the result."""
        if self.large_workspace is None:
            return self.too_large()
        filling, size = self.large_workspace
        names = ", ".join(filling.variables)
        sparse = ", ".join(policy for policy in WORKSPACES if policy != "dense")
        return UserError(
            f"there is no memory for the dense workspace over {names} that {self.target} goes "
            f"through: it takes {free_memory.in_words(size)}",
            hint=f"one that takes as much as its values: {sparse}, as in precompute(..., W:hash)",
        )

    def too_large(self) -> UserError:
        """The error that there is no memory for the result."""
        if not self.target.variables:
            return UserError(f"there is not enough memory for the temporaries of {self.target}")
        extents = [self.extents[cin.base(v)] for v in self.target.variables]
        return no_memory(str(self.target), extents, str(self.asked))


def _places(struct: Declared) -> dict[str, int]:
    """The place of each member of a struct."""
    return {name: n for n, (name, _) in enumerate(struct.fields)}
