"""Index variables that are derived from others, and tensors that are stored by them.

    Split    i becomes i // size and i % size, the tile and the place in it
    Fuse     i and j become i * |j| + j
    Rename   i gets another name
    Share    the entries of a tensor are numbered, and the number // size is a variable of its own

A tensor with a mode for each of its ``subscripts`` becomes a tensor with a mode for each variable
that is derived from them: of B(i,k), with i split into i0 and i1, entry (i, k) is at (i // size, i
% size, k). Variables may end in primes; variables derived from them end in the same primes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
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
        """The variables that are replaced."""
        return (self.variable,)

    @property
    def results(self) -> tuple[str, ...]:
        """The variables that replace the source."""
        return self.outer, self.inner

    def tile(self, extents: Extents) -> int:
        """How many values a tile has: 1 at least, and at most the extent."""
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
        """The variables that are replaced."""
        return self.outer, self.inner

    @property
    def results(self) -> tuple[str, ...]:
        """The variable that replaces the sources."""
        return (self.fused,)

    def extents(self, known: Extents) -> dict[str, int]:
        """The extent of the result."""
        return {self.fused: known[self.outer] * known[self.inner]}

    def replaced(self, variables: Sequence[str]) -> list[str]:
        """The variables with the result in the place of the outer source."""
        names = {self.outer: self.fused}
        split = map(parts, variables)
        return [names.get(base, base) + primes for base, primes in split if base != self.inner]

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
        """The variable that is replaced."""
        return (self.variable,)

    @property
    def results(self) -> tuple[str, ...]:
        """The variable that replaces the sources."""
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


@dataclass(frozen=True)
class Share:
    """Equal shares of the entries of a tensor, in the order of its storage.

    Entries that agree in ``variables`` count as one entry; entries are numbered among those that
    agree in the first ``above`` variables. The number of the share becomes a mode of its own,
    before all others.

    ``tensor``, ``subscripts``  the accesses that are stored so; all others stay as they are
    ``variables``  the variables of the tensor's outer levels, in the order of storage
    ``above``      how many of them lie above the levels whose entries are numbered
    ``share``      the variable
    ``size``       how many entries a share has; or how many shares there are, if it ``counts`` them
    ``around``     the sizes of the shares that are shared again, outermost first, and whether they
                   count
    """

    tensor: str
    subscripts: tuple[str, ...]
    variables: tuple[str, ...]
    above: int
    share: str
    size: int
    counts: bool = False
    around: tuple[tuple[int, bool], ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The variables that are replaced: none."""
        return ()

    @property
    def results(self) -> tuple[str, ...]:
        """The variable that replaces the sources."""
        return (self.share,)

    def extents(self, known: Extents) -> dict[str, int]:
        """The extent of the result, if each place had an entry."""
        shared = self.variables[self.above :]
        if not all(variable in known for variable in shared):
            return {}
        entries = prod(known[variable] for variable in shared)
        for size, counts in self.around:
            entries = -(-entries // size) if counts else min(size, entries)
        # With fewer entries than places, each share that is counted may have one entry.
        shares = min(self.size, entries) if self.counts else -(-entries // self.size)
        return {self.share: shares}

    def replaced(self, variables: Sequence[str]) -> list[str]:
        """The variables unchanged: the share replaces none."""
        return list(variables)

    def apart(self, variables: Sequence[str], columns: Columns, extents: Extents) -> Columns:
        """The coordinates by ``replaced(variables)``."""
        return columns

    def together(self, variables: Sequence[str], columns: Columns, extents: Extents) -> Columns:
        """The coordinates by ``variables``."""
        return columns

    def numbers(self, columns: Columns) -> np.ndarray:
        """The share of each entry, whose coordinates are by ``subscripts``."""
        by_name = dict(zip(self.subscripts, columns, strict=True))
        keys = [by_name[variable] for variable in self.variables]
        order = np.lexsort(keys[::-1])
        first = np.zeros(len(order), bool)  # whether an entry is the first below those above
        other = np.zeros(len(order), bool)  # whether it differs from the one before
        for level, key in enumerate(keys):
            other[1:] |= np.diff(key[order]) != 0
            if level < self.above:
                first |= other
        first[:1] = other[:1] = True
        number = np.cumsum(other) - 1
        begins = np.flatnonzero(first)
        group = np.cumsum(first) - 1
        number -= number[begins][group]
        entries = np.append(number[begins[1:] - 1], number[-1:])[group] + 1
        for size, counts in (*self.around, (self.size, self.counts)):
            entries = np.maximum(1, -(-entries // size)) if counts else np.full_like(entries, size)
            shared, number = number // entries, number % entries
        found = np.empty_like(shared)
        found[order] = shared
        return found


Derivation: TypeAlias = Split | Fuse | Rename | Share


def parts(variable: str) -> tuple[str, str]:
    """A variable without its primes, and its primes."""
    base = variable.rstrip("'")
    return base, variable[len(base) :]


def replaced(variables: Iterable[str], derivations: Iterable[Derivation]) -> tuple[str, ...]:
    """The variables that the derivations, done in turn, put in the place of some."""
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
    tensor: Tensor,
    subscripts: Sequence[str],
    derivations: Sequence[Derivation],
    extents: Extents,
    shares: Sequence[str] = (),
) -> Tensor:
    """The tensor with a mode for each variable derived from its subscripts, all levels compressed.
    It stays as it is where variables only get other names. ``shares`` are the shares of its entries
    that become its first modes.
    """
    if not shares and _renamed(subscripts, derivations):
        return tensor
    coordinates, values = tensor.to_coo()
    made = {one.share: one for one in derivations if isinstance(one, Share)}
    columns = [*(made[share].numbers(list(coordinates)) for share in shares), *coordinates]
    variables = [*shares, *subscripts]
    for derivation in derivations:
        columns = derivation.apart(variables, columns, extents)
        variables = derivation.replaced(variables)
    return Tensor.from_coo(_stacked(columns, len(values)), values, _shape(variables, extents))


def underived(
    tensor: Tensor, subscripts: Sequence[str], derivations: Sequence[Derivation], extents: Extents
) -> Tensor:
    """The inverse of ``derived``. Entries beyond the extents are left out: a last tile has places
    that are no coordinates."""
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
    """Whether derivations only rename the subscripts."""
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
