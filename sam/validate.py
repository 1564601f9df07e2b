"""Checks a graph before anything runs it, and tells what each edge carries.

The result is kept while the graph lives, as the next run asks for it again.
"""

from __future__ import annotations

import marshal
import weakref
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter

from sam.blocks import KINDS, Block, Port, block_of
from sam.blocks.base import Role
from sam.derivations import Derivation, Share, Split, replaced
from sam.graph import Edge, End, Graph, Node, Slot
from sam.levels import LEVELS, Level
from sam.meanings import Due, Meanings, Meant
from sam.support.errors import UserError, one_of, quoted, shown


@dataclass(frozen=True)
class Stream:
    """The stream on an edge: "crd", "ref", "val" or "bv", nested to a depth unless it is a wire.

    ``due``  the meaning that its tokens must have, where it is not known of them
    """

    kind: str
    depth: int
    wire: bool = False
    feedback: bool = False
    due: Due | None = field(default=None, compare=False)


@dataclass(frozen=True, eq=False)
class Validated:
    """The facts about a sound graph: the stream on each edge, the meanings, and the blocks."""

    streams: Mapping[Edge, Stream]
    meanings: Mapping[End, Meant]
    blocks: Mapping[str, Block]


def validate(graph: Graph) -> Mapping[Edge, Stream]:
    """The stream on each edge of a sound graph.

    Raises UserError, naming the node, slot or edge, for: a slot whose levels are unknown or not as
    many as its modes, a result that its writers do not fill, a node named twice, an unknown kind,
    slot, level or port, a level whose format cannot be read so, a parameter that its kind does not
    take or that is missing or wrong, an input with no producer or with two, a loop without a wire
    or feedback, an input that takes another kind of stream or another depth than it gets, or
    references to another tensor or level.
    """
    return validated(graph).streams


def meanings(graph: Graph) -> Mapping[End, Meant]:
    """The meanings of the references and coordinates on the outputs of a sound graph.

    Raises UserError as ``validate`` does.
    """
    return validated(graph).meanings


def validated(graph: Graph) -> Validated:
    """The facts about a sound graph. Raises UserError as ``validate`` does."""
    state = _state(graph)
    known = _known.get(id(graph))
    if known is not None and known[0]() is graph and known[1] == state:
        return known[2]
    found = _validated(graph)
    if state is not None:
        key = id(graph)
        _known[key] = weakref.ref(graph, lambda _: _known.pop(key, None)), state, found
    return found


# By the identity of a graph: the graph, its state, and the facts about it.
_known: dict[int, tuple[weakref.ref[Graph], Hashable, Validated]] = {}


def _state(graph: Graph) -> Hashable:
    """What can change in a graph and the tables that validate it; None if parameters are odd."""
    try:
        parameters = marshal.dumps([dict(node.parameters) for node in graph.nodes], 2)
    except ValueError:
        return None
    return parameters, tuple(KINDS.values()), tuple(LEVELS.values())


def _validated(graph: Graph) -> Validated:
    nodes: dict[str, Node] = {}
    for node in graph.nodes:
        if node.name in nodes:
            raise UserError(f"two nodes of the graph are named {node.name}")
        if node.kind not in KINDS:
            raise UserError(
                f"node {quoted(node.name)} is of the unknown kind {quoted(node.kind)}",
                hint=one_of(node.kind, KINDS),
            )
        nodes[node.name] = node
    blocks = {name: block_of(node) for name, node in nodes.items()}
    ports = {name: {port.name: port for port in block.ports} for name, block in blocks.items()}
    _check_slots(graph)
    _check_result(graph)
    _check_ends(graph, ports)
    found = Meanings(graph, ports)
    streams = _streams(graph, ports, found)
    return Validated(streams, found.made, blocks)


