"""Expressions as target c's lowering sees them: their trees, and the storage of their operands."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count

from custard.ir import cin
from custard.ir.concretization import concretize
from custard.ir.resolution import resolved
from custard.language import notation
from custard.language.formats import parse_format
from custard.scheduling.loops import LoopNest
from custard.to_c.builder import KernelBuilder, Types
from custard.to_c.expression import Operand, TypedNode, operands
from custard.to_c.kernel_tree import KernelTrees
from custard.to_c.storage import Storage


@dataclass(frozen=True)
class Prepared:
    """A program with its tree and storage."""

    program: cin.LoopProgram
    nest: LoopNest
    storage: Storage
    tree: TypedNode

    def operand(self, tensor: str) -> Operand:
        """The operand of a tensor."""
        return next(one for one in operands(self.tree) if one.slot.tensor == tensor)


def prepared(
    text: str,
    formats: Mapping[str, str],
    loops: str | None = None,
    types: Types | None = None,
) -> Prepared:
    """The tree of an expression; ``loops`` has their order, as in ``"ikj"``."""
    program = concretize(notation.parse(text, formats))
    if loops is not None:
        program = cin.reordered(program, loops)
    program = resolved(program)
    accesses = [program.target, *(one for one in cin.walk(program.value))]
    stored = {
        one.tensor: parse_format(
            formats.get(one.tensor, "s" * len(one.variables)), len(one.variables), one.tensor
        )
        for one in accesses
        if isinstance(one, cin.Access) and not isinstance(one, cin.Unit)
    }
    nest = LoopNest(tuple(dict.fromkeys(map(cin.base, program.loops))))
    storage = Storage(
        program, stored, types or Types(), nest.completed(program.loops), KernelBuilder()
    )
    tree = KernelTrees(storage, nest.precomputed, count(1)).of(program.value)
    return Prepared(program, nest, storage, tree)


def at(operand: Operand, **place: object) -> Operand:
    """The operand at another place."""
    return replace(operand, place=replace(operand.place, **place))
