"""Loops whose iterations are shared out to threads, and the combination of their results.

Each thread gets an equal share of the loop's values, in order, and runs a function of its own; for
a result in rows, there are more shares, which it runs in turn (``shared_rows``).
Where several threads write to one place, each writes to a copy of its own, and the copies are added
up in the order of the threads: so the order of floating-point sums depends only on the number of
threads.

    a dense result, each place written by one thread     shared, each thread zeroes its rows
    a dense result in rows, each share's in a range      shared, but for its first row
    other dense results, numbers, that threads add to    a copy for each thread
    a workspace                                          one for each thread
    a result that is appended to                         a part for each thread

Parts are put together in two passes: their entries are counted, the counts summed up to the places
where each part begins, and then all threads copy. The first part stays where it is and gets room
for the others (``ThreadParts``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from custard.to_c.builder import THREADS, exists, resized
from custard.to_c.derived_loops import DerivedLoop
from custard.to_c.expression import TypedNode
from custard.to_c.levels import Hashed
from custard.to_c.loop_ir import (
    BOOL,
    INT,
    ONE,
    TRUE,
    ZERO,
    Assign,
    Call,
    Const,
    Declare,
    Expr,
    Field,
    For,
    If,
    Load,
    Op,
    Ordered,
    Parallel,
    Require,
    Stmt,
    Type,
    Var,
    array,
    both,
    cast,
    either,
    op,
    select,
)
from custard.to_c.outputs import CoordinateRange, Output, RangedVariable, ScalarOutput, TensorOutput
from custard.to_c.shared_rows import RowsOutput, rows_of
from custard.to_c.storage import Storage
from custard.to_c.values import adding, number
from custard.to_c.workspaces import Keyed, WorkspaceOutput
from sam.derivations import Split, parts

if TYPE_CHECKING:
    from custard.to_c.lowering import Lowering


@dataclass
class Own:
    """The output of one thread.

    ``first``, ``last``    statements of the thread's function around its loops
    ``before``, ``after``  statements around all threads
    ``outs``    outside numbers that threads change, by the pointers to them
    ``structs``  the thread's structs in place of the kernel's, by their names
    ``shares``   the number of shares, ``most`` at most; None for one to each thread
    """

    output: Output
    first: list[Stmt] = field(default_factory=list)
    last: list[Stmt] = field(default_factory=list)
    before: list[Stmt] = field(default_factory=list)
    after: list[Stmt] = field(default_factory=list)
    outs: list[tuple[Var, Var]] = field(default_factory=list)
    structs: dict[str, str] = field(default_factory=dict)
    shares: Var | None = None
    most: Expr = THREADS


class SharedLoop:
    """The loop over the first of some loops, shared out to threads."""

    def __init__(
        self, lowering: Lowering, order: Sequence[str], tree: TypedNode, output: Output
    ) -> None:
        self.lowering, self.builder = lowering, lowering.builder
        self.order, self.tree, self.output = list(order), tree, output

    def refusal(self) -> str | None:
        """Why threads cannot share the loop; None where they can."""
        output = self.output
        if isinstance(output, WorkspaceOutput) and not isinstance(output.workspace, Keyed):
            return "it fills an array that other loops read"
        if isinstance(output, TensorOutput) and output.appended:
            left = set(output.appended) - set(output.bound)
            if left and (output.bound or output.pending):
                return "the result is appended to in order, and only its outermost loop is shared"
            if not left:
                return "its output is appended to"
        return None

    def statements(self) -> list[Stmt]:
        """The loop, and the statements that combine the results of the threads."""
        lowering, builder, leaf = self.lowering, self.builder, self.order[0]
        lowering.shared = True
        which = Var(builder.fresh("share"))
        loop = DerivedLoop(lowering, self.order, self.tree, self.output)
        name = builder.name_of(leaf)
        extent = loop.number(f"{name}_count", loop.extent(leaf))
        with builder.thread() as (heap, prologue, required), own_scratches(lowering.storage):
            own = self.own(which)
            begin, end = (Var(builder.fresh(f"{name}_{n}")) for n in ("first", "last"))
            own_share = RangedVariable(leaf, lambda output: CoordinateRange(begin, end))
            inner = replace(
                own.output, pending={**own.output.pending, leaf: (own_share,)}, threaded=True
            )
            loops = lowering.loop(self.order, self.tree, inner)
            zeroed = self.zeroed(loop, begin, end) if own.output is self.output else []
            dealt, limits = [], (share(extent, which), share(extent, which + 1))
            if own.shares is not None:
                # The arrays of a share's own cost more where there are more shares.
                most = THREADS if heap else own.most
                each = Var(builder.fresh(f"{name}_each"))
                dealt = _dealt(extent, most, each, own.shares)
                last = (which + 1) * each
                limits = which * each, select(last < extent, last, extent)
            body = [
                Declare(begin, limits[0], const=True),
                Declare(end, limits[1], const=True),
                *prologue,
                *([Require(both(*required))] if required else []),
                *own.first,
                *zeroed,
                *loops,
                *own.last,
            ]
        function = builder.function(f"{name}_part")
        ordered = any(isinstance(one, Ordered) for one in own.last)
        structs = tuple(own.structs.items())
        shared = Parallel(
            *(function, leaf, which, THREADS, tuple(heap), body, tuple(own.outs), structs),
            *(ordered, own.shares),
        )
        return [*loop.before, *dealt, *own.before, shared, *own.after]

    # The output of a thread

    def own(self, n: Var) -> Own:
        match self.output:
            case TensorOutput() if self.output.appended:
                return ThreadParts(self.lowering, self.output).own(n)
            case TensorOutput() if not self.races():
                return Own(self.output)
            case TensorOutput():
                rows = rows_of(self.lowering.nest, self.order, self.output, n)
                if rows is None:
                    return self.copied(self.output)
                return self.rows(rows)
            case ScalarOutput():
                return self.number(self.output)
            case WorkspaceOutput():
                return self.workspace(self.output)
        raise AssertionError(self.output)

    def races(self) -> bool:
        """Whether several threads may write to one place of a dense result."""
        assert isinstance(self.output, TensorOutput)
        touched = set(self.lowering.nest.originals(self.order[0]))
        return not touched <= set(self.output.assembly.variables)

    def zeroed(self, loop: DerivedLoop, begin: Expr, end: Expr) -> list[Stmt]:
        """Statements in which a thread zeroes its own rows of a dense result whose places are not
        all written; empty if the thread's share of the loop is not a range of rows."""
        output, nest, leaf = self.output, self.lowering.nest, self.order[0]
        if not isinstance(output, TensorOutput) or output.sparse or output.accumulate:
            return []
        if output.bound:
            return []
        assembly, (name, primes), made = output.assembly, parts(leaf), nest.made(leaf)
        if assembly.zeroed or not assembly.partial:
            return []
        tiles = made if isinstance(made, Split) and name == made.outer else None
        if (leaf if tiles is None else tiles.variable + primes) != assembly.variables[0]:
            return []
        if tiles is not None:
            tile = loop.tile(tiles, primes)
            size = self.lowering.storage.extent(assembly.variables[0])
            begin, end = begin * tile, select(op("<", end * tile, size), end * tile, size)
        assembly.zeroed = True
        # As a parameter of the thread's function: a function that reads it in the struct at once
        # has loops that gcc makes half as fast (it unrolls the outer one, and gathers).
        count = loop.number(f"{assembly.name}_row", assembly.block(1, len(assembly.levels)))
        p = Var(self.builder.fresh("p"))
        zero = Assign(assembly.values[p], number(0, output.dtype))
        return [For(p, begin * count, end * count, [zero])]

    def copied(self, output: TensorOutput) -> Own:
        """A copy of a dense result, all zero at first, to be added to the result."""
        assembly, builder = output.assembly, self.builder
        assembly.partial |= set(assembly.variables)
        values = Var(builder.fresh(f"{assembly.name}_own"), assembly.values.type)
        builder.heap.append(values)
        count = assembly.block(0, len(assembly.levels))
        p = Var(builder.fresh("p"))
        place = assembly.values[p]
        add = For(p, ZERO, count, [Assign(place, values[p], adding(output.dtype))])
        first = [resized(values, ZERO, count, zeroed=True), Require(exists(values))]
        copy = replace(output, values=values, accumulate=True)
        return Own(copy, first, [Ordered([add])])

    def rows(self, output: RowsOutput) -> Own:
        """Rows of a dense result, written in place except the first."""
        if output.clean is None:
            output.skips(output.assembly.variables)
        around = output.before(), output.behind()
        own = Own(output, output.first(), output.last(), *around)
        own.shares, own.most = output.shares, output.most_shares()
        return own

    def number(self, output: ScalarOutput) -> Own:
        """A number to be added to the number outside."""
        builder, dtype = self.builder, output.dtype
        var = Var(builder.fresh(f"{output.var.name}_own"), output.var.type)
        total = Var(builder.fresh(f"{output.var.name}_out"), array(output.var.type))
        first: list[Stmt] = [Declare(var, number(0, dtype))]
        add: list[Stmt] = [Assign(Load(total, ZERO), var, adding(dtype))]
        outs, flag = [(total, output.var)], None
        if output.flag is not None:
            flag = Var(builder.fresh(f"{output.flag.name}_own"), BOOL)
            found = Var(builder.fresh(f"{output.flag.name}_out"), array(BOOL))
            first.append(Declare(flag, Const(False, BOOL)))
            add = [If([(flag, [*add, Assign(Load(found, ZERO), TRUE)])])]
            outs.append((found, output.flag))
        return Own(replace(output, var=var, flag=flag), first, [Ordered(add)], outs=outs)

    def workspace(self, output: WorkspaceOutput) -> Own:
        """A workspace whose values are added to the workspace outside."""
        shared = output.workspace
        assert isinstance(shared, Keyed)
        own = shared.another(self.builder.fresh(f"{shared.name}_own"))
        return Own(own.output().inside(output), [], [*own.ready(), *shared.add(own)])


