"""Lowers concrete index notation to a SAM graph (SAM paper, Section 5).

For each loop variable, outermost first, the expression tree is descended. An access that has the
variable scans its next level; a product intersects the operands that have it, a sum unites them;
what lacks the variable is repeated over the result, and makes the iteration space of a sum full.
A ``Reduce`` inside a term is a computed stream of its own, that takes part in merges like a
scanned level. When all variables are done, the tree is computed, the sums are reduced, innermost
first, and what is left is written.

Every cursor over a part of the expression answers the same questions: ``descend`` (the fiber over
a variable, or None), ``variables_left`` (those that it may still have one for), ``payloads`` (the
streams that must go along with its coordinates), ``witnesses`` (streams of which one has a token,
not ``N``, wherever the part is present) and ``value`` (its values, once nothing is left to
descend). One that ``has_words`` over a variable may be descended in words of bits in place of
coordinates, together with all that it is merged with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from custard.ir import cin
from custard.ir.transposition import transposition
from custard.language.commands import OF_STREAMS, Command, mistake, require_able
from custard.language.formats import (
    LEVEL_FORMATS,
    Format,
    LevelFormat,
    require_writable,
    unconditional_levels,
)
from sam.graph import Edge, End, Graph, Node, Result, Slot
from sam.levels import repeats
from sam.support.errors import UserError


@dataclass(frozen=True)
class Lowered:
    """A graph, and what was decided for it, in sentences.

    ``rearranged``  which tensors are stored in another way, each with the declaration of the
                    format that avoids that, if there is one
    """

    graph: Graph
    rearranged: Mapping[str, str | None]
    decisions: tuple[str, ...]


def lower(
    program: cin.Program,
    formats: Mapping[str, Format],
    choices: Mapping[tuple[str, str], Command],
    dims: Mapping[str, int],
    title: str,
    drop_zeros: bool = False,
    lanes: Mapping[str, int] | None = None,
) -> Lowered:
    """The SAM graph of a program.

    ``formats`` has one for each tensor; ``choices`` what the schedule forces by tensor and loop;
    ``dims`` the extents that are known, of which the graph keeps those that its inputs may not
    tell, and a 0 of which asks for more droppers; ``drop_zeros`` keeps values that come out as 0
    out of compressed levels; ``lanes`` how many lanes a loop is dealt to, by its base. Raises
    UserError for a choice that cannot be.
    """
    return _Lowering(program, formats, choices, dims, drop_zeros, lanes or {}).graph(title)


@dataclass
class _Payload:
    """A stream that goes along with the coordinates of its cursor, and changes as they merge."""

    stream: End
    kind: str
    label: str = "computed"


@dataclass
class _Fiber:
    """The coordinates over one variable.

    ``nonempty``  whether each parent that is present has one at least
    ``full``      whether each parent that is present has all
    ``scattered``  whether its variable is summed over where the result is stored
    ``in_lane``   whether it is what a lane has of a fiber that was dealt
    ``holed``     whether values that go along are ``N`` where there is nothing
    ``in_words``   whether the stream has them as words of bits
    """

    variable: str
    stream: End
    nonempty: bool = False
    full: bool = False
    scattered: bool = False
    in_lane: bool = False
    holed: bool = False
    in_words: bool = False


@dataclass(frozen=True)
class _Stored:
    """The levels that a result is written in, outermost first: their formats, modes, variables.

    ``beside``  how many of the outermost are written beside each other, down to a linked list, for
                the loops have them in another order
    """

    codes: str
    modes: tuple[tuple[int, ...], ...]
    variables: tuple[str, ...]
    beside: int = 0


class _Graph:
    """A graph under construction."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []
        self.root = self.add("root", "root")["ref"]

    def add(
        self, kind: str, name: str, parameters: Mapping[str, Any] | None = None, **inputs: End
    ) -> _Ports:
        """Adds a node that reads ``inputs``; gives its output ports by name."""
        name = _unused(name, self.nodes)
        self.nodes[name] = Node(name, kind, dict(parameters or {}))
        self.edges += [Edge(source, End(name, f"in_{port}")) for port, source in inputs.items()]
        return _Ports(name)

    def prune(self) -> None:
        """Removes the nodes from which no way leads to a writer."""
        feeders: dict[str, list[str]] = {name: [] for name in self.nodes}
        for edge in self.edges:
            feeders[edge.target.node].append(edge.source.node)
        waiting = [name for name, node in self.nodes.items() if node.kind in _WRITERS]
        used: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name not in used:
                used.add(name)
                waiting += feeders[name]
        self.nodes = {name: node for name, node in self.nodes.items() if name in used}
        self.edges = [edge for edge in self.edges if edge.target.node in used]


_WRITERS = ("level_writer", "value_writer")


@dataclass(frozen=True)
class _Ports:
    """The output ports of a node, by name."""

    node: str

    def __getitem__(self, port: str) -> End:
        return End(self.node, port)


