"""Lowers concrete index notation to loops over coordinate hierarchies (formats paper, Section 4).

One loop variable after the other is bound. At each, the operands that have it are iterated over
together, along the points of their merge lattice: one loop for each point, and in it one body for
each point that lies below it. A level that is full is located instead. What is left of the
expression at a point (``kernel_tree``) goes on to the next variable; when none is left, its value
is written to an ``Output``.

A sum of its own (``Total``) whose variables come before some that it is a function of cannot be a
number at any place of the loops. It is computed into a workspace first, which the loops then read
like any other operand; but where it is the whole value, and the levels of the result that are left
are full, it is added up in the result itself.

Where a lattice has too many points, there is one loop for all, and each operand is asked whether
it is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Iterator as Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from custard.ir import cin
from custard.ir.transposition import transposition
from custard.language.commands import Command, require_able
from custard.language.formats import LEVEL_FORMATS, Format, are_full, unconditional_levels
from custard.scheduling.loops import NUMBERED, LoopNest, Reads
from custard.scheduling.loops import Parallel as Shared
from custard.to_c import lattice
from custard.to_c.builder import Builder, Types
from custard.to_c.derived_loops import DerivedLoop
from custard.to_c.expression import (
    Minus,
    Node,
    Operand,
    Product,
    Quotient,
    Scalar,
    Sum,
    Total,
    children,
    is_linear,
    mapped,
    operands,
    walk,
)
from custard.to_c.gathered_sums import with_gathered_sums
from custard.to_c.levels import LEVEL_FUNCTIONS, Hashed, LevelFunctions, Place
from custard.to_c.loop_ir import (
    BOOL,
    FALSE,
    ONE,
    ZERO,
    Comment,
    Const,
    Declare,
    Expr,
    Field,
    For,
    If,
    Kernel,
    Stmt,
    Struct,
    Var,
    array,
    both,
    cast,
    op,
    reads,
    select,
    without_variable,
)
from custard.to_c.loop_ir import Parallel as SharedByThreads
from custard.to_c.loop_ir import statements as every_statement
from custard.to_c.loop_nest import Nest
from custard.to_c.outputs import Assembly, Output, Region, ScalarOutput, TensorOutput, times
from custard.to_c.threads import THREADS, SharedLoop
from custard.to_c.values import c_type, concrete, number, presence, value
from custard.to_c.vectors import with_vectors
from custard.to_c.windows import Subsections, Window, shifted
from custard.to_c.workspaces import (
    DenseWorkspace,
    LocatedWorkspace,
    SparseWorkspace,
    Workspace,
)
from sam.blocks.arithmetic import ValueType, result_type
from sam.derivations import parts
from sam.graph import Slot
from sam.subscripts import Affine


@dataclass(frozen=True)
class Lowered:
    """A kernel, and what was decided for it, in sentences.

    ``slots``       the storage of the inputs that it reads, in the order of its parameters
    ``numbers``     the variables whose extents are parameters of their own
    ``keyed``       the variables of each sparse workspace
    ``listed``      the variables of the dense workspaces
    ``result``      the slot that it fills, before what is done to it behind the kernel
    ``dtype``       the type of the result's values
    ``rearranged``  which tensors are stored in another way, each with the declaration of the
                    format that avoids that, if there is one
    ``threaded``    whether the number of threads is the last argument
    """

    kernel: Kernel
    slots: tuple[Slot, ...]
    numbers: tuple[str, ...]
    keyed: tuple[tuple[str, ...], ...]
    listed: tuple[str, ...]
    result: Slot
    dtype: ValueType
    rearranged: Mapping[str, str | None]
    decisions: tuple[str, ...]
    threaded: bool = False

    @property
    def uses_openmp(self) -> bool:
        """Whether loops are shared out to threads, or to the lanes of vectors."""
        return self.threaded or any(
            isinstance(one, For) and one.vectors for one in every_statement(self.kernel.body)
        )


def lower(
    program: cin.Program,
    formats: Mapping[str, Format],
    choices: Mapping[tuple[str, str], Command],
    types: Types,
    header: Sequence[str] = (),
    drop_zeros: bool = False,
    nest: LoopNest | None = None,
) -> Lowered:
    """The kernel of a program, for inputs of given types.

    ``formats`` has one for each tensor; ``choices`` what the schedule forces by tensor and loop;
    ``drop_zeros`` keeps values that come out as 0 out of compressed levels; ``nest`` has the loops
    that a schedule derives. Raises UserError for a type that an operation refuses.
    """
    nest = LoopNest(tuple(dict.fromkeys(map(cin.base, program.loops)))) if nest is None else nest
    return Lowering(program, formats, choices, types, nest).lowered(header, drop_zeros)


class Lowering:
    """The state of one lowering."""

    def __init__(
        self,
        program: cin.Program,
        formats: Mapping[str, Format],
        choices: Mapping[tuple[str, str], Command],
        types: Types,
        nest: LoopNest,
    ) -> None:
        self.program, self.formats, self.choices = program, formats, choices
        self.types, self.nest = types, nest
        self.completed = nest.completed(program.loops)
        self.builder = Builder()
        self.slots: dict[Slot, str] = {}
        self.functions: dict[tuple[str, int], LevelFunctions] = {}
        self.values: dict[str, Expr] = {}
        self.rearranged: dict[str, str | None] = {}
        self.decisions: dict[str, None] = {}
        self.keys = 0
        self.bodies = 1
        self.names: dict[str, str] = {}
        self.numbers: dict[str, Var] = {}
        self.keyed: list[tuple[str, ...]] = []
        self.listed: dict[str, None] = {}
        self.assembly: Assembly | None = None
        self.located: set[int] = set()
        self.conditional = False
        self.shared = False
        self.parts: Var | None = None

    # The whole kernel

    def lowered(self, header: Sequence[str], drop_zeros: bool) -> Lowered:
        """Sets up the operands and the result, and lowers the assignment between them."""
        target = self.builder.fresh(self.program.target.tensor)
        for variable in self.program.loops:
            self.names[variable] = self.builder.fresh(variable)
        tree = self.tree(self.nest.value or self.program.value)
        dtype = concrete(tree.dtype)
        result = self.result_slot()
        self.assembly = Assembly(
            self.builder,
            target,
            result.levels,
            result.variables,
            dtype,
            self.types.result,
            self.expected(tree) or ONE,
            lambda variables: self.counted(tree, variables),
        )
        output = TensorOutput(dtype=dtype, assembly=self.assembly, drop_zeros=drop_zeros)
        order, tree = self.outer_order(tree, output)
        self._note_ignored()
        body = self.statements(order, tree, output)
        self.assembly.finish()
        structs = [self.result_struct(result), *map(self.input_struct, self.slots)]
        builder = self.builder
        kernel = Kernel(
            "compute",
            tuple(header),
            tuple(structs),
            (*self.numbers.values(), *((THREADS,) if self.shared else ())),
            tuple(self.assembly.functions),
            tuple(builder.heap),
            builder.body(with_gathered_sums(body)),
            parts=self.parts,
        )
        slots = tuple(replace(slot, name=name) for slot, name in self.slots.items())
        decisions = tuple(self.decisions)
        numbers = tuple(self.numbers)
        keyed = tuple(dict.fromkeys(self.keyed))
        listed, rearranged = tuple(self.listed), self.rearranged
        return Lowered(
            kernel,
            slots,
            numbers,
            keyed,
            listed,
            result,
            dtype,
            rearranged,
            decisions,
            self.shared,
        )

    def outer_order(self, tree: Node, output: TensorOutput) -> tuple[list[str], Node]:
        """The variables of the result in the order of the loops, if it can be written so.

        If not, they come in the order of its storage, and the whole value goes through a
        workspace.
        """
        stored = output.assembly.variables
        reads = self.reads(tree)
        order = self.nest.order(stored, reads)
        if self.in_order(order, self.nest.nest(stored, reads), output):
            return order, tree
        if not isinstance(tree, Total):
            free = frozenset(v for v in stored if self.uses(tree, v))
            tree = Total(tree.dtype, (), free, tree)
        return list(stored), tree

    def in_order(self, order: Sequence[str], natural: Sequence[str], output: TensorOutput) -> bool:
        """Whether loops go through what is appended to in its order, and once.

        ``natural`` are the loops in the order of the derivations of what is stored.
        """
        appended = output.appended
        made = [{*self.nest.originals(loop)} for loop in natural]
        count = max((n + 1 for n, found in enumerate(made) if found & {*appended}), default=0)
        written = [v for v in self.variables(natural[:count]) if v in appended]
        if written != list(appended) or list(order[:count]) != list(natural[:count]):
            return False
        for loop in natural[:count]:
            *outer, _ = self.nest.originals(loop)
            # A loop that was fused and split may come back to where it was in the outer ones.
            if any(output.assembly.unit_of(v, last=True) is not None for v in outer):
                return False
        return True

    def reads(self, tree: Node) -> Reads:
        """Which levels the operands of a tree have."""
        found = [operand.slot for operand in operands(tree)]

        def has(tensor: str, variables: Sequence[str]) -> bool:
            return any(_chain(slot, tensor, variables) is not None for slot in found)

        return has

    def owner(self, tree: Node, name: str) -> Operand | None:
        """The operand over whose positions a loop goes, once all levels above are done."""
        tensor, wanted = self.nest.tensor_of(name), self.nest.originals(name)
        for operand in operands(tree):
            codes = _chain(operand.slot, tensor or "", wanted)
            if operand.left[: len(wanted)] == wanted and codes is not None:
                return operand
        return None

    def name_of(self, loop: str) -> str:
        """The name in C of a loop."""
        if loop not in self.names:
            self.names[loop] = self.builder.fresh(loop)
        return self.names[loop]

    def uses(self, tree: Node, variable: str) -> bool:
        """Whether the value of a tree depends on a variable."""
        return any(operand.uses(variable) for operand in operands(tree))

    def expected(self, node: Node) -> Expr | None:
        """About how many values a tree has; None where that is not known."""
        match node:
            case Operand() if not all(LEVEL_FORMATS[code].full for code in node.slot.levels):
                count: Expr | None = ONE
                for level in range(len(node.slot.levels)):
                    if count is not None:
                        count = self.functions[node.slot.name, level].positions(count)
                return count
            case Sum(_, terms):
                known = [n for term in terms if (n := self.expected(term)) is not None]
                return sum(known[1:], start=known[0]) if known else None
        return next((n for c in children(node) if (n := self.expected(c)) is not None), None)

    def counted(self, node: Node, variables: Sequence[str]) -> Expr | None:
        """How many coordinates of some variables a tree has; None where that is not known.

        It is for a product in which the sparse operands have none of them in common: of each, the
        positions of its outer levels, times the extents of the variables that only dense ones have.
        """
        while isinstance(node, Total | Minus):
            node = node.operand
        factors = node.factors if isinstance(node, Product) and not node.everywhere else (node,)
        found: list[Expr] = []
        covered: set[str] = set()
        for factor in factors:
            used = [v for v in variables if any(one.uses(v) for one in operands(factor))]
            if not used or (isinstance(factor, Operand) and are_full(factor.slot.levels)):
                continue
            if not isinstance(factor, Operand) or factor.computed or covered & set(used):
                return None
            last = LEVEL_FORMATS[factor.slot.levels[len(used) - 1]]
            if set(factor.variables[: len(used)]) != set(used) or last.full or not last.unique:
                return None
            count: Expr | None = ONE
            for level in range(len(used)):
                if count is not None:
                    count = self.functions[factor.slot.name, level].positions(count)
            if count is None:
                return None
            found.append(count)
            covered |= set(used)
        left = [v for v in variables if v not in covered]
        if not found or any(not self.uses(node, v) for v in left):
            return None
        return reduce(times, [*found, *map(self.extent, left)])

    # Operands and the result

    def tree(self, node: cin.Expression) -> Node:
        """The typed tree of an expression."""
        match node:
            case cin.Access(tensor) if tensor in self.nest.precomputed:
                return self.precomputed(tensor)
            case cin.Access():
                slot = self.slot(node)
                self.keys += 1
                variables = tuple(node.variables[group[0]] for group in slot.modes)
                is_unit = isinstance(node, cin.Unit)
                dtype = np.dtype(bool) if is_unit else self.types.value(node.tensor)
                forms = tuple(node.form(group[0]) for group in slot.modes)
                computed = forms if any(forms) else ()
                return Operand(dtype, self.keys, slot, variables, computed=computed)
            case cin.Literal(value):
                return Scalar(value, value)
            case cin.Add():
                return self.sum(node)
            case cin.Multiply():
                return self.product(node)
            case cin.Negate(operand):
                return _negated(self.tree(operand))
            case cin.Divide(numerator, denominator):
                parts = (self.tree(numerator), self.tree(denominator))
                everywhere = cin.divides(cin.Divide(cin.Literal(1), denominator))
                return Quotient(_joint_type("divide", parts), *parts, everywhere)
            case cin.Reduce(variables, operand, first):
                inner = self.tree(operand)
                if isinstance(inner, Product):
                    inner = _in_type(inner, inner.dtype)
                free = frozenset(cin.free_variables(node))
                return Total(inner.dtype, variables, free, inner, first)
        raise AssertionError(node)

    def precomputed(self, name: str) -> Total:
        """The tree of what goes through a workspace."""
        found = self.nest.precomputed[name]
        inner = self.tree(found.program.value)
        free = frozenset(found.program.target.variables)
        if not isinstance(inner, Total) or inner.over is not None:
            inner = Total(inner.dtype, (), free, inner)
        return replace(
            inner, free=free, over=frozenset(found.variables), sparse=found.form == "sparse"
        )

    def sum(self, node: cin.Add) -> Sum:
        """The tree of a sum. What is bracketed in it is merged into it where all have one type."""
        first, *rest = node.terms
        terms, steps, minus = [self.tree(first)], [], [False]
        steps.append(terms[0].dtype)
        for term in rest:
            subtracted = isinstance(term, cin.Negate)
            terms.append(self.tree(term.operand if isinstance(term, cin.Negate) else term))
            name = "subtract" if subtracted else "add"
            steps.append(result_type(name, steps[-1], terms[-1].dtype))
            minus.append(subtracted)
        dtype = steps[-1]
        merged: list[tuple[Node, ValueType, bool]] = []
        for own, step, sign in zip(terms, steps, minus, strict=True):
            if isinstance(own, Sum) and _have_type((*own.steps, *steps), dtype):
                inside = zip(own.terms, own.steps, own.minus, strict=True)
                merged += [(part, of_part, one != sign) for part, of_part, one in inside]
            else:
                merged.append((own, step, sign))
        parts, types, signs = zip(*merged, strict=True)
        return Sum(dtype, parts, types, signs)

    def product(self, node: cin.Multiply) -> Product:
        """The tree of a product. What is bracketed in it is merged into it if all have one type.

        A sum over variables of one factor is made in the type of the product, as if it were made
        after multiplying: so has ``numpy.einsum`` it.
        """
        parts = tuple(map(self.tree, node.factors))
        dtype = _joint_type("multiply", parts)
        merged: list[Node] = []
        for part in parts:
            types = [one.dtype for one in parts]
            if isinstance(part, Product) and _have_type(types, dtype):
                merged += part.factors
            elif isinstance(part, Total) and concrete(part.dtype) != concrete(dtype):
                merged.append(replace(part, dtype=dtype, operand=_in_type(part.operand, dtype)))
            else:
                merged.append(part)
        everywhere = any(map(cin.divides, node.factors))
        is_masked = isinstance(node.factors[0], cin.Mask)
        return Product(dtype, tuple(merged), everywhere and not is_masked)

    def slot(self, access: cin.Access) -> Slot:
        """The storage that an access wants: its own, unless the loops clash with its order."""
        if isinstance(access, cin.Unit):
            return self._unit(access)
        stored = self.formats[access.tensor]
        order = [access.variables[mode] for mode in stored.mode_order]
        modes: tuple[tuple[int, ...], ...] = tuple((mode,) for mode in stored.mode_order)
        levels = self._turned(access, stored)
        if not self._follows(order, levels):
            variables = [v for v in self.completed if v in order]
            modes = tuple(
                tuple(m for m, v in enumerate(access.variables) if v == variable)
                for variable in variables
            )
            levels = unconditional_levels(levels)
            if len(variables) < len(levels):
                levels = "s" * len(variables)
            self._note_rearrangement(access, modes)
        names = tuple(cin.base(access.variables[group[0]]) for group in modes)
        slot = Slot(access.tensor, access.tensor, levels, modes, names)
        if access.computed:
            slot = replace(slot, computed=_forms(access, modes))
        if slot not in self.slots:
            self._add_slot(slot)
        return replace(slot, name=self.slots[slot])

    def _unit(self, access: cin.Unit) -> Slot:
        """The vector that a unit is."""
        slot = Slot("unit", None, "d", ((0,),), ("",), True, computed=(Affine(""),))
        if slot not in self.slots:
            self._add_slot(slot)
        return replace(slot, name=self.slots[slot])

    def _turned(self, access: cin.Access, stored: Format) -> str:
        """The levels of an access, compressed where one is gone through from its end on, and its
        format cannot be."""
        for level, mode in enumerate(stored.mode_order):
            form, code = access.form(mode), stored.levels[level]
            turns = LEVEL_FORMATS[code].full or _is_listed(code)
            if form is not None and form.scale < 0 and not turns:
                levels = "".join("d" if LEVEL_FORMATS[c].full else "s" for c in stored.levels)
                found = Format(levels, stored.mode_order)
                note = (
                    f"{access}, stored as {stored}, is stored as {found} before the run: its "
                    f"coordinates at {form} are gone through from the last one on"
                )
                self.rearranged[note] = f"{access.tensor}:{found}"
                return levels
        return stored.levels

    def _follows(self, order: Sequence[str], levels: str) -> bool:
        """Whether levels can be gone through in the order of the loops.

        A full level can wait, or come late; any other has to come after those above it.
        """
        place = {variable: n for n, variable in enumerate(self.completed)}
        return all(
            LEVEL_FORMATS[code].full or all(place[before] < place[variable] for before in order[:n])
            for n, (variable, code) in enumerate(zip(order, levels, strict=True))
        )

    def _add_slot(self, slot: Slot) -> None:
        tensor = slot.tensor or ""
        name = self.builder.fresh(tensor or slot.name)
        self.slots[slot] = name
        index = self.types.index(tensor)
        for level, code in enumerate(slot.levels):
            functions = LEVEL_FUNCTIONS[code](code, name, level, index, self.builder)
            functions.innermost = level == len(slot.levels) - 1
            self.functions[name, level] = functions

    def value_array(self, operand: Operand) -> Expr:
        """The values of an operand's slot."""
        name = operand.slot.name
        if name in self.values:
            return self.values[name]
        return self.builder.stored(name, "values", array(c_type(operand.dtype)))

    def result_slot(self) -> Slot:
        """How the kernel stores the result; what it cannot store so is converted behind it."""
        access = self.program.target
        asked = self.formats[access.tensor]
        modes = tuple(
            tuple(m for m, v in enumerate(access.variables) if v == access.variables[mode])
            for mode in asked.mode_order
        )
        kept = tuple(dict.fromkeys(modes))
        levels = written_levels(asked.levels)
        if len(kept) < len(modes):
            full = all(LEVEL_FORMATS[code].full for code in levels)
            levels = ("d" if full else "s") * len(kept)
        variables = tuple(access.variables[group[0]] for group in kept)
        return Slot(access.tensor, access.tensor, levels, kept, variables)

    def input_struct(self, slot: Slot) -> Struct:
        """The parameter for an input."""
        name, tensor = self.slots[slot], slot.tensor or ""
        fields = [
            field
            for level, code in enumerate(slot.levels)
            for field in LEVEL_FUNCTIONS[code].fields(level, self.types.index(tensor))
        ]
        dtype = np.dtype(bool) if slot.tensor is None else self.types.value(tensor)
        fields.append(("values", array(c_type(dtype))))
        return Struct(name, _about(slot), tuple(fields))

    def result_struct(self, slot: Slot) -> Struct:
        """The parameter for the result."""
        assert self.assembly is not None
        return Struct(self.assembly.name, _about(slot), tuple(self.assembly.fields()), True)

    def extent(self, variable: str) -> Expr:
        """The number of coordinates of a variable."""
        base = cin.base(variable)
        fixed = dict(self.program.fixed)
        if base in fixed:
            return Const(fixed[base])
        name = f"{self.names.get(base, base)}_size"
        for slot, struct in self.slots.items():
            plain = [v if slot.form(n) is None else None for n, v in enumerate(slot.variables)]
            if base in plain:
                level = plain.index(base)
                return self.builder.local(name, Field(struct, f"size{level}"))
        assert self.assembly is not None
        if base in self.assembly.variables:
            level = self.assembly.variables.index(base)
            return self.builder.local(name, self.assembly.size(level))
        return self.numbers.setdefault(base, Var(self.builder.fresh(name)))

    def _note_rearrangement(self, access: cin.Access, modes: tuple[tuple[int, ...], ...]) -> None:
        if any(len(group) > 1 for group in modes):
            self.rearranged[f"the diagonal of {access} is taken before the run"] = None
            return
        order = [mode for (mode,) in modes]
        stored = self.formats[access.tensor]
        note, instead = transposition(self.program, access, stored, order)
        self.rearranged[note] = instead

    # Loops

    def statements(self, order: Sequence[str], tree: Node, output: Output) -> list[Stmt]:
        """Loops over the variables that write the values of a tree."""
        for total, around in self.totals(tree, order, output):
            own = self.own_order(total, output, tree)
            free = total.free - {*output.bound}
            used = {*total.variables, *free} - {*output.bound}
            if total.over is not None and free <= total.over:
                own = self.own_order(total, output, total.operand)
                return self.forced(order, tree, output, total, own, around)
            if own[:1] != [v for v in around if {*self.nest.originals(v)} & used][:1] or not own:
                after = [v for v in around if {*self.nest.originals(v)} & free]
                own = self.own_order(total, output, total.operand)
                return self.computed(order, tree, output, total, own, after)
            if self.is_first(total):
                after = [v for v in around if v in total.free]
                own = self.own_order(total, output, total.operand)
                return self.with_workspace(order, tree, output, total, own, after)
        if not order:
            return self.written(tree, output)
        if self.only_sums(order, tree, output):
            summed = tuple(v for v in self.variables(order) if v not in output.bound)
            total = Total(tree.dtype, summed, frozenset(), tree)
            return self.with_scalar([], total, output, total, order)
        return self.loop(order, tree, output)

    def variables(self, loops: Iterable[str]) -> list[str]:
        """The variables of the program that loops are derived from."""
        return list(dict.fromkeys(v for loop in loops for v in self.nest.originals(loop)))

    def only_sums(self, order: Sequence[str], tree: Node, output: Output) -> bool:
        """Whether derived loops that are left all add to one place of the result."""
        if not isinstance(output, TensorOutput) or not output.accumulate:
            return False
        derived = any(self.nest.made(loop) is not None or loop in output.pending for loop in order)
        return derived and {*output.assembly.variables} <= {*output.bound}

    def is_first(self, total: Total) -> bool:
        """Whether a sum is made before the loops around it, and an array has room for it."""
        return total.first and not any(cin.base(v) in self.types.far for v in total.free)

    def totals(
        self, node: Node, order: Sequence[str], output: Output
    ) -> Generator[tuple[Total, Sequence[str]]]:
        """The sums of their own in a tree, each with the order in which what is around it loops."""
        yield from self._totals(node, order, output, node)

    def _totals(
        self, node: Node, order: Sequence[str], output: Output, root: Node
    ) -> Generator[tuple[Total, Sequence[str]]]:
        if isinstance(node, Total):
            yield node, order
            order = self.own_order(node, output, root)
        for child in children(node):
            yield from self._totals(child, order, output, root)

    def own_order(self, total: Total, output: Output, root: Node) -> list[str]:
        """The loops of a sum of its own that are left, in their order, where a tree is read."""
        variables = [v for v in self.program.loops if v in {*total.variables, *total.free}]
        done = output.done
        return [loop for loop in self.nest.order(variables, self.reads(root)) if loop not in done]

    def computed(
        self,
        order: Sequence[str],
        tree: Node,
        output: Output,
        total: Total,
        own: Sequence[str],
        after: Sequence[str],
    ) -> list[Stmt]:
        """Computes a sum of its own before the loops that need it, or by adding to the result.

        ``after`` are its variables that those loops bind.
        """
        left = [v for v in self.variables(order) if v not in output.bound]
        if after and output.takes(left) and total.over is None:
            if tree is total:
                loops, inner = self.split(total, own)
                covered = self.variables(loops)
                loops += [v for v in order if not {*self.nest.originals(v)} <= {*covered}]
                return self.statements(loops, inner, _accumulating(output))
            if isinstance(tree, Sum) and all(t.dtype == tree.dtype for t in tree.terms):
                added = _accumulating(output)
                pairs = zip(tree.terms, tree.minus, strict=True)
                terms = [_negated(term) if minus else term for term, minus in pairs]
                return [s for term in terms for s in self.added(order, term, added)]
        if not after:
            return self.with_scalar(order, tree, output, total, own)
        return self.with_workspace(order, tree, output, total, own, self.kept(total, output, after))

    def forced(
        self,
        order: Sequence[str],
        tree: Node,
        output: Output,
        total: Total,
        own: Sequence[str],
        around: Sequence[str],
    ) -> list[Stmt]:
        """Computes what a schedule has go through a workspace, before the loops that need it."""
        free = total.free - {*output.bound}
        after = [v for v in around if {*self.nest.originals(v)} & free]
        if not after:
            return self.with_scalar(order, tree, output, total, own)
        return self.with_workspace(order, tree, output, total, own, self.kept(total, output, after))

    def kept(self, total: Total, output: Output, after: Sequence[str]) -> list[str]:
        """The variables of a workspace, in the order in which the loops that read it do."""
        names = [v for v in self.variables(after) if v in total.free and v not in output.bound]
        # As the loops that read them complete them.
        made = [{*self.nest.originals(loop)} for loop in after]
        last = {v: max(n for n, found in enumerate(made) if v in found) for v in names}
        return sorted(self.nest.natural(names), key=lambda v: last[v])

    def added(self, order: Sequence[str], term: Node, output: Output) -> list[Stmt]:
        """Statements that add one of several terms; its loops are its own."""
        left = [v for v in self.variables(order) if v not in output.bound]
        own = [v for v in self.nest.order(left, self.reads(term)) if v not in output.done]
        return self.statements(own, term, output)

    def split(self, total: Total, own: Sequence[str]) -> tuple[list[str], Node]:
        """The loops of a sum up to the last that is kept, and what is summed inside."""
        total = replace(total, over=None)
        originals = [{*self.nest.originals(loop)} for loop in own]
        last = max(n for n, found in enumerate(originals) if found & total.free)
        loops, inside = list(own[: last + 1]), tuple(self.variables(own[last + 1 :]))
        if not inside:
            return loops, total.operand
        free = total.free | set(total.variables) - set(inside)
        return loops, replace(total, variables=inside, free=frozenset(free))

    def with_scalar(
        self, order: Sequence[str], tree: Node, output: Output, total: Total, own: Sequence[str]
    ) -> list[Stmt]:
        """Computes a sum into a number."""
        dtype = concrete(total.dtype)
        var = Var(self.builder.fresh("sum"), c_type(dtype))
        before: list[Stmt] = [Declare(var, number(0, dtype))]
        flag = None
        if output.sparse and self.may_be_empty(total):
            flag = Var(self.builder.fresh(f"{var.name}_found"), BOOL)
            before.append(Declare(flag, FALSE))
        inner = ScalarOutput(dtype=dtype, var=var, flag=flag).inside(output)
        before += self.statements(own, total.operand, inner)
        scalar = Scalar(dtype, var, flag)
        tree = mapped(tree, lambda node: scalar if node is total else node)
        after = self.guarded(order, tree, output, flag is not None)
        if flag is not None and not reads(after, flag) and not _changed_by_threads(before, flag):
            before = without_variable(before, flag)
        return [*before, *after]

    def may_be_empty(self, total: Total) -> bool:
        """Whether a sum may have no terms at all."""
        return any(
            not LEVEL_FORMATS[code].full
            for operand in operands(total)
            for code in operand.slot.levels[operand.level :]
        ) or any(isinstance(node, Scalar) and node.present is not None for node in walk(total))

    def guarded(self, order: Sequence[str], tree: Node, output: Output, guard: bool) -> list[Stmt]:
        """Statements that are left out where the whole tree is known to be absent."""
        present = presence(tree) if guard else None
        if present is None:
            return self.statements(order, tree, output)
        self.note_partial(output, output.bound)
        with self.builder.scope():
            tree = self.assumed(tree, present)
            body = self.statements(order, tree, output)
        return [If([(present, body)])]

    def assumed(self, tree: Node, present: Expr) -> Node:
        """The tree where a condition is known to hold."""

        def change(node: Node) -> Node:
            if isinstance(node, Scalar) and node.present == present:
                return replace(node, present=None)
            if isinstance(node, Operand) and node.place.present == present:
                return replace(node, place=replace(node.place, present=None))
            return node

        return mapped(tree, change)

    def with_workspace(
        self,
        order: Sequence[str],
        tree: Node,
        output: Output,
        total: Total,
        own: Sequence[str],
        after: Sequence[str],
    ) -> list[Stmt]:
        """Computes a sum into a workspace."""
        dtype = concrete(total.dtype)
        name = self.builder.fresh("w")
        extents = [self.extent(v) for v in after]
        workspace: Workspace
        is_near = len(after) == 1 and cin.base(after[0]) not in self.types.far
        is_dense = is_near and not total.sparse
        if self.is_first(total):
            self.listed[cin.base(after[0])] = None
            workspace = LocatedWorkspace(self.builder, name, after[0], extents[0], dtype)
        elif is_dense:
            self.listed[cin.base(after[0])] = None
            workspace = DenseWorkspace(self.builder, name, after[0], extents[0], dtype)
        else:
            workspace = SparseWorkspace(self.builder, name, after, extents, dtype, self.types.wide)
            self.keyed.append(tuple(map(cin.base, after)))
        if not self.is_first(total):
            self._note_workspace(after, is_dense)
        slot = Slot(name, None, workspace.levels, tuple((n,) for n in range(len(after))))
        for level in range(len(after)):
            self.functions[name, level] = workspace.function(level)
        self.values[name] = workspace.values
        target = workspace.output().inside(output)
        loops, inner = self.split(replace(total, first=False), own)
        fill = self.statements(loops, inner, target)
        self.keys += 1
        operand = Operand(dtype, self.keys, slot, tuple(after))
        tree = mapped(tree, lambda node: operand if node is total else node)
        read = self.statements(order, tree, output)
        listed = ",".join(after)
        return [
            Comment(f"{name}({listed})"),
            *fill,
            *workspace.ready(),
            *read,
            *workspace.reset(),
        ]

    def _note_ignored(self) -> None:
        """Notes the choices for the result: in C, its formats alone tell how it is written."""
        target = self.program.target.tensor
        for (tensor, _), choice in self.choices.items():
            if tensor == target and target not in {slot.tensor for slot in self.slots}:
                self.decisions[f"{choice.text} changes nothing in C: {target} is the result"] = None

    def _note_workspace(self, after: Sequence[str], is_dense: bool) -> None:
        target = self.program.target
        names = ", ".join(map(cin.base, after))
        kind = "a dense" if is_dense else "a sparse"
        self.decisions[f"{target} goes through {kind} workspace over {names}"] = None

    def loop(self, order: Sequence[str], tree: Node, output: Output) -> list[Stmt]:
        """The loops over the first of some loops."""
        loop, *rest = order
        position = self.without_owner(loop, tree, output)
        if position is not None:
            return self.statements(self.elsewhere(order, position), tree, output)
        shares = self.nest.shares(loop)
        if shares is not None and not output.threaded and loop not in output.pending:
            return self.shared_loop(shares, order, tree, output)
        plain = self.nest.made(loop) is None and self.nest.repeats(loop) is None
        if plain and loop not in output.pending:
            return self.nested(loop, rest, tree, output)
        return DerivedLoop(self, order, tree, output).statements()

    def shared_loop(
        self, shares: Shared, order: Sequence[str], tree: Node, output: Output
    ) -> list[Stmt]:
        """A loop whose iterations are shared out to threads, or to the lanes of vectors."""
        said = shares.command.text[slice(*shares.command.span)]
        if shares.unit == "CPUVector":
            output = replace(output, threaded=False)
            loops = DerivedLoop(self, order, tree, output).statements()
            vectors = [with_vectors(one) for one in loops]
            if all(one is None for one in vectors):
                note = f"{said} leaves the loop to the C compiler: it does not go along arrays"
                self.decisions[note] = None
            return [one if new is None else new
                    for one, new in zip(loops, vectors, strict=True)]  # fmt: skip
        shared = SharedLoop(self, order, tree, output)
        why = shared.refusal()
        if why is not None:
            self.decisions[f"{said} works on one thread: {why}"] = None
            return self.loop(order, tree, replace(output, threaded=True))
        return shared.statements()

    @contextmanager
    def own_scratches(self) -> Generator[None]:
        """Has operands sorted into arrays of a thread's own inside."""
        tables = [one for one in self.functions.values() if isinstance(one, Hashed)]
        before = [one.scratches for one in tables]
        for one in tables:
            one.scratches = {}
        yield
        for one, found in zip(tables, before, strict=True):
            one.scratches = found

    def without_owner(self, loop: str, tree: Node, output: Output) -> str | None:
        """The loop over positions that a loop was split from, where no operand has them."""
        name = loop
        while (made := self.nest.made(name)) is not None:
            if self.nest.tensor_of(name) is not None:
                begun = any(leaf in output.pending for leaf in self.nest.leaves(name))
                return None if begun or self.owner(tree, name) is not None else name
            if len(made.sources) > 1:
                return None
            name = made.sources[0] + parts(loop)[1]
        return None

    def elsewhere(self, order: Sequence[str], position: str) -> list[str]:
        """Loops with what is derived from positions as loops over coordinates again."""
        leaves = self.nest.leaves(position)
        variables = self.nest.originals(position)
        return [*variables, *(loop for loop in order if loop not in leaves)]

    def nested(
        self,
        variable: str,
        rest: Sequence[str],
        tree: Node,
        output: Output,
        region: Region | None = None,
    ) -> list[Stmt]:
        """The loops over a variable, along the lattice of those that have it."""
        self.located, self.conditional = set(), False
        formula = self.formula(tree, variable)
        fused = None if region else self.fused(variable, formula, tree, output)
        if fused is not None:
            return self.statements(*fused)
        nest = Nest(self, variable, rest, tree, output, formula, region)
        return [*output.begin(variable), *nest.statements(), *output.end(variable)]

    def fused(
        self, variable: str, formula: lattice.Formula, tree: Node, output: Output
    ) -> tuple[Sequence[str], Node, Output] | None:
        """The assignment with all sums added up in the result, where that fuses loops.

        That is so where one operand alone is iterated over, and repeats coordinates: its chain of
        branchless levels is gone through in one loop then (formats paper, Section 4.3). Where the
        innermost loops only sum, and many terms at a time, the sum is rather kept in a register.
        """
        if not isinstance(formula, lattice.Has) or not isinstance(output, TensorOutput):
            return None
        operand = self.operand(tree, formula.key)
        if output.accumulate or output.sparse or self.functions_of(operand).format.unique:
            return None
        if not is_linear(tree, formula.key) or not isinstance(tree, Total):
            return None
        if self.nest.derivations:
            return None
        own = self.own_order(tree, output, tree)
        if own[-1] in tree.variables and operand.slot.tensor in self.types.runs:
            return None
        order = [v for v in self.program.loops if v in output.assembly.variables or v in own]
        order = [v for v in order if v not in output.bound]
        return order, tree.operand, _accumulating(output)

    def operand(self, tree: Node, key: int) -> Operand:
        """The operand of a key."""
        return next(one for one in operands(tree) if one.key == key)

    def functions_of(self, operand: Operand) -> LevelFunctions:
        """The level functions of the next level of an operand."""
        return self.functions[operand.slot.name, operand.level]

    def formula(self, node: Node, variable: str) -> lattice.Formula:
        """Where a tree is present over a variable."""
        match node:
            case Operand():
                if self.iterates(node, variable):
                    return lattice.Has(node.key)
                return _condition(node.place.present)
            case Scalar():
                return _condition(node.present)
            case Sum():
                return lattice.disjunction([self.formula(t, variable) for t in node.terms])
            case Product(everywhere=True) | Quotient(everywhere=True):
                parts = [self.formula(part, variable) for part in children(node)]
                return lattice.disjunction([lattice.ALWAYS, *parts])
            case Product():
                return self.product_formula(node, variable)
            case Quotient():
                return self.formula(node.numerator, variable)
        (operand,) = children(node)
        return self.formula(operand, variable)

    def product_formula(self, node: Product, variable: str) -> lattice.Formula:
        """Where all factors are; those that can be located where another is, do not iterate."""
        parts = [self.formula(factor, variable) for factor in node.factors]
        iterating = [n for n, part in enumerate(parts) if lattice.iterated(part)]
        for n in list(iterating):
            factor = node.factors[n]
            if len(iterating) > 1 and isinstance(factor, Operand) and self.locates(factor):
                self.located.add(factor.key)
                parts[n] = lattice.ALWAYS
                iterating.remove(n)
        # What is known not to be there does not iterate; it is looked at inside of what does.
        self.conditional |= any(isinstance(part, lattice.When) for part in parts)
        return lattice.conjunction(parts)

    def locates(self, operand: Operand) -> bool:
        """Whether an operand's next level is to be located rather than merged."""
        format = self.functions_of(operand).format
        choice = self.choice(operand, operand.left[0])
        return format.locates and (choice is None or choice.name == "locate")

    def choice(self, operand: Operand, variable: str) -> Command | None:
        """What the schedule says of an operand at a variable."""
        return self.choices.get((operand.slot.tensor or "", cin.base(variable)))

    def iterates(self, operand: Operand, variable: str) -> bool:
        """Whether an operand's coordinates are gone through at a variable.

        One that is full is located, if it is there for certain.
        """
        if operand.left[:1] != (variable,):
            return operand.reduces(variable) and self.has_subsections(operand, variable)
        format = self.functions_of(operand).format
        choice = self.choice(operand, variable)
        if choice is not None and choice.name == "locate":
            require_able(format, choice)
        if choice is not None and format.locates:
            return choice.name == "coiterate"
        return not format.full or operand.form is not None

    def has_subsections(self, operand: Operand, variable: str) -> bool:
        """Whether a variable goes through the subsections of the next level that hold something.

        Where it does not, it goes through its whole extent.
        """
        form = operand.form
        assert form is not None
        code = operand.slot.levels[operand.level]
        return _is_listed(code) and dict(form.terms)[variable] > 0

    def subsections(self, operand: Operand, variable: str, output: Output) -> Subsections:
        """Where the subsections of the next level lie that belong to the values of a variable."""
        form = operand.form
        assert form is not None
        rest: Expr = Const(form.constant)
        low: Expr = ZERO
        high: Expr = ZERO
        for name, scale in form.coefficients().items():
            if name == variable:
                continue
            if name in output.bound:
                rest = shifted(rest, output.bound[name], scale)
            elif scale > 0:
                high = shifted(high, self.extent(name) - ONE, scale)
            else:
                low = shifted(low, self.extent(name) - ONE, scale)
        extent = self.extent(variable)
        return Subsections(dict(form.terms)[variable], rest + low, rest + high, extent)

    def window(self, operand: Operand, output: Output) -> Window | None:
        """What the values of a variable stand for in the next level, whose subscript is computed;
        None where it is not."""
        form = operand.form
        if form is None:
            return None
        rest: Expr = Const(form.constant)
        for variable, scale in form.terms:
            rest = shifted(rest, output.bound[variable], scale)
        return Window(form.scale, rest, self.extent(form.variable))

    def located_at(self, operand: Operand, value: Expr, output: Output) -> Place:
        """The place of the next level at a value of its variable; absent where a computed
        subscript points outside."""
        level, window = self.functions_of(operand), self.window(operand, output)
        if window is None:
            return level.locate(operand.place, value)
        at = window.place(value)
        position, known = level.locate(operand.place, at).position, operand.place.present
        found = both(at >= ZERO, at < level.size)
        if not level.format.full:
            position = select(found, position, Const(-1))
            found = op(">=", position, ZERO)
        present = found if known is None else both(known, found)
        return operand.place.below(position, at, None, present)

    def bound(self, tree: Node, output: Output) -> Node:
        """The tree with all levels located whose variables are bound."""

        def change(node: Node) -> Node:
            if not isinstance(node, Operand):
                return node
            while node.left[:1] and node.left[0] in output.bound:
                node = replace(
                    node, place=self.located_at(node, output.bound[node.left[0]], output)
                )
            return node

        return mapped(tree, change)

    def written(self, tree: Node, output: Output) -> list[Stmt]:
        """Writes the value of a tree, all of whose variables are bound."""
        found, _ = value(tree, self.value_array)
        return output.write(cast(found, c_type(output.dtype)))

    def note_partial(self, output: Output, variables: Iterable[str]) -> None:
        """Notes that some coordinates of the result may be passed over."""
        if isinstance(output, TensorOutput):
            output.assembly.partial |= set(variables) & set(output.assembly.variables)


