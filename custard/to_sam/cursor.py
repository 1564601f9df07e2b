"""The protocol of cursors: parts of an expression while its loops are entered, outermost first.

A cursor is a value. Moving a cursor gives a new one, and adds the blocks of the move to a
``Builder``. So a part that is dealt to lanes needs no copy: each lane continues from the same
cursor, with streams of its own.

For each loop variable, the lowering

1. asks the cursor of the whole expression to ``descend``. This gives the fiber over the variable
and the cursor inside of the fiber, or None if no part has the variable. Products and sums descend
into the parts that have it, merge their fibers, and repeat the other parts over the result
(``repeated``);
2. has the cursor ``settled`` on the coordinates after all merges over the variable: streams that
could not go through the merges, those of computed fibers further in, follow now.

Inside of all loops, ``value`` computes the values. In between a cursor answers:

``has_window``      whether descending would go through a window of a level
``variables_left``  the variables that it may still have fibers over
``payloads``        the streams that must go along with its coordinates through every merge
``witnesses``       streams of which at least one has a token that is not ``N`` wherever the part
                    is present
``nests``           computed fibers further in, which follow when it settles
``has_words``       whether it can descend by words of bits, together with all operands of the merge
                    (``descend_in_words``); the references of the words are its payload then
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from custard.to_sam.builder import Builder
from custard.to_sam.streams import Fiber, Nest, Payload
from sam.graph import End


@dataclass(frozen=True)
class Cursor(ABC):
    """A part of the expression, and how far it has been descended."""

    @abstractmethod
    def descend(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor] | None: ...

    def has_words(self, builder: Builder, variable: str) -> bool:
        return False

    def descend_in_words(self, builder: Builder, variable: str) -> tuple[Fiber, Cursor]:
        raise AssertionError(self)

    def has_window(self, builder: Builder, variable: str) -> bool:
        return False

    @abstractmethod
    def variables_left(self) -> Collection[str]: ...

    @abstractmethod
    def payloads(self) -> list[Payload]: ...

    @abstractmethod
    def with_payloads(self, payloads: Sequence[Payload]) -> Cursor:
        """The cursor with other payloads, in the order of ``payloads()``."""

    @abstractmethod
    def witnesses(self) -> list[End]: ...

    @abstractmethod
    def nests(self) -> list[Nest]: ...

    @abstractmethod
    def with_nests(self, nests: Sequence[Nest]) -> Cursor:
        """The cursor with other nests, in the order of ``nests()``."""

    @abstractmethod
    def repeated(self, builder: Builder, fiber: Fiber) -> Cursor:
        """The cursor inside of a fiber over a variable that it lacks."""

    @abstractmethod
    def settled(self, builder: Builder, fiber: Fiber) -> Cursor: ...

    @abstractmethod
    def value(self, builder: Builder) -> End: ...


@dataclass(frozen=True)
class Single(Cursor):
    """A part that one stream goes along with."""

    @property
    @abstractmethod
    def payload(self) -> Payload: ...

    def payloads(self) -> list[Payload]:
        return [self.payload]

    def witnesses(self) -> list[End]:
        return [self.payload.end]

    def nests(self) -> list[Nest]:
        return []

    def with_nests(self, nests: Sequence[Nest]) -> Cursor:
        return self

    def repeated(self, builder: Builder, fiber: Fiber) -> Cursor:
        return self.with_payloads([builder.repeated(self.payload, fiber)])

    def settled(self, builder: Builder, fiber: Fiber) -> Cursor:
        return self


@dataclass(frozen=True)
class Composite(Cursor):
    """An operation on parts."""

    parts: tuple[Cursor, ...]

    def has_window(self, builder: Builder, variable: str) -> bool:
        return any(part.has_window(builder, variable) for part in self.parts)

    def variables_left(self) -> Collection[str]:
        return [variable for part in self.parts for variable in part.variables_left()]

    def payloads(self) -> list[Payload]:
        return [payload for part in self.parts for payload in part.payloads()]

    def with_payloads(self, payloads: Sequence[Payload]) -> Cursor:
        return replace(self, parts=shared_out(self.parts, payloads))

    def witnesses(self) -> list[End]:
        return [end for part in self.parts for end in part.witnesses()]

    def nests(self) -> list[Nest]:
        return [nest for part in self.parts for nest in part.nests()]

    def with_nests(self, nests: Sequence[Nest]) -> Cursor:
        rest = iter(nests)
        parts = (part.with_nests(list(islice(rest, len(part.nests())))) for part in self.parts)
        return replace(self, parts=tuple(parts))

    def repeated(self, builder: Builder, fiber: Fiber) -> Cursor:
        return replace(self, parts=tuple(part.repeated(builder, fiber) for part in self.parts))

    def settled(self, builder: Builder, fiber: Fiber) -> Cursor:
        return replace(self, parts=tuple(part.settled(builder, fiber) for part in self.parts))


def shared_out(parts: Sequence[Cursor], payloads: Sequence[Payload]) -> tuple[Cursor, ...]:
    """The parts with new payloads, listed part by part."""
    rest = iter(payloads)
    return tuple(part.with_payloads(list(islice(rest, len(part.payloads())))) for part in parts)
