"""Invariants of every program in concrete index notation; a pass that breaks one is wrong."""

from __future__ import annotations

from custard.ir import cin


def verify(program: cin.LoopProgram) -> None:
    """Raises AssertionError unless a program is well-formed.

    Each variable has one loop; sums and products have operands; a sum is over variables that the
    target does not have. It may be over variables that its operand does not use: ``sum(j, B(i))``.
    """
    assert len({*program.loops}) == len(program.loops), f"a loop comes twice in {program}"
    _use_loops(program, program.target)
    kept = {*program.target.variables}
    for node in cin.walk(program.value):
        if isinstance(node, cin.Access):
            _use_loops(program, node)
        elif isinstance(node, cin.Add | cin.Multiply):
            assert cin.children(node), f"an operation without operands: {type(node).__name__}"
        elif isinstance(node, cin.Reduce):
            missing = {*node.variables} - {*program.loops}
            assert not missing, f"{node} sums over {missing}, which have no loop"
            assert not {*node.variables} & kept, f"{node} sums over a variable of the target"


def _use_loops(program: cin.LoopProgram, access: cin.Access) -> None:
    missing = [variable for variable in access.variables if variable not in program.loops]
    assert not missing, f"{access} uses {missing[0]}, which has no loop in {program}"
