"""Programs in C that are hardly optimised: their results are the same, and compiling is faster."""

from dataclasses import replace

import custard
from custard.to_c.compiler_flags import LIBRARY
from custard.to_c.program import CProgram

QUICK = (*LIBRARY, "-O1")


def compiled(expression, formats=None, schedule=(), **options) -> CProgram:
    """The program in C."""
    program = custard.compile(expression, formats, schedule, target="c", **options)
    return replace(program, flags=QUICK)


def run(expression, formats, inputs, **options):
    """The result of a program, which is a valid tensor."""
    result = compiled(expression, formats, **options).run(inputs)
    result.validate()
    return result
