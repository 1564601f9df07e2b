"""The loop order of a program without a ``reorder``, by what each order would cost.

The order in which tensors are stored is the first choice: nothing is transposed. Some orders are
dearer than that by far, whatever the numbers are: two sparse rows merged for each pair of rows, a
sparse result that is sorted, dense arrays read across their rows. So each order is rated as
``custard.to_c.cost`` has it, and another one takes the place of the first choice if it is cheaper
by a third. Operands that it clashes with are transposed before the run, in time that is linear in
what they store; so are arrays that it would read across their rows, where that is cheaper by as
much, and a result that it would write so, which is transposed behind the loops. Once the extents
are known, such a result may be written in place after all (``in_place_for``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from math import prod

from custard.ir import cin
from custard.ir.accesses import accesses, storage_orders
from custard.language.formats import LEVEL_FORMATS, Format
from custard.to_c.cost import CHEAPER, Turns, cost, turned
from sam.support import free_memory

_MOST_LOOPS = 6
# The shortest rows that are worth a transposition of the result, and the bytes of a value.
_FEWEST, _BYTES = 4, 8


def wanted_orders(program: cin.LoopProgram, formats: Mapping[str, Format]) -> list[tuple[str, ...]]:
    """The orders of variables that the loops should have, the most wanted first.

    They are the orders in which the operands and the result are stored. Full levels may come in
    any order; the variables of all others come before those that have just full levels, for the
    innermost loops to be dense ones. Of the orders of full levels, that of most tensors comes
    first; if two orders have as many, that of the result: an array is better written in order than
    read in order.
    """
    stored = storage_orders(program, formats)
    clashing: list[tuple[str, ...]] = []
    sparse: dict[str, None] = {}
    for access, order in stored.items():
        for n, code in enumerate(formats[access.tensor].levels):
            if not LEVEL_FORMATS[code].full:
                clashing += [(before, order[n]) for before in order[:n]]
                sparse[order[n]] = None
    dense = [variable for variable in program.loops if variable not in sparse]
    inner = [(outer, variable) for outer in sparse for variable in dense]
    by_level = _level_by_level(accesses(program), formats)
    tensors = Counter(stored.values())
    written = stored[program.target]
    orders = sorted(stored.values(), key=lambda one: (-tensors[one], one != written))
    return [*clashing, *inner, *by_level, *orders]


def _level_by_level(
    accesses: Sequence[cin.Access], formats: Mapping[str, Format]
) -> list[tuple[str, str]]:
    """Pairs that have the variables of a computed subscript before those of the levels below.

    A subsection is then one of a single fiber (convolution paper, Section 5.2.1).
    """
    return [
        (before, after)
        for access in accesses
        if access.computed
        for outer, inner in pairwise(formats[access.tensor].mode_order)
        for before in access.used(outer)
        for after in access.used(inner)
    ]


def cheapest_order(
    program: cin.LoopProgram, formats: Mapping[str, Format], turns: Turns = "all"
) -> tuple[str, ...]:
    """The loops in the order that they have, or in one that is cheaper by far."""
    loops = program.loops
    if len(loops) > _MOST_LOOPS or cin.has_computed(program) or not _is_plain(program):
        return loops
    limit = CHEAPER * cost(program, formats, turns=turns)
    best, least = loops, limit
    for order in permutations(loops):
        found = cost(replace(program, loops=order), formats, turns=turns)
        if found < least:
            best, least = order, found
    return best


def _is_plain(program: cin.LoopProgram) -> bool:
    """Whether each access has each variable once, and the result may be written in any order."""
    accesses = [node for node in cin.walk(program.value) if isinstance(node, cin.Access)]
    return all(len(set(one.variables)) == len(one.variables) for one in accesses)


def turned_arrays(
    program: cin.LoopProgram, formats: Mapping[str, Format], turns: Turns = "all"
) -> frozenset[cin.Access]:
    """The accesses to arrays that are worth a transposition before the run, or behind the loops:
    the innermost loop would go across their rows."""
    if cin.has_computed(program) or not _is_plain(program):
        return frozenset()
    return turned(program, formats, turns=turns)[1]


def in_place_for(
    program: cin.LoopProgram, formats: Mapping[str, Format], extents: Mapping[str, int]
) -> tuple[cin.LoopProgram, Sequence[str]]:
    """The program with its result computed where it is stored, and a note, if it is to be
    transposed, and with these extents has rows too short for that, or the memory does not hold it
    twice; else the program without notes."""
    target, loops = program.target, program.loops
    if target not in program.turned:
        return program, ()
    size = prod(extents[cin.base(v)] for v in target.variables)
    if extents[cin.base(loops[-1])] >= _FEWEST and not free_memory.lacks(2 * _BYTES * size):
        return program, ()
    loops = cheapest_order(replace(program, turned=frozenset()), formats, "inputs")
    found = replace(program, loops=loops)
    found = replace(found, turned=turned_arrays(found, formats, "inputs"))
    return found, [f"{target} is computed where it is stored, in the loop order {', '.join(loops)}"]
