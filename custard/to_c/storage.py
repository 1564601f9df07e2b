"""The storage that a kernel works on: its inputs, its result, and their sizes.

Each access of the program gets a ``Slot``: a tensor stored in some levels, whose order the loops
can follow. A tensor whose own storage they cannot follow is stored anew before the run, and a note
says so. Each level of a slot has ``LevelFunctions``, which write the C that iterates over it or
locates in it. Workspaces add theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from custard.ir import cin
from custard.ir.transposition import transposition
from custard.language.formats import LEVEL_FORMATS, Format, unconditional_levels
from custard.to_c.assembly import Assembly
from custard.to_c.builder import KernelBuilder, Types
from custard.to_c.expression import Operand
from custard.to_c.levels import LEVEL_FUNCTIONS, LevelFunctions, LookedUp
from custard.to_c.loop_ir import Const, Expr, Field, Struct, Var, array
from custard.to_c.values import c_type
from sam.graph import Slot
from sam.subscripts import Affine


class Storage:
    """The storage of one kernel.

    ``completed``   the variables of the program in the order in which the loops bind them
    ``slots``       the inputs, with the names of their parameters
    ``functions``   the level functions of inputs and workspaces, by name and level
    ``values``      the arrays of values of the workspaces
    ``rearranged``  a note for each tensor that is stored anew, with the declaration of the format
                    that avoids it, if there is one
    ``numbers``     the variables whose extents are parameters of their own
    ``result``      the name of the result's parameter, and the variables of its levels
    """

    def __init__(
        self,
        program: cin.LoopProgram,
        formats: Mapping[str, Format],
        types: Types,
        completed: Sequence[str],
        builder: KernelBuilder,
    ) -> None:
        self.program, self.formats, self.types = program, formats, types
        self.completed, self.builder = completed, builder
        self.slots: dict[Slot, str] = {}
        self.functions: dict[tuple[str, int], LevelFunctions] = {}
        self.values: dict[str, Expr] = {}
        self.rearranged: dict[str, str | None] = {}
        self.numbers: dict[str, Var] = {}
        self.result: tuple[str, tuple[str, ...]] = "", ()

    def slot(self, access: cin.Access) -> Slot:
        """The storage that an access wants: its own, unless the loops clash with its order."""
        if isinstance(access, cin.Unit):
            return self._unit(access)
        stored = self.formats[access.tensor]
        order = [access.variables[mode] for mode in stored.mode_order]
        modes: tuple[tuple[int, ...], ...] = tuple((mode,) for mode in stored.mode_order)
        levels = self._turned(access, stored)
        if access in self.program.turned or not self._follows(order, levels):
            variables = [v for v in self.completed if v in order]
            modes = tuple(
                tuple(m for m, v in enumerate(access.variables) if v == variable)
                for variable in variables
            )
            levels = unconditional_levels(levels)
            if len(variables) < len(levels):
                levels = "s" * len(variables)
            self._note_rearrangement(access, modes)
        names = tuple(cin.base(access.variables[group[0]]) for group in modes)
        slot = Slot(access.tensor, access.tensor, levels, modes, names)
        if access.computed:
            slot = replace(slot, computed=_forms(access, modes))
        if slot not in self.slots:
            self._add_slot(slot)
        return replace(slot, name=self.slots[slot])

    def _unit(self, access: cin.Unit) -> Slot:
        """The vector that a unit is."""
        slot = Slot("unit", None, "d", ((0,),), ("",), True, computed=(Affine(""),))
        if slot not in self.slots:
            self._add_slot(slot)
        return replace(slot, name=self.slots[slot])

    def _turned(self, access: cin.Access, stored: Format) -> str:
        """The levels of an access; a level that a loop goes through backwards becomes compressed if
        its format cannot be."""
        for level, mode in enumerate(stored.mode_order):
            form, code = access.form(mode), stored.levels[level]
            turns = LEVEL_FORMATS[code].full or lists_coordinates(code)
            if form is not None and form.scale < 0 and not turns:
                levels = "".join("d" if LEVEL_FORMATS[c].full else "s" for c in stored.levels)
                found = Format(levels, stored.mode_order)
                note = (
                    f"{access}, stored as {stored}, is stored as {found} before the run: its "
                    f"coordinates at {form} are gone through from the last one on"
                )
                self.rearranged[note] = f"{access.tensor}:{found}"
                return levels
        return stored.levels

    def _follows(self, order: Sequence[str], levels: str) -> bool:
        """Whether levels can be gone through in the order of the loops.

        A full level can come at any place; any other has to come after the levels above it.
        """
        place = {variable: n for n, variable in enumerate(self.completed)}
        return all(
            LEVEL_FORMATS[code].full or all(place[before] < place[variable] for before in order[:n])
            for n, (variable, code) in enumerate(zip(order, levels, strict=True))
        )

    def _add_slot(self, slot: Slot) -> None:
        tensor = slot.tensor or ""
        name = self.builder.fresh(tensor or slot.name)
        self.slots[slot] = name
        index = self.types.index(tensor)
        for level, code in enumerate(slot.levels):
            looked_up = level == 0 and name in self.types.looked_up
            make = LookedUp if looked_up else LEVEL_FUNCTIONS[code]
            functions = make(code, name, level, index, self.builder)
            functions.innermost = level == len(slot.levels) - 1
            if slot.form(level) is None:
                functions.known_extent = self.types.extents.get(slot.variables[level])
            self.functions[name, level] = functions

    def value_array(self, operand: Operand) -> Expr:
        """The values of an operand's slot."""
        name = operand.slot.name
        if name in self.values:
            return self.values[name]
        return self.builder.stored(name, "values", array(c_type(operand.dtype)))

    def chains(self) -> list[list[Var]]:
        """By input, the arrays in use that list coordinates in order, and may repeat them: those of
        an entry that have the same position, from the outermost level on. Further in, a loop may
        go through several fibers, and coordinates are in order in each fiber alone."""
        used = {member: var for var, member in self.builder.arrays.items()}
        found: list[list[Var]] = []
        for slot, name in self.slots.items():
            found.append([])
            for level in range(len(slot.levels)):
                functions = self.functions[name, level]
                form = functions.format
                member = Field(name, f"coordinates{level}", array(functions.index))
                if (level and not form.branchless) or not form.ordered or form.unique:
                    break
                if member not in used:
                    break
                found[-1].append(used[member])
        return found

    def result_slot(self) -> Slot:
        """The slot in which the kernel stores the result; other formats are made afterwards."""
        access = self.program.target
        asked = self.formats[access.tensor]
        modes = tuple(
            tuple(m for m, v in enumerate(access.variables) if v == access.variables[mode])
            for mode in asked.mode_order
        )
        kept = tuple(dict.fromkeys(modes))
        levels = written_levels(asked.levels)
        if len(kept) < len(modes):
            full = all(LEVEL_FORMATS[code].full for code in levels)
            levels = ("d" if full else "s") * len(kept)
        variables = tuple(access.variables[group[0]] for group in kept)
        return Slot(access.tensor, access.tensor, levels, kept, variables)

    def input_struct(self, slot: Slot) -> Struct:
        """The parameter for an input."""
        name, tensor = self.slots[slot], slot.tensor or ""
        fields = [
            field
            for level, code in enumerate(slot.levels)
            for field in LEVEL_FUNCTIONS[code].fields(level, self.types.index(tensor))
        ]
        dtype = np.dtype(bool) if slot.tensor is None else self.types.value(tensor)
        fields.append(("values", array(c_type(dtype))))
        return Struct(name, _about(slot), tuple(fields))

    def result_struct(self, slot: Slot, assembly: Assembly) -> Struct:
        """The parameter for the result."""
        return Struct(assembly.name, _about(slot), tuple(assembly.fields()), True)

    def extent(self, variable: str) -> Expr:
        """The number of coordinates of a variable."""
        base = cin.base(variable)
        known = {**self.types.extents, **dict(self.program.fixed)}
        if base in known:
            return Const(known[base])
        name = f"{self.builder.loop_names.get(base, base)}_size"
        for slot, struct in self.slots.items():
            plain = [v if slot.form(n) is None else None for n, v in enumerate(slot.variables)]
            if base in plain:
                level = plain.index(base)
                return self.builder.local(name, Field(struct, f"size{level}"))
        result, variables = self.result
        if base in variables:
            return self.builder.local(name, Field(result, f"size{variables.index(base)}"))
        return self.numbers.setdefault(base, Var(self.builder.fresh(name)))

    def _note_rearrangement(self, access: cin.Access, modes: tuple[tuple[int, ...], ...]) -> None:
        if any(len(group) > 1 for group in modes):
            self.rearranged[f"the diagonal of {access} is taken before the run"] = None
            return
        order = [mode for (mode,) in modes]
        stored = self.formats[access.tensor]
        note, instead = transposition(self.program, access, stored, order)
        self.rearranged[note] = instead

    def level(self, operand: Operand) -> LevelFunctions:
        """The functions of the next level of an operand."""
        return self.functions[operand.slot.name, operand.level]