class _Lowering:
    """The state of one lowering: the graph, the slots, and what was decided."""

    def __init__(
        self,
        program: cin.Program,
        formats: Mapping[str, Format],
        choices: Mapping[tuple[str, str], Command],
        dims: Mapping[str, int],
        drop_zeros: bool,
        lanes: Mapping[str, int],
    ) -> None:
        self.drop_zeros, self.lanes = drop_zeros, lanes
        self.program, self.formats, self.choices, self.dims = program, formats, choices, dims
        self.building = _Graph()
        self.slots: list[Slot] = []
        self.rearranged: dict[str, str | None] = {}
        self.decisions: dict[str, None] = {}
        self.assumed_nonempty: dict[str, None] = {}
        # The tensors, each with the loop, that are iterated over in words of bits.
        self.in_words: set[tuple[str | None, str]] = set()
        # The choice of each scanner that is to skip, until an intersecter tells it where to.
        self.skipping: dict[str, Command] = {}

    def graph(self, title: str) -> Lowered:
        """The whole graph: iteration and computation, then construction of the result."""
        value = self.program.value
        summed: tuple[str, ...] = ()
        if isinstance(value, cin.Reduce):
            summed = value.variables
            value = value.operand
        around = {*self.program.target.variables, *summed}
        variables = [v for v in self.program.loops if v in around]
        levels, values = self.computed(
            self.cursor(value), variables, summed, scatter=self.scatters(summed)
        )
        result = self.write(levels, values)
        self.note_choices_without_effect()
        self.require_all_skip()
        self.building.prune()
        graph = Graph(
            nodes=tuple(self.building.nodes.values()),
            edges=tuple(self.building.edges),
            slots=tuple(self.slots),
            result=result,
            title=title,
            nonempty=tuple(self.assumed_nonempty),
            dims=tuple(self.dims.items()),
        )
        return Lowered(graph, self.rearranged, tuple(self.decisions))

    # Iteration

    def cursor(self, node: cin.Expression) -> _Cursor:
        """A cursor over an expression, at the root of its tensors."""
        match node:
            case cin.Access():
                variables = [v for v in self.program.loops if v in node.variables]
                return _Leaf(self, self.slot(node, variables), variables)
            case cin.Literal(value):
                slot = Slot(self.slot_name("number"), None, constant=value)
                self.slots.append(slot)
                return _Leaf(self, slot)
            case cin.Multiply((cin.Mask() as mask, *rest)):
                return _Masked(self, [self.cursor(mask), *map(self.cursor, rest)])
            case cin.Multiply(factors) if any(map(cin.divides, factors)):
                everywhere = _Everywhere(self, cin.free_variables(node))
                return _Whole("multiply", self, [*map(self.cursor, factors), everywhere])
            case cin.Multiply(factors):
                return _Product(self, [self.cursor(factor) for factor in factors])
            case cin.Add(terms):
                return _Union(self, [self.cursor(term) for term in terms])
            case cin.Negate(operand):
                return _Negation(self, [self.cursor(operand)])
            case cin.Divide(numerator, cin.Literal(value) as denominator) if value:
                return _Fraction(self, [self.cursor(numerator), self.cursor(denominator)])
            case cin.Divide(numerator, denominator):
                everywhere = _Everywhere(self, cin.free_variables(node))
                parts = [self.cursor(numerator), self.cursor(denominator), everywhere]
                return _Whole("divide", self, parts)
            case cin.Reduce(variables, operand):
                return _Sum(self, variables, node, self.cursor(operand))
        raise AssertionError(node)

    def slot(self, access: cin.Access, variables: Sequence[str]) -> Slot:
        """The storage that an access wants: its levels in the order of ``variables``."""
        stored = self.formats[access.tensor]
        modes = _modes(access, variables)
        levels = stored.levels
        if len(levels) > len(modes):
            levels = _diagonal_levels(levels, modes)
            self.decisions[f"the diagonal of {access} is taken before the run"] = None
        elif [mode for (mode,) in modes] != list(stored.mode_order):
            levels = unconditional_levels(levels)
            self._note_rearrangement(access, modes)
        names = tuple(cin.base(variable) for variable in variables)
        slot = Slot(access.tensor, access.tensor, levels, modes, names)
        for known in self.slots:
            if replace(known, name=slot.name) == slot:
                return known
        self.slots.append(replace(slot, name=self.slot_name(access.tensor)))
        return self.slots[-1]

    def computed(
        self,
        cursor: _Cursor,
        variables: Sequence[str],
        summed: Iterable[str],
        scatter: bool = False,
    ) -> tuple[list[_Fiber], End]:
        """Descends all the variables, computes, and reduces over the summed ones.

        Gives the fibers over the variables that are left, and the values. Under ``scatter``, a
        variable that others lie in is left to the writers.
        """
        return self.inside([], cursor, variables, set(summed), scatter)

    def inside(
        self,
        fibers: list[_Fiber],
        cursor: _Cursor,
        variables: Sequence[str],
        summed: set[str],
        scatter: bool,
    ) -> tuple[list[_Fiber], End]:
        """What is ``computed`` inside of fibers that have been descended already."""
        begin = len(fibers)
        for n, variable in enumerate(variables):
            fiber = cursor.descend(variable) or self.everywhere(cursor, variable)
            cursor.settle(fiber)
            fibers.append(fiber)
            if self.lanes.get(cin.base(variable), 1) > 1:
                kept, values = self.in_lanes(fibers, cursor, variables[n + 1 :], summed, scatter)
                return self.reduced(fibers, begin, kept, values, summed, scatter)
        return self.reduced(fibers, begin, [], [cursor.value()], summed, scatter)

    def everywhere(self, cursor: _Cursor, variable: str) -> _Fiber:
        """The whole dimension of a variable, wherever a cursor that lacks it is present."""
        fibers = [self.dimension(variable, stream) for stream in cursor.witnesses()]
        fiber = fibers[0] if len(fibers) == 1 else self.merged("unioner", variable, fibers, [])
        cursor.repeat(fiber)
        return _Fiber(variable, fiber.stream, self.assume_nonempty(variable), full=True)

    def dimension(self, variable: str, stream: End) -> _Fiber:
        """A scan of a whole dimension for each token of a stream that is not ``N``."""
        scanner = self.building.add(
            "level_scanner", f"scan_{variable}", {"variable": cin.base(variable)}, ref=stream
        )
        return _Fiber(variable, scanner["crd"], self.assume_nonempty(variable), full=True)

    def assume_nonempty(self, variable: str) -> bool:
        """Whether a dimension has coordinates: so unless its extent is known to be 0."""
        variable = cin.base(variable)
        if self.dims.get(variable) == 0:
            return False
        self.assumed_nonempty[variable] = None
        return True

    def located(self, leaf: _Leaf, fiber: _Fiber, payloads: Sequence[_Payload]) -> _Fiber:
        """The coordinates of a fiber that a leaf has, found by location.

        Where it may lack some, the payloads of the fiber go along.
        """
        slot, level = leaf.slot, leaf.level
        full = LEVEL_FORMATS[slot.levels[level]].full
        names = {} if full else {f"{p.kind}{n}": p for n, p in enumerate(payloads)}
        locator = self.building.add(
            "locator",
            f"locate_{slot.name}_{fiber.variable}",
            {
                "slot": slot.name,
                "level": level,
                "payloads": [p.kind for p in names.values()],
                **({"keeps": True} if full else {}),
            },
            crd=fiber.stream,
            located=leaf.payload.stream,
            **{name: payload.stream for name, payload in names.items()},
        )
        self.decisions[f"{slot.tensor} is located at {fiber.variable}"] = None
        leaf.payload.stream = locator["ref"]
        leaf.level += 1
        for name, payload in names.items():
            payload.stream = locator[name]
        return fiber if full else _Fiber(fiber.variable, locator["crd"])

    def merged(
        self,
        kind: str,
        variable: str,
        fibers: Sequence[_Fiber],
        payloads: Sequence[Sequence[_Payload]],
    ) -> _Fiber:
        """Merges fibers, and moves their payloads on to what comes out."""
        if fibers[0].in_words:
            return self.merged_in_words(kind, variable, fibers, [one for (one,) in payloads])
        payloads = [*payloads, *[[]] * (len(fibers) - len(payloads))]
        inputs = {f"crd{n}": fiber.stream for n, fiber in enumerate(fibers)}
        names = {
            f"{payload.kind}{n}_{k}": payload
            for n, of_operand in enumerate(payloads)
            for k, payload in enumerate(of_operand)
        }
        inputs |= {name: payload.stream for name, payload in names.items()}
        skips = {
            n: fiber.stream.node
            for n, fiber in enumerate(fibers)
            if kind == "intersecter" and fiber.stream.node in self.skipping
        }
        merger = self.building.add(
            kind,
            f"{'intersect' if kind == 'intersecter' else 'unite'}_{variable}",
            {
                "payloads": [[payload.kind for payload in of_one] for of_one in payloads],
                **({"skips": list(skips)} if skips else {}),
            },
            **inputs,
        )
        for n, scanner in skips.items():
            self.skip(merger[f"skip{n}"], scanner)
        for name, payload in names.items():
            payload.stream = merger[name]
        return _Fiber(variable, merger["crd"])

    def skip(self, needed: End, scanner: str) -> None:
        """Has a scanner go on where it is told to."""
        choice = self.skipping.pop(scanner)
        node = self.building.nodes[scanner]
        parameters = {**node.parameters, "skips": True}
        self.building.nodes[scanner] = replace(node, parameters=parameters)
        self.building.edges.append(Edge(needed, End(scanner, "in_skip")))
        tensor, loop = choice.arguments
        self.decisions[f"{tensor} skips at {loop} what the others lack"] = None

    def require_all_skip(self) -> None:
        """Raises UserError for a scanner that is to skip where no intersecter tells it."""
        for scanner, choice in self.skipping.items():
            tensor, loop = choice.arguments
            edges = [one for one in self.building.edges if one.source == End(scanner, "crd")]
            readers = {self.building.nodes[edge.target.node].kind for edge in edges}
            why = "nothing that is scanned is intersected with it there"
            if "unioner" in readers:
                why = "it is united with others there, and a union needs each coordinate"
            raise mistake(
                choice,
                f"{tensor} cannot be skipped through at {loop}: {why}",
                hint="the intersecter of a product tells its operands where to go on",
            )

    def merged_in_words(
        self,
        kind: str,
        variable: str,
        fibers: Sequence[_Fiber],
        references: Sequence[_Payload],
    ) -> _Fiber:
        """Merges words of bits; their coordinates come out, and the references of each."""
        inputs = {f"bv{n}": fiber.stream for n, fiber in enumerate(fibers)}
        inputs |= {f"ref{n}": reference.stream for n, reference in enumerate(references)}
        merger = self.building.add(
            f"bitvector_{kind}",
            f"{'intersect' if kind == 'intersecter' else 'unite'}_{variable}",
            {"operands": len(fibers)},
            **inputs,
        )
        for n, reference in enumerate(references):
            reference.stream = merger[f"ref{n}"]
        names = " and ".join(dict.fromkeys(reference.label for reference in references))
        self.decisions[f"{names} are merged at {variable} by words of bits"] = None
        return _Fiber(variable, self.unpacked(variable, merger["bv"])["crd"])

    def unpacked(self, variable: str, words: End, **reference: End) -> _Ports:
        """The coordinates of words of bits, with their references if those of the words go in."""
        return self.building.add(
            "coordinate_converter",
            f"unpack_{variable}",
            {"references": bool(reference)},
            bv=words,
            **reference,
        )

    def repeat(self, payload: _Payload, fiber: _Fiber) -> None:
        """Repeats a stream over the coordinates of a fiber."""
        repeater = self.building.add(
            "repeater",
            f"repeat_{payload.label}_{fiber.variable}",
            {"stream": payload.kind},
            coordinates=fiber.stream,
            **{payload.kind: payload.stream},
        )
        payload.stream = repeater[payload.kind]

    def repeat_fibers(self, fiber: _Fiber, fibers: Sequence[_Fiber], value: _Payload) -> None:
        """Repeats computed fibers over the coordinates of a fiber that lies around them."""
        for depth, moved in _layers(fibers, value, 1):
            repeater = self.building.add(
                "fiber_repeater",
                f"repeat_{fiber.variable}",
                {"streams": list(moved), "depth": depth},
                coordinates=fiber.stream,
                **{kind: layer.stream for kind, layer in moved.items()},
            )
            for kind, layer in moved.items():
                layer.stream = repeater[kind]

    def align(
        self, old: End, new: _Fiber, fibers: Sequence[_Fiber], value: _Payload, depth: int
    ) -> None:
        """Moves computed fibers, ``depth`` levels below, from old coordinates to new ones."""
        for depth_of_layer, moved in _layers(fibers, value, depth):
            aligner = self.building.add(
                "fiber_aligner",
                f"align_{new.variable}",
                {"streams": list(moved), "depth": depth_of_layer},
                old=old,
                new=new.stream,
                **{kind: layer.stream for kind, layer in moved.items()},
            )
            for kind, layer in moved.items():
                layer.stream = aligner[kind]

    # Lanes

    def in_lanes(
        self,
        fibers: list[_Fiber],
        cursor: _Cursor,
        variables: Sequence[str],
        summed: set[str],
        scatter: bool,
    ) -> tuple[list[_Fiber], list[End]]:
        """What is ``inside`` of the last fiber, whose coordinates are dealt to lanes.

        Each lane has a copy of all that lies in the fiber. Where the fiber is summed over and
        others lie in it, one reducer sums what comes of all lanes; the fiber is then gone. So it
        is where none lies in it, and each lane has a value for each of its coordinates: the values
        of all lanes are given. Else lanes are joined in the order of the coordinates.
        """
        fiber = fibers[-1]
        copies = [deepcopy(cursor, {id(self): self}) for _ in range(self.lanes_of(fiber))]
        streams = self.dealt(fiber, cursor, copies)
        lanes = []
        for copy, stream in zip(copies, streams, strict=True):
            own = _Fiber(fiber.variable, stream, in_lane=True)
            kept, value = self.inside([*fibers[:-1], own], copy, variables, summed, scatter)
            lanes.append((own, kept, value))
        if fiber.variable in summed and lanes[0][1]:
            fibers.pop()
            kept, value = self.reduce_lanes(lanes)
            return kept, [value]
        whole = not lanes[0][0].holed
        if fiber.variable in summed and whole:
            return [], [value for _, _, value in lanes]
        fibers[-1], kept, value = self.joined(lanes)
        fibers[-1].nonempty = fiber.nonempty and whole
        fibers[-1].full = fiber.full and whole
        return kept, [value]

    def lanes_of(self, fiber: _Fiber) -> int:
        """How many lanes the coordinates of a fiber are dealt to."""
        return self.lanes[cin.base(fiber.variable)]

    def dealt(self, fiber: _Fiber, cursor: _Cursor, copies: Sequence[_Cursor]) -> list[End]:
        """Deals a fiber, with all that goes along with it, to a cursor for each lane.

        Gives the coordinates of the lanes.
        """
        moved = [copy.payloads() for copy in copies]
        ports = self.deal(fiber, 0, cursor.payloads(), moved)
        deeper = [copy.deeper() for copy in copies]
        for n, (depth, layer) in enumerate(cursor.deeper()):
            to_lanes = [list(of_lane[n][1].values()) for of_lane in deeper]
            self.deal(fiber, depth, list(layer.values()), to_lanes, list(layer))
        return [ports[f"crd{n}"] for n in range(len(copies))]

    def deal(
        self,
        fiber: _Fiber,
        depth: int,
        parts: Sequence[_Fiber | _Payload],
        lanes: Sequence[Sequence[_Fiber | _Payload]],
        kinds: Sequence[str] | None = None,
    ) -> _Ports:
        """Deals streams, so many levels below the coordinates of a fiber, to those of lanes."""
        if kinds is None:
            kinds = [part.kind for part in parts if isinstance(part, _Payload)]
        pairs = enumerate(zip(kinds, parts, strict=True))
        inputs = {f"{kind}{k}": part.stream for k, (kind, part) in pairs}
        ports = self.building.add(
            "parallelizer",
            f"deal_{fiber.variable}",
            {"lanes": len(lanes), "streams": list(kinds), "depth": depth},
            crd=fiber.stream,
            **inputs,
        )
        for n, of_lane in enumerate(lanes):
            for name, part in zip(inputs, of_lane, strict=True):
                part.stream = ports[f"{name}_{n}"]
        return ports

    def joined(
        self, lanes: Sequence[tuple[_Fiber, list[_Fiber], End]]
    ) -> tuple[_Fiber, list[_Fiber], End]:
        """The fiber that was dealt to lanes, the fibers in it and the values, back in order."""
        fiber, kept = replace(lanes[0][0]), [replace(one) for one in lanes[0][1]]
        owns = [own for own, _, _ in lanes]
        payloads = [_Payload(value, "val") for _, _, value in lanes]
        value = _Payload(lanes[0][2], "val")
        beside = [[] if kept else [one] for one in payloads]
        ports = self.join(owns, 0, ["val"] * len(beside[0]), beside)
        layers = [list(_layers(of_lane, payload, 1))
                  for (_, of_lane, _), payload in zip(lanes, payloads, strict=True)]  # fmt: skip
        for n, (depth, moved) in enumerate(_layers(kept, value, 1)):
            streams = [list(of_lane[n][1].values()) for of_lane in layers]
            found = self.join(owns, depth, list(moved), streams)
            for k, (kind, part) in enumerate(moved.items()):
                part.stream = found[f"{kind}{k}"]
        if not kept:
            value.stream = ports["val0"]
        fiber.stream = ports["crd"]
        if fiber.holed:
            value.stream = self.without(fiber, value.stream, "absent")
        return replace(fiber, in_lane=False, holed=False), kept, value.stream

    def join(
        self,
        owns: Sequence[_Fiber],
        depth: int,
        kinds: Sequence[str],
        lanes: Sequence[Sequence[_Fiber | _Payload]],
    ) -> _Ports:
        """Joins streams of lanes, so many levels below their coordinates."""
        inputs = {f"crd{n}": own.stream for n, own in enumerate(owns)}
        for n, of_lane in enumerate(lanes):
            for k, (kind, part) in enumerate(zip(kinds, of_lane, strict=True)):
                inputs[f"{kind}{k}_{n}"] = part.stream
        return self.building.add(
            "serializer",
            f"join_{owns[0].variable}",
            {"lanes": len(owns), "streams": list(kinds), "depth": depth},
            **inputs,
        )

    def reduce_lanes(
        self, lanes: Sequence[tuple[_Fiber, list[_Fiber], End]]
    ) -> tuple[list[_Fiber], End]:
        """Sums over the variable of a fiber that was dealt to lanes, with others in it."""
        fiber, kept, _ = lanes[0]
        inputs: dict[str, End] = {}
        for n, (_, of_lane, value) in enumerate(lanes):
            inputs |= {f"crd{k}_{n}": inner.stream for k, inner in enumerate(of_lane)}
            inputs[f"val_{n}"] = value
        reducer = self.building.add(
            "reducer",
            f"reduce_{fiber.variable}",
            {"dimensions": len(kept), "ways": len(lanes)},
            **inputs,
        )
        for k, inner in enumerate(kept):
            inner.stream, inner.nonempty, inner.full = reducer[f"crd{k}"], k > 0, False
        return kept, reducer["val"]

    # Computation

    def alu(self, operation: str, *operands: End) -> End:
        """The values of an operation."""
        inputs = {f"val{n}": operand for n, operand in enumerate(operands)}
        return self.building.add("alu", operation, {"operation": operation}, **inputs)["val"]

    def reduced(
        self,
        fibers: Sequence[_Fiber],
        begin: int,
        kept: list[_Fiber],
        values: Sequence[End],
        summed: set[str],
        scatter: bool,
    ) -> tuple[list[_Fiber], End]:
        """Sums over the summed variables of the fibers from ``begin`` on, innermost first.

        ``kept`` lie inside of all those. There are ``values`` of several lanes only where the
        innermost fiber is summed over. Gives the fibers that are left, and the values.

        A sum over the innermost variable gives nothing for an empty fiber, so the coordinate
        that holds the fiber is dropped; but 0 where the result has a place for each coordinate,
        and each is iterated over. (A lone stop token may also end a fiber around that one, so no
        fiber around it may be empty then.) A sum further out keeps the shape of what is around it.
        """
        kept = list(kept)
        fill = scatter and _are_full(self.formats[self.program.target.tensor].levels)
        for n in range(len(fibers) - 1, begin - 1, -1):
            fiber = fibers[n]
            if fiber.variable not in summed:
                kept.insert(0, fiber)
            elif kept and scatter:
                fiber.scattered = True
                kept.insert(0, fiber)
            elif kept:
                values = [self.reduce_tensor(fiber, kept, values[0])]
            else:
                holder = fibers[n - 1] if n > 0 else None
                around = all(outer.nonempty for outer in fibers[:n])
                fills = holder is None or (fill and holder.full and around)
                if holder is not None and not fills and not fiber.nonempty:
                    if holder.in_lane:
                        # A coordinate that is dropped in a lane would have the others wait for what
                        # comes behind it, and they may have no room for that long.
                        holder.holed, holder.nonempty = True, False
                        outer = holder.stream
                        values = [self.reduce_scalar(fiber, values, "absent", outer=outer)]
                        continue
                    self.drop(holder, [fiber])
                values = [self.reduce_scalar(fiber, values, "zero" if fills else "drop")]
        return kept, values[0]

    def reduce_scalar(self, fiber: _Fiber, values: Sequence[End], empty: str, **outer: End) -> End:
        """Sums values, of one lane or more, over the variable of a fiber."""
        lanes = [f"_{lane}" for lane in range(len(values))] if len(values) > 1 else [""]
        ways = {"ways": len(values)} if len(values) > 1 else {}
        return self.building.add(
            "reducer",
            f"reduce_{fiber.variable}",
            {"dimensions": 0, "empty": empty, **ways},
            **outer,
            **{f"val{lane}": value for lane, value in zip(lanes, values, strict=True)},
        )["val"]

    def reduce_tensor(self, fiber: _Fiber, kept: Sequence[_Fiber], value: End) -> End:
        """Sums over the variable of a fiber that others lie in."""
        reducer = self.building.add(
            "reducer",
            f"reduce_{fiber.variable}",
            {"dimensions": len(kept)},
            val=value,
            **{f"crd{k}": inner.stream for k, inner in enumerate(kept)},
        )
        points = fiber.nonempty and all(inner.nonempty for inner in kept)
        for k, inner in enumerate(kept):
            inner.stream = reducer[f"crd{k}"]
            inner.nonempty = points or k > 0
            inner.full = False
        return reducer["val"]

    def drop(self, outer: _Fiber, inner: Sequence[_Fiber | _Payload]) -> None:
        """Drops the outer coordinates whose inner fiber is empty; values may lie in it too."""
        kinds = ["crd", "val"][: len(inner)]
        dropper = self.building.add(
            "coordinate_dropper",
            f"drop_{outer.variable}",
            {"drop": "coordinates", "inner": kinds},
            outer=outer.stream,
            **{f"inner_{kind}": part.stream for kind, part in zip(kinds, inner, strict=True)},
        )
        outer.stream, outer.nonempty, outer.full = dropper["crd"], False, False
        for kind, part in zip(kinds, inner, strict=True):
            part.stream = dropper[f"{kind}_inner"]

    # Construction

    def write(self, levels: list[_Fiber], value: End) -> Result:
        """Writes the result, its levels in the order of the loops."""
        access = self.program.target
        asked = self.formats[access.tensor]
        stored = self.result_levels()
        codes, modes = stored.codes, stored.modes
        scatters = any(level.scattered for level in levels)
        order = tuple(mode for group in modes for mode in group)
        diagonal = len(modes) < len(order)
        if diagonal:
            stay = ", whose other entries stay" if self.program.accumulates else ""
            note = f"{access} is written as {codes}, then put on the diagonal of {asked}{stay}"
            self.decisions[note] = None
        elif order != asked.mode_order:
            written = Format(codes, order)
            note = f"{access} is written as {written}, then stored as {asked}"
            self.rearranged[note] = f"{access.tensor}:{written}"
        if self.drop_zeros and levels and not LEVEL_FORMATS[codes[-1]].full:
            value = self.without(levels[-1], value, "zeros")
        if not (scatters and _are_full(codes)):
            value = self.without_childless(levels, stored, value)
        reference = self.write_levels(levels, stored)
        inputs = {"val": value}
        if reference is not None:
            inputs["ref"] = reference.stream
        self.building.add(
            "value_writer",
            f"write_{access.tensor}_vals",
            {
                "slot": access.tensor,
                "by_reference": reference is not None,
                "accumulate": scatters,
            },
            **inputs,
        )
        slot = Slot(access.tensor, access.tensor, codes, modes, stored.variables)
        around = access.tensor if diagonal and self.program.accumulates else None
        return Result(slot, asked.levels, asked.mode_order, around)

    def result_levels(self) -> _Stored:
        """The levels that the result is written in.

        They have the order of the loops, or that of storage where the result can be written so.
        """
        target = self.program.target
        asked = self.formats[target.tensor]
        require_writable(asked, target.tensor)
        variables = tuple(v for v in self.program.loops if v in target.variables)
        modes = _modes(target, variables)
        if len(modes) < len(target.variables):
            return _Stored(_diagonal_levels(asked.levels, modes), modes, variables)
        if [mode for (mode,) in modes] == list(asked.mode_order):
            return _Stored(asked.levels, modes, variables)
        in_storage = tuple(target.variables[mode] for mode in asked.mode_order)
        beside = _beside(asked.levels, in_storage, variables)
        if beside:
            return _Stored(asked.levels, _modes(target, in_storage), in_storage, beside)
        return _Stored(unconditional_levels(asked.levels), modes, variables)

    def write_levels(self, levels: Sequence[_Fiber], stored: _Stored) -> _Payload | None:
        """Writes the levels; gives the positions of the last one, if the values need them.

        What repeats its coordinates does so over the levels that hang on it, and the positions of
        the level above come along.
        """
        hanging = repeats(stored.codes)
        reference = self.write_beside(levels[: stored.beside], stored)
        n = stored.beside
        for place, level in enumerate(levels[n:], n):
            if level.scattered:
                if reference is not None:
                    self.repeat(reference, level)
                continue
            coordinates = self.coordinates(level)
            for k in range(hanging[n]):
                self.repeat(coordinates, levels[place + 1 + k])
                if reference is not None:
                    self.repeat(reference, levels[place + k])
            more: dict[str, Any] = {"repeats": hanging[n]} if hanging[n] else {}
            if n > 0 and hanging[n - 1]:
                more["chained"] = True
            reference = self.write_level(n, stored, coordinates, reference, more)
            n += 1
        return reference

    def write_beside(self, levels: Sequence[_Fiber], stored: _Stored) -> _Payload | None:
        """Writes the levels down to a linked list, each with a coordinate for each of its nodes."""
        reference = None
        for n, variable in enumerate(stored.variables[: stored.beside]):
            (place,) = (k for k, level in enumerate(levels) if level.variable == variable)
            coordinates = self.coordinates(levels[place])
            for inner in levels[place + 1 :]:
                self.repeat(coordinates, inner)
            reference = self.write_level(n, stored, coordinates, reference, {"beside": True})
            if n + 1 == stored.beside:
                form = LEVEL_FORMATS[stored.codes[n]]
                note = f"{self.program.target} is written in the order of the loops: its level at "
                self.decisions[f"{note}{variable} is a {form.name}"] = None
        return reference

    def coordinates(self, level: _Fiber) -> _Payload:
        """The coordinates of a level of the result."""
        return _Payload(level.stream, "crd", f"{self.program.target.tensor}_{level.variable}")

    def write_level(
        self,
        n: int,
        stored: _Stored,
        coordinates: _Payload,
        reference: _Payload | None,
        more: Mapping[str, Any],
    ) -> _Payload | None:
        """Writes a level; gives its positions where the next level, or the values, need them."""
        tensor, variable = self.program.target.tensor, stored.variables[n]
        parameters = {
            "slot": tensor,
            "level": n,
            "format": stored.codes[n],
            "variable": variable,
            "by_reference": reference is not None,
            **more,
        }
        inputs = {"crd": coordinates.stream}
        if reference is not None:
            inputs["ref"] = reference.stream
        writer = self.building.add(
            "level_writer", f"write_{tensor}_{variable}", parameters, **inputs
        )
        told = not all(LEVEL_FORMATS[code].appends for code in stored.codes[n : n + 2])
        return _Payload(writer["ref"], "ref", tensor) if told else None

    def scatters(self, summed: Container[str]) -> bool:
        """Whether values are added to the result in the order in which they come.

        That is so where all its levels are full, and where the schedule asks for it; what comes
        in any order must then be inserted.
        """
        target = self.program.target
        stored = self.result_levels()
        loops = {cin.base(variable) for variable in target.variables}
        forced = [
            choice
            for (name, loop), choice in self.choices.items()
            if name == target.tensor and loop in loops
        ]
        forced = [choice for choice in forced if choice.name not in OF_STREAMS]
        if any(choice.name == "coiterate" for choice in forced):
            return False
        for choice in forced:
            self.require_insertable(choice, stored, summed)
        return bool(forced) or _are_full(stored.codes)

    def require_insertable(self, choice: Command, stored: _Stored, summed: Container[str]) -> None:
        """Raises UserError unless all the levels of the result at and inside of the loop that a
        choice names, or of a summed one, support insert."""
        target, loops = self.program.target, self.program.loops
        begins = [
            n for n, v in enumerate(loops) if v in summed or cin.base(v) == choice.arguments[1]
        ]
        inside = {*loops[min(begins) :]}
        if inside & {*stored.variables[: stored.beside]}:
            inside |= {*stored.variables[: stored.beside]}
        levels = zip(stored.variables, stored.codes, strict=True)
        if not all(LEVEL_FORMATS[code].inserts for v, code in levels if v in inside):
            raise UserError(
                f"{target.tensor} cannot be located into: it is stored as "
                f"{self.formats[target.tensor]}, and only "
                f"{' and '.join(form.name for form in LEVEL_FORMATS.values() if form.inserts)} "
                "levels can be",
                source=choice.text,
                span=choice.span,
                hint=f"store it as {target.tensor}:{'d' * len(target.variables)}",
            )
        if self.drop_zeros and not _are_full(stored.codes):
            raise UserError(
                f"{target.tensor} cannot be located into and zeros dropped: what a sum comes to is "
                "known only at the end",
                source=choice.text,
                span=choice.span,
            )

    def without(self, innermost: _Fiber, value: End, what: str) -> End:
        """Drops the coordinates whose value is 0 (``zeros``) or ``N`` (``absent``)."""
        dropper = self.building.add(
            "coordinate_dropper",
            f"drop_{innermost.variable}",
            {"drop": what},
            crd=innermost.stream,
            val=value,
        )
        innermost.stream, innermost.nonempty, innermost.full = dropper["crd"], False, False
        return dropper["val"]

    def without_childless(self, levels: list[_Fiber], result: _Stored, value: End) -> End:
        """Drops the coordinates of levels that are not full that have nothing below them.

        Streams further in must follow, unless all of them are appended as they come. Of levels that
        are written beside each other, the innermost loop decides what comes to the list.
        """
        codes, values = result.codes, _Payload(value, "val")
        hanging = repeats(codes)
        for n in range(len(levels) - 2, max(0, result.beside - 1) - 1, -1):
            outer, inner = levels[n], levels[n + 1]
            stored = sum(not level.scattered for level in levels[: n + 1])
            full = not outer.scattered and LEVEL_FORMATS[codes[stored - 1]].full
            if inner.nonempty or full:
                continue
            if n + 2 == len(levels):
                self.drop(outer, [inner, values])
            else:
                old = outer.stream
                self.drop(outer, [inner])
                appended = all(LEVEL_FORMATS[code].appends for code in codes[stored:])
                if not appended or any(hanging[stored:]) or max(hanging[:stored], default=0) > 1:
                    self.align(old, outer, levels[n + 2 :], values, 2)
        return values.stream

    # Names and notes

    def slot_name(self, base: str) -> str:
        """A name for a new slot."""
        return _unused(base, [slot.name for slot in self.slots])

    def note_choices_without_effect(self) -> None:
        """Notes the tensors that are to be iterated over in words, where that came to nothing."""
        for (tensor, loop), choice in self.choices.items():
            if choice.name == "bitvector" and (tensor, loop) not in self.in_words:
                text = choice.text[slice(*choice.span)]
                self.decisions[f"{text} has no effect: no merge there is by words of bits"] = None

    def _note_rearrangement(self, access: cin.Access, modes: tuple[tuple[int, ...], ...]) -> None:
        order = [mode for (mode,) in modes]
        stored = self.formats[access.tensor]
        note, instead = transposition(self.program, access, stored, order)
        self.rearranged[note] = instead


