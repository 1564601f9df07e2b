"""The place where a nested sum (``Total``) is computed: in place, a number, a workspace or the
result.

    the loops around it begin as its own do              in its place
    no loop around it binds a variable of it             into a number, before those loops
    it is the whole value, or a term of it, and the
    levels of the result that are left are full          added up in the result
    otherwise, or where a schedule asks for it           into a workspace, before those loops

A workspace is read by the loops like any other operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from custard.ir import cin
from custard.language.formats import LEVEL_FORMATS
from custard.to_c import lattice
from custard.to_c.expression import (
    Operand,
    Scalar,
    Sum,
    Total,
    TypedNode,
    children,
    is_linear,
    mapped,
    negated,
    operand_of,
    operands,
    walk,
)
from custard.to_c.loop_ir import (
    BOOL,
    FALSE,
    ZERO,
    Assign,
    Comment,
    Declare,
    For,
    If,
    Load,
    Parallel,
    Stmt,
    Var,
    op,
)
from custard.to_c.outputs import Output, ScalarOutput, TensorOutput
from custard.to_c.positions import levels_of
from custard.to_c.values import c_type, concrete, number
from custard.to_c.walks import reads, without_variable
from custard.to_c.walks import statements as every_statement
from custard.to_c.workspaces import (
    DenseWorkspace,
    LocatedWorkspace,
    SparseWorkspace,
    Workspace,
)
from custard.to_c.workspaces.choice import LOCATED, UNKNOWN, Filling, cheapest, described
from sam.graph import Slot

if TYPE_CHECKING:
    from custard.to_c.lowering import Lowering


def with_sums_elsewhere(
    lowering: Lowering, order: Sequence[str], tree: TypedNode, output: Output
) -> list[Stmt] | None:
    """The loops over the variables that write the values of a tree, with the first sum that cannot
    stay in place computed elsewhere; None where all stay."""
    for total, around in _totals(lowering, tree, order, output, tree):
        found = OwnSum(lowering, order, tree, output, total).elsewhere(around)
        if found is not None:
            return found
    return None


def _totals(
    lowering: Lowering, node: TypedNode, order: Sequence[str], output: Output, root: TypedNode
) -> Iterator[tuple[Total, Sequence[str]]]:
    """The nested sums in a tree, each with the order of the loops around it."""
    if isinstance(node, Total):
        yield node, order
        order = own_order(lowering, node, output, root)
    for child in children(node):
        yield from _totals(lowering, child, order, output, root)


def own_order(lowering: Lowering, total: Total, output: Output, root: TypedNode) -> list[str]:
    """The remaining loops of a nested sum, in their order, where a tree is read."""
    variables = [v for v in lowering.program.loops if v in {*total.variables, *total.free}]
    loops = lowering.nest.order(variables, levels_of(root))
    return [loop for loop in loops if loop not in output.done]


@dataclass(frozen=True)
class OwnSum:
    """A nested sum in a tree whose value loops in some order write to an output."""

    lowering: Lowering
    order: Sequence[str]
    tree: TypedNode
    output: Output
    total: Total

    def elsewhere(self, around: Sequence[str]) -> list[Stmt] | None:
        """The loops, with the sum computed elsewhere; None where it can stay in its place.

        ``around`` is the order of the loops in which the sum stands.
        """
        nest, total, bound = self.lowering.nest, self.total, self.output.bound
        free = total.free - {*bound}
        used = {*total.variables, *free} - {*bound}
        after = [v for v in around if {*nest.originals(v)} & free]
        if total.over is not None and free <= total.over:
            return self.before(self.own(total.operand), after)
        own = self.own(self.tree)
        if own[:1] != [v for v in around if {*nest.originals(v)} & used][:1] or not own:
            return self.computed(self.own(total.operand), after)
        if self.is_first:
            after = [v for v in around if v in total.free]
            return self.in_workspace(self.own(total.operand), after)
        return None

    def own(self, root: TypedNode) -> list[str]:
        """The loops of the sum, where a tree is read."""
        return own_order(self.lowering, self.total, self.output, root)

    @property
    def is_first(self) -> bool:
        """Whether the sum is made before the loops around it, and an array has room for it."""
        far = self.lowering.types.far
        return self.total.first and not any(cin.base(v) in far for v in self.total.free)

    def computed(self, own: Sequence[str], after: Sequence[str]) -> list[Stmt]:
        """Computes the sum before the loops that need it, or by adding to the result.

        ``after`` are the loops that bind variables of the sum.
        """
        lowering, tree, output, total = self.lowering, self.tree, self.output, self.total
        nest = lowering.nest
        left = [v for v in nest.variables(self.order) if v not in output.bound]
        if after and output.takes(left) and total.over is None:
            if tree is total:
                loops, inner = self.split(own)
                covered = nest.variables(loops)
                # A loop fused from a covered loop and another leaves the other.
                others = nest.order([v for v in left if v not in covered], levels_of(inner))
                loops += [loop for loop in others if loop not in output.done]
                return lowering.statements(loops, inner, output.summing())
            if isinstance(tree, Sum) and all(t.dtype == tree.dtype for t in tree.terms):
                added = output.accumulating()
                pairs = zip(tree.terms, tree.minus, strict=True)
                terms = [negated(term) if minus else term for term, minus in pairs]
                return [s for term in terms for s in self.added(term, added)]
        return self.before(own, after)

    def added(self, term: TypedNode, output: Output) -> list[Stmt]:
        """Adds one of several terms to the result, in loops of its own."""
        nest = self.lowering.nest
        left = [v for v in nest.variables(self.order) if v not in output.bound]
        own = [v for v in nest.order(left, levels_of(term)) if v not in output.done]
        return self.lowering.statements(own, term, output)

    def before(self, own: Sequence[str], after: Sequence[str]) -> list[Stmt]:
        """Computes the sum before the loops that need it."""
        return self.in_workspace(own, self.kept(after)) if after else self.in_number(own)

    def kept(self, after: Sequence[str]) -> list[str]:
        """The variables of a workspace, in the order in which its reading loops bind them."""
        nest, total, output = self.lowering.nest, self.total, self.output
        names = [v for v in nest.variables(after) if v in total.free and v not in output.bound]
        made = [{*nest.originals(loop)} for loop in after]
        last = {v: max(n for n, found in enumerate(made) if v in found) for v in names}
        return sorted(nest.natural(names), key=lambda v: last[v])

    def split(self, own: Sequence[str]) -> tuple[list[str], TypedNode]:
        """The loops of the sum up to the last that is kept, and the sum inside of them."""
        nest, total = self.lowering.nest, replace(self.total, over=None)
        originals = [{*nest.originals(loop)} for loop in own]
        last = max(n for n, found in enumerate(originals) if found & total.free)
        loops, inside = list(own[: last + 1]), tuple(nest.variables(own[last + 1 :]))
        if not inside:
            return loops, total.operand
        free = total.free | set(total.variables) - set(inside)
        return loops, replace(total, variables=inside, free=frozenset(free))

    def in_number(self, own: Sequence[str]) -> list[Stmt]:
        """Computes the sum into a number."""
        lowering, output, total = self.lowering, self.output, self.total
        dtype = concrete(total.dtype)
        var = Var(lowering.builder.fresh("sum"), c_type(dtype))
        before: list[Stmt] = [Declare(var, number(0, dtype))]
        flag = None
        if output.sparse and _may_be_empty(total):
            flag = Var(lowering.builder.fresh(f"{var.name}_found"), BOOL)
            before.append(Declare(flag, FALSE))
        inner = ScalarOutput(dtype=dtype, var=var, flag=flag).inside(output)
        # Loops end where an operand is absent; a value alone is read only where it is present.
        before += lowering.guarded(own, total.operand, inner, not own)
        tree = self.replaced(Scalar(dtype, var, flag))
        after = lowering.guarded(self.order, tree, output, flag is not None)
        if flag is not None and not reads(after, flag) and not _changed_by_threads(before, flag):
            before = without_variable(before, flag)
        return _continued(var, before, after)

    def in_workspace(self, own: Sequence[str], kept: Sequence[str]) -> list[Stmt]:
        """Computes the sum into a workspace over the variables that are kept."""
        lowering, output = self.lowering, self.output
        storage, dtype = lowering.storage, concrete(self.total.dtype)
        name = lowering.builder.fresh("w")
        workspace = self.workspace(name, own, kept)
        slot = Slot(name, None, workspace.levels, tuple((n,) for n in range(len(kept))))
        for level in range(len(kept)):
            storage.functions[name, level] = workspace.function(level)
        storage.values[name] = workspace.values
        target = workspace.output().inside(output)
        loops, inner = replace(self, total=replace(self.total, first=False)).split(own)
        fill = lowering.statements(loops, inner, target)
        tree = self.replaced(Operand(dtype, next(lowering.keys), slot, tuple(kept)))
        read = lowering.statements(self.order, tree, output)
        if isinstance(workspace, LocatedWorkspace) and workspace.zeroed is not None:
            lowering.zeroed.append(workspace.zeroed)
            fill = [workspace.zeroed.loop, *fill]
        used = [*fill, *workspace.ready(), *read, *workspace.reset()]
        return [Comment(f"{name}({','.join(kept)})"), *self.unless_empty(fill, used)]

    def unless_empty(self, fill: Sequence[Stmt], used: list[Stmt]) -> list[Stmt]:
        """The statements that use a workspace, skipped where the loop that fills it has no round
        and nothing else is read: most rows of a hypersparse matrix are empty."""
        output, left = self.output, [v for v in self.order if v not in self.output.bound]
        match fill:
            case [For(begin=begin, end=end)] if begin != ZERO and output.bound and left:
                pass
            case _:
                return used
        if self.tree is not self.total:
            return used
        nothing = [*output.begin(left[0]), *output.end(left[0])]
        return [If([(op("<", begin, end), used)], nothing)]

    def workspace(self, name: str, own: Sequence[str], kept: Sequence[str]) -> Workspace:
        """A new workspace over some variables, which loops of its own fill."""
        lowering, total, dtype = self.lowering, self.total, concrete(self.total.dtype)
        builder, types = lowering.builder, lowering.types
        extents = [lowering.storage.extent(v) for v in kept]
        variables = tuple(map(cin.base, kept))
        around, loops = tuple(self.output.bound), tuple(lowering.nest.variables(own))
        policy = LOCATED if self.is_first else total.policy
        readers = tuple(self.readers(kept[0])) if self.is_first else ()
        filling = Filling(
            variables, around, loops, total.operand, bool(total.variables), policy, readers
        )
        lowering.fillings.append(filling)
        if self.is_first:
            return LocatedWorkspace(builder, name, kept, extents, dtype, not _may_be_empty(total))
        policy = policy or types.policies.get(variables) or cheapest([filling], UNKNOWN)
        lowering.note(f"{lowering.program.target} goes through {described(filling, policy)}")
        if policy == "dense":
            return DenseWorkspace(builder, name, kept, extents, dtype)
        return SparseWorkspace(builder, name, kept, extents, dtype, policy, types.wide)

    def readers(self, variable: str) -> Iterator[Operand]:
        """The operands outside of the sum that go through only some coordinates of a variable."""
        inside = {one.key for one in operands(self.total)}
        for one in operands(self.tree):
            if one.key in inside or one.computed or variable not in one.variables:
                continue
            if not LEVEL_FORMATS[one.slot.levels[one.variables.index(variable)]].full:
                yield one

    def replaced(self, by: TypedNode) -> TypedNode:
        """The tree with another node in the place of the sum."""
        return mapped(self.tree, lambda node: by if node is self.total else node)


def fused(
    lowering: Lowering, formula: lattice.Formula, tree: TypedNode, output: Output
) -> tuple[Sequence[str], TypedNode, Output] | None:
    """The assignment with all sums added up in the result, where that fuses loops.

    That is so where one operand alone is iterated over, and repeats coordinates: its chain of
    branchless levels is gone through in one loop then (formats paper, Section 4.3). Runs of
    equal coordinates in it are summed up first (``run_sums``).
    """
    if not isinstance(formula, lattice.Has) or not isinstance(output, TensorOutput):
        return None
    operand = operand_of(tree, formula.key)
    if output.accumulate or output.sparse or lowering.storage.level(operand).format.unique:
        return None
    if not is_linear(tree, formula.key) or not isinstance(tree, Total):
        return None
    if lowering.nest.derivations or output.pending:  # a loop that has begun goes on
        return None
    own = own_order(lowering, tree, output, tree)
    order = [v for v in lowering.program.loops if v in output.assembly.variables or v in own]
    order = [v for v in order if v not in output.bound]
    return order, tree.operand, output.accumulating()


def _continued(var: Var, loops: Sequence[Stmt], after: Sequence[Stmt]) -> list[Stmt]:
    """Loops that add up a number, and what is done with it. If it is only added to an element of
    an array, the number begins with that element: the loops are short in small dense blocks, and
    one more addition behind them takes a good part of the time."""
    match [*loops, *after]:
        case [Declare() as declared, *rest, Assign(Load() as place, found, "+" | "|")]:
            if found == var and place.type == var.type and any(isinstance(s, For) for s in rest):
                return [replace(declared, value=place), *rest, Assign(place, var)]
    return [*loops, *after]


def _may_be_empty(total: Total) -> bool:
    """Whether a sum may have no terms at all."""
    return any(
        not LEVEL_FORMATS[code].full
        for operand in operands(total)
        for code in operand.slot.levels[operand.level :]
    ) or any(isinstance(node, Scalar) and node.present is not None for node in walk(total))


def _changed_by_threads(body: Sequence[Stmt], var: Var) -> bool:
    """Whether threads change a number through a pointer."""
    shared = (one for one in every_statement(list(body)) if isinstance(one, Parallel))
    return any(changed == var for one in shared for _, changed in one.outs)
