"""Random programs on target c under random legal schedules.

    LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \\
        python -m tests.support.c_schedules 200
    LD_PRELOAD=$(gcc -print-file-name=libtsan.so) TSAN_OPTIONS=halt_on_error=1 \\
        setarch -R python -m tests.support.c_schedules 100 threads

runs that many under AddressSanitizer and UndefinedBehaviorSanitizer, or as many that threads share
under ThreadSanitizer. Whatever these find ends the process; what it said last is the program that
was at fault.
"""

import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from custard.to_c.compiler_flags import LIBRARY
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


# The kernel's threads are POSIX threads, which ThreadSanitizer follows. Libraries are kept by their
# flags, which therefore tell the file's contents.
_THREADS = Path(__file__).with_name("omp_on_threads.c")
WATCHED = (
    *(*LIBRARY, "-g", "-O1", "-fsanitize=thread", "-include", str(_THREADS)),
    f"-DTHREADS={zlib.crc32(_THREADS.read_bytes())}",
)


def check(case: Case, flags: tuple[str, ...] | None = None) -> None:
    """The program agrees with the dense evaluator."""
    program = case.compiled() if flags is None else case.compiled(flags)
    for threads in (1, 3) if program.lowered.threaded else (1,):
        found = program.run(case.tensors, threads=threads)
        found.validate()
        np.testing.assert_allclose(found.to_numpy(), case.due, rtol=1e-12, atol=1e-12)


def main(count: int, threads: bool) -> None:
    """Runs as many programs as asked for, with sanitizers."""
    flags = WATCHED if threads else SANITIZED

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(scheduled())
    def run(case: Case) -> None:
        loops = case.compiled().nest.loops
        if threads and loops:
            command = f"parallelize({loops[0]},CPUThread,Atomics)"
            case = replace(case, schedule=[*case.schedule, command])
        print(case.expression, case.formats, case.schedule, flush=True)
        check(case, flags)

    run()
    print("all is well")


if __name__ == "__main__":
    main(int(sys.argv[1]), "threads" in sys.argv[2:])
