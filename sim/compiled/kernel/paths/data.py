"""Data first: the kernel begins with a firing that is right for data at all inputs only.

Most tokens are data. With the kind known, tests of it and branches for other kinds disappear. The
general firing stands behind; any other token leads there.
"""

from __future__ import annotations

from sim.compiled.kernel.path import Further, KernelParts, Path
from sim.compiled.kernel.plain import BlockKernel

_ANY_TOKENS = """        any_tokens: now = ready; cause = row = 0;
"""


class Data(Path):
    """Applies if the step looks at any tokens at all."""

    name = "data"

    def applies(self, kernel: BlockKernel) -> bool:
        return bool(kernel.body.general)

    def write(self, kernel: BlockKernel) -> KernelParts:
        general = kernel.body.general
        further = Further(_ANY_TOKENS + kernel.seen() + kernel.save(general), general)
        return KernelParts(first=kernel.body.first, further=[further])
