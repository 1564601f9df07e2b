"""Loops of a kernel that only add to elements of dense arrays, and may be interchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from custard.to_c.complex_parts import opposite, subtracted
from custard.to_c.loop_ir import (
    BOOL,
    FALSE,
    WHOLE,
    ZERO,
    Assign,
    Body,
    Call,
    Const,
    Declare,
    Expr,
    For,
    Load,
    Op,
    Stmt,
    Type,
    Var,
    is_plain,
)
from custard.to_c.walks import all_expressions, expressions, rewritten


@dataclass(frozen=True)
class DenseSum:
    """A statement that adds to elements of an array, inside loops that may be interchanged."""

    loops: Sequence[For]
    add: Assign

    def statement(self) -> Stmt:
        """The loops around the statement."""
        return nested(self.loops, [self.add])


@dataclass(frozen=True)
class ZeroedArray:
    """A loop that sets all of an array to zero.

    ``sizes``    of its dimensions, as in the indices of its elements
    ``extents``  gives the ends of loops that go through these dimensions
    """

    loop: For
    sizes: Sequence[Expr]
    extents: Callable[[], Sequence[Expr]]

    @property
    def array(self) -> Expr:
        """The array."""
        (store,) = self.loop.body
        assert isinstance(store, Assign)
        assert isinstance(store.target, Load)
        return store.target.array

    def is_covered(self, part: DenseSum) -> bool:
        """Whether loops add to all elements of the array."""
        assert isinstance(part.add.target, Load)
        index, variables = part.add.target.index, list[Expr]()
        for size in reversed(self.sizes[1:]):
            match index:
                case Op("+", (Op("*", (outer, found)), last)) if found == size:
                    variables.insert(0, last)
                    index = outer
                case _:
                    return False
        whole = {one.var: one.end for one in part.loops if one.begin == ZERO}
        ends = [whole.get(one) for one in (index, *variables) if isinstance(one, Var)]
        return len({index, *variables}) == len(ends) and ends == list(self.extents())


def with_zeros(body: Body, zeroed: ZeroedArray) -> list[Stmt]:
    """The statements, with the array set to zero before the first of them that has it."""
    having = (n for n, one in enumerate(body) if zeroed.array in {*all_expressions([one])})
    first = next(having, len(body))
    return [*body[:first], zeroed.loop, *body[first:]]


def nested(loops: Sequence[For], body: Body) -> Stmt:
    """Loops around statements, the first outermost."""
    inner = list(body)
    for loop in reversed(loops):
        inner = [replace(loop, body=inner)]
    return inner[0]


def is_dense(loop: For) -> bool:
    """Whether a loop counts one by one, or by vectors, between bounds that are not read from
    arrays."""
    bounds = (*expressions(loop.begin), *expressions(loop.end))
    return is_plain(replace(loop, vectors="")) and not any(
        isinstance(node, Load | Call) for node in bounds
    )


def dense_sums(loops: list[For], body: Body) -> list[DenseSum] | None:
    """The sums that loops are made of, in their order; None if there is anything else in them."""
    dot = _dot(loops, body)
    if dot is not None:
        return dot
    made: list[DenseSum] = []
    for statement in body:
        match statement:
            case For() if is_dense(statement):
                # Tiles have vectors of their own.
                inner = dense_sums([*loops, replace(statement, vectors="")], statement.body)
                if inner is None:
                    return None
                made += inner
            case Assign(Load(), _, "+" | "|") if loops:
                made.append(DenseSum(loops, statement))
            case _:
                return None
    return made


def _dot(loops: list[For], body: Body) -> list[DenseSum] | None:
    """Numbers that are summed up and whose sum is then stored, as sums of the element there.

    None if there is more to it, or an element is not stored once.
    """
    match body:
        case [Declare(), *_, Assign(Load() as target, value, sign)]:
            totals = {one.var for one in body if isinstance(one, Declare)}
            begin = {one.value for one in body if isinstance(one, Declare)}
            terms = list(_terms(value))
            moved = [(one, negative) for one, negative in terms if one in totals]
            others = [(one, negative) for one, negative in terms if one not in totals]
            used = {node for one, _ in others for node in expressions(one)}
            at = {*expressions(target.index)}
            if len(moved) > len(totals) or totals != {one for one, _ in moved} or totals & used:
                return None
            if {one.var for one in loops} - at or begin != {zero_of(target.type)}:
                return None
            if any(one.type != target.type for one, _ in terms):
                return None
            minus: dict[Expr, bool] = dict(moved)
            begun = [] if sign else [DenseSum(loops, Assign(target, zero_of(target.type)))]
            sign = "|" if target.type == BOOL else "+"
            added = [
                DenseSum(loops, Assign(target, signed(one, negative), sign))
                for one, negative in others
            ]
            loops_of = [one for one in body[:-1] if not isinstance(one, Declare)]
            sums = dense_sums(loops, rewritten(loops_of, lambda one: _moved(one, minus, target)))
            return None if sums is None else [*begun, *added, *sums]
    return None


def _terms(value: Expr, minus: bool = False) -> Iterator[tuple[Expr, bool]]:
    """The terms of a sum, and whether each is subtracted."""
    match value:
        case Op("+" | "|", (left, right)) if left.type == right.type:
            yield from _terms(left, minus)
            yield from _terms(right, minus)
        case Op("-", (left, right)) if left.type == right.type:
            yield from _terms(left, minus)
            yield from _terms(right, not minus)
        case _ if (one := subtracted(value)) is not None:
            yield from _terms(one, not minus)
        case _:
            yield value, minus


def signed(value: Expr, minus: bool) -> Expr:
    """The value, or its negative."""
    if not minus:
        return value
    one = subtracted(value)
    return opposite(value) if one is None else one


def _moved(statement: Stmt, minus: Mapping[Expr, bool], target: Load) -> Body | None:
    """A statement that adds to an element in place of a number; None for any other."""
    match statement:
        case Assign(Var() as one, value, "+" | "|") if one in minus:
            return [replace(statement, target=target, value=signed(value, minus[one]))]
    return None


def zero_of(type: Type) -> Const:
    """The number 0, or false."""
    return FALSE if type == BOOL else Const(0 if type in WHOLE else 0.0, type)


def ends_with(index: Expr, var: Var) -> bool:
    """Whether an index is a variable plus an offset that does not depend on it."""
    match index:
        case Op("+", (rest, last)):
            return last == var and var not in {*expressions(rest)}
    return index == var
