"""The kinds of cursors: accesses, products, sums, and computed streams. See ``cursor``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from custard.ir import cin
from custard.language.commands import Command, mistake, require_able
from custard.language.formats import LEVEL_FORMATS, LevelFormat
from custard.to_sam.builder import Builder
from custard.to_sam.cursor import Composite, Cursor, Single, shared_out
from custard.to_sam.iteration import computed
from custard.to_sam.streams import Fiber, Nest, Payload
from sam.blocks.alu import compute
from sam.blocks.array import load_values
from sam.blocks.bitvector import pack_coordinates, unpack_words
from sam.blocks.merge import INTERSECTION, UNION, Merger
from sam.blocks.scan import scan_by_words, scan_level
from sam.blocks.subscript import add_affine, scan_level_subsections, scan_level_window
from sam.graph import End, Slot
from sam.subscripts import Affine


def cursor(builder: Builder, node: cin.Expression) -> Cursor:
    """A cursor over an expression, at the root of its tensors."""

    def parts(*nodes: cin.Expression) -> tuple[Cursor, ...]:
        return tuple(cursor(builder, one) for one in nodes)

    match node:
        case cin.Access():
            variables = tuple(v for v in builder.program.loops if v in node.variables)
            slot = builder.slot(node, variables)
            forms = tuple(node.form(node.variables.index(variable)) for variable in variables)
            computed = forms if any(forms) else ()
            return Leaf(slot, variables, Payload(builder.root, "ref", slot.name), 0, computed)
        case cin.Literal(value):
            slot = builder.number(value)
            return Leaf(slot, (), Payload(builder.root, "ref", slot.name))
        case cin.Multiply((cin.Mask() as mask, *rest)):
            return ProductCursor(parts(mask, *rest), 1)  # the values are those of what is masked
        case cin.Multiply() | cin.Add():
            operands, formula = _formula(node)
            if isinstance(node, cin.Add):
                return UnionCursor(parts(*operands), formula)
            if any(map(cin.divides, operands)):
                return Whole((*parts(*operands), _everywhere(builder, node)), formula)
            return ProductCursor(parts(*operands), formula)
        case cin.Negate(operand):
            return NegationCursor(parts(operand))
        case cin.Divide(numerator, cin.Literal(value) as denominator) if value:
            return ProductCursor(parts(numerator, denominator), ("divide", 0, 1))
        case cin.Divide(numerator, denominator):
            quotient = parts(numerator, denominator)
            return Whole((*quotient, _everywhere(builder, node)), ("divide", 0, 1))
        case cin.Reduce(variables, operand):
            free = cin.free_variables(node)
            left = tuple(v for v in builder.program.loops if v in free or v in variables)
            total = SumCursor(parts(operand), variables, left)
            return total if free else total.computed(builder)
    raise AssertionError(node)


# How values are computed of those of some operands: the number of one, or an operation on others.
Formula: TypeAlias = int | tuple[Any, ...]


def _formula(node: cin.Add | cin.Multiply) -> tuple[list[cin.Expression], Formula]:
    """The operands of a sum or a product, which all meet in one merge, and how it is computed.

    Operands that are bracketed or subtracted are computed by themselves.
    """
    operands: list[cin.Expression] = []

    def formula(one: cin.Expression, kind: type[cin.Expression]) -> Formula:
        if isinstance(one, cin.Negate) and isinstance(one.operand, cin.Add) and kind is cin.Add:
            return "negate", formula(one.operand, kind)
        if not isinstance(one, kind):
            operands.append(one)
            return len(operands) - 1
        first, *rest = cin.children(one)
        found = formula(first, kind)
        for child in rest:
            operation = "multiply" if kind is cin.Multiply else "add"
            if kind is cin.Add and isinstance(child, cin.Negate):
                operation, child = "subtract", child.operand
            found = operation, found, formula(child, kind)
        return found

    return operands, formula(node, type(node))


def _computed(builder: Builder, formula: Formula, parts: Sequence[Cursor]) -> End:
    """The values that a formula gives."""
    if isinstance(formula, int):
        return parts[formula].value(builder)
    operation, *operands = formula
    values = [_computed(builder, one, parts) for one in operands]
    return compute(builder.graph, operation, *values)


def _everywhere(builder: Builder, node: cin.Expression) -> Cursor:
    """All points over the free variables of a node."""
    slot = Slot("everywhere", None)
    return Everywhere(slot, cin.free_variables(node), Payload(builder.root, "ref", slot.name))


@dataclass(frozen=True)
class Leaf(Single):
    """An access or a number: references into its tensor.

    ``variables``  those of its levels, in the order of storage
    ``reference``  the references to the fibers of the next level, or to the values
    ``level``      the next level
    ``computed``   by level the form that its subscript is, None where that is the variable; empty
                   where none is computed
    ``known``      the coordinates of the variables further out that the forms of levels left need
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
        """The form that the subscript of the next level is; None where that is its variable."""
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
        """The variables that go through the subsections of the next level which hold something:
        they are in the form of its subscript, and do not resolve it."""
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
        """The values of a variable whose subsections of the next level hold something."""
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
        """Whether the coordinates of a variable are to be found by location.

        Full levels are located, as every coordinate is found there, unless the schedule forces the
        other way.
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
        """Whether single coordinates of a variable can be found, unless the schedule forces
        another way."""
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
        """Whether the schedule forces this; raises UserError if the next level cannot do it."""
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


def _descended(
    builder: Builder, parts: Sequence[Cursor], variable: str, together: bool = False
) -> list[tuple[Fiber | None, Cursor]]:
    """Each part, with its fiber if it has one, inside of that.

    They descend by words of bits if several have the variable and each of those has words.

    ``together``  whether words are of use only if all parts have them
    """
    having = [variable in part.variables_left() for part in parts]
    in_words = (
        sum(having) > 1
        and (all(having) or not together)
        and all(
            part.has_words(builder, variable)
            for part, has in zip(parts, having, strict=True)
            if has
        )
    )
    found: list[tuple[Fiber | None, Cursor]] = []
    for part, has in zip(parts, having, strict=True):
        if in_words and has:
            found.append(part.descend_in_words(builder, variable))
        else:
            found.append(part.descend(builder, variable) or (None, part))
    return found


@dataclass(frozen=True)
class ProductCursor(Composite):
    """Factors: present where all are."""

    formula: Formula

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        parts = list(self.parts)
        located = self._locatable(builder, variable)
        rest = [n for n in range(len(parts)) if n not in located]
        fibers: dict[int, Fiber] = {}
        descended = _descended(builder, [parts[n] for n in rest], variable)
        for n, (own, part) in zip(rest, descended, strict=True):
            parts[n] = part
            if own is not None:
                fibers[n] = own
        if not fibers:
            return None
        fiber = next(iter(fibers.values()))
        together = list(fibers)
        if len(fibers) > 1:
            fiber, parts = _merged(builder, INTERSECTION, variable, fibers, parts)
            sparse = [operand for operand in fibers.values() if not operand.full]
            nonempty = len(sparse) < 2 and all(operand.nonempty for operand in fibers.values())
            fiber = replace(fiber, full=not sparse, nonempty=nonempty)
        for n in located:
            fiber, leaf, others = _located(
                builder, parts[n], fiber, [parts[other] for other in together]
            )
            for other, part in zip(together, others, strict=True):
                parts[other] = part
            parts[n] = leaf
            together.append(n)
        for n in rest:
            if n not in fibers:
                parts[n] = parts[n].repeated(builder, fiber)
        return fiber, replace(self, parts=tuple(parts))

    def _locatable(self, builder: Builder, variable: str) -> list[int]:
        """The factors to locate at a variable, while one factor at least is iterated over.

        Where a factor goes through windows, it leads, and the others are found at its coordinates:
        what is merged with each window would be gone through for each. Where the windows are full,
        a sparse factor leads that need not be sorted for each.
        """
        leaves = {n: part for n, part in enumerate(self.parts) if isinstance(part, Leaf)}
        able = [n for n, leaf in leaves.items() if leaf.locates(builder, variable)]
        rest = [n for n, part in enumerate(self.parts)
                if n not in able and variable in part.variables_left()]  # fmt: skip
        found = [n for n in rest if n in leaves and leaves[n].is_found(builder, variable)]
        if any(self.parts[n].has_window(builder, variable) for n in rest):
            return [*able, *found]
        windows = [n for n in able if leaves[n].form is not None]
        if windows and all(n in found and not leaves[n].is_sorted() for n in rest):
            return [n for n in (*able, *found) if n != windows[0]]
        return able if rest else able[1:]

    def witnesses(self) -> list[End]:
        return min((part.witnesses() for part in self.parts), key=len)

    def value(self, builder: Builder) -> End:
        return _computed(builder, self.formula, self.parts)


def _merged(
    builder: Builder,
    merger: Merger,
    variable: str,
    fibers: dict[int, Fiber],
    parts: Sequence[Cursor],
    whole: Sequence[Fiber] = (),
) -> tuple[Fiber, list[Cursor]]:
    """Merges the fibers of some parts, and ``whole`` dimensions that have no payloads."""
    parts = list(parts)
    payloads = [*(parts[n].payloads() for n in fibers), *([] for _ in whole)]
    fiber, found = builder.merged(merger, variable, [*fibers.values(), *whole], payloads)
    for n, own in zip(fibers, found, strict=False):
        parts[n] = parts[n].with_payloads(own)
    return fiber, parts


def _located(
    builder: Builder, leaf: Cursor, fiber: Fiber, others: Sequence[Cursor]
) -> tuple[Fiber, Cursor, tuple[Cursor, ...]]:
    """Locates a fiber, along with which the payloads of other parts go, in a leaf."""
    assert isinstance(leaf, Leaf)
    payloads = [payload for part in others for payload in part.payloads()]
    fiber, reference, payloads = builder.located(
        leaf.slot, leaf.level, fiber, leaf.reference, payloads, leaf.form, leaf.offset(builder)
    )
    return fiber, leaf.below(builder, reference.end, fiber), shared_out(others, payloads)


@dataclass(frozen=True)
class UnionCursor(Composite):
    """Terms: present where one is. Over a variable that one lacks, that one is everywhere."""

    formula: Formula

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        found = _descended(builder, self.parts, variable, together=True)
        fibers = {n: fiber for n, (fiber, _) in enumerate(found) if fiber is not None}
        if not fibers:
            return None
        parts = [part for _, part in found]
        whole = [
            builder.dimension(variable, end)[0]
            for n, part in enumerate(parts)
            if n not in fibers
            for end in part.witnesses()
        ]
        fiber = next(iter(fibers.values()))
        if len(fibers) + len(whole) > 1:
            fiber, parts = _merged(builder, UNION, variable, fibers, parts, whole)
            nonempty = all(operand.nonempty for operand in (*fibers.values(), *whole))
            fiber = replace(fiber, nonempty=nonempty)
        for n, part in enumerate(parts):
            if n not in fibers:
                parts[n] = part.repeated(builder, fiber)
        return fiber, replace(self, parts=tuple(parts))

    def value(self, builder: Builder) -> End:
        return _computed(builder, self.formula, self.parts)


@dataclass(frozen=True)
class Whole(UnionCursor):
    """Operands, and all points: 0 / 0, 1 / 0 and 0 times either are values of numpy's too."""

    def witnesses(self) -> list[End]:
        return self.parts[-1].witnesses()


