"""Preparing: a block that has to wait for room does its next firings nevertheless.

If these firings only give, their tokens do not depend on time. The writer leaves the tokens behind
the end of its one output queue. As the reader takes tokens, it lets the prepared ones in one by
one, and so finds the cycle of each firing.
"""

from __future__ import annotations

from dataclasses import replace

from sim.compiled.kernel.path import KernelParts, Path
from sim.compiled.kernel.plain import BlockKernel, each
from sim.compiled.residual import Body, Fail, Leave, Wait, firsts, gives_alone

# The reader lets these tokens in; until it has, the writer has nothing to do.
_BEGIN = "    if (r0->prepared) return 0;\n"
_BLOCKED = """    for (int64_t n = 0; n < AT_ONCE; n++) {{
{save}{reset}{lines}
    unprepared:
       {restore}
        break;
    prepared:
        {counted}
        out0->control[(T0 + n) & {last}] = gk{first};{values}
        r0->prepared = n + 1;
        r0->crowds = 0;
    }}
    fired += r0->prepared;
"""
_ADMIT = (
    "if ($taken && q{q}->prepared) e{q} = admit(q{q}, &in{q}->control[e{q} & {last}], e{q}, now);"
)


def may_prepare(body: Body) -> bool:
    """Whether there are firings that can be done before it is known when they happen."""
    return bool(body.giving) and not body.timed


class Prepare(Path):
    """Applies at both ends of a queue whose writer prepares tokens (``ahead``)."""

    name = "prepare"
    needs = frozenset({"short", "pull"})

    def applies(self, kernel: BlockKernel) -> bool:
        return any(queue.ahead for queue in (*kernel.inputs, *kernel.outputs))

    def write(self, kernel: BlockKernel) -> KernelParts:
        ends = {
            q: replace(
                kernel.input_ends[q],
                fixed=False,
                taken=_ADMIT.format(q=q, last=queue.places - 1),
                room=f" && e{q} - h{q} < q{q}->depth",
            )
            for q, queue in enumerate(kernel.inputs)
            if queue.ahead
        }
        if not any(queue.ahead for queue in kernel.outputs):
            return KernelParts(inputs=ends)
        return KernelParts(inputs=ends, begin=_BEGIN, blocked=_blocked(kernel))


def _blocked(kernel: BlockKernel) -> str:
    """Does the next firings, as long as they only give."""
    [queue], lines = kernel.outputs, []
    for line in kernel.body.giving:
        if isinstance(line, Wait):
            lines += [] if line.output else [f"{line.indent}goto unprepared;"]
        elif isinstance(line, Fail):
            lines.append(line.then("goto unprepared;"))
        elif isinstance(line, Leave):
            lines.append(f"{line.indent}goto {'' if gives_alone(line) else 'un'}prepared;")
        else:
            lines.append(str(line))
    return _BLOCKED.format(
        save=kernel.keep,
        reset=kernel.reset(),
        lines="\n".join(lines),
        restore=kernel.restore,
        counted=" ".join(kernel.counted(n, sure=True) for n in firsts(kernel.body.given)),
        last=queue.places - 1,
        first=kernel.body.given[queue.ports[0]],
        values=each(
            " out0->column{0}[(T0 + n) & {1}] = gv{2};",
            ((column, queue.places - 1, port) for column, port in enumerate(queue.ports)),
        ),
    )
