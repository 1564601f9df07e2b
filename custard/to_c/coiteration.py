"""The operands that a loop iterates over together, and the operands that it locates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from custard.ir import cin
from custard.language.commands import Command, require_able
from custard.to_c import lattice
from custard.to_c.expression import (
    Operand,
    Product,
    Quotient,
    Scalar,
    Sum,
    TypedNode,
    children,
    operand_of,
)
from custard.to_c.loop_ir import Expr
from custard.to_c.storage import Storage
from custard.to_c.subsections import reduced_level


@dataclass(frozen=True)
class Coiteration:
    """The coordinates of a variable at which a tree is present, and how a loop finds them.

    ``formula``      the coordinates, in terms of the operands that are iterated over
    ``located``      the keys of the operands that are located instead
    ``conditional``  whether some factor may be absent for all values of the variable
    """

    formula: lattice.Formula
    located: frozenset[int]
    conditional: bool


def coiteration(
    tree: TypedNode, variable: str, storage: Storage, choices: Mapping[tuple[str, str], Command]
) -> Coiteration:
    """The coordinates of a variable at which a tree is present, and how a loop finds them.

    ``choices`` has the forced commands of the schedule by tensor and variable.
    """
    search = _TreeSearch(variable, storage, choices)
    formula = search.formula(tree)
    return Coiteration(formula, frozenset(search.located), search.conditional)


class _TreeSearch:
    """The walk through one tree."""

    def __init__(
        self, variable: str, storage: Storage, choices: Mapping[tuple[str, str], Command]
    ) -> None:
        self.variable, self.storage, self.choices = variable, storage, choices
        self.located: set[int] = set()
        self.conditional = False

    def formula(self, node: TypedNode) -> lattice.Formula:
        match node:
            case Operand():
                if self.iterates(node):
                    return lattice.Has(node.key)
                return _condition(node.place.present)
            case Scalar():
                return _condition(node.present)
            case Sum():
                return lattice.disjunction(list(map(self.formula, node.terms)))
            case Product(everywhere=True) | Quotient(everywhere=True):
                parts = map(self.formula, children(node))
                return lattice.disjunction([lattice.ALWAYS, *parts])
            case Product():
                return self.product(node)
            case Quotient():
                return self.formula(node.numerator)
        (operand,) = children(node)
        return self.formula(operand)

    def product(self, node: Product) -> lattice.Formula:
        """Where all factors are. Factors to locate at another's coordinates do not iterate."""
        parts = list(map(self.formula, node.factors))
        iterating = [n for n, part in enumerate(parts) if lattice.iterated(part)]
        for n in list(iterating):
            factor, keys = node.factors[n], lattice.iterated(parts[n])
            if len(iterating) > 1 and all(self.locates(operand_of(factor, key)) for key in keys):
                self.located |= {*keys}
                parts[n] = lattice.ALWAYS
                iterating.remove(n)
            elif len(iterating) > 1 and isinstance(factor, Operand) and self.collects(factor):
                parts[n] = lattice.ALWAYS
                iterating.remove(n)
        # A factor with a condition does not iterate; the condition is tested inside the loop.
        self.conditional |= any(isinstance(part, lattice.When) for part in parts)
        return lattice.conjunction(parts)

    def collects(self, operand: Operand) -> bool:
        """Whether the values at which an operand has coordinates would be collected first, which
        does not pay where another factor tells them."""
        level = reduced_level(operand, self.variable)
        return operand.left[:1] != (self.variable,) and level not in (None, operand.level)

    def locates(self, operand: Operand) -> bool:
        """Whether an operand's next level is to be located rather than merged."""
        choice = self.choice(operand, operand.left[0])
        return self.storage.level(operand).format.locates and (
            choice is None or choice.name == "locate"
        )

    def iterates(self, operand: Operand) -> bool:
        """Whether the loop iterates over an operand's coordinates.

        A full level that is certainly present is located.
        """
        if operand.left[:1] != (self.variable,):
            return reduced_level(operand, self.variable) is not None
        format = self.storage.level(operand).format
        choice = self.choice(operand, self.variable)
        if choice is not None and choice.name == "locate":
            require_able(format, choice)
        if choice is not None and format.locates:
            return choice.name == "coiterate"
        return not format.full or operand.form is not None

    def choice(self, operand: Operand, variable: str) -> Command | None:
        """The command of the schedule for an operand at a variable."""
        return self.choices.get((operand.slot.tensor or "", cin.base(variable)))


def _condition(present: Expr | None) -> lattice.Formula:
    return lattice.ALWAYS if present is None else lattice.When(present)