def lists_coordinates(code: str) -> bool:
    """Whether the coordinates of a fiber stand next to each other in an array, each once."""
    arrays = LEVEL_FUNCTIONS[code].arrays
    return "segments" in arrays and "coordinates" in arrays and LEVEL_FORMATS[code].unique


def _forms(access: cin.Access, modes: Sequence[Sequence[int]]) -> tuple[Affine | None, ...]:
    """The forms of the levels of an access, by the bases of their variables."""
    found = []
    for group in modes:
        form = access.form(group[0])
        names = {} if form is None else {v: cin.base(v) for v in form.variables}
        found.append(None if form is None else form.renamed(names))
    return tuple(found)


def written_levels(levels: str) -> str:
    """The levels in which a kernel writes a result, which are converted to these afterwards."""
    kept = ""
    for code in unconditional_levels(levels):
        form = LEVEL_FORMATS[code]
        in_turn = form.appends and not (form.iterates_words or form.appends_anywhere)
        direct = form.full or (in_turn and form.iterates_positions)
        kept += code if direct else "s"
    return kept


def _about(slot: Slot) -> str:
    """The tensor of a struct and its storage, in words."""
    if slot.tensor is None:
        return "a vector of one place, which holds 1"
    if not slot.levels:
        return f"{slot.tensor}, a number"
    of_mode = {
        mode: variable
        for variable, group in zip(slot.variables, slot.modes, strict=True)
        for mode in group
    }
    variables = ",".join(of_mode[mode] for mode in sorted(of_mode))
    return f"{slot.tensor}({variables}), {storage_of(slot)}"


def storage_of(slot: Slot) -> str:
    """The levels of a slot and the modes that they hold, as in a declaration; empty for a number.

    A level of a diagonal holds several modes.
    """
    order = ",".join(str(mode) for group in slot.modes for mode in group)
    return f"{slot.levels}:{order}" if slot.levels else ""
