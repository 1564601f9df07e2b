"""Computed subscripts: affine forms of index variables, and the extents that they fix.

A mode whose subscript is ``2*i + k - 1`` is read at that coordinate; a coordinate outside the
extent of the mode reads as zero, which is padding. The variable of a form that the loops bind last
*resolves* the subscript: once the others are known, each of its values gives one coordinate, and
each coordinate belongs to one of its values at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Terms = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Affine:
    """A form ``scale * variable + sum of terms + constant``.

    ``variable``  the variable that resolves the form; ``scale`` is not 0
    ``terms``     the others, each with its coefficient, none of them 0
    """

    variable: str
    scale: int = 1
    terms: Terms = ()
    constant: int = 0

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the form; the one that resolves it comes last."""
        return (*(name for name, _ in self.terms), self.variable)

    def coefficients(self) -> dict[str, int]:
        """The coefficient of each variable."""
        return {**dict(self.terms), self.variable: self.scale}

    def resolved_by(self, variable: str) -> Affine:
        """The same form, resolved by another of its variables."""
        found = self.coefficients()
        scale = found.pop(variable)
        return Affine(variable, scale, tuple(found.items()), self.constant)

    def resolved_in(self, loops: Sequence[str]) -> Affine:
        """The same form, resolved by the variable that the loops bind last."""
        last = max(self.variables, key=loops.index)
        return self if last == self.variable else self.resolved_by(last)

    def renamed(self, names: Mapping[str, str]) -> Affine:
        """The form with other names for some variables."""
        terms = tuple((names.get(name, name), scale) for name, scale in self.terms)
        return Affine(names.get(self.variable, self.variable), self.scale, terms, self.constant)

    def span(self, extents: Mapping[str, int]) -> int | None:
        """The largest value plus one; 0 if there is no value; None if it is not known."""
        found = self.coefficients()
        if any(name not in extents for name in found):
            return None
        if any(extents[name] == 0 for name in found):
            return 0
        top = sum(scale * (extents[name] - 1) for name, scale in found.items() if scale > 0)
        return max(0, top + self.constant + 1)

    def largest(self, variable: str, size: int, extents: Mapping[str, int]) -> int | None:
        """The largest extent of a variable that keeps the form inside of a mode's extent.

        A variable with a positive coefficient is bounded by ``size``, one with a negative
        coefficient by 0. None where another variable's extent is not known.
        """
        found = self.coefficients()
        own = found.pop(variable)
        if any(name not in extents for name in found):
            return None
        moved = self.constant + sum(
            scale * max(0, extents[name] - 1)
            for name, scale in found.items()
            if (scale > 0) == (own > 0)
        )
        room = size - 1 - moved if own > 0 else moved
        return max(0, room // abs(own) + 1)

    def __str__(self) -> str:
        text = ""
        for name, scale in (*self.terms, (self.variable, self.scale)):
            sign = ("-" if scale < 0 else "+") if text or scale < 0 else ""
            text += sign + (name if abs(scale) == 1 else f"{abs(scale)}*{name}")
        return text + (f"{self.constant:+}" if self.constant else "")


@dataclass(frozen=True)
class Span:
    """A variable that goes through all places of a mode, whose subscript in the program is a form.

    Its extent is one more than the form's largest value, where nothing else fixes it.
    """

    variable: str
    form: Affine


def with_inferred(
    extents: Mapping[str, int],
    sizes: Iterable[tuple[Affine, int]],
    spans: Iterable[Span] = (),
) -> dict[str, int]:
    """The extents with those that follow from forms and the extents of their modes.

    A variable that nothing else fixes goes as far as all forms stay inside their modes (valid
    convolution).
    """
    found, sizes, spans = dict(extents), list(sizes), list(spans)
    while True:
        least: dict[str, int] = {}
        for form, size in sizes:
            for name in form.variables:
                known = None if name in found else form.largest(name, size, found)
                if known is not None:
                    least[name] = min(known, least.get(name, known))
        for span in spans:
            known = None if span.variable in found else span.form.span({**least, **found})
            if known is not None:
                least[span.variable] = known
        if not least:
            return found
        found |= least