class _Cursor(ABC):
    """A part of the expression, being iterated over. See the top of this file."""

    def __init__(self, lowering: _Lowering, parts: Sequence[_Cursor] = ()) -> None:
        self.lowering, self.parts = lowering, list(parts)

    @abstractmethod
    def descend(self, variable: str) -> _Fiber | None: ...

    def has_words(self, variable: str) -> bool:
        """Whether it can be descended in words of bits, to be merged with others that can."""
        return False

    def descend_in_words(self, variable: str) -> _Fiber:
        """The fiber over a variable that it has words of; their references are its payload."""
        raise AssertionError(self)

    def variables_left(self) -> Collection[str]:
        return [variable for part in self.parts for variable in part.variables_left()]

    def payloads(self) -> list[_Payload]:
        return [payload for part in self.parts for payload in part.payloads()]

    def witnesses(self) -> list[End]:
        return [stream for part in self.parts for stream in part.witnesses()]

    def deeper(self) -> list[tuple[int, dict[str, _Fiber | _Payload]]]:
        """The streams further in than the payloads, by how many levels."""
        return [layer for part in self.parts for layer in part.deeper()]

    def repeat(self, fiber: _Fiber) -> None:
        for part in self.parts:
            part.repeat(fiber)

    def settle(self, fiber: _Fiber) -> None:
        for part in self.parts:
            part.settle(fiber)

    @abstractmethod
    def value(self) -> End: ...