@contextmanager
def own_scratches(storage: Storage) -> Iterator[None]:
    """Inside, operands are sorted into arrays of the thread's own."""
    tables = [one for one in storage.functions.values() if isinstance(one, Hashed)]
    before = [one.scratches for one in tables]
    for one in tables:
        one.scratches = {}
    yield
    for one, found in zip(tables, before, strict=True):
        one.scratches = found


def share(extent: Expr, thread: Expr) -> Expr:
    """The begin of a thread's share; shares differ by one value at most."""
    whole, rest = op("/", extent, THREADS), op("%", extent, THREADS)
    return whole * thread + op("/", rest * thread, THREADS)


def _dealt(extent: Expr, most: Expr, each: Var, shares: Var) -> list[Stmt]:
    """Declares how many values each share has, but for the last, and the number of shares."""
    needed = op("/", extent + (most - 1), most)
    return [
        Declare(each, select(extent > ZERO, needed, ONE), const=True),
        Declare(shares, op("/", extent + (each - 1), each), const=True),
    ]


class ThreadParts:
    """A result that threads assemble in parts, which are concatenated afterwards."""

    def __init__(self, lowering: Lowering, output: TensorOutput) -> None:
        self.lowering, self.builder, self.output = lowering, lowering.builder, output
        self.assembly = output.assembly
        name = self.assembly.name
        self.type = Type(f"struct {name}", pointer=True)
        self.parts = Var(self.builder.fresh(f"{name}_parts"), self.type)
        self.places = [
            Var(self.builder.fresh(f"{name}_places{unit.last}"), array(INT))
            for unit in self.assembly.units
        ]

    def own(self, thread: Var) -> Own:
        assembly = self.assembly
        self.lowering.parts = self.parts
        before: list[Stmt] = [
            Assign(
                self.parts, Call("calloc", (THREADS, Op("sizeof", (self.parts,), INT)), self.type)
            ),
            *(
                Assign(var, Call("calloc", (THREADS + 1, Op("sizeof", (var,), INT)), var.type))
                for var in self.places
            ),
            Require(both(exists(self.parts), *map(exists, self.places))),
            self.sized(),
        ]
        unit = assembly.units[0]
        parents = assembly.block(0, unit.first)
        segments = resized(unit.segments, ZERO, parents + 1, zeroed=True)
        first = [*assembly.made, segments, Require(both(*assembly.room_first))]
        last = assembly.completed()
        structs = {assembly.name: f"{self.parts.name} + {thread.name}"}
        self.builder.outer += self.places
        return Own(self.output, first, last, before, self.together(), structs=structs)

    def part(self, t: Expr) -> tuple[Var, Declare]:
        """The part of a thread, and its declaration."""
        var = Var(self.builder.fresh("part"), self.type)
        return var, Declare(var, Op("+", (self.parts, t), self.type), const=True)

    def sized(self) -> Stmt:
        """Sets the extents of the parts."""
        t = Var(self.builder.fresh("t"))
        part, declared = self.part(t)
        assembly = self.assembly
        sizes: list[Stmt] = [
            Assign(Field(part.name, f"size{n}"), assembly.size(n))
            for n in range(len(assembly.levels))
        ]
        return For(t, ZERO, THREADS, [declared, *sizes])

    def together(self) -> list[Stmt]:
        """Counts, sums the counts up, and copies all parts behind the first one."""
        return [*self.counted(), *self.exchanged(), *self.made_room(), self.copied()]

    def own_count(self, part: Var, n: int, above: Expr) -> Expr:
        """The number of positions of a part in a unit, for ``above`` positions in the one above."""
        unit = self.assembly.units[n]
        parents = above * self.assembly.block(self.begin(n), unit.first)
        segments = Field(part.name, unit.segments.name, unit.segments.type)
        return cast(Load(segments, parents), INT)

    def begin(self, n: int) -> int:
        """The level behind the unit above a unit."""
        return self.assembly.units[n - 1].last + 1 if n else 0

    def counted(self) -> list[Stmt]:
        """The place where each part begins, in each unit."""
        t = Var(self.builder.fresh("t"))
        part, declared = self.part(t)
        body: list[Stmt] = [declared]
        above: Expr = ONE
        for n, places in enumerate(self.places):
            count = Var(self.builder.fresh("count"))
            body += [
                Declare(count, self.own_count(part, n, above), const=True),
                Assign(places[t + 1], places[t] + count),
            ]
            above = count
        return [For(t, ZERO, THREADS, body)]

    def exchanged(self) -> list[Stmt]:
        """Exchanges the arrays of the result and of the first part, which needs no copy then."""
        assembly = self.assembly
        part, declared = self.part(ZERO)
        found: list[Stmt] = [declared]
        for member in [*assembly.arrays(), *(unit.capacity for unit in assembly.units)]:
            had = Var(self.builder.fresh("had"), member.type)
            of_part = Field(part.name, member.name, member.type)
            found += [Declare(had, member), Assign(member, of_part), Assign(of_part, had)]
        return found

    def made_room(self) -> list[Stmt]:
        """Room for all entries."""
        rooms = []
        for n, (unit, places) in enumerate(zip(self.assembly.units, self.places, strict=True)):
            count = places[THREADS]
            rooms.append(either(op("<=", count, unit.capacity), self.assembly.grow(n, count)))
        return [Require(both(*rooms))]

    def copied(self) -> Stmt:
        """Statements in which each thread copies a share of each part but the first."""
        builder, assembly = self.builder, self.assembly
        t, u = Var(builder.fresh("thread")), Var(builder.fresh("u"))
        part, declared = self.part(u)
        body: list[Stmt] = [declared]
        above: Expr = ONE
        for n, (unit, places) in enumerate(zip(assembly.units, self.places, strict=True)):
            begin, end = places[u], places[u + 1]
            if n:
                block = assembly.block(self.begin(n), unit.first)
                outer = self.places[n - 1]
                to = outer[u] * block
                body += self.moved(unit.segments, part, t, to, above * block, after=1, add=begin)
            count = Var(builder.fresh("count"))
            body.append(Declare(count, end - begin, const=True))
            for crd in unit.coordinates.values():
                body += self.moved(crd, part, t, begin, count)
            above = count
        block = assembly.block(assembly.units[-1].last + 1, len(assembly.levels))
        values = assembly.values
        assert isinstance(values, Field)
        body += self.moved(values, part, t, self.places[-1][u] * block, above * block)
        name = builder.function(f"{assembly.name}_copy")
        copies = [*self.summed(t), For(u, ONE, THREADS, body)]
        return Parallel(name, "", t, THREADS, (), copies, (), (), False)

    def moved(
        self,
        member: Field,
        part: Var,
        thread: Var,
        to: Expr,
        count: Expr,
        after: int = 0,
        add: Expr = ZERO,
    ) -> list[Stmt]:
        """Copies a thread's share of an array of a part behind those of the parts before."""
        p, begin = Var(self.builder.fresh("p")), Var(self.builder.fresh("begin"))
        source = Load(Field(part.name, member.name, member.type), p + after)
        value: Expr = source
        if add != ZERO:
            value = cast(cast(source, INT) + add, source.type)
        place = member[begin + p + after]
        first, last = (Var(self.builder.fresh(name)) for name in ("first", "last"))
        return [
            Declare(begin, to, const=True),
            Declare(first, share(count, thread), const=True),
            Declare(last, share(count, thread + 1), const=True),
            For(p, first, last, [Assign(place, value)]),
        ]

    def summed(self, t: Var) -> list[Stmt]:
        """Adds up the segments of the first unit of all parts."""
        assembly = self.assembly
        unit = assembly.units[0]
        p, u = Var(self.builder.fresh("p")), Var(self.builder.fresh("u"))
        total = Var(self.builder.fresh("total"))
        part, declared = self.part(u)
        parents = Var(self.builder.fresh("parents"))
        segments = Field(part.name, unit.segments.name, unit.segments.type)
        inner = [declared, Assign(total, cast(Load(segments, p + 1), INT), "+")]
        place = unit.segments[p + 1]  # the first part's, as arrays are exchanged
        first, last = Var(self.builder.fresh("first")), Var(self.builder.fresh("last"))
        body: list[Stmt] = [
            Declare(total, cast(place, INT)),
            For(u, ONE, THREADS, inner),
            Assign(place, cast(total, assembly.index)),
        ]
        return [
            Declare(parents, assembly.block(0, unit.first), const=True),
            Declare(first, share(parents, t), const=True),
            Declare(last, share(parents, t + 1), const=True),
            For(p, first, last, body),
        ]
