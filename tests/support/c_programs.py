"""Random programs on target c, for the property tests; and the same in a process with sanitizers.

    LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \\
        python -m tests.support.c_programs 200

runs that many under AddressSanitizer and UndefinedBehaviorSanitizer. Whatever these find ends the
process; what it said last is the program that was at fault.
"""

import sys
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import custard
from custard.to_c.compiler_flags import LIBRARY
from custard.to_c.program import CProgram
from experiments.dense import evaluate
from sam.support.errors import UserError
from sam.tensor import Tensor
from tests.support.programs import programs
from tests.support.quick_c import QUICK

SANITIZED = (*LIBRARY, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

LEVELS = "dsuqchrobln"
RESULT_LEVELS = "dsuqchbl"


@dataclass(frozen=True)
class Case:
    """A program with its inputs, and its value."""

    expression: str
    formats: dict[str, str]
    schedule: list[str]
    dims: dict[str, int]
    tensors: dict[str, Tensor]
    due: np.ndarray

    def compiled(self, flags: tuple[str, ...] = QUICK, **options: bool) -> CProgram:
        program = custard.compile(
            self.expression, self.formats, self.schedule, "c", self.dims, **options
        )
        return replace(program, flags=flags)


@st.composite
def cases(draw: st.DrawFn, **options) -> Case:
    """Programs with inputs in any level format that can hold them, in any order of loops.

    A format that cannot hold a tensor gets the nearest that holds any.
    """
    levels = {"levels": LEVELS, "result_levels": RESULT_LEVELS}
    program = draw(programs(**{**levels, **options}))
    with np.errstate(all="ignore"):
        due = evaluate(program.expression, program.tensors, program.dims)
    formats = dict(program.formats)
    tensors = {}
    old = {"X": np.zeros(due.shape)} if "+=" in program.expression else {}
    for name, array in {**old, **program.tensors}.items():
        if array.ndim:
            formats[name], tensors[name] = stored(array, formats[name])
        else:
            tensors[name] = Tensor.of(array)
    reorder = program.order and draw(st.booleans())
    schedule = [f"reorder({','.join(program.order)})"] if reorder else []
    return Case(program.expression, formats, schedule, program.dims, tensors, due)


def stored(array: np.ndarray, form: str) -> tuple[str, Tensor]:
    """A tensor in a format, or else in the nearest that can hold it."""
    levels, modes = form.split(":")
    order = tuple(map(int, modes.split(",")))
    for codes in (levels, levels.replace("o", "r"), _chained(levels.replace("o", "r"))):
        try:
            return f"{codes}:{modes}", Tensor.of(array, codes, order)
        except UserError:
            continue
    raise AssertionError(form)


def _chained(levels: str) -> str:
    """The levels with q and c only where they hang on u or c, where they hold any tensor."""
    codes = ""
    for code in levels:
        codes += "u" if code in "qc" and codes[-1:] not in ("u", "c") else code
    return codes


def check(case: Case, flags: tuple[str, ...] = QUICK) -> None:
    """Runs a program, and compares its value with the dense evaluator's."""
    found = case.compiled(flags).run(case.tensors)
    found.validate()
    np.testing.assert_array_equal(found.to_numpy(), case.due)
    asked = case.formats.get("X", found.format)
    # A chain may be unable to hold the result.
    assert found.format == asked or set(asked) & {"q", "c"}


def main(count: int) -> None:
    """Checks random programs, each of which is named before."""

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(max_operands=4, max_order=4, explicit_sums=True, accumulate=True))
    def run(case):
        print(case.expression, case.formats, case.schedule, case.dims, flush=True)
        check(case, SANITIZED)

    run()
    print("all is well")


if __name__ == "__main__":
    main(int(sys.argv[1]))