def _check_slots(graph: Graph) -> None:
    read: dict[str, Slot] = {}
    for one in graph.slots:
        if one.name in read:
            raise UserError(f"two slots of the graph are named {one.name}")
        read[one.name] = one
    written = {} if graph.result is None else {graph.result.slot.name: graph.result.slot}
    for one in (*read.values(), *written.values()):
        _check_slot(one, graph.derived)
    for node in graph.nodes:
        name, level = node.parameters.get("slot"), node.parameters.get("level")
        if name is None:
            continue
        kind = KINDS[node.kind]
        slots = read if kind.role.reads else written if kind.role.writes else written | read
        if name not in slots:
            raise UserError(
                f"node {node.name} names the unknown slot {quoted(name)}", hint=one_of(name, slots)
            )
        codes = slots[name].levels
        if level is not None and level >= len(codes) + (kind.role is Role.LOADER):
            raise UserError(f"node {node.name}: slot {name} has no level {level}")
        if level is not None and kind.capability is not None:
            _require(kind.capability, LEVELS[codes[level]], f"node {node.name}: slot {name}", level)
    for variable, extent in graph.dims:
        if extent < 0:
            raise UserError(f"the graph gives {variable} the extent {shown(extent)}")
    for derivation in graph.derived:
        if isinstance(derivation, Split) and derivation.size < 1:
            raise UserError(
                f"the graph splits {quoted(derivation.variable)} by {shown(derivation.size)}"
            )
        if isinstance(derivation, Share):
            _check_share(derivation)


def _check_share(share: Share) -> None:
    sizes = [share.size, *(size for size, _ in share.around)]
    known = {*share.variables} <= {*share.subscripts} and 0 <= share.above < len(share.variables)
    if min(sizes) < 1 or not known:
        raise UserError(
            f"the graph cannot share the entries of {quoted(share.tensor)} out as "
            f"{quoted(share.share)}"
        )


def _require(capability: str, found: type[Level], where: str, level: int) -> None:
    """Raises UserError for a level of a format that lacks what its reader needs."""
    if not getattr(found, capability):
        able = [one.name for one in LEVELS.values() if getattr(one, capability)]
        raise UserError(
            f"{where} has a {found.name} level {level}, which this node cannot read",
            hint=f"the level formats that can are {', '.join(able)}",
        )


def _require_types(slot: Slot) -> None:
    """Raises UserError for a slot, made by hand, whose parts are not of their types."""
    wanted = {"levels": str, "modes": tuple, "variables": tuple, "subscripts": tuple}
    for part, kind in wanted.items():
        if not isinstance(getattr(slot, part), kind):
            raise UserError(
                f"slot {quoted(str(slot.name))}: {part} is {shown(getattr(slot, part))}, which is "
                f"not a {kind.__name__}"
            )
    for group in slot.modes:
        if not (isinstance(group, tuple) and all(isinstance(mode, int) for mode in group)):
            raise UserError(
                f"slot {quoted(str(slot.name))}: modes has {shown(group)}, which is not a tuple of "
                "the numbers of modes"
            )


def _check_slot(slot: Slot, derived: Sequence[Derivation]) -> None:
    _require_types(slot)
    if not len(slot.levels) == len(slot.modes) == len(slot.variables):
        raise UserError(f"slot {slot.name} has different numbers of levels, modes and variables")
    _check_levels(slot.levels, f"slot {slot.name}")
    modes = [mode for group in slot.modes for mode in group]
    if sorted(modes) != [*range(len(modes))] or not all(slot.modes):
        raise UserError(f"slot {slot.name} does not store each mode of its tensor once")
    stored_so = (slot.tensor, slot.subscripts)
    made = {
        one.share
        for one in derived
        if isinstance(one, Share) and (one.tensor, one.subscripts) == stored_so
    }
    if not {*slot.shares} <= made:
        raise UserError(f"slot {slot.name} has a share of entries that the graph does not derive")
    stored = replaced((*slot.shares, *slot.subscripts), derived)
    if slot.subscripts and len(stored) != len(modes):
        raise UserError(
            f"slot {slot.name} has {len(modes)} modes, and "
            f"{len(stored)} loops are derived from its subscripts"
        )
    if (slot.tensor is None) == (slot.constant is None):
        raise UserError(f"slot {slot.name} must have a tensor or a constant, and not both")


