"""At once: many firings in a row that only drop a token of the same input are done 8 at a time.

They are judged together, without branches, so that the compiler vectorises the tests. If one of
them would do more than take from these inputs, or would have to wait, none is done, and single
firings go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sim.compiled.kernel.path import Further, KernelParts, Path
from sim.compiled.kernel.paths.following import alone
from sim.compiled.kernel.plain import BlockKernel, each
from sim.compiled.residual import Fail, Leave, Line

# The loops over firings are not unrolled here, as compilers vectorise loops before they unroll
# them.
ENOUGH = " && e{0} - h{0} >= AT_ONCE && (h{0} & ({1} - 1)) <= {1} - AT_ONCE"
FIRST = "            const int64_t first{0} = h{0} & ({1} - 1);\n"
_AT = "                const int64_t at{0} = first{0} + j;\n"
_READY = """
                all &= (in{0}->control[at{0}] & 3) == DATA;
                all &= in{0}->control[at{0}] >> 2 <= ready + j * interval;"""
_TAKEN = " in{0}->taken[first{0} + j] = (uint32_t)(ready + j * interval);"
_HEAD = "            h{0} += AT_ONCE;\n"
_SEVERAL = """    several{n}:
        while (most - fired >= AT_ONCE{enough}) {{
{firsts}            int64_t all = 1;
#pragma GCC unroll 1
            for (int64_t j = 0; j < AT_ONCE; j++) {{
                int64_t alone{n};
{ats}{reset}{judged}
                judged{n}:;
                all &= alone{n};{ready}
            }}
            if (!all) break;
#pragma GCC unroll 1
            for (int64_t j = 0; j < AT_ONCE; j++) {{{taken} }}
{heads}            ready += AT_ONCE * interval;
            fired += AT_ONCE;
        }}
        row = 0;
        goto again{n};"""


class AtOnce(Path):
    """Applies to inputs that are not short, if firings that take from them alone are pure."""

    name = "at_once"
    needs = frozenset({"following"})

    def applies(self, kernel: BlockKernel) -> bool:
        return bool(leaders(kernel))

    def write(self, kernel: BlockKernel) -> KernelParts:
        return KernelParts(further=[Further(_several(kernel, one), ()) for one in leaders(kernel)])

    def after(self, kernel: BlockKernel, line: Leave, leader: int | None) -> list[str]:
        lines = []
        for one in sorted(leaders(kernel) & {*line.again}):
            test = alone(kernel, line, one)
            many = f"if ({test} && ++row >= AT_ONCE) goto several{one};"
            lines.append(many if one == leader else f"if ({test}) row = 0;")
        return lines


def leaders(kernel: BlockKernel) -> set[int]:
    """The leaders of inputs of which several tokens may be dropped at once."""
    few = {kernel.body.taken[queue.ports[0]] for queue in kernel.inputs if queue.short}
    return {*kernel.body.several} - few


def led(kernel: BlockKernel, leader: int) -> list[tuple[int, int]]:
    """The queues of the inputs of a leader, with their places."""
    return [
        (q, queue.places)
        for q, queue in enumerate(kernel.inputs)
        if kernel.body.taken[queue.ports[0]] == leader
    ]


def _several(kernel: BlockKernel, leader: int) -> str:
    """Several firings that only take from the inputs of a leader."""
    queues = led(kernel, leader)
    return _SEVERAL.format(
        n=leader,
        enough=each(ENOUGH, queues),
        firsts=each(FIRST, queues),
        ats=each(_AT, queues),
        reset=kernel.reset(),
        judged=judged(
            kernel.body.several[leader],
            f"judged{leader}",
            lambda line: f"alone{leader} = {only_takes(kernel, line, leader)};",
        ),
        ready=each(_READY, queues),
        taken=each(_TAKEN, queues),
        heads=each(_HEAD, queues),
    )


def judged(lines: Sequence[Line], label: str, tell: Callable[[Fail | Leave], str]) -> str:
    """C that runs a firing, moves nothing, does what ``tell`` gives, and goes to a label."""
    parts = []
    for line in lines:
        if isinstance(line, str):
            parts.append(line)
        elif isinstance(line, Fail | Leave):
            then = f"{tell(line)} goto {label};"
            parts.append(line.then(then) if isinstance(line, Fail) else line.indent + then)
    return "\n".join(parts)


def only_takes(kernel: BlockKernel, line: Fail | Leave, leader: int) -> str:
    """Whether a firing that ends here has done no more than take from the inputs of a leader."""
    if isinstance(line, Fail) or line.finished != "0":
        return "0"
    does = {f"take{kernel.body.taken[n]}": sure for n, sure in line.takes.items()}
    does |= {f"give{kernel.body.given[n]}": sure for n, sure in line.gives.items()}
    sure = does.pop(f"take{leader}", None)
    if sure is None or any(does.values()):
        return "0"
    tests = ([] if sure else [f"take{leader}"]) + [f"({other} ^ 1)" for other in does]
    return " & ".join(tests) or "1"