@dataclass(frozen=True)
class NegationCursor(Composite):
    """A term with its sign changed."""

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        found = self.parts[0].descend(builder, variable)
        return found and (found[0], replace(self, parts=(found[1],)))

    def has_words(self, builder: Builder, variable: str) -> bool:
        return self.parts[0].has_words(builder, variable)

    def descend_in_words(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor]:
        fiber, part = self.parts[0].descend_in_words(builder, variable)
        return fiber, replace(self, parts=(part,))

    def value(self, builder: Builder) -> End:
        return compute(builder.graph, "negate", self.parts[0].value(builder))


@dataclass(frozen=True)
class SumCursor(Composite):
    """A sum of its own inside a term, which is not computed yet.

    It is computed as soon as its last free variable, or a summed one that lies further out, is
    reached: up to there its operand is descended together with the other terms. One without free
    variables is computed at once.

    ``left``  the variables, free and summed, that have not been descended, outermost first
    """

    summed: tuple[str, ...]
    left: tuple[str, ...]

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        free = [v for v in self.left if v not in self.summed]
        if variable not in free or variable not in self.parts[0].variables_left():
            return None
        if free == [variable] or self.left[0] != variable:
            return self.computed(builder).descend(builder, variable)
        found = self.parts[0].descend(builder, variable)
        return found and (found[0], replace(self, parts=(found[1],), left=self.left[1:]))

    def repeated(self, builder: Builder, fiber: Fiber) -> Cursor:
        """The sum inside of a fiber over a variable that it lacks, or has in a form alone."""
        (part,) = self.parts
        left = tuple(v for v in self.left if v != fiber.variable)
        found = replace(self, parts=(part.repeated(builder, fiber),), left=left)
        if {*left} - {*self.summed}:
            return found
        return Computed(computed(builder, found.parts[0], left, self.summed, around=fiber))

    def computed(self, builder: Builder) -> Computed:
        """The computed stream that takes the place of the operand."""
        return Computed(computed(builder, self.parts[0], self.left, self.summed))

    def value(self, builder: Builder) -> End:
        raise AssertionError("a sum is computed before its value is asked for")


