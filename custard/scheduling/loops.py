"""The provenance graph of a loop nest: its loops, and the loops that each was derived from.

A loop is a variable of the program, or was derived from some by ``split``, ``divide``, ``fuse``,
``pos``, ``coord`` or ``bound`` (scheduling paper, Section 3.2). Target c reads the graph as it
lowers a statement: ``order`` gives the loops for the variables that a part of the program has, as
a command holds only where all of its sources are.

Variables may end in primes; loops derived from them end in the same primes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from custard.ir import cin
from custard.language.commands import Command
from custard.scheduling.bounds import Bounded
from sam.derivations import Derivation, Fuse, Rename, Split, parts

# The level formats whose positions are numbered in the order of the coordinates.
NUMBERED = "dsuqc"


@dataclass(frozen=True)
class ParallelLoop:
    """A loop whose iterations are shared out."""

    unit: str
    races: str
    command: Command = field(compare=False)


@dataclass(frozen=True)
class Precomputed:
    """A workspace of the schedule: the statement that fills it, and its variables (all others are
    bound); ``policy`` is the kind that is asked for."""

    program: cin.LoopProgram
    variables: tuple[str, ...]
    policy: str | None = None


# A test whether a part of the program reads a tensor with given variables as consecutive levels.
Reads = Callable[[str, Sequence[str]], bool]


def _all_read(tensor: str, variables: Sequence[str]) -> bool:
    return True


@dataclass(frozen=True)
class LoopNest:
    """A schedule of loops.

    ``loops``        the loops, outermost first, without primes
    ``derivations``  in the order of the commands
    ``positions``    the tensor of each loop over positions, by the name that ``pos`` gave
    ``bounds``       conditions on the inputs
    ``unrolled``     how often the bodies of loops are repeated
    ``parallel``     the loops whose iterations are shared out
    ``precomputed``  the workspaces, by name
    ``value``        the right side that reads the workspaces; None if there are none
    """

    loops: tuple[str, ...] = ()
    derivations: tuple[Derivation, ...] = ()
    positions: Mapping[str, str] = field(default_factory=dict)
    bounds: tuple[Bounded, ...] = ()
    unrolled: Mapping[str, int] = field(default_factory=dict)
    parallel: Mapping[str, ParallelLoop] = field(default_factory=dict)
    precomputed: Mapping[str, Precomputed] = field(default_factory=dict)
    value: cin.Expression | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the loops are those over the variables, unchanged by a schedule."""
        return not (self.derivations or self.parallel or self.unrolled or self.precomputed)

    @property
    def has_threads(self) -> bool:
        """Whether the schedule asks for threads."""
        return any(one.unit != "CPUVector" for one in self.parallel.values())

    # The graph

    def made(self, loop: str) -> Derivation | None:
        """The derivation that makes a loop; None for a variable of the program."""
        base = parts(loop)[0]
        return next((one for one in self.derivations if base in one.results), None)

    def used(self, loop: str) -> Derivation | None:
        """The derivation that uses up a loop; None if the loop is in the nest."""
        base = parts(loop)[0]
        return next((one for one in self.derivations if base in one.sources), None)

    def tensor_of(self, loop: str) -> str | None:
        """The tensor over whose positions a loop goes, where ``pos`` made it."""
        return self.positions.get(parts(loop)[0])

    def originals(self, loop: str) -> tuple[str, ...]:
        """The variables of the program that a loop is derived from."""
        base, primes = parts(loop)
        one = self.made(base)
        if one is None:
            return (loop,)
        found = [v for source in one.sources for v in self.originals(source)]
        return tuple(v + primes for v in dict.fromkeys(found))

    def variables(self, loops: Iterable[str]) -> list[str]:
        """The variables of the program that some loops are derived from."""
        return list(dict.fromkeys(v for loop in loops for v in self.originals(loop)))

    def ancestors(self, loop: str) -> Iterator[str]:
        """The loop, and all loops that it is derived from."""
        base, primes = parts(loop)
        yield loop
        one = self.made(base)
        for source in () if one is None else one.sources:
            yield from self.ancestors(source + primes)

    def over_positions(self, loop: str) -> bool:
        """Whether a loop is, or is derived from, one over positions."""
        return any(self.tensor_of(one) is not None for one in self.ancestors(loop))

    def leaves(self, loop: str) -> tuple[str, ...]:
        """The loops of the nest that are derived from a variable or loop."""
        base, primes = parts(loop)
        one = self.used(base)
        if one is None:
            return (loop,)
        return tuple(leaf + primes for result in one.results for leaf in self.leaves(result))

    def related(self, loop: str) -> set[str]:
        """The loop with all loops that it is derived from and all that are derived from it."""
        found = {loop}
        for one in reversed(self.derivations):
            if found & {*one.results}:
                found |= {*one.sources}
        for one in self.derivations:
            if found & {*one.sources}:
                found |= {*one.results}
        return found

    def place(self, loop: str) -> int:
        """The number of the loop with which a variable or loop is complete."""
        bases = [parts(leaf)[0] for leaf in self.leaves(loop)]
        return max((self.loops.index(one) for one in bases if one in self.loops), default=-1)

    def without(self, loop: str, variables: Sequence[str]) -> LoopNest:
        """The nest with loops over variables in the place of a loop, which has no primes, and
        without the loops that were derived with it."""
        gone = self.related(loop)
        loops = [
            found
            for one in self.loops
            for found in (variables if one == loop else () if one in gone else (one,))
        ]
        left = [one for one in self.derivations if not gone & {*one.sources, *one.results}]
        return replace(self, loops=tuple(loops), derivations=tuple(left))

    # The loops of a part of the program

    def nest(self, variables: Iterable[str], reads: Reads = _all_read) -> list[str]:
        """The loops that go through some variables in their order, each before the loops that its
        derivation puts inside.

        A derivation holds where all of its sources are, and ``pos`` where its tensor is read.
        Variables that are fused and not split afterwards are two loops again: fusing alone changes
        no order. Loops that do not follow each other are not fused: as one loop, they go through
        the variables in another order.
        """
        return self._nest(variables, reads, in_order=True)

    def _nest(self, variables: Iterable[str], reads: Reads, in_order: bool) -> list[str]:
        names = list(variables)
        for suffix in dict.fromkeys(parts(one)[1] for one in names):
            for one in self.derivations:
                names = self._derived(one, names, suffix, reads, in_order)
        return [found for name in names for found in self._apart(name)]

    def _derived(
        self, one: Derivation, names: list[str], suffix: str, reads: Reads, in_order: bool
    ) -> list[str]:
        sources = [source + suffix for source in one.sources]
        if not all(source in names for source in sources):
            return names
        first = names.index(sources[0])
        if in_order and names[first : first + len(sources)] != sources:
            return names
        if isinstance(one, Rename) and one.name in self.positions:
            chain = [v + suffix for v in self.originals(one.variable)]
            if not reads(self.positions[one.name], chain):
                return names
        made = [result + suffix for result in one.results]
        return [n for name in names for n in (made if name == sources[0] else
                () if name in sources else [name])]  # fmt: skip

    def _apart(self, name: str) -> list[str]:
        one, primes = self.made(name), parts(name)[1]
        if one is None or isinstance(one, Split):
            return [name]
        return [found for source in one.sources for found in self._apart(source + primes)]

    def order(self, variables: Iterable[str], reads: Reads = _all_read) -> list[str]:
        """The loops for some variables, outermost first."""
        return sorted(self._nest(self.natural(variables), reads, in_order=False), key=self.place)

    def completed(self, variables: Iterable[str]) -> list[str]:
        """Variables of the program in the order in which their coordinates are known."""
        return sorted(self.natural(variables), key=self.place)

    def natural(self, variables: Iterable[str]) -> list[str]:
        """Variables of the program, those that are fused in the order in which they are."""
        found = dict.fromkeys(variables)
        ordered: dict[str, None] = {}
        for variable in found:
            primes = parts(variable)[1]
            group = [v for one in self._fused_with(variable) if (v := one + primes) in found]
            ordered |= dict.fromkeys([*group, variable])
        return list(ordered)

    def _fused_with(self, variable: str) -> list[str]:
        """The variables of the loop that a variable goes into with others, in the order in which
        their coordinates are known."""
        found: list[str] = []
        for one in self.derivations:
            if isinstance(one, Fuse):
                turns = self._turns(one.fused)
                if parts(variable)[0] in turns:
                    found = list(dict.fromkeys(reversed(turns)))[::-1]
        return found

    def _turns(self, loop: str) -> list[str]:
        """The variables that a loop goes through, in turn; a split loop may have several."""
        one = self.made(loop)
        if one is None:
            return [loop]
        return [variable for source in one.sources for variable in self._turns(source)]

    def with_variables(self, variables: Sequence[str]) -> LoopNest:
        """The nest with loops for new variables, each placed as in a list of variables."""
        loops = list(self.loops)
        known = {one for loop in loops for one in self.originals(loop)}
        for before, variable in zip(("", *variables), variables, strict=False):
            base = parts(variable)[0]
            if base not in known:
                at = replace(self, loops=tuple(loops)).place(before) + 1 if before else 0
                loops.insert(at, base)
                known.add(base)
        return replace(self, loops=tuple(loops))

    def tags(self, loop: str) -> Iterator[str]:
        """The loop with its earlier names: facts about those hold for it."""
        primes = parts(loop)[1]
        todo = [parts(loop)[0]]
        while todo:
            name = todo.pop()
            yield name
            one = self.used(name)
            if isinstance(one, Rename):
                todo.append(one.name)
            if isinstance(one, Fuse) and not primes:
                todo.append(one.fused)

    def shares(self, loop: str) -> ParallelLoop | None:
        """How the iterations of a loop are shared out, if they are.

        For a fused loop, the sharing of the outer loop counts.
        """
        for name in self.tags(loop):
            if name in self.parallel:
                return self.parallel[name]
        return None

    def repeats(self, loop: str) -> int | None:
        """How often the body of a loop is repeated, if it is."""
        return next((self.unrolled[n] for n in self.tags(loop) if n in self.unrolled), None)