class _Single(_Cursor):
    """A part that one stream goes along with, its ``payload``."""

    payload: _Payload

    def payloads(self) -> list[_Payload]:
        return [self.payload]

    def witnesses(self) -> list[End]:
        return [self.payload.stream]

    def repeat(self, fiber: _Fiber) -> None:
        self.lowering.repeat(self.payload, fiber)


class _Leaf(_Single):
    """An access or a number: a reference into its tensor."""

    def __init__(self, lowering: _Lowering, slot: Slot, variables: Sequence[str] = ()) -> None:
        super().__init__(lowering)
        self.slot, self.variables, self.level = slot, variables, 0
        self.payload = _Payload(lowering.building.root, "ref", slot.name)

    def descend(self, variable: str) -> _Fiber | None:
        level = self.level
        if variable not in self.variables[level : level + 1]:
            return None
        if self.forced(variable, "bitvector") and self.form().iterates_words:
            self.lowering.in_words.add((self.slot.tensor, cin.base(variable)))
            words = self.scan("bitvector_scanner", variable)
            ports = self.lowering.unpacked(variable, words["bv"], ref=words["ref"])
        else:
            choice = self.choice(variable) if self.forced(variable, "skip") else None
            ports = self.scan("level_scanner", variable)
            if choice is not None:
                self.lowering.skipping[ports.node] = choice
        self.payload.stream = ports["ref"]
        self.note_conversion(variable, level)
        full = LEVEL_FORMATS[self.slot.levels[level]].full
        return _Fiber(variable, ports["crd"], self.nonempty(level), full)

    def scan(self, kind: str, variable: str) -> _Ports:
        """Scans the next level."""
        self.level += 1
        slot = self.slot.name
        parameters = {"slot": slot, "level": self.level - 1}
        name = f"scan_{slot}_{variable}"
        return self.lowering.building.add(kind, name, parameters, ref=self.payload.stream)

    def has_words(self, variable: str) -> bool:
        """So where the level is of words, and, if the schedule asks for it, compressed."""
        if variable not in self.variables[self.level : self.level + 1] or not self.slot.tensor:
            return False
        wanted = self.choice(variable) is None and self.form().iterates_words
        return self.forced(variable, "bitvector") or wanted

    def descend_in_words(self, variable: str) -> _Fiber:
        level = self.level
        self.lowering.in_words.add((self.slot.tensor, cin.base(variable)))
        if self.form().iterates_words:
            ports = self.scan("bitvector_scanner", variable)
        else:
            scanner = self.scan("level_scanner", variable)
            ports = self.lowering.building.add(
                "bitvector_converter",
                f"pack_{self.slot.name}_{variable}",
                {"references": True},
                crd=scanner["crd"],
                ref=scanner["ref"],
            )
        self.payload.stream = ports["ref"]
        return _Fiber(variable, ports["bv"], self.nonempty(level), in_words=True)

    def form(self) -> LevelFormat:
        """The format of the next level."""
        return LEVEL_FORMATS[self.slot.levels[self.level]]

    def choice(self, variable: str) -> Command | None:
        """What the schedule says of the next level, which is that of the variable."""
        return self.lowering.choices.get((self.slot.tensor or "", cin.base(variable)))

    def forced(self, variable: str, name: str) -> bool:
        """Whether the schedule says so of the next level; raises UserError where it cannot be."""
        choice = self.choice(variable)
        if choice is None or choice.name != name:
            return False
        require_able(self.form(), choice)
        return True

    def note_conversion(self, variable: str, level: int) -> None:
        """Notes what the scanner of a level does beyond scanning (formats paper, Section 4.3)."""
        tensor, form = self.slot.tensor, LEVEL_FORMATS[self.slot.levels[level]]
        if not form.ordered:
            note = f"{tensor} is sorted on the fly at {variable}: its level there is {form.name}"
            self.lowering.decisions[note] = None
        if not form.unique:
            note = f"duplicates of {tensor} are joined on the fly at {variable}: "
            self.lowering.decisions[f"{note}its level there is {form.name}"] = None

    def variables_left(self) -> Collection[str]:
        return self.variables[self.level :]

    def locates(self, variable: str) -> bool:
        """Whether the coordinates of the variable are to be found by location.

        That is so where the level is full, as every coordinate is found then; the schedule may
        ask for the other way.
        """
        if variable not in self.variables[self.level : self.level + 1] or not self.slot.tensor:
            return False
        return self.forced(variable, "locate") or (
            self.choice(variable) is None and self.form().full
        )

    def nonempty(self, level: int) -> bool:
        """Whether no fiber of a level is empty.

        A level that is not padded stores a coordinate only with something below it.
        """
        form, above = LEVEL_FORMATS[self.slot.levels[level]], self.slot.levels[level - 1 : level]
        if form.full:
            return self.lowering.assume_nonempty(self.slot.variables[level])
        if form.branchless and form.compact:
            return True
        return above != "" and not LEVEL_FORMATS[above].padded

    def value(self) -> End:
        array = self.lowering.building.add(
            "array", f"array_{self.slot.name}", {"slot": self.slot.name}, ref=self.payload.stream
        )
        return array["val"]