def _is_listed(code: str) -> bool:
    """Whether the coordinates of a fiber stand next to each other in an array, each once."""
    arrays = LEVEL_FUNCTIONS[code].arrays
    return "segments" in arrays and "coordinates" in arrays and LEVEL_FORMATS[code].unique


def _forms(access: cin.Access, modes: Sequence[Sequence[int]]) -> tuple[Affine | None, ...]:
    """The forms of the levels of an access, by the bases of their variables."""
    found = []
    for group in modes:
        form = access.form(group[0])
        names = {} if form is None else {v: cin.base(v) for v in form.variables}
        found.append(None if form is None else form.renamed(names))
    return tuple(found)


def written_levels(levels: str) -> str:
    """The levels in which a kernel writes a result that is stored in these in the end."""
    kept = ""
    for code in unconditional_levels(levels):
        form = LEVEL_FORMATS[code]
        in_turn = form.appends and not (form.iterates_words or form.appends_anywhere)
        direct = form.full or (in_turn and form.iterates_positions)
        kept += code if direct else "s"
    return kept


def _chain(slot: Slot, tensor: str, variables: Sequence[str]) -> str | None:
    """The levels of a slot for some variables, one below the other, if their positions are
    numbered in the order of the coordinates."""
    if slot.tensor != tensor:
        return None
    bases = [cin.base(v) for v in variables]
    for n in range(len(slot.variables) - len(bases) + 1):
        forms = [slot.form(n + level) for level in range(len(bases))]
        if list(slot.variables[n : n + len(bases)]) == bases and not any(forms):
            codes = slot.levels[n : n + len(bases)]
            return codes if all(code in NUMBERED for code in codes) else None
    return None


