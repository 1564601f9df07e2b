"""The expression of a kernel: concrete index notation with types, and the place of each operand.

    Node  Operand | Scalar | Sum | Product | Minus | Quotient | Total

A tree is a value: binding a loop variable gives a new one. An operand that is absent at a point of
an iteration space is taken out of the tree (``without``), and the rest of the tree is computed
there (Kjolstad's merge lattices; formats paper, Section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace

from custard.to_c.levels import START, Place
from custard.to_c.loop_ir import Expr
from sam.arithmetic import ValueType, result_type
from sam.graph import Slot
from sam.subscripts import Affine


@dataclass(frozen=True)
class TypedNode:
    """A part of the expression; ``dtype`` is the type of its values."""

    dtype: ValueType


@dataclass(frozen=True)
class Operand(TypedNode):
    """An access, at a place of its storage.

    ``key``        tells it from all other operands, even of the same slot
    ``variables``  the loop variable of each level; for a computed subscript, the resolving variable
    ``computed``   by level the form of a computed subscript, None for a plain variable; empty where
                   none is computed
    """

    key: int
    slot: Slot
    variables: tuple[str, ...]
    place: Place = START
    computed: tuple[Affine | None, ...] = ()

    @property
    def level(self) -> int:
        """The number of levels that are done."""
        return len(self.place.coordinates)

    @property
    def left(self) -> tuple[str, ...]:
        """The variables of the levels that are left."""
        return self.variables[self.level :]

    @property
    def form(self) -> Affine | None:
        """The form of the next level's subscript; None where that is a plain variable."""
        return self.computed[self.level] if self.left and self.computed else None

    def uses(self, variable: str) -> bool:
        """Whether a variable is in a subscript."""
        forms = (form for form in self.computed if form is not None)
        return variable in self.variables or any(variable in form.variables for form in forms)


@dataclass(frozen=True)
class Scalar(TypedNode):
    """A value that is known.

    ``present``  the condition that it is there; None where that is certain
    ``zero``     whether it is 0 where it is not
    """

    value: Expr | int | float
    present: Expr | None = None
    zero: bool = True


@dataclass(frozen=True)
class Sum(TypedNode):
    """Terms: present where any of them is.

    ``steps``  by term, the type in which it is added to the terms before it
    ``minus``  by term, whether it is subtracted
    """

    terms: tuple[TypedNode, ...]
    steps: tuple[ValueType, ...]
    minus: tuple[bool, ...]


@dataclass(frozen=True)
class Product(TypedNode):
    """Factors: present where all are, or everywhere, as 0 times infinity is no 0."""

    factors: tuple[TypedNode, ...]
    everywhere: bool = False


@dataclass(frozen=True)
class Minus(TypedNode):
    """A change of sign."""

    operand: TypedNode


@dataclass(frozen=True)
class Quotient(TypedNode):
    """Present where the numerator is, or everywhere, as 0 / 0 is no 0."""

    numerator: TypedNode
    denominator: TypedNode
    everywhere: bool


@dataclass(frozen=True)
class Total(TypedNode):
    """The sum of the operand over some variables; it is a function of the ``free`` ones.

    ``first``  whether it is made before the loops that need it
    ``over``   the variables of the workspace that it goes through; None where nothing asks for one
    ``policy`` the kind of that workspace; None where nothing asks for one
    """

    variables: tuple[str, ...]
    free: frozenset[str]
    operand: TypedNode
    first: bool = False
    over: frozenset[str] | None = None
    policy: str | None = None


def children(node: TypedNode) -> tuple[TypedNode, ...]:
    """The parts that a node computes with."""
    match node:
        case Sum(_, parts) | Product(_, parts, _):
            return parts
        case Minus(_, operand) | Total(_, _, _, operand):
            return (operand,)
        case Quotient(_, numerator, denominator, _):
            return numerator, denominator
    return ()


def rebuilt(node: TypedNode, parts: Sequence[TypedNode]) -> TypedNode:
    """The node with other children."""
    match node:
        case Sum():
            return replace(node, terms=tuple(parts))
        case Product():
            return replace(node, factors=tuple(parts))
        case Minus() | Total():
            return replace(node, operand=parts[0])
        case Quotient():
            return replace(node, numerator=parts[0], denominator=parts[1])
    return node


def walk(node: TypedNode) -> Iterator[TypedNode]:
    """The node and all below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def operands(node: TypedNode) -> Iterator[Operand]:
    """The accesses in a tree."""
    return (one for one in walk(node) if isinstance(one, Operand))


def operand_of(node: TypedNode, key: int) -> Operand:
    """The operand of a key."""
    return next(one for one in operands(node) if one.key == key)


def uses(node: TypedNode, variable: str) -> bool:
    """Whether the value of a tree depends on a variable."""
    return any(operand.uses(variable) for operand in operands(node))


def mapped(node: TypedNode, change: Callable[[TypedNode], TypedNode]) -> TypedNode:
    """The tree with each node replaced, parents first; replacements are not looked into."""
    changed = change(node)
    if changed is not node:
        return changed
    parts = children(node)
    new = [mapped(part, change) for part in parts]
    same = all(a is b for a, b in zip(parts, new, strict=True))
    return node if same else rebuilt(node, new)


def without(node: TypedNode, absent: Container[int]) -> TypedNode | None:
    """The rest of a tree where some operands are absent; None if nothing is left."""
    match node:
        case Operand():
            return None if node.key in absent else node
        case Sum(dtype, terms, steps, minus):
            found = zip((without(term, absent) for term in terms), steps, minus, strict=True)
            left = [(term, step, sign) for term, step, sign in found if term is not None]
            if not left:
                return None
            if len(left) == 1 and left[0][0].dtype == left[0][1] == dtype and not left[0][2]:
                return left[0][0]
            kept, steps, minus = zip(*left, strict=True)
            return Sum(dtype, kept, steps, minus)
        case Product(everywhere=True) | Quotient(everywhere=True):
            parts = [without(part, absent) for part in children(node)]
            return rebuilt(
                node,
                [
                    Scalar(old.dtype, 0) if new is None else new
                    for old, new in zip(children(node), parts, strict=True)
                ],
            )
    parts = [without(part, absent) for part in children(node)]
    if any(part is None for part in parts):
        return None
    return rebuilt(node, [part for part in parts if part is not None])


def assumed(tree: TypedNode, present: Expr) -> TypedNode:
    """The tree where a condition is known to hold."""

    def change(node: TypedNode) -> TypedNode:
        if isinstance(node, Scalar) and node.present == present:
            return replace(node, present=None)
        if isinstance(node, Operand) and node.place.present == present:
            return replace(node, place=replace(node.place, present=None))
        return node

    return mapped(tree, change)


def negated(node: TypedNode) -> TypedNode:
    """The tree with its sign changed, under its sum if it is one."""
    dtype = result_type("negate", node.dtype)
    if isinstance(node, Total):
        return replace(node, dtype=dtype, operand=Minus(dtype, node.operand))
    return Minus(dtype, node)


def is_linear(node: TypedNode, key: int) -> bool:
    """Whether the tree is a linear function of an operand, so that its parts may be added up."""
    match node:
        case Operand():
            return node.key == key
        case Product(everywhere=False):
            having = [one for one in node.factors if any(o.key == key for o in operands(one))]
            return len(having) == 1 and is_linear(having[0], key)
        case Minus() | Total():
            return any(is_linear(child, key) for child in children(node))
        case Quotient(everywhere=False):
            return is_linear(node.numerator, key)
    return False
