"""Random programs on target c under random legal schedules.

    LD_PRELOAD=$(gcc -print-file-name=libasan.so) python -m tests.support.c_schedules 200

runs that many under AddressSanitizer and UndefinedBehaviorSanitizer.
"""

import sys
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sam.support.errors import UserError
from tests.support import schedules
from tests.support.c_programs import SANITIZED, Case, cases


@st.composite
def scheduled(draw: st.DrawFn, kinds=schedules.C, most: int = 6, **options) -> Case:
    """A program under commands that the compiler takes; those that it refuses are left out."""
    case = draw(cases(**options))
    loops = list(case.compiled().nest.loops)
    for n in range(draw(st.integers(1, most)) if loops else 0):
        command = draw(schedules.commands(case.expression, loops, n, kinds))
        more = replace(case, schedule=[*case.schedule, command])
        try:
            loops = list(more.compiled().nest.loops)
        except UserError:
            continue
        case = more
    return case


def check(case: Case, flags: tuple[str, ...] | None = None) -> None:
    """The program gives what the dense evaluator gives."""
    program = case.compiled() if flags is None else case.compiled(flags)
    for threads in (1, 3) if program.lowered.threaded else (1,):
        found = program.run(case.tensors, threads=threads)
        found.validate()
        np.testing.assert_allclose(found.to_numpy(), case.due, rtol=1e-12, atol=1e-12)


def main() -> None:
    """Runs as many programs as asked for, with sanitizers."""

    @settings(
        max_examples=int(sys.argv[1]),
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(scheduled())
    def run(case: Case) -> None:
        print(case.expression, case.formats, case.schedule, flush=True)
        check(case, SANITIZED)

    run()


if __name__ == "__main__":
    main()
