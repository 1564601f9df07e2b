"""Merge lattices: the sets of operands that a loop iterates over together (formats paper, Section
4.1).

A formula of the operands that are iterated over tells where an expression is present:

    ALWAYS           everywhere
    When(condition)  everywhere, if a condition holds that does not depend on the variable
    Has(key)         at the coordinates of an operand
    All, Any         where all parts are, where one of the parts is

The points of its lattice are the sets of operands that can be present together while others are
not; the empty set is one where the whole dimension is iterated over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from custard.to_c.loop_ir import Expr, both

Point = frozenset[int]


class Formula:
    """Where an expression is present."""


@dataclass(frozen=True)
class Always(Formula):
    """Everywhere."""


@dataclass(frozen=True)
class When(Formula):
    """Everywhere, if a condition holds."""

    condition: Expr


@dataclass(frozen=True)
class Has(Formula):
    """At the coordinates of an operand."""

    key: int


@dataclass(frozen=True)
class All(Formula):
    """Where all of the parts are."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True)
class Any(Formula):
    """Where one of the parts is."""

    parts: tuple[Formula, ...]


ALWAYS = Always()


def conjunction(parts: Iterable[Formula]) -> Formula:
    """Where all parts are; conditions are tested inside of the loop, if some part iterates."""
    left = [part for part in dict.fromkeys(parts) if part != ALWAYS]
    iterated = [part for part in left if not isinstance(part, When)]
    if iterated:
        return iterated[0] if len(iterated) == 1 else All(tuple(iterated))
    if left:
        return When(both(*(part.condition for part in left if isinstance(part, When))))
    return ALWAYS


def disjunction(parts: Iterable[Formula]) -> Formula:
    """Where one of the parts is."""
    left = tuple(dict.fromkeys(parts))
    return left[0] if len(left) == 1 else Any(left)


def replaced(formula: Formula, change: Callable[[When], Formula]) -> Formula:
    """The formula with its conditions replaced."""
    match formula:
        case When():
            return change(formula)
        case All(parts):
            return All(tuple(replaced(part, change) for part in parts))
        case Any(parts):
            return Any(tuple(replaced(part, change) for part in parts))
    return formula


def iterated(formula: Formula) -> list[int]:
    """The keys of the operands that a formula iterates over."""
    return list(dict.fromkeys(_keys(formula)))


def _keys(formula: Formula) -> Iterator[int]:
    """The same, as often as each stands in the formula."""
    match formula:
        case Has(key):
            yield key
        case All(parts) | Any(parts):
            for part in parts:
                yield from _keys(part)


def with_joint_operands(formula: Formula, join: Callable[[tuple[int, ...]], int]) -> Formula:
    """The formula with one operand in the place of those that a part of a union has together, and
    no other part has; ``join`` gives its key."""
    count = Counter(_keys(formula))

    def change(node: Formula, in_union: bool = False) -> Formula:
        match node:
            case Any(parts):
                return Any(tuple(change(part, in_union=True) for part in parts))
            case All(parts) if in_union and all(isinstance(part, Has) for part in parts):
                keys = tuple(_keys(node))
                return Has(join(keys)) if all(count[key] == 1 for key in keys) else node
            case All(parts):
                return All(tuple(map(change, parts)))
        return node

    return change(formula)


def among(formula: Formula, keys: Collection[int]) -> Formula | None:
    """The formula where all operands but some have no coordinates left; None if it is true nowhere
    then."""
    match formula:
        case Has(key):
            return formula if key in keys else None
        case All(parts):
            kept = [among(part, keys) for part in parts]
            found = [part for part in kept if part is not None]
            return conjunction(found) if len(found) == len(kept) else None
        case Any(parts):
            kept = [among(part, keys) for part in parts]
            found = [part for part in kept if part is not None]
            return disjunction(found) if found else None
    return formula


def where_used(formula: Formula, key: int) -> Formula:
    """Where the expression may depend on an operand: where all others are that it meets."""
    match formula:
        case All(parts) | Any(parts):
            used = [where_used(part, key) for part in parts if key in _keys(part)]
            anywhere = ALWAYS if ALWAYS in used else disjunction(used)
            return anywhere if isinstance(formula, Any) else conjunction([formula, anywhere])
    return ALWAYS


def is_dense(formula: Formula) -> bool:
    """Whether the whole dimension is iterated over."""
    match formula:
        case Always():
            return True
        case All(parts):
            return all(map(is_dense, parts))
        case Any(parts):
            return any(map(is_dense, parts))
    return False


def has_dense_part(formula: Formula) -> bool:
    """Whether some part of a formula is true everywhere."""
    match formula:
        case All(parts) | Any(parts):
            return any(map(has_dense_part, parts))
    return is_dense(formula)


def points(formula: Formula, most: int) -> list[Point] | None:
    """The lattice points, those with more operands first; None if there are more than ``most``."""
    found = _points(formula, most)
    return None if found is None else sorted(found, key=lambda p: (-len(p), sorted(p)))


def _points(formula: Formula, most: int) -> set[Point] | None:
    match formula:
        case Has(key):
            return {frozenset((key,))}
        case All(parts) | Any(parts):
            joined: set[Point] | None = None
            for part in parts:
                found = _points(part, most)
                if found is None:
                    return None
                if joined is None:
                    joined = found
                    continue
                pairs = {a | b for a in joined for b in found}
                joined = pairs if isinstance(formula, All) else pairs | joined | found
                if len(joined) > most:
                    return None
            return joined
    return {frozenset()}