def _check_levels(levels: str, where: str) -> None:
    for code in levels:
        if code not in LEVELS:
            raise UserError(
                f"{where} has the unknown level format {code}", hint=one_of(code, LEVELS)
            )


def _check_result(graph: Graph) -> None:
    """Checks that one node writes each level of the result, and one its values."""
    if graph.result is None:
        return
    result, slot = graph.result, graph.result.slot
    _check_levels(result.levels, "the result")
    if sorted(result.mode_order) != [*range(len(result.levels))]:
        raise UserError("the result does not store each mode once")
    if len(result.levels) != (len(slot.subscripts) or sum(map(len, slot.modes))):
        raise UserError(f"the result and its slot {slot.name} differ in their modes")
    if result.around not in (None, *(one.tensor for one in graph.slots)):
        raise UserError(
            f"the result is written around {quoted(str(result.around))}, which is not an input"
        )
    due = [(n, *level) for n, level in enumerate(zip(slot.levels, slot.variables, strict=True))]
    found = sorted(
        (node.parameters["level"], node.parameters["format"], node.parameters["variable"])
        for node in graph.nodes
        if KINDS[node.kind].role is Role.LEVEL_WRITER
    )
    values = [node.name for node in graph.nodes if KINDS[node.kind].role is Role.VALUE_WRITER]
    if found != due or len(values) != 1:
        raise UserError(
            f"slot {slot.name} needs one writer for each level, of its format and variable, "
            "and one for the values"
        )


def _check_ends(graph: Graph, ports: Mapping[str, Mapping[str, Port]]) -> None:
    fed = set()
    for edge in graph.edges:
        for end, direction in ((edge.source, "out"), (edge.target, "in")):
            if end.node not in ports:
                raise UserError(
                    f"edge {edge} names the unknown node {end.node}", hint=one_of(end.node, ports)
                )
            found = ports[end.node].get(end.port)
            if found is None or found.direction != direction:
                own = ports[end.node].values()
                names = [port.name for port in own if port.direction == direction]
                raise UserError(
                    f"edge {edge} names an unknown {direction}put port of {end.node}",
                    hint=one_of(end.port, names),
                )
        if edge.target in fed:
            raise UserError(f"input {edge.target} has two producers")
        fed.add(edge.target)
    for node, of_node in ports.items():
        for port in of_node.values():
            if port.direction == "in" and End(node, port.name) not in fed:
                raise UserError(f"input {node}.{port.name} has no producer")


def _streams(
    graph: Graph, ports: Mapping[str, Mapping[str, Port]], meanings: Meanings
) -> Mapping[Edge, Stream]:
    into: dict[str, list[Edge]] = {name: [] for name in ports}
    out_of: dict[str, list[Edge]] = {name: [] for name in ports}
    for edge in graph.edges:
        port = ports[edge.target.node][edge.target.port]
        if not (port.wire or port.feedback):
            into[edge.target.node].append(edge)
        out_of[edge.source.node].append(edge)
    sorter = TopologicalSorter({name: [e.source.node for e in into[name]] for name in ports})
    try:
        order = list(sorter.static_order())
    except CycleError as loop:
        raise UserError("the graph has a loop: " + " -> ".join(reversed(loop.args[1]))) from None
    streams: dict[Edge, Stream] = {}
    for name in order:
        base = None
        for edge in into[name]:
            port, stream = ports[name][edge.target.port], streams[edge]
            if base is None:
                base = stream.depth - port.depth
            if base != stream.depth - port.depth or base < 0:
                raise UserError(
                    f"edge {edge} has depth {stream.depth}, "
                    f"and the other inputs of {name} ask for depth {max(base, 0) + port.depth}"
                )
        for edge, due in meanings.take(name, into[name]).items():
            streams[edge] = replace(streams[edge], due=due)
        for edge in out_of[name]:
            port, target = (ports[e.node][e.port] for e in (edge.source, edge.target))
            if target.stream not in ("any", port.stream):
                raise UserError(f"edge {edge} carries {port.stream} into a {target.stream} port")
            depth = (base or 0) + port.depth
            streams[edge] = Stream(port.stream, depth, target.wire, target.feedback)
    return streams
