"""Pulling: a kernel that finds a short queue empty calls the writer of that queue.

The writer has mostly stopped because the queue was full, and goes on for a few firings. Without
pulling, the call would end, and the scheduler would call the writer, and then this block again.
"""

from __future__ import annotations

from sim.compiled.kernel import c
from sim.compiled.kernel.path import InputEnd, KernelParts, Path
from sim.compiled.kernel.plain import BlockKernel, end_of

_PULLED = f"""if (h{{q}} == e{{q}} && h{{q}} == (e{{q}} = q{{q}}->tail)) {{{{ \\
        if (!q{{q}}->crowds || fired >= most) {c.STARVED} \\
        q{{q}}->head = h{{q}}; \\
        if (!b->pull(b, q{{q}})) {c.STARVED} \\
        e{{q}} = q{{q}}->tail; \\
    }}}}"""

# A writer that was pulled may have let others go on, which have given to the other inputs.
_THERE_NOW = f"if (RARE(h{{q}} == e{{q}}) && h{{q}} == (e{{q}} = {{end}})) {c.STARVED}"


class Pull(Path):
    """Applies if an input queue is short."""

    name = "pull"

    def applies(self, kernel: BlockKernel) -> bool:
        return any(queue.short for queue in kernel.inputs)

    def write(self, kernel: BlockKernel) -> KernelParts:
        ends = {
            q: InputEnd(
                there=(_PULLED if queue.short else _THERE_NOW).format(q=q, end=end_of(q, queue)),
                fixed=False,
            )
            for q, queue in enumerate(kernel.inputs)
        }
        return KernelParts(inputs=ends, most="FEW_FIRINGS")
