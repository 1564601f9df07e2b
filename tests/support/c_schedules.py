"""Random programs on target c under random legal schedules.

    LD_PRELOAD=$(gcc -print-file-name=libasan.so) python -m tests.support.c_schedules 200

runs that many under AddressSanitizer and UndefinedBehaviorSanitizer.
"""

import re
import sys
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sam.support.errors import UserError
from tests.support.c_programs import SANITIZED, Case, cases

KINDS = (
    *("split", "divide", "fuse", "pos", "reorder", "reorder", "coord", "unroll", "bound", "tile"),
    *("parallelize", "parallelize", "precompute"),
)
_ACCESS = r"\w+\([\w,]*\)"
UNITS = ("CPUThread", "CPUThread", "CPUVector", "NotParallel")
RACES = ("NoRaces", "IgnoreRaces", "Atomics", "Temporary", "ParallelReduction")


@st.composite
def commands(draw: st.DrawFn, case: Case, loops: list[str], n: int, kinds=KINDS) -> str:
    """A command for a program with these loops; ``n`` makes its names new ones."""
    kind = draw(st.sampled_from(kinds))
    loop = draw(st.sampled_from(loops))
    size = draw(st.integers(1, 4))
    if kind in ("split", "divide"):
        return f"{kind}({loop},{loop}{n}a,{loop}{n}b,{size})"
    if kind == "tile":
        return draw(st.sampled_from((f"tile({size})", f"tile({2 * size},{size})")))
    if kind == "reorder":
        return f"reorder({','.join(draw(st.permutations(loops)))})"
    if kind == "fuse":
        inner = loops[(loops.index(loop) + 1) % len(loops)]
        return f"fuse({loop},{inner},f{n})"
    if kind == "precompute":
        right = case.expression.partition("=")[2]
        parts = re.findall(rf"(?={_ACCESS} [*+] {_ACCESS})({_ACCESS} [*+] {_ACCESS})", right)
        part = draw(st.sampled_from([*parts, *re.findall(_ACCESS, right)] or ["B"]))
        return f"precompute({part},{loop},{loop}{n}w)"
    if kind == "pos":
        right = case.expression.partition("=")[2]
        tensor = draw(st.sampled_from(re.findall(r"\w+(?=\()", right) or ["B"]))
        return f"pos({loop},{loop}{n}p,{tensor})"
    if kind == "coord":
        return f"coord({loop},{loop}{n}c)"
    if kind == "bound":
        return f"bound({loop},{loop}{n}m,100,MaxConstraint)"
    if kind == "parallelize":
        return f"parallelize({loop},{draw(st.sampled_from(UNITS))},{draw(st.sampled_from(RACES))})"
    return f"unroll({loop},{size})"


@st.composite
def scheduled(draw: st.DrawFn, kinds=KINDS, most: int = 6, **options) -> Case:
    """A program under commands that the compiler takes; those that it refuses are left out."""
    case = draw(cases(**options))
    loops = list(case.compiled().nest.loops)
    for n in range(draw(st.integers(1, most)) if loops else 0):
        command = draw(commands(case, loops, n, kinds))
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