@dataclass(frozen=True)
class Computed(Single):
    """Coordinates and values that have been computed.

    While levels are left below, only the coordinates go through a merge as payloads; the streams of
    those levels follow when all merges over the variable are done.

    ``nest``         the levels that have not been descended, and the values
    ``coordinates``  those of the level that has been descended last
    ``unsettled``    the coordinates that the levels left have the shape of, until they follow
    """

    nest: Nest
    coordinates: Payload | None = None
    unsettled: End | None = None

    @property
    def payload(self) -> Payload:
        if not self.nest.fibers:
            return Payload(self.nest.value, "val")
        assert self.coordinates is not None
        return self.coordinates

    def with_payloads(self, payloads: Sequence[Payload]) -> Computed:
        (payload,) = payloads
        if not self.nest.fibers:
            return replace(self, nest=replace(self.nest, value=payload.end))
        return replace(self, coordinates=payload)

    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None:
        if not self.nest.fibers or self.nest.fibers[0].variable != variable:
            return None
        fiber = self.nest.fibers[0]
        inside = replace(self.nest, fibers=self.nest.fibers[1:])
        return fiber, Computed(inside, Payload(fiber.end, "crd"), fiber.end)

    def variables_left(self) -> Collection[str]:
        return [fiber.variable for fiber in self.nest.fibers]

    def nests(self) -> list[Nest]:
        return [self.nest] if self.nest.fibers else []

    def with_nests(self, nests: Sequence[Nest]) -> Computed:
        return replace(self, nest=nests[0]) if nests else self

    def repeated(self, builder: Builder, fiber: Fiber) -> Cursor:
        found = self.with_payloads([builder.repeated(self.payload, fiber)])
        if self.nest.fibers:
            nest = builder.repeated_nest(found.nest, fiber)
            found = replace(found, nest=nest, unsettled=fiber.end)
        return found

    def settled(self, builder: Builder, fiber: Fiber) -> Cursor:
        nest = self.nest
        if nest.fibers and self.unsettled is not None and self.unsettled != fiber.end:
            nest = builder.aligned(nest, 1, self.unsettled, fiber)
        return replace(self, nest=nest, unsettled=None)

    def value(self, builder: Builder) -> End:
        return self.nest.value
