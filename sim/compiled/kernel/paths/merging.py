"""Merging: firings that drop a token of either input run in a loop that does not branch on which.

Which operand of an intersecter has the smaller coordinate is mostly a matter of chance, so a branch
on it is mispredicted every second time, which takes longer than the firing. The loop adds the
outcome of the test to the heads of the queues instead. It ends before a firing that does more than
take from these inputs; single firings go on from there. After 8 firings that dropped tokens of one
input alone, the next are judged at once.
"""

from __future__ import annotations

from sim.compiled.kernel.path import Further, KernelParts, Path
from sim.compiled.kernel.paths.at_once import judged, leaders
from sim.compiled.kernel.plain import BlockKernel, each
from sim.compiled.residual import Fail, Leave, Wait

_FEWER = """
            if (e{0} - h{0} < many) many = e{0} - h{0};
            if ({1} - first{0} < many) many = {1} - first{0};"""
_FIRST = "            const int64_t first{0} = h{0} & ({1} - 1);\n"
_AT = "            at{0} = first{0};\n"
_PEEK = """
                if (RARE(in{0}->control[at{0}] & 3)) break;
                if (in{0}->control[at{0}] >> 2 > now) {{
                    now = in{0}->control[at{0}] >> 2;
                    cause = {1};
                }}"""
_TAKE = """
                in{0}->taken[at{0}] = (uint32_t)now;
                at{0} += take{1};"""
_HEAD = "            h{0} += at{0} - first{0};\n"
_LONG = "            if (at{0} - first{0} == AT_ONCE && at{1} == first{1}) goto several{2};\n"
_MERGING = """    merging:
        for (;;) {{
{firsts}            int64_t many = AT_ONCE, n;
            if (most - fired < many) many = most - fired;{fewer}
{ats}#pragma GCC unroll 1
            for (n = 0; n < many; n++) {{
                int64_t drops;
                now = ready;
                cause = 0;{peeks}
{reset}{judged}
                judged:;
                if (!drops) break;
                FIRED{takes}
            }}
{heads}            if (n < AT_ONCE) break;
{long}        }}
        continue;"""


class Merging(Path):
    """Applies where several tokens of either group of inputs may be dropped at once."""

    name = "merging"
    needs = frozenset({"at_once"})

    def applies(self, kernel: BlockKernel) -> bool:
        return bool(kernel.body.merging) and len(leaders(kernel)) == 2

    def write(self, kernel: BlockKernel) -> KernelParts:
        return KernelParts(further=[Further(_merging(kernel), ())])

    def after(self, kernel: BlockKernel, line: Leave, leader: int | None) -> list[str]:
        others = [one for one in line.again if one != leader]
        if not others:
            return []
        if leader in line.again:
            return [f"if (take{others[0]}) goto merging;"]
        return ["goto merging;"]


def _merging(kernel: BlockKernel) -> str:
    """The loop."""
    queues = [(q, queue.places) for q, queue in enumerate(kernel.inputs)]
    led = [(q, kernel.body.taken[queue.ports[0]]) for q, queue in enumerate(kernel.inputs)]
    a, b = sorted(leaders(kernel))
    of_a, of_b = kernel.queue_of[a], kernel.queue_of[b]
    return _MERGING.format(
        firsts=each(_FIRST, queues),
        fewer=each(_FEWER, queues),
        ats=each(_AT, queues),
        peeks=each(_PEEK, _peeks(kernel)),
        reset=kernel.reset(),
        judged=judged(
            kernel.body.merging, "drops", "judged", lambda line: _only_takes(kernel, line)
        ),
        takes=each(_TAKE, led),
        heads=each(_HEAD, queues),
        long=each(_LONG, [(of_a, of_b, a), (of_b, of_a, b)]),
    )


def _peeks(kernel: BlockKernel) -> list[tuple[int, int]]:
    """The queues that a firing for data peeks at, in order, with the ports that it does so at."""
    found: dict[int, int] = {}
    for line in kernel.body.first:
        if isinstance(line, Wait) and not line.output:
            found.setdefault(kernel.queue_of[line.port], line.port)
    return [*found.items()]


def _only_takes(kernel: BlockKernel, line: Fail | Leave) -> str:
    """Whether a firing that ends here has looked at all inputs, and does no more than take."""
    if isinstance(line, Fail) or not line.again or any(line.gives.values()):
        return "0"
    return " & ".join(f"(give{kernel.body.given[n]} ^ 1)" for n in line.gives) or "1"
