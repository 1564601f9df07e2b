"""Short queues: the ends of a queue that fills after a few tokens stay where they are in memory.

Writer and reader take turns after each few firings, so a call has little time to make up for
loading the ends at its start and storing them at its end. A waiting reader is woken by the give.
"""

from __future__ import annotations

from sim.compiled.kernel import c
from sim.compiled.kernel.path import KernelParts, OutputEnd, Path
from sim.compiled.kernel.plain import BlockKernel

_MACROS = """#define r{q} b->out[{q}]
#define T{q} r{q}->tail
#define H{q} r{q}->head
#define D{q} r{q}->depth
#define L{q} r{q}->latency
#define out{q} ((Out{q} *)r{q}->to)
"""


class Short(Path):
    """Applies if an output queue is short."""

    name = "short"

    def applies(self, kernel: BlockKernel) -> bool:
        return any(queue.short for queue in kernel.outputs)

    def write(self, kernel: BlockKernel) -> KernelParts:
        ends = {
            q: OutputEnd(macros=_MACROS.format(q=q), given=f" {c.WAKE_READER.format(q=q)}")
            for q, queue in enumerate(kernel.outputs)
            if queue.short
        }
        return KernelParts(outputs=ends)
