"""A SAM graph under construction: the program that it is for, its blocks, slots and notes.

The functions here add the blocks that iteration needs (SAM paper, Sections 5.1 and 5.2): scans,
merges, locations and repetitions. Those of reductions, lanes and the result are in files of their
own, and use the same builder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from custard.ir import cin
from custard.ir.transposition import transposition
from custard.language.commands import Command, mistake
from custard.language.formats import LEVEL_FORMATS, Format, are_full, unconditional_levels
from custard.to_sam.streams import Fiber, Nest, Payload
from sam.blocks import KINDS
from sam.blocks.bitvector import merge_words, unpack_words
from sam.blocks.endpoints import root
from sam.blocks.fiber import align_nest, repeat_nest
from sam.blocks.locate import LOCATOR, SEARCHER, locate_level
from sam.blocks.merge import UNION, Merger, merge
from sam.blocks.repeat import repeat_stream
from sam.blocks.scan import Scanned, scan_dimension, skip_to
from sam.blocks.subscript import add_affine
from sam.graph import End, Graph, Result, Slot
from sam.graph_builder import GraphBuilder, unused
from sam.subscripts import Affine


class Builder:
    """The state of one lowering.

    ``program``, ``formats``, ``choices``, ``dims``, ``drop_zeros`` and ``lanes`` are the arguments
    of ``custard.to_sam.lowering.lower``.

    ``graph``       the blocks
    ``slots``       the tensors and numbers that they read
    ``rearranged``  a note for each tensor that is stored in another way than asked for, with the
                    declaration of the format that avoids it, if there is one
    ``decisions``   other decisions, in sentences
    ``in_words``    the tensors, each with the loop, that are iterated over in words of bits
    ``skipping``    the choice of each scanner that must skip and has no intersecter yet that tells
                    it where to
    """

    def __init__(
        self,
        program: cin.LoopProgram,
        formats: Mapping[str, Format],
        choices: Mapping[tuple[str, str], Command],
        dims: Mapping[str, int],
        drop_zeros: bool,
        lanes: Mapping[str, int],
    ) -> None:
        self.program, self.formats, self.choices, self.dims = program, formats, choices, dims
        self.drop_zeros, self.lanes = drop_zeros, lanes
        self.graph = GraphBuilder()
        self.root = root(self.graph)
        self.slots: list[Slot] = []
        self.rearranged: dict[str, str | None] = {}
        self.decisions: dict[str, None] = {}
        self.assumed_nonempty: dict[str, None] = {}
        self.in_words: set[tuple[str | None, str]] = set()
        self.skipping: dict[str, Command] = {}

    def note(self, decision: str) -> None:
        """Notes a decision, once."""
        self.decisions[decision] = None

    def finished(self, result: Result, title: str) -> Graph:
        """The graph. Raises UserError for a scanner that must skip by the schedule, and cannot."""
        self._note_choices_without_effect()
        self._require_all_skip()
        self.graph.prune([kind.name for kind in KINDS.values() if kind.role.writes])
        return Graph(
            nodes=tuple(self.graph.nodes.values()),
            edges=tuple(self.graph.edges),
            slots=tuple(self.slots),
            result=result,
            title=title,
            nonempty=tuple(self.assumed_nonempty),
            dims=tuple(self.dims.items()),
            spans=self.program.spans,
        )

    # Slots

    def slot(self, access: cin.Access, variables: Sequence[str]) -> Slot:
        """The storage that an access wants: its levels in the order of ``variables``."""
        if isinstance(access, cin.Unit):
            return self._unit()
        stored = self.formats[access.tensor]
        modes = modes_of(access, variables)
        levels = stored.levels
        if len(levels) > len(modes):
            levels = diagonal_levels(levels, modes)
            self.note(f"the diagonal of {access} is taken before the run")
        elif [mode for (mode,) in modes] != list(stored.mode_order):
            levels = unconditional_levels(levels)
            order = [mode for (mode,) in modes]
            note, instead = transposition(self.program, access, stored, order)
            self.rearranged[note] = instead
        names = tuple(cin.base(variable) for variable in variables)
        slot = Slot(access.tensor, access.tensor, levels, modes, names)
        if access.computed:
            slot = replace(slot, computed=tuple(by_base(access.form(group[0])) for group in modes))
        for known in self.slots:
            if replace(known, name=slot.name) == slot:
                return known
        return self._add_slot(slot)

    def _unit(self) -> Slot:
        """The vector that a unit is."""
        slot = Slot("unit", None, "d", ((0,),), ("unit",), 1, computed=(Affine("unit"),))
        for known in self.slots:
            if replace(known, name=slot.name) == slot:
                return known
        return self._add_slot(slot)

    def number(self, value: int | float) -> Slot:
        """The slot of a number of the program."""
        return self._add_slot(Slot("number", None, constant=value))

    def _add_slot(self, slot: Slot) -> Slot:
        name = unused(slot.name, [known.name for known in self.slots])
        self.slots.append(replace(slot, name=name))
        return self.slots[-1]

    # Dimensions

    def dimension(self, variable: str, parents: End) -> tuple[Fiber, End]:
        """A scan of a whole dimension for each parent that is present, and its references."""
        scanned = scan_dimension(self.graph, f"scan_{variable}", cin.base(variable), parents)
        fiber = Fiber(variable, scanned.crd, self.assume_nonempty(variable), full=True)
        return fiber, scanned.ref

    def assume_nonempty(self, variable: str) -> bool:
        """Whether a dimension is assumed to have coordinates: unless its extent is known as 0."""
        variable = cin.base(variable)
        if self.dims.get(variable) == 0:
            return False
        self.assumed_nonempty[variable] = None
        return True

    # Merges

    def merged(
        self,
        merger: Merger,
        variable: str,
        fibers: Sequence[Fiber],
        payloads: Sequence[Sequence[Payload]],
    ) -> tuple[Fiber, list[list[Payload]]]:
        """Merges fibers by an intersecter or a unioner; their payloads go along.

        Gives the coordinates that are left, and the payloads by fiber.
        """
        name = f"{merger.verb}_{variable}"
        if fibers[0].in_words:
            return self._merged_in_words(merger, name, variable, fibers, payloads)
        skips = {
            n: fiber.end.node
            for n, fiber in enumerate(fibers)
            if merger.skips and fiber.end.node in self.skipping
        }
        operands = [
            (fiber.end, [(payload.kind, payload.end) for payload in of_fiber])
            for fiber, of_fiber in zip(fibers, payloads, strict=True)
        ]
        ports = merge(self.graph, merger, name, operands, list(skips))
        for n, scanner in skips.items():
            skip_to(self.graph, scanner, ports.skips[n])
            tensor, loop = self.skipping.pop(scanner).arguments
            self.note(f"{tensor} skips at {loop} coordinates that the others lack")
        pairs = zip(payloads, ports.payloads, strict=True)
        return Fiber(variable, ports.crd), [moved(of_fiber, ends) for of_fiber, ends in pairs]

    def _merged_in_words(
        self,
        merger: Merger,
        name: str,
        variable: str,
        fibers: Sequence[Fiber],
        payloads: Sequence[Sequence[Payload]],
    ) -> tuple[Fiber, list[list[Payload]]]:
        """Merges words of bits; the payload of each operand is the references of its words."""
        references = [reference for (reference,) in payloads]
        pairs = zip(fibers, references, strict=True)
        operands = [Scanned(fiber.end, reference.end) for fiber, reference in pairs]
        words, ends = merge_words(self.graph, merger, name, operands)
        names = " and ".join(dict.fromkeys(reference.label for reference in references))
        self.note(f"{names} are merged at {variable} by words of bits")
        coordinates = unpack_words(self.graph, f"unpack_{variable}", words).crd
        return Fiber(variable, coordinates), [[one] for one in moved(references, ends)]

    def located(
        self,
        slot: Slot,
        level: int,
        fiber: Fiber,
        reference: Payload,
        payloads: Sequence[Payload],
        form: Affine | None = None,
        offset: End | None = None,
    ) -> tuple[Fiber, Payload, list[Payload]]:
        """Looks the coordinates of a fiber up in a level of a slot.

        ``reference`` points to the fibers of the level. Gives the coordinates found, their
        references, and the payloads of the fiber (these go along where the level may lack
        coordinates).

        ``form``    that of a computed subscript, with ``offset`` for the sum of its terms and its
                    constant, None where it has no terms
        """
        if form is not None:
            return self._located_at(slot, level, fiber, reference, payloads, form, offset)
        stored = LEVEL_FORMATS[slot.levels[level]]
        full = stored.full
        ports = locate_level(
            self.graph,
            f"locate_{slot.name}_{fiber.variable}",
            slot.name,
            level,
            fiber.end,
            reference.end,
            [] if full else [(payload.kind, payload.end) for payload in payloads],
            keeps=full,
            kind=LOCATOR if stored.locates else SEARCHER,
        )
        verb = "located" if stored.locates else "searched"
        self.note(f"{slot.tensor} is {verb} at {fiber.variable}")
        if full:
            return fiber, reference.at(ports.ref), list(payloads)
        found = Fiber(fiber.variable, ports.crd)
        return found, reference.at(ports.ref), moved(payloads, ports.payloads)

    def _located_at(
        self,
        slot: Slot,
        level: int,
        fiber: Fiber,
        reference: Payload,
        payloads: Sequence[Payload],
        form: Affine,
        offset: End | None,
    ) -> tuple[Fiber, Payload, list[Payload]]:
        """Looks the values of a form up; the coordinates of the fiber go along."""
        name, terms = f"{slot.name}_{fiber.variable}", [(form.scale, fiber.end)]
        if offset is not None:
            repeated = self.repeated(Payload(offset, "crd", f"{slot.name}_offset"), fiber)
            terms.append((1, repeated.end))
        constant = form.constant if offset is None else 0
        at = add_affine(self.graph, f"subscript_{name}", terms, constant, (slot.name, level))
        along = [("crd", fiber.end), *((payload.kind, payload.end) for payload in payloads)]
        ports = locate_level(
            self.graph, f"locate_{name}", slot.name, level, at, reference.end, along, computed=True
        )
        self.note(f"{slot.tensor} is located at {fiber.variable}")
        crd, *others = ports.payloads
        return Fiber(fiber.variable, crd), reference.at(ports.ref), moved(payloads, others)

    # Repetition and alignment

    def repeated(self, payload: Payload, fiber: Fiber) -> Payload:
        """A stream, repeated over the coordinates of a fiber."""
        name = f"repeat_{payload.label}_{fiber.variable}"
        return payload.at(repeat_stream(self.graph, name, payload.kind, payload.end, fiber.end))

    def repeated_nest(self, nest: Nest, fiber: Fiber) -> Nest:
        """Computed fibers, repeated over the coordinates of a fiber that lies around them."""
        name = f"repeat_{fiber.variable}"
        return nest.moved(
            1, lambda depth, layer: repeat_nest(self.graph, name, depth, fiber.end, layer)
        )

    def aligned(self, nest: Nest, depth: int, old: End, new: Fiber) -> Nest:
        """Computed fibers, ``depth`` levels below, moved from old coordinates to new ones."""
        name = f"align_{new.variable}"
        return nest.moved(
            depth, lambda at, layer: align_nest(self.graph, name, at, old, new.end, layer)
        )

    # Choices of the schedule

    def _require_all_skip(self) -> None:
        """Raises UserError for a scanner that must skip, if no intersecter tells it where."""
        for scanner, choice in self.skipping.items():
            tensor, loop = choice.arguments
            readers = {node.kind for node in self.graph.readers(End(scanner, "crd"))}
            why = "no scanned operand is intersected with it there"
            if UNION.kind in readers:
                why = "it is united with others there, and a union needs each coordinate"
            raise mistake(
                choice,
                f"{tensor} cannot be skipped through at {loop}: {why}",
                hint="the intersecter of a product tells its operands where to go on",
            )

    def _note_choices_without_effect(self) -> None:
        """Notes ``bitvector`` commands without effect: no merge by words of bits uses them."""
        for (tensor, loop), choice in self.choices.items():
            if choice.name == "bitvector" and (tensor, loop) not in self.in_words:
                self.note(f"{choice.said} has no effect: no merge there is by words of bits")


def moved(payloads: Sequence[Payload], ends: Sequence[End]) -> list[Payload]:
    """Payloads as they come out of a block, in the same order."""
    return [payload.at(end) for payload, end in zip(payloads, ends, strict=True)]


def by_base(form: Affine | None) -> Affine | None:
    """A form by the bases of its variables."""
    if form is None:
        return None
    return form.renamed({variable: cin.base(variable) for variable in form.variables})


def modes_of(access: cin.Access, variables: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The modes of an access that each of the variables subscripts."""
    return tuple(
        tuple(m for m, v in enumerate(access.variables) if v == variable) for variable in variables
    )


def diagonal_levels(levels: str, modes: Sequence[Sequence[int]]) -> str:
    """Level formats for the diagonal of a tensor: full only where all its modes are."""
    return ("d" if are_full(levels) else "s") * len(modes)
