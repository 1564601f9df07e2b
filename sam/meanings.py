"""The meaning of the references and coordinates of each stream of a graph, as its blocks tell it.

A reference is a position in one level of one tensor, and a block that reads another level would
read foreign or missing memory. So each kind of block declares what its ports take and make
(``sam.blocks.ports``), and this file follows the meanings along the edges. There are three
outcomes. The streams agree with the blocks that read them: no engine checks a token. They do not:
the graph has a mistake. Or nothing is known, as of tokens that a user's block makes: engines check
each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sam.blocks.ports import ROOT, Coordinates, Meaning, Port, Positions
from sam.graph import Edge, End, Graph, Slot
from sam.support.errors import UserError

Variables = frozenset[str]
Meant = Positions | Variables | None
"""The positions that references point to, or the variables of coordinates; None where unknown."""


@dataclass(frozen=True)
class Due:
    """The meaning that an engine must check, where it is not known of all tokens of a stream.

    ``variables``  those whose coordinates may come; None where nothing is known
    """

    meaning: Meaning
    variables: Variables | None = None


class Meanings:
    """The meanings of streams, found node by node, each after the nodes that feed it."""

    def __init__(self, graph: Graph, ports: Mapping[str, Mapping[str, Port]]) -> None:
        self.ports = ports
        self.slots = {slot.name: slot for slot in graph.slots}
        self.written = () if graph.result is None else graph.result.slot.variables
        self.same: dict[Slot, str] = {}
        for slot in graph.slots:
            self.same.setdefault(replace(slot, name=""), slot.name)
        self.made: dict[End, Meant] = {}

    def take(self, node: str, edges: Iterable[Edge]) -> dict[Edge, Due]:
        """The inputs of a node that are not known to have the meaning its ports ask for. Raises
        UserError for an input that is known to have another. Finds the meanings of the outputs.
        """
        into = {edge.target.port: edge for edge in edges}
        due = {}
        coming: dict[str, Meant] = {}
        for name, edge in into.items():
            port = self.ports[node][name]
            found = self.made.get(edge.source)
            if port.counts is not None and not self._are_pair(edge, into.get(port.counts)):
                found = None
            coming[name] = found
            if port.meaning is not None:
                open_question = self._compare(edge, port.meaning, found)
                if open_question is not None:
                    due[edge] = open_question
        for port in self.ports[node].values():
            if port.direction == "out":
                self.made[End(node, port.name)] = self._made(port, coming)
        return due

    def _made(self, port: Port, coming: Mapping[str, Meant]) -> Meant:
        if isinstance(port.meaning, Positions):
            return self._known(port.meaning)
        if isinstance(port.meaning, Coordinates):
            return frozenset([self._variable(port.meaning)])
        found = [coming.get(name) for name in port.of]
        if port.stream == "ref":
            return found[0] if found and all(one == found[0] for one in found) else None
        if not found or not all(isinstance(one, frozenset) for one in found):
            return None
        return frozenset().union(*(one for one in found if isinstance(one, frozenset)))

    def _are_pair(self, references: Edge, words: Edge | None) -> bool:
        """Whether references and words come from a block that gives them word by word."""
        if words is None or references.source.node != words.source.node:
            return False
        source = self.ports[references.source.node][references.source.port]
        return source.counts == words.source.port

    def _compare(self, edge: Edge, meaning: Meaning, found: Meant) -> Due | None:
        if isinstance(meaning, Coordinates):
            needed = self._variable(meaning)
            known = found if isinstance(found, frozenset) else None
            if self._is_computed(meaning) and known != {needed}:
                raise UserError(
                    f"edge {edge} carries coordinates that may lie outside of {meaning.slot}: its "
                    f"subscript at level {meaning.level} is computed",
                    hint="an affine unit that names the slot and level bounds them",
                )
            return None if known == {needed} else Due(Coordinates(variable=needed), known)
        wanted = self._known(meaning)
        if found == wanted or (found == ROOT and wanted.level == 0):
            return None
        if not isinstance(found, Positions):
            return None if wanted.slot is None else Due(wanted)
        raise UserError(
            f"edge {edge} carries {self.described(found)}, and {edge.target.node} takes "
            f"{self.described(wanted)}"
        )

    def _known(self, meaning: Positions) -> Positions:
        """The meaning by the first slot of the same storage, with a number for the level."""
        slot, level = meaning.slot, meaning.level
        if slot is None:
            return Positions(None, len(self.written) if level is None else level)
        if slot not in self.slots:
            return meaning
        found = self.slots[slot]
        name = self.same[replace(found, name="")]
        return Positions(name, len(found.levels) if level is None else level)

    def _variable(self, meaning: Coordinates) -> str:
        """The index variable whose coordinates they are."""
        if meaning.variable is not None:
            return meaning.variable
        assert meaning.slot is not None
        assert meaning.level is not None
        if self._is_computed(meaning):
            return f"level {meaning.level} of {meaning.slot}"
        return self.slots[meaning.slot].variables[meaning.level]

    def _is_computed(self, meaning: Coordinates) -> bool:
        """Whether they are coordinates of a level whose subscript is computed."""
        slot, level = self.slots.get(meaning.slot or ""), meaning.level
        return slot is not None and level is not None and slot.form(level) is not None

    def described(self, meaning: Positions) -> str:
        """The positions that references point to, in words."""
        if meaning == ROOT:
            return "the reference of the root"
        slot, level = meaning.slot, meaning.level
        levels = len(self.written) if slot is None else len(self.slots[slot].levels)
        what = "the values" if level == levels else f"level {level}"
        return f"references to {what} of {'the result' if slot is None else slot}"
