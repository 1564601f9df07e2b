"""Cursors of accesses and numbers: references into a tensor, or all points. See ``cursor``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from custard.ir import cin
from custard.language.commands import Command, mistake, require_able
from custard.language.formats import LEVEL_FORMATS, LevelFormat
from custard.to_sam.builder import Builder
from custard.to_sam.cursor import Cursor, Single
from custard.to_sam.streams import Fiber, Payload
from sam.blocks.array import load_values
from sam.blocks.bitvector import pack_coordinates, unpack_words
from sam.blocks.scan import scan_by_words, scan_level
from sam.blocks.subscript import add_affine, scan_level_subsections, scan_level_window
from sam.graph import End, Slot
from sam.subscripts import Affine


@dataclass(frozen=True)
class Leaf(Single):
    """An access or a number: references into its tensor.

    ``variables``  the variables of its levels, in the order of storage
    ``reference``  the references to the fibers of the next level, or to the values
    ``level``      the next level
    ``computed``   by level the form of a computed subscript, None for a plain variable; empty where
                   none is computed
    ``known``      the coordinates of outer variables that the forms of the levels left need
    """

    slot: Slot
    variables: tuple[str, ...]
    reference: Payload
    level: int = 0
    computed: tuple[Affine | None, ...] = ()
    known: tuple[tuple[str, Payload], ...] = ()

    @property
    def payload(self) -> Payload:
        return self.reference

    @property
    def form(self) -> Affine | None:
        """The form of the next level's subscript; None where that is a plain variable."""
        return self.computed[self.level] if self.computed else None

    def needs(self, variable: str) -> bool:
        """Whether a level that is left has a variable as a term of its form."""
        forms = [form for form in self.computed[self.level :] if form is not None]
        return any(variable == name for form in forms for name, _ in form.terms)

    def payloads(self) -> list[Payload]:
        return [self.reference, *(payload for _, payload in self.known)]

    def with_payloads(self, payloads: Sequence[Payload]) -> Leaf:
        reference, *coordinates = payloads
        names = (name for name, _ in self.known)
        known = tuple(zip(names, coordinates, strict=True))
        return replace(self, reference=reference, known=known)

    def repeated(self, builder: Builder, fiber: Fiber) -> Leaf:
        found = self.with_payloads([builder.repeated(one, fiber) for one in self.payloads()])
        return found.knowing(fiber)

    def knowing(self, fiber: Fiber) -> Leaf:
        """The leaf with the coordinates of a fiber, if it needs them."""
        if not self.needs(fiber.variable):
            return self
        own = Payload(fiber.end, "crd", f"{self.slot.name}_{fiber.variable}")
        return replace(self, known=(*self.known, (fiber.variable, own)))

    def below(self, builder: Builder, reference: End, fiber: Fiber) -> Leaf:
        """The leaf one level further in, inside of a fiber over the variable of the level."""
        found = replace(self, reference=self.reference.at(reference), level=self.level + 1)
        known = [(name, one) for name, one in self.known if found.needs(name)]
        moved = tuple((name, builder.repeated(one, fiber)) for name, one in known)
        return replace(found, known=moved).knowing(fiber)

    def reduced(self) -> list[str]:
        """The variables that go through the nonempty subsections of the next level: they are in the
        form of its subscript, and do not resolve it."""
        if self.level == len(self.variables) or self.form is None or self._form.full:
            return []
        known = dict(self.known)
        return [name for name, scale in self.form.terms if scale > 0 and name not in known]

    def offset(self, builder: Builder) -> End | None:
        """The sum of the terms of the next level's form that are known, and its constant; None
        where none is known."""
        form, known = self.form, dict(self.known)
        if form is None:
            return None
        terms = [(scale, known[name].end) for name, scale in form.terms if name in known]
        name = f"offset_{self.slot.name}_{form.variable}"
        return add_affine(builder.graph, name, terms, form.constant) if terms else None

    def is_next(self, variable: str) -> bool:
        """Whether the next level is that of a variable."""
        return variable in self.variables[self.level : self.level + 1]

    def variables_left(self) -> Collection[str]:
        return [*self.variables[self.level :], *self.reduced()]

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        if variable in self.reduced():
            return self._descend_subsections(builder, variable)
        if not self.is_next(variable):
            return None
        if self.form is not None:
            return self._descend_window(builder, variable)
        if self._forced(builder, variable, "bitvector") and self._form.iterates_words:
            builder.in_words.add((self.slot.tensor, cin.base(variable)))
            words = scan_by_words(builder.graph, *self._scan(variable))
            scanned = unpack_words(builder.graph, f"unpack_{variable}", words.crd, words.ref)
        else:
            choice = self._choice(builder, variable)
            skips = choice is not None and self._forced(builder, variable, "skip")
            scanned = scan_level(builder.graph, *self._scan(variable))
            if choice is not None and skips:
                builder.skipping[scanned.crd.node] = choice
        self._note_conversion(builder, variable)
        fiber = Fiber(variable, scanned.crd, self._nonempty(builder), self._form.full)
        return fiber, self.below(builder, scanned.ref, fiber)

    def _descend_window(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor]:
        """The values of a variable that the coordinates of the next level stand for."""
        choice, form = self._choice(builder, variable), self.form
        assert form is not None
        if choice is not None and choice.name == "skip":
            raise mistake(
                choice,
                f"{self.slot.tensor} cannot be skipped through at {variable}: its subscript {form} "
                "is computed, and a window scanner takes no skips",
            )
        scanned = scan_level_window(
            builder.graph,
            *self._scan(variable),
            form,
            cin.base(variable),
            self.offset(builder),
        )
        self._note_conversion(builder, variable)
        fiber = Fiber(variable, scanned.crd)
        return fiber, self.below(builder, scanned.ref, fiber)

    def _descend_subsections(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor]:
        """The values of a variable whose subsections of the next level are not empty."""
        form, known = self.form, dict(self.known)
        assert form is not None
        coefficients, offset = form.coefficients(), self.offset(builder)
        others = [
            (cin.base(name), scale)
            for name, scale in coefficients.items()
            if name != variable and name not in known
        ]
        scanned = scan_level_subsections(
            builder.graph,
            f"subsections_{self.slot.name}_{variable}",
            self.slot.name,
            self.level,
            self.reference.end,
            (cin.base(variable), coefficients[variable]),
            others,
            form.constant if offset is None else 0,
            offset,
        )
        self._note_conversion(builder, variable)
        fiber = Fiber(variable, scanned.crd)
        moved = tuple((name, builder.repeated(one, fiber)) for name, one in self.known)
        leaf = replace(self, reference=self.reference.at(scanned.ref), known=moved)
        return fiber, leaf.knowing(fiber)

    def has_words(self, builder: Builder, variable: str) -> bool:
        """Whether the level can be scanned by words: it has words, or is compressed and the
        schedule asks for it, and no coordinates are needed further in."""
        if not self.is_next(variable) or not self.slot.tensor or self.form is not None:
            return False
        if self.known or self.needs(variable):  # coordinates have to go along
            return False
        wanted = self._choice(builder, variable) is None and self._form.iterates_words
        return self._forced(builder, variable, "bitvector") or wanted

    def descend_in_words(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor]:
        builder.in_words.add((self.slot.tensor, cin.base(variable)))
        if self._form.iterates_words:
            words = scan_by_words(builder.graph, *self._scan(variable))
        else:
            scanned = scan_level(builder.graph, *self._scan(variable))
            name = f"pack_{self.slot.name}_{variable}"
            words = pack_coordinates(builder.graph, name, scanned.crd, scanned.ref)
        fiber = Fiber(variable, words.crd, self._nonempty(builder), in_words=True)
        return fiber, self.below(builder, words.ref, fiber)

    def locates(self, builder: Builder, variable: str) -> bool:
        """Whether the coordinates of a variable are located.

        Full levels are located, as they have every coordinate, unless the schedule forces
        otherwise.
        """
        if not self.is_next(variable) or not self.slot.tensor:
            return False
        return self._forced(builder, variable, "locate") or (
            self._choice(builder, variable) is None and self._form.full
        )

    def has_window(self, builder: Builder, variable: str) -> bool:
        return (
            self.is_next(variable) and self.form is not None and not self.locates(builder, variable)
        )

    def is_found(self, builder: Builder, variable: str) -> bool:
        """Whether single coordinates of a variable can be located, and the schedule allows it."""
        return (
            self.is_next(variable)
            and self.slot.tensor is not None
            and self.form is None
            and self._choice(builder, variable) is None
        )

    def is_sorted(self) -> bool:
        """Whether the next level lists its coordinates in order."""
        return self._form.ordered

    def value(self, builder: Builder) -> End:
        slot = self.slot.name
        return load_values(builder.graph, f"array_{slot}", slot, self.reference.end)

    @property
    def _form(self) -> LevelFormat:
        """The format of the next level."""
        return LEVEL_FORMATS[self.slot.levels[self.level]]

    def _scan(self, variable: str) -> tuple[str, str, int, End]:
        """The arguments of a scanner of the next level."""
        slot = self.slot.name
        return f"scan_{slot}_{variable}", slot, self.level, self.reference.end

    def _choice(self, builder: Builder, variable: str) -> Command | None:
        """The command for the next level, whose variable this is."""
        return builder.choices.get((self.slot.tensor or "", cin.base(variable)))

    def _forced(self, builder: Builder, variable: str, name: str) -> bool:
        """Whether the schedule forces the choice ``name``; raises UserError if it cannot."""
        choice = self._choice(builder, variable)
        if choice is None or choice.name != name:
            return False
        require_able(self._form, choice)
        return True

    def _note_conversion(self, builder: Builder, variable: str) -> None:
        """Notes the iterator conversion in the scanner of a level (formats paper, Section 4.3)."""
        tensor, form = self.slot.tensor, self._form
        if not form.ordered:
            builder.note(
                f"{tensor} is sorted on the fly at {variable}: its level there is {form.name}"
            )
        if not form.unique:
            note = f"duplicates of {tensor} are joined on the fly at {variable}: "
            builder.note(f"{note}its level there is {form.name}")

    def _nonempty(self, builder: Builder) -> bool:
        """Whether no fiber of the next level is empty.

        A level that is not padded stores a coordinate only with something below it.
        """
        above = self.slot.levels[self.level - 1 : self.level]
        if self._form.full:
            return builder.assume_nonempty(self.slot.variables[self.level])
        if self._form.branchless and self._form.compact:
            return True
        return above != "" and not LEVEL_FORMATS[above].padded


@dataclass(frozen=True)
class Everywhere(Leaf):
    """No tensor, but all points over some variables."""

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        if variable not in self.variables:
            return None
        fiber, references = builder.dimension(variable, self.reference.end)
        return fiber, self.with_payloads([self.reference.at(references)])


@dataclass(frozen=True)
class Divisor(Leaf):
    """A number that a part is divided by. It is there also where that part is not: 0 / 2 is 0, and
    0 / 0 is not."""

    def value(self, builder: Builder) -> End:
        slot = self.slot.name
        return load_values(builder.graph, f"array_{slot}", slot, self.reference.end, True)