class _Everywhere(_Leaf):
    """No tensor, but all points over some variables."""

    def __init__(self, lowering: _Lowering, variables: Sequence[str]) -> None:
        super().__init__(lowering, Slot("everywhere", None), variables)

    def descend(self, variable: str) -> _Fiber | None:
        if variable not in self.variables:
            return None
        fiber = self.lowering.dimension(variable, self.payload.stream)
        self.payload.stream = End(fiber.stream.node, "ref")
        return fiber


def _descended(
    parts: Sequence[_Cursor], variable: str, together: bool = False
) -> dict[_Cursor, _Fiber | None]:
    """The fibers of parts: in words of bits, if several have the variable and each has words.

    ``together``  whether words are of use only if all parts have them
    """
    having = [part for part in parts if variable in part.variables_left()]
    in_words = (
        len(having) > 1
        and (len(having) == len(parts) or not together)
        and all(part.has_words(variable) for part in having)
    )
    return {
        part: part.descend_in_words(variable)
        if in_words and part in having
        else part.descend(variable)
        for part in parts
    }


class _Product(_Cursor):
    """Factors: present where all are."""

    def descend(self, variable: str) -> _Fiber | None:
        located = self.locatable(variable)
        rest = [part for part in self.parts if part not in located]
        fiber_of = _descended(rest, variable)
        found = [(part, fiber_of.get(part)) for part in self.parts]
        having = [(part, fiber) for part, fiber in found if fiber is not None]
        if not having:
            return None
        fibers = [fiber for _, fiber in having]
        fiber = fibers[0]
        if len(fibers) > 1:
            payloads = [part.payloads() for part, _ in having]
            fiber = self.lowering.merged("intersecter", variable, fibers, payloads)
            sparse = [fiber for fiber in fibers if not fiber.full]
            fiber.full = not sparse
            fiber.nonempty = len(sparse) < 2 and all(fiber.nonempty for fiber in fibers)
        together = [part for part, _ in having]
        for leaf in located:
            moved = [payload for part in together for payload in part.payloads()]
            fiber = self.lowering.located(leaf, fiber, moved)
            together.append(leaf)
        for part, missing in found:
            if missing is None and part not in located:
                part.repeat(fiber)
        return fiber

    def locatable(self, variable: str) -> list[_Leaf]:
        """The factors to locate at a variable, while one factor at least is iterated over."""
        leaves = [part for part in self.parts if isinstance(part, _Leaf)]
        able = [leaf for leaf in leaves if leaf.locates(variable)]
        others = [
            part for part in self.parts if part not in able and variable in part.variables_left()
        ]
        return able if others else able[1:]

    def witnesses(self) -> list[End]:
        return min((part.witnesses() for part in self.parts), key=len)

    def value(self) -> End:
        value = self.parts[0].value()
        for part in self.parts[1:]:
            value = self.lowering.alu("multiply", value, part.value())
        return value


