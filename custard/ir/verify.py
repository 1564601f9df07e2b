"""What holds for every program in concrete index notation; a pass that breaks it has a fault."""

from __future__ import annotations

from custard.ir import cin


def verify(program: cin.Program) -> None:
    """Raises AssertionError unless a program is well-formed.

    Each variable has one loop; sums and products have at least two operands, or stand for a
    bracket; a sum is over variables that its operand uses and the target does not.
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
            free = {*cin.free_variables(node.operand)}
            assert {*node.variables} <= free, f"{node} sums over what it does not use"
            assert not {*node.variables} & kept, f"{node} sums over a variable of the target"


def _use_loops(program: cin.Program, access: cin.Access) -> None:
    missing = [variable for variable in access.variables if variable not in program.loops]
    assert not missing, f"{access} uses {missing[0]}, which has no loop in {program}"