def _have_type(types: Iterable[ValueType], dtype: ValueType) -> bool:
    """Whether all are one type, but for numbers of the program, which take it on."""
    return all(one == dtype for one in types if isinstance(one, np.dtype))


def _in_type(node: Node, dtype: ValueType) -> Node:
    """A tree whose values are converted to a type before they are multiplied."""
    if isinstance(node, Product):
        factors = tuple(_in_type(factor, dtype) for factor in node.factors)
        return replace(node, dtype=dtype, factors=factors)
    return node if concrete(node.dtype) == concrete(dtype) else Product(dtype, (node,))


def _negated(node: Node) -> Node:
    """The tree with its sign changed, under its sum if it is one."""
    dtype = result_type("negate", node.dtype)
    if isinstance(node, Total):
        return replace(node, dtype=dtype, operand=Minus(dtype, node.operand))
    return Minus(dtype, node)


def _changed_by_threads(body: Iterable[Stmt], var: Var) -> bool:
    """Whether threads change a number through a pointer."""
    shared = (one for one in every_statement(list(body)) if isinstance(one, SharedByThreads))
    return any(changed == var for one in shared for _, changed in one.outs)


def _accumulating(output: Output) -> Output:
    if not isinstance(output, TensorOutput):
        return output
    output.assembly.partial |= set(output.assembly.variables)
    return replace(output, accumulate=True)


def _condition(present: Expr | None) -> lattice.Formula:
    return lattice.ALWAYS if present is None else lattice.When(present)


def _joint_type(name: str, parts: Sequence[Node]) -> ValueType:
    dtype = parts[0].dtype
    for part in parts[1:]:
        dtype = result_type(name, dtype, part.dtype)
    return dtype


def _about(slot: Slot) -> str:
    """Which tensor a struct is, and how it is stored."""
    if slot.tensor is None:
        return "a vector of one place, which holds 1"
    order = ",".join(str(mode) for group in slot.modes for mode in group)
    levels = f"{slot.levels}:{order}" if slot.levels else "a number"
    variables = ",".join(slot.variables)
    return f"{slot.tensor}({variables}), {levels}" if variables else f"{slot.tensor}, {levels}"