class _Masked(_Product):
    """A mask, and what has values only where it is present."""

    def value(self) -> End:
        return self.parts[1].value()


class _Union(_Cursor):
    """Terms: present where one is. Over a variable that one lacks, that one is everywhere."""

    def descend(self, variable: str) -> _Fiber | None:
        found = list(_descended(self.parts, variable, together=True).items())
        having = [(part, fiber) for part, fiber in found if fiber is not None]
        if not having:
            return None
        lacking = [part for part, fiber in found if fiber is None]
        whole = [
            self.lowering.dimension(variable, stream)
            for part in lacking
            for stream in part.witnesses()
        ]
        fibers = [*(fiber for _, fiber in having), *whole]
        fiber = fibers[0]
        if len(fibers) > 1:
            payloads = [part.payloads() for part, _ in having]
            fiber = self.lowering.merged("unioner", variable, fibers, payloads)
            fiber.nonempty = all(operand.nonempty for operand in fibers)
        for part in lacking:
            part.repeat(fiber)
        return fiber

    def value(self) -> End:
        value = self.parts[0].value()
        for part in self.parts[1:]:
            negative = isinstance(part, _Negation)
            operand = part.parts[0] if negative else part
            value = self.lowering.alu("subtract" if negative else "add", value, operand.value())
        return value


