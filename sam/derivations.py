"""Index variables that are derived from others, and tensors that are stored by them.

    Split    i becomes i // size and i % size, the tile and the place in it
    Fuse     i and j become i * |j| + j
    Rename   i gets another name

A tensor with a mode for each of its ``subscripts`` becomes one with a mode for each of what is
derived from them: of B(i,k), with i split into i0 and i1, entry (i, k) is at (i // size, i % size,
k). Variables may end in primes; what is derived from them ends in the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sam.tensor import Tensor

Extents: TypeAlias = Mapping[str, int]
Columns: TypeAlias = list[np.ndarray]


@dataclass(frozen=True)
class Split:
    """A variable as the number of its tile and the place in it.

    ``size``    how many values a tile has; or how many tiles there are, if it ``counts`` those
    """

    variable: str
    outer: str
    inner: str
    size: int
    counts: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that go."""
        return (self.variable,)

    @property
    def results(self) -> tuple[str, ...]:
        """The variables that come."""
        return self.outer, self.inner

    def tile(self, extents: Extents) -> int:
        """How many values a tile has: no more than there are, and 1 at least."""
        extent = extents[self.variable]
        return max(1, min(-(-extent // self.size) if self.counts else self.size, extent))

    def extents(self, known: Extents) -> dict[str, int]:
        """The extents of the results."""
        tile = self.tile(known)
        return {self.outer: -(-known[self.variable] // tile), self.inner: tile}

    def replaced(self, variables: Sequence[str]) -> list[str]:
        """The variables with the results in the place of each source."""
        found: list[str] = []
        for one in variables:
            base, primes = parts(one)
            new = self.results if base == self.variable else (base,)
            found += [name + primes for name in new]
        return found

    def apart(self, variables: Sequence[str], columns: Columns, extents: Extents) -> Columns:
        """The coordinates by ``replaced(variables)``."""
        tile = self.tile(extents)
        found: Columns = []
        for variable, column in zip(variables, columns, strict=True):
            found += [column // tile, column % tile] if variable == self.variable else [column]
        return found

    def together(self, variables: Sequence[str], columns: Columns, extents: Extents) -> Columns:
        """The coordinates by ``variables``; some may lie beyond the extent."""
        tile, left = self.tile(extents), iter(columns)
        return [
            next(left) * tile + next(left) if variable == self.variable else next(left)
            for variable in variables
        ]


@dataclass(frozen=True)
class Fuse:
    """Two variables as one, which goes through the inner one for each value of the outer one.

    It stands where the outer one stood.
    """

    outer: str
    inner: str
    fused: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that go."""
        return self.outer, self.inner

    @property
    def results(self) -> tuple[str, ...]:
        """The variable that comes."""
        return (self.fused,)

    def extents(self, known: Extents) -> dict[str, int]:
        """The extent of the result."""
        return {self.fused: known[self.outer] * known[self.inner]}

    def replaced(self, variables: Sequence[str]) -> list[str]:
        """The variables with the result in the place of the outer source."""
        names = {self.outer: self.fused}
        return [names.get(one, one) for one in variables if one != self.inner]

    def apart(self, variables: Sequence[str], columns: Columns, extents: Extents) -> Columns:
        """The coordinates by ``replaced(variables)``."""
        if self.outer not in variables:
            return columns
        by_name = dict(zip(variables, columns, strict=True))
        fused = by_name[self.outer] * extents[self.inner] + by_name[self.inner]
        return [
            fused if variable == self.outer else column
            for variable, column in zip(variables, columns, strict=True)
            if variable != self.inner
        ]

    def together(self, variables: Sequence[str], columns: Columns, extents: Extents) -> Columns:
        """The coordinates by ``variables``."""
        if self.outer not in variables:
            return columns
        places = self.replaced(variables)
        by_name = dict(zip(places, columns, strict=True))
        size, fused = max(1, extents[self.inner]), by_name[self.fused]
        own = {self.outer: fused // size, self.inner: fused % size}
        left = iter(column for name, column in zip(places, columns, strict=True)
                    if name != self.fused)  # fmt: skip
        return [own[name] if name in own else next(left) for name in variables]


@dataclass(frozen=True)
class Rename:
    """A variable under another name."""

    variable: str
    name: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The variable that goes."""
        return (self.variable,)

    @property
    def results(self) -> tuple[str, ...]:
        """The variable that comes."""
        return (self.name,)

    def extents(self, known: Extents) -> dict[str, int]:
        """The extent of the result."""
        return {self.name: known[self.variable]}

    def replaced(self, variables: Sequence[str]) -> list[str]:
        """The variables with the result in the place of the source."""
        split = map(parts, variables)
        return [(self.name if base == self.variable else base) + primes for base, primes in split]

    def apart(self, variables: Sequence[str], columns: Columns, extents: Extents) -> Columns:
        """The coordinates by ``replaced(variables)``."""
        return columns

    def together(self, variables: Sequence[str], columns: Columns, extents: Extents) -> Columns:
        """The coordinates by ``variables``."""
        return columns


Derivation: TypeAlias = Split | Fuse | Rename


def parts(variable: str) -> tuple[str, str]:
    """A variable without its primes, and those."""
    base = variable.rstrip("'")
    return base, variable[len(base) :]


def replaced(variables: Iterable[str], derivations: Iterable[Derivation]) -> tuple[str, ...]:
    """The variables that all derivations, in turn, leave in the place of some."""
    found = list(variables)
    for derivation in derivations:
        found = derivation.replaced(found)
    return tuple(found)


def with_derived(known: Extents, derivations: Iterable[Derivation]) -> dict[str, int]:
    """The extents with those of the derived variables whose sources are known."""
    found = dict(known)
    for derivation in derivations:
        if all(source in found for source in derivation.sources):
            found.update(derivation.extents(found))
    return found


def derived(
    tensor: Tensor, subscripts: Sequence[str], derivations: Sequence[Derivation], extents: Extents
) -> Tensor:
    """The tensor by what is derived from its subscripts, all its levels compressed.

    It stays as it is where they only get other names.
    """
    if _renamed(subscripts, derivations):
        return tensor
    coordinates, values = tensor.to_coo()
    columns, variables = list(coordinates), list(subscripts)
    for derivation in derivations:
        columns = derivation.apart(variables, columns, extents)
        variables = derivation.replaced(variables)
    return Tensor.from_coo(_stacked(columns, len(values)), values, _shape(variables, extents))


def underived(
    tensor: Tensor, subscripts: Sequence[str], derivations: Sequence[Derivation], extents: Extents
) -> Tensor:
    """The tensor of which ``derived`` makes this one; entries in what is beyond extents are left
    out, as a last tile has places that are no coordinates."""
    if _renamed(subscripts, derivations):
        return tensor
    coordinates, values = tensor.to_coo()
    columns = list(coordinates)
    within = np.ones(len(values), bool)
    for derivation, before in reversed(list(_stages(subscripts, derivations))):
        columns = derivation.together(before, columns, extents)
        for column, extent in zip(columns, _shape(before, extents), strict=True):
            within &= column < extent
    shape = _shape(subscripts, extents)
    return Tensor.from_coo(_stacked(columns, len(values))[:, within], values[within], shape)


def _renamed(subscripts: Sequence[str], derivations: Sequence[Derivation]) -> bool:
    """Whether nothing becomes of subscripts but other names."""
    return all(
        isinstance(derivation, Rename) or not {*derivation.sources} & {*before}
        for derivation, before in _stages(subscripts, derivations)
    )


def _stages(
    subscripts: Sequence[str], derivations: Iterable[Derivation]
) -> Iterator[tuple[Derivation, list[str]]]:
    """The derivations, each with the variables before it."""
    variables = list(subscripts)
    for derivation in derivations:
        yield derivation, variables
        variables = derivation.replaced(variables)


def _shape(variables: Iterable[str], extents: Extents) -> tuple[int, ...]:
    return tuple(extents[variable] for variable in variables)


def _stacked(columns: Columns, entries: int) -> np.ndarray:
    return np.array(columns, np.int64).reshape(len(columns), entries)
