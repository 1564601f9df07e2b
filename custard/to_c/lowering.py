"""Lowers concrete index notation to loops over coordinate hierarchies (formats paper, Section 4).

One loop variable after the other is bound (``loop_nest``). At each, the operands that have it are
iterated over together, along the points of their merge lattice (``coiteration``): one loop for each
point, and in it one body for each point that lies below it (``merged_loops``). A full level is
located instead (``locating``). The rest of the expression at a point (``kernel_tree``) goes on to
the next variable; after the last variable, its value is written to an ``Output``.

A ``Reduce`` whose variables are bound before some of its free variables is not a number at any
place of the loops; ``sums`` tells where it is computed. Loops that a schedule derives or shares out
to threads are in ``derived_loops`` and ``threads``.

Where a lattice has too many points, one loop goes through all coordinates and asks each operand
whether it is present.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from custard.ir import cin
from custard.language.commands import Command
from custard.language.formats import Format
from custard.scheduling.loops import LoopNest, ParallelLoop
from custard.to_c import lattice
from custard.to_c.assembly import Assembly
from custard.to_c.builder import THREADS, KernelBuilder, Types, namer
from custard.to_c.coiteration import coiteration
from custard.to_c.compiler_flags import keeps_order
from custard.to_c.copied_levels import copied_levels
from custard.to_c.dense_sums import ZeroedArray, with_zeros
from custard.to_c.derived_loops import DerivedLoop
from custard.to_c.estimates import counted, expected
from custard.to_c.expression import Sum, Total, TypedNode, assumed, negated, uses
from custard.to_c.gathered_sums import with_gathered_sums
from custard.to_c.kernel_tree import KernelTrees
from custard.to_c.loop_ir import ONE, Call, Expr, If, Kernel, Stmt, Var, cast
from custard.to_c.loop_nest import VariableLoops
from custard.to_c.lowered import Lowered
from custard.to_c.outputs import CoordinateRange, Output, TensorOutput
from custard.to_c.positions import elsewhere, levels_of, without_owner
from custard.to_c.register_tiles import RegisterTiles
from custard.to_c.run_sums import with_run_sums
from custard.to_c.runtime import GATHERED
from custard.to_c.scattered import Filled, RowCounts, ends_of_rows, is_scattered, with_joined_loops
from custard.to_c.short_sums import with_short_sums
from custard.to_c.storage import Storage, storage_of
from custard.to_c.sums import OwnSum, fused, with_sums_elsewhere
from custard.to_c.threads import SharedLoop
from custard.to_c.tiled_copies import with_tiled_copies
from custard.to_c.turned_result import TurnedResult
from custard.to_c.unroll_and_jam import unrolled_and_jammed
from custard.to_c.values import c_type, concrete, presence, value
from custard.to_c.vectors import with_sums_on_vectors, with_vectors
from custard.to_c.walks import all_expressions
from custard.to_c.workspaces.choice import Filling


def lower(
    program: cin.LoopProgram,
    formats: Mapping[str, Format],
    choices: Mapping[tuple[str, str], Command],
    types: Types,
    header: Sequence[str] = (),
    drop_zeros: bool = False,
    nest: LoopNest | None = None,
    in_place: bool = False,
) -> Lowered:
    """The kernel of a program, for inputs of given types.

    ``formats`` has one for each tensor; ``choices`` the forced commands of the schedule by tensor
    and loop; ``drop_zeros`` keeps values that come out as 0 out of compressed levels; ``nest`` has
    the loops that a schedule derives; ``in_place`` is for a kernel that only sets the values of a
    result whose coordinates are there. Raises UserError for a type that an operation refuses.
    """
    nest = LoopNest(tuple(dict.fromkeys(map(cin.base, program.loops)))) if nest is None else nest
    lowering = Lowering(program, formats, choices, types, nest, in_place)
    return lowering.lowered(header, drop_zeros)


class Lowering:
    """The state of one lowering.

    ``storage``    the inputs, the workspaces and the result
    ``keys``       new numbers for operands
    ``decisions``  notes for the user, in their order
    ``fillings``   the workspaces, and the loops that fill them
    ``in_place``   whether values are set where the coordinates of the result are there
    ``bodies``     the number of bodies of all loops around
    ``shared``     whether threads share a loop
    ``parts``      the parts of the result that threads assemble, if they do, and how many
    ``zeroed``     the arrays that are set to zero as a whole
    """

    def __init__(
        self,
        program: cin.LoopProgram,
        formats: Mapping[str, Format],
        choices: Mapping[tuple[str, str], Command],
        types: Types,
        nest: LoopNest,
        in_place: bool = False,
    ) -> None:
        self.program, self.choices, self.types, self.nest = program, choices, types, nest
        self.in_place = in_place
        self.builder = KernelBuilder()
        self.storage = Storage(program, formats, types, nest.completed(program.loops), self.builder)
        self.keys = count(1)
        self.decisions: dict[str, None] = {}
        self.fillings: list[Filling] = []
        self.bodies = 1
        self.shared = False
        self.parts: tuple[Var, Expr] | None = None
        self.zeroed: list[ZeroedArray] = []

    def lowered(self, header: Sequence[str], drop_zeros: bool) -> Lowered:
        """Sets up the operands and the result, and lowers the assignment between them."""
        builder, storage, types = self.builder, self.storage, self.types
        target = builder.fresh(self.program.target.tensor)
        for variable in self.program.loops:
            builder.name_of(variable)
        trees = KernelTrees(storage, self.nest.precomputed, self.keys)
        tree = trees.of(self.nest.value or self.program.value)
        dtype = concrete(tree.dtype)
        result = storage.result_slot()
        asked = storage.formats[self.program.target.tensor]
        if len(result.levels) == len(asked.levels) and result.levels != asked.levels:
            self.note(
                f"{self.program.target} is computed as {storage_of(result)}, and stored as {asked} "
                "after the run"
            )
        storage.result = target, result.variables
        assembly = Assembly(
            builder,
            target,
            result.levels,
            result.variables,
            dtype,
            types.result,
            expected(tree, storage) or ONE,
            lambda variables: None if drop_zeros else counted(tree, variables, storage),
            types.extents,
        )
        turned = self.turned_result(assembly)
        output = TensorOutput(dtype=dtype, assembly=turned or assembly, drop_zeros=drop_zeros)
        self._note_ignored()
        loops = self.with_zeros(self.body(tree, output), output.assembly)
        loops += turned.transposed() if turned else []
        loops = with_gathered_sums(with_joined_loops(loops), self._steady_arrays())
        fresh = namer(loops, builder.taken)
        tiles = RegisterTiles(fresh, self.zeroed)
        loops = unrolled_and_jammed(tiles.tiled(loops), fresh)
        loops = with_run_sums(with_tiled_copies(loops, fresh), storage.chains(), fresh)
        if keeps_order(self.program.value):
            loops = with_sums_on_vectors(loops, fresh)
        else:
            loops = with_short_sums(loops)
        kernel = Kernel(
            "compute",
            tuple(header),
            (storage.result_struct(result, assembly), *map(storage.input_struct, storage.slots)),
            (*storage.numbers.values(), *((THREADS,) if self.shared else ())),
            tuple(assembly.functions),
            (*builder.heap, *tiles.heap),
            builder.body(loops),
            parts=self.parts,
        )
        return Lowered(
            kernel,
            slots=tuple(replace(slot, name=name) for slot, name in storage.slots.items()),
            numbers=tuple(storage.numbers),
            fillings=tuple(self.fillings),
            result=result,
            dtype=dtype,
            rearranged=storage.rearranged,
            decisions=tuple(self.decisions),
            threaded=self.shared,
            gathers=any(
                isinstance(node, Call) and node.function in GATHERED
                for node in all_expressions(loops)
            ),
            zeroing=assembly.zeroing if assembly.zeroing in kernel.body else None,
        )

    def note(self, decision: str) -> None:
        """Notes a decision for the user."""
        self.decisions[decision] = None

    def body(self, tree: TypedNode, output: TensorOutput) -> list[Stmt]:
        """The loops that write the value of a tree to the result.

        If the loops do not go through the result in its order, the result is filled in two passes,
        or its value goes through a workspace.
        """
        assembly = output.assembly
        copied = copied_levels(self, tree, output)
        if copied is not None:
            assembly.finish()
            return copied
        stored, levels = assembly.variables, levels_of(tree)
        order = self.nest.order(stored, levels)
        if not self.in_order(order, self.nest.nest(stored, levels), output):
            if self.nest.is_plain and is_scattered(self.program, assembly.levels):
                return self.in_two_passes(order, tree, output)
            order = list(stored)
            if not isinstance(tree, Total):
                free = frozenset(v for v in stored if uses(tree, v))
                tree = Total(tree.dtype, (), free, tree)
        loops = self.statements(order, tree, output)
        assembly.finish()
        return loops

    def turned_result(self, assembly: Assembly) -> TurnedResult | None:
        """The array in the order of the loops in which the result is computed, if there is one."""
        target, loops = self.program.target, self.program.loops
        if target not in self.program.turned:
            return None
        order = sorted(assembly.variables, key=loops.index)
        self.note(
            f"{target} is computed in an array of {', '.join(order)}, and transposed behind the "
            "loops"
        )
        return TurnedResult(assembly, order)

    def with_zeros(self, loops: list[Stmt], assembly: Assembly) -> list[Stmt]:
        """The loops, with the result set to zero first if they need that."""
        if assembly.zeroing is None:
            return loops
        sizes = [assembly.size(level) for level in range(len(assembly.levels))]
        variables, extent = assembly.variables, self.storage.extent
        zeroed = ZeroedArray(assembly.zeroing, sizes, lambda: list(map(extent, variables)))
        self.zeroed.append(zeroed)
        return with_zeros(loops, zeroed)

    def in_two_passes(
        self, order: Sequence[str], tree: TypedNode, output: TensorOutput
    ) -> list[Stmt]:
        """The loops twice: they count the coordinates of each row, then put them in place."""
        target, assembly, dropped = self.program.target, output.assembly, output.drop_zeros
        self.note(f"{target} is gone through twice: its coordinates are counted, then put in place")
        counts = RowCounts(dtype=output.dtype, assembly=assembly, drop_zeros=dropped)
        counted = self.statements(order, tree, counts)
        ends, between = ends_of_rows(self.builder, assembly)
        filled = Filled(dtype=output.dtype, assembly=assembly, drop_zeros=dropped, ends=ends)
        return [*counted, *between, *self.statements(order, tree, filled)]

    def in_order(self, order: Sequence[str], natural: Sequence[str], output: TensorOutput) -> bool:
        """Whether loops go through the levels that are appended to in their order, and once.

        ``natural`` are the loops of the stored variables, in the order of their derivations.
        """
        appended = output.appended
        made = [{*self.nest.originals(loop)} for loop in natural]
        count = max((n + 1 for n, found in enumerate(made) if found & {*appended}), default=0)
        written = [v for v in self.nest.variables(natural[:count]) if v in appended]
        if written != list(appended) or list(order[:count]) != list(natural[:count]):
            return False
        for loop in natural[:count]:
            *outer, _ = self.nest.originals(loop)
            # A loop that was fused and split may come back to the same place in the outer loops.
            if any(output.assembly.unit_of(v, last=True) is not None for v in outer):
                return False
        return True

    def statements(self, order: Sequence[str], tree: TypedNode, output: Output) -> list[Stmt]:
        """The loops over the variables that write the values of a tree."""
        found = with_sums_elsewhere(self, order, tree, output)
        if found is not None:
            return found
        if not order:
            return self.written(tree, output)
        if self.only_sums(order, tree, output):
            summed = tuple(v for v in self.nest.variables(order) if v not in output.bound)
            total = Total(tree.dtype, summed, frozenset(), tree)
            return OwnSum(self, [], total, output, total).in_number(order)
        return self.loop(order, tree, output)

    def only_sums(self, order: Sequence[str], tree: TypedNode, output: Output) -> bool:
        """Whether the derived loops that are left all add to one place of the result."""
        if not isinstance(output, TensorOutput) or not output.accumulate:
            return False
        derived = any(self.nest.made(loop) is not None or loop in output.pending for loop in order)
        return derived and {*output.assembly.variables} <= {*output.bound}

    def guarded(
        self, order: Sequence[str], tree: TypedNode, output: Output, guard: bool
    ) -> list[Stmt]:
        """Statements that are left out where the whole tree is known to be absent."""
        present = presence(tree) if guard else None
        if present is None:
            return self.statements(order, tree, output)
        output.skips([*output.bound, *self.nest.variables(order)])
        with self.builder.scope():
            tree = assumed(tree, present)
            body = self.statements(order, tree, output)
        return [If([(present, body)])]

    def loop(self, order: Sequence[str], tree: TypedNode, output: Output) -> list[Stmt]:
        """The loops over the first of some loops."""
        loop = order[0]
        position = without_owner(self.nest, loop, tree, output)
        if position is not None:
            return self.statements(elsewhere(self.nest, order, position), tree, output)
        shares = self.nest.shares(loop)
        begins = loop not in output.pending
        if shares is not None and begins:
            if shares.unit == "CPUVector" or not output.threaded:
                return self.shared_loop(shares, order, tree, output)
            self.note(f"{shares.command.said} changes nothing inside of another loop for threads")
        return self.own_loop(order, tree, output)

    def own_loop(self, order: Sequence[str], tree: TypedNode, output: Output) -> list[Stmt]:
        """A loop that is not shared out, with those inside of it."""
        loop, *rest = order
        begins = loop not in output.pending
        plain = self.nest.made(loop) is None and self.nest.repeats(loop) is None
        if plain and begins:
            return self.nested(loop, rest, tree, output)
        return DerivedLoop(self, order, tree, output).statements()

    def shared_loop(
        self, shares: ParallelLoop, order: Sequence[str], tree: TypedNode, output: Output
    ) -> list[Stmt]:
        """A loop whose iterations are shared out to threads, or to the lanes of vectors."""
        said = shares.command.said
        if shares.unit == "CPUVector":
            loops = DerivedLoop(self, order, tree, output).statements()
            vectors = [with_vectors(one) for one in loops]
            if all(one is None for one in vectors):
                self.note(f"{said} leaves the loop to the C compiler: it does not go along arrays")
            return [one if new is None else new
                    for one, new in zip(loops, vectors, strict=True)]  # fmt: skip
        shared = SharedLoop(self, order, tree, output)
        why = shared.refusal()
        if why is not None:
            self.note(f"{said} works on one thread: {why}")
            return self.own_loop(order, tree, replace(output, threaded=True))
        return shared.statements()

    def nested(
        self,
        variable: str,
        rest: Sequence[str],
        tree: TypedNode,
        output: Output,
        region: CoordinateRange | None = None,
    ) -> list[Stmt]:
        """The loops over a variable, along the lattice of those that have it."""
        where = coiteration(tree, variable, self.storage, self.choices)
        whole = None if region else fused(self, where.formula, tree, output)
        if whole is not None:
            return self.statements(*whole)
        if region is None and lattice.is_dense(where.formula) and lattice.iterated(where.formula):
            parts = self.dense_first(variable, tree, output)
            if parts is not None:
                dense, others, added = parts
                found = self.statements([variable, *rest], dense, output)
                order = [variable, *rest]
                return [*found, *(s for one in others for s in self.statements(order, one, added))]
        nest = VariableLoops(self, variable, rest, tree, output, where, region)
        return [*output.begin(variable), *nest.statements(), *output.end(variable)]

    def dense_first(
        self, variable: str, tree: TypedNode, output: Output
    ) -> tuple[TypedNode, list[TypedNode], Output] | None:
        """The terms of a sum that have values for all of a variable, the other terms, and the
        output that the others are added to; None where terms should be merged.

        Merging would test the others at each coordinate.
        """
        added = output.complete([variable])
        if not isinstance(tree, Sum) or added is None or not self.nest.is_plain:
            return None
        if any(one != tree.dtype for one in (*tree.steps, *(term.dtype for term in tree.terms))):
            return None
        if len(tree.terms) > 2 and concrete(tree.dtype).kind == "c":
            return None  # sums of complex numbers are taken in their order
        dense: list[tuple[TypedNode, bool]] = []
        others: list[TypedNode] = []
        for term, minus in zip(tree.terms, tree.minus, strict=True):
            formula = coiteration(term, variable, self.storage, self.choices).formula
            if formula == lattice.ALWAYS:
                dense.append((term, minus))
            else:
                others.append(negated(term) if minus else term)
        if not dense:
            return None
        terms, signs = zip(*dense, strict=True)
        if len(terms) > 1:
            return Sum(tree.dtype, terms, (tree.dtype,) * len(terms), signs), others, added
        return negated(terms[0]) if signs[0] else terms[0], others, added

    def written(self, tree: TypedNode, output: Output) -> list[Stmt]:
        """Writes the value of a tree, all of whose variables are bound."""
        found, _ = value(tree, self.storage.value_array)
        return output.write(cast(found, c_type(output.dtype)))

    def _steady_arrays(self) -> frozenset[Expr]:
        """The arrays of inputs whose innermost fibers are steady."""
        names = {n for slot, n in self.storage.slots.items() if slot.tensor in self.types.steady}
        arrays = self.builder.arrays.items()
        return frozenset(var for var, member in arrays if member.struct in names)

    def _note_ignored(self) -> None:
        """Notes that choices for the result have no effect: in C, its format decides alone."""
        target = self.program.target.tensor
        for (tensor, _), choice in self.choices.items():
            if tensor == target and target not in {slot.tensor for slot in self.storage.slots}:
                self.note(f"{choice.text} changes nothing in C: {target} is the result")