class _Fraction(_Product):
    """A numerator over a number that is not zero: present where the numerator is."""

    def value(self) -> End:
        return self.lowering.alu("divide", self.parts[0].value(), self.parts[1].value())


class _Whole(_Union):
    """Operands, and all points: 0 / 0, 1 / 0 and 0 times either are values of numpy's too."""

    def __init__(self, operation: str, lowering: _Lowering, parts: Sequence[_Cursor]) -> None:
        super().__init__(lowering, parts)
        self.operation = operation

    def witnesses(self) -> list[End]:
        return self.parts[-1].witnesses()

    def value(self) -> End:
        value = self.parts[0].value()
        for part in self.parts[1:-1]:
            value = self.lowering.alu(self.operation, value, part.value())
        return value


class _Negation(_Cursor):
    """A term with its sign changed."""

    def descend(self, variable: str) -> _Fiber | None:
        return self.parts[0].descend(variable)

    def has_words(self, variable: str) -> bool:
        return self.parts[0].has_words(variable)

    def descend_in_words(self, variable: str) -> _Fiber:
        return self.parts[0].descend_in_words(variable)

    def value(self) -> End:
        return self.lowering.alu("negate", self.parts[0].value())


class _Sum(_Cursor):
    """A sum of its own inside a term.

    It is computed as soon as its last free variable, or a summed one that lies further out, is
    reached: up to there its operand is descended together with the other terms. One without free
    variables is computed at once.
    """

    def __init__(
        self, lowering: _Lowering, summed: Sequence[str], node: cin.Expression, operand: _Cursor
    ) -> None:
        super().__init__(lowering, [operand])
        self.summed, self.operand = summed, operand
        free = cin.free_variables(node)
        self.left = [v for v in lowering.program.loops if v in free or v in summed]
        if not free:
            self.compute()

    def descend(self, variable: str) -> _Fiber | None:
        if not self.left:
            return self.parts[0].descend(variable)
        free = [v for v in self.left if v not in self.summed]
        if variable not in free:
            return None
        if free == [variable] or self.left[0] != variable:
            self.compute()
        else:
            self.left.remove(variable)
        return self.parts[0].descend(variable)

    def compute(self) -> None:
        """Puts the computed stream in the place of the operand."""
        fibers, value = self.lowering.computed(self.operand, self.left, self.summed)
        self.left = []
        self.parts = [_Computed(self.lowering, fibers, value)]

    def value(self) -> End:
        return self.parts[0].value()


