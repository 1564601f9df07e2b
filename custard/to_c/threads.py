"""Loops whose iterations are shared out to threads, and the combination of their results.

Each thread gets an equal share of the loop's values, in order, and runs a function of its own.
Where what a share writes is its own, there are more shares, which threads take in turn (``turns``).
Where several threads write to one place, each writes to a copy of its own, and the copies are added
up in the order of the threads: so the order of floating-point sums depends only on the number of
threads.

    a dense result, each place written by one thread     shared, each thread zeroes its rows
    a dense result in rows, each share's in a range      shared, but for its first row
    other dense results, numbers, that threads add to    a copy for each thread
    a workspace                                          one for each thread
    a result that is appended to                         a part for each share (``thread_parts``)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from custard.to_c.builder import THREADS, exists, resized
from custard.to_c.dense_sums import dense_sums
from custard.to_c.derived_loops import DerivedLoop
from custard.to_c.expression import TypedNode
from custard.to_c.levels import Hashed
from custard.to_c.loop_ir import (
    BOOL,
    TRUE,
    ZERO,
    Assign,
    Const,
    Declare,
    Expr,
    For,
    If,
    Load,
    Ordered,
    Parallel,
    Require,
    Stmt,
    Var,
    array,
    both,
    is_plain,
    op,
    select,
)
from custard.to_c.outputs import CoordinateRange, Output, RangedVariable, ScalarOutput, TensorOutput
from custard.to_c.shared_rows import RowsOutput, rows_of
from custard.to_c.storage import Storage
from custard.to_c.thread_parts import ThreadParts, begins, most_shares
from custard.to_c.turns import Turns
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
    ``most``     the number of shares that threads take in turn, at most; None for one to each
                 thread
    """

    output: Output
    first: list[Stmt] = field(default_factory=list)
    last: list[Stmt] = field(default_factory=list)
    before: list[Stmt] = field(default_factory=list)
    after: list[Stmt] = field(default_factory=list)
    outs: list[tuple[Var, Var]] = field(default_factory=list)
    structs: dict[str, str] = field(default_factory=dict)
    most: Expr | None = None


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
            if self.lowering.in_place and not self.has_rows():
                return "several shares append to one fiber"
        return None

    def statements(self) -> list[Stmt]:
        """The loop, and the statements that combine the results of the threads."""
        lowering, builder, leaf = self.lowering, self.builder, self.order[0]
        lowering.shared = True
        loop = DerivedLoop(lowering, self.order, self.tree, self.output)
        name = builder.name_of(leaf)
        extent = loop.number(f"{name}_count", loop.extent(leaf))
        thread = Var(builder.fresh("thread"))
        turns = Turns.of(builder, name, extent)
        with builder.thread() as (heap, prologue, required), own_scratches(lowering.storage):
            begin, end = (Var(builder.fresh(f"{name}_{n}")) for n in ("first", "last"))
            own = self.own(loop, turns, thread, (begin, end))
            own_share = RangedVariable(leaf, lambda output: CoordinateRange(begin, end))
            inner = replace(
                own.output, pending={**own.output.pending, leaf: (own_share,)}, threaded=True
            )
            loops = lowering.loop(self.order, self.tree, inner)
            if own.output is self.output:
                loops = self.with_zeros(loop, loops, begin, end)
            if own.most is None:
                limits = equal_share(extent, thread), equal_share(extent, thread + 1)
            else:
                limits = turns.limits(turns.share)
            work = [
                Declare(begin, limits[0], const=True),
                Declare(end, limits[1], const=True),
                *own.first,
                *loops,
                *own.last,
            ]
            body = [
                *prologue,
                *([Require(both(*required))] if required else []),
                *(work if own.most is None else turns.rounds(work)),
            ]
        dealt: list[Stmt] = []
        if own.most is not None:
            builder.outer.append(turns.state)
            dealt = turns.dealt(own.most)
        function = builder.function(f"{name}_part")
        ordered = any(isinstance(one, Ordered) for one in own.last)
        structs = tuple(own.structs.items())
        shared = Parallel(
            *(function, leaf, thread, THREADS, tuple(heap), body, tuple(own.outs), structs),
            *(ordered,),
        )
        return [*loop.before, *dealt, *own.before, shared, *own.after]

    # The output of a thread

    def own(self, loop: DerivedLoop, turns: Turns, thread: Var, limits: tuple[Expr, Expr]) -> Own:
        match self.output:
            case TensorOutput() if self.output.appended:
                return self.parts(loop, turns, thread, limits)
            case TensorOutput() if not self.races():
                return Own(self.output)
            case TensorOutput():
                nest, order = self.lowering.nest, self.order
                rows = rows_of(nest, order, self.output, turns, loop.number)
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

    def with_zeros(
        self, loop: DerivedLoop, loops: list[Stmt], begin: Expr, end: Expr
    ) -> list[Stmt]:
        """The loops of a thread, which zeroes its own rows of a dense result whose places are not
        all written: a row in the round that fills it, as it is in the cache then; all of them first
        where rounds are tiles, whose loops gcc makes slower then, or may be made into tiles. The
        same loops if the thread's share is not a range of rows."""
        output = self.output
        if not isinstance(output, TensorOutput) or output.sparse or output.accumulate:
            return loops
        assembly = output.assembly
        if output.bound or assembly.zeroed or not assembly.partial:
            return loops
        rows = self.rows_between(loop, assembly.variables[0])
        if rows is None:
            return loops
        assembly.zeroed = True
        # As a parameter of the thread's function: a function that reads it in the struct at once
        # has loops that gcc makes half as fast (it unrolls the outer one, and gathers).
        count = loop.number(f"{assembly.name}_row", assembly.block(1, len(assembly.levels)))

        def zeros(first: Expr, last: Expr) -> Stmt:
            low, high = rows(first, last)
            p = Var(self.builder.fresh("p"))
            zero = Assign(assembly.values[p], number(0, output.dtype))
            return For(p, low * count, high * count, [zero])

        match loops:
            case [For() as one] if (one.begin, one.end) == rows(begin, end) and is_plain(one):
                if dense_sums([], loops) is None:
                    return [replace(one, body=[zeros(one.var, one.var + 1), *one.body])]
        return [zeros(begin, end), *loops]

    def rows_between(
        self, loop: DerivedLoop, variable: str
    ) -> Callable[[Expr, Expr], tuple[Expr, Expr]] | None:
        """Gives the range of a variable for a range of the loop; None where that is no range."""
        if not self.has_range(variable):
            return None
        _, primes = parts(self.order[0])
        made = self.lowering.nest.made(self.order[0])
        if not isinstance(made, Split):
            return lambda begin, end: (begin, end)
        tile = loop.tile(made, primes)
        size = self.lowering.storage.extent(variable)

        def found(begin: Expr, end: Expr) -> tuple[Expr, Expr]:
            return begin * tile, select(op("<", end * tile, size), end * tile, size)

        return found

    def has_range(self, variable: str) -> bool:
        """Whether a range of the loop is one of a variable."""
        name, primes = parts(self.order[0])
        made = self.lowering.nest.made(self.order[0])
        if isinstance(made, Split):
            return name == made.outer and made.variable + primes == variable
        return self.order[0] == variable

    def has_rows(self) -> bool:
        """Whether each share of the loop has the fibers that it appends to for itself."""
        assert isinstance(self.output, TensorOutput)
        assembly = self.output.assembly
        return assembly.units[0].first > 0 and self.has_range(assembly.variables[0])

    def parts(self, loop: DerivedLoop, turns: Turns, thread: Var, limits: tuple[Expr, Expr]) -> Own:
        """A part of a result that is appended to."""
        output = self.output
        assert isinstance(output, TensorOutput)
        assembly = output.assembly
        first = assembly.units[0].first
        rows = self.rows_between(loop, assembly.variables[0]) if self.has_rows() else None

        def parents(begin: Expr, end: Expr) -> tuple[Expr, Expr]:
            assert rows is not None
            block = assembly.block(1, first)
            low, high = rows(begin, end)
            return low * block, high * block

        if self.lowering.in_place:
            begin, _ = parents(*limits)
            return Own(output, begins(assembly, begin), most=most_shares(turns))
        found = ThreadParts(self.lowering, output, turns, thread, limits, rows and parents)
        return Own(
            output, found.first(), found.last(), found.before(), [], [], found.structs, found.most
        )

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
        own.most = output.most_shares()
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


def equal_share(extent: Expr, thread: Expr) -> Expr:
    """The begin of a thread's share; shares differ by one value at most."""
    whole, rest = op("/", extent, THREADS), op("%", extent, THREADS)
    return whole * thread + op("/", rest * thread, THREADS)