class _Computed(_Single):
    """Coordinates and values that have been computed.

    While levels are left below, what goes along with a merge is the coordinates themselves; the
    streams of those levels follow when all merges over the variable are done.
    """

    def __init__(self, lowering: _Lowering, fibers: Sequence[_Fiber], value: End) -> None:
        super().__init__(lowering)
        self.left = list(fibers)
        self.values = _Payload(value, "val")
        self.payload = self.values
        self.unsettled: End | None = None

    def descend(self, variable: str) -> _Fiber | None:
        if not self.left or self.left[0].variable != variable:
            return None
        fiber = self.left.pop(0)
        self.payload = _Payload(fiber.stream, "crd") if self.left else self.values
        self.unsettled = fiber.stream
        return fiber

    def variables_left(self) -> Collection[str]:
        return [fiber.variable for fiber in self.left]

    def deeper(self) -> list[tuple[int, dict[str, _Fiber | _Payload]]]:
        return list(_layers(self.left, self.values, 1))

    def repeat(self, fiber: _Fiber) -> None:
        super().repeat(fiber)
        if self.left:
            self.lowering.repeat_fibers(fiber, self.left, self.values)
            self.unsettled = fiber.stream

    def settle(self, fiber: _Fiber) -> None:
        if self.left and self.unsettled not in (None, fiber.stream):
            self.lowering.align(self.unsettled, fiber, self.left, self.values, 1)
        self.unsettled = None

    def value(self) -> End:
        return self.values.stream


def _layers(
    fibers: Sequence[_Fiber], value: _Payload, depth: int
) -> Iterator[tuple[int, dict[str, _Fiber | _Payload]]]:
    """The streams of computed fibers by depth: the values go with the innermost coordinates."""
    for n, fiber in enumerate(fibers):
        last = n + 1 == len(fibers)
        yield depth + n, {"crd": fiber, "val": value} if last else {"crd": fiber}


def _unused(base: str, taken: Container[str]) -> str:
    """A name that is not taken: the base, with a number behind it if need be."""
    name, n = base, 1
    while name in taken:
        n += 1
        name = f"{base}_{n}"
    return name


def _modes(access: cin.Access, variables: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The modes of an access that each of the variables subscripts."""
    return tuple(
        tuple(m for m, v in enumerate(access.variables) if v == variable) for variable in variables
    )


def _are_full(levels: str) -> bool:
    """Whether every level has a place for every coordinate."""
    return all(LEVEL_FORMATS[code].full for code in levels)


def _beside(codes: str, variables: Sequence[str], loops: Sequence[str]) -> int:
    """How many levels of a result can be written beside each other, down to a linked list, for all
    to be written in the order of the loops; 0 where that cannot be.

    ``variables`` are those of the levels. All levels above the list insert, and the loops inside
    have the order of the levels below it.
    """
    for n, code in enumerate(codes, 1):
        together = {*variables[:n]} == {*loops[:n]} and tuple(variables[n:]) == tuple(loops[n:])
        if LEVEL_FORMATS[code].appends_anywhere and together:
            return n if all(LEVEL_FORMATS[above].inserts for above in codes[: n - 1]) else 0
    return 0


def _diagonal_levels(levels: str, modes: Sequence[Sequence[int]]) -> str:
    """Level formats for the diagonal of a tensor: full only where all its modes are."""
    return ("d" if _are_full(levels) else "s") * len(modes)


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(str(number) for number in numbers)
