"""The result of lowering: a kernel, and the decisions behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from custard.to_c.loop_ir import For, Kernel
from custard.to_c.walks import statements as every_statement
from custard.to_c.workspaces.choice import Filling
from sam.arithmetic import ValueType
from sam.graph import Slot


@dataclass(frozen=True)
class Lowered:
    """A kernel, and the decisions behind it, in sentences.

    ``slots``       the storage of the inputs that it reads, in the order of its parameters
    ``numbers``     the variables whose extents are parameters of their own
    ``fillings``    the workspaces, and the loops that fill them
    ``result``      the slot that it fills; the caller may convert it afterwards
    ``dtype``       the type of the result's values
    ``rearranged``  a note for each tensor that is stored in another way, with the declaration of
                    the format that avoids it, if there is one
    ``threaded``    whether the number of threads is the last argument
    ``gathers``     whether it has sums of products that gather factors (``gathered_sums``)
    ``zeroing``     the loop that sets all values of the result to zero first, if there is one
    ``on_zeros``    whether it was taken out, as all values are zero before
    """

    kernel: Kernel
    slots: tuple[Slot, ...]
    numbers: tuple[str, ...]
    fillings: tuple[Filling, ...]
    result: Slot
    dtype: ValueType
    rearranged: Mapping[str, str | None]
    decisions: tuple[str, ...]
    threaded: bool = False
    gathers: bool = False
    zeroing: For | None = None
    on_zeros: bool = False

    def for_zeros(self) -> Lowered:
        """The kernel for a result that the caller has set to zero, if that spares it a loop.

        The system gives large arrays out as zeros, so the kernel need not go through them.
        """
        if self.zeroing is None:
            return self
        body = [one for one in self.kernel.body if one != self.zeroing]
        return replace(self, kernel=replace(self.kernel, body=body), zeroing=None, on_zeros=True)

    @property
    def has_vectors(self) -> bool:
        """Whether rounds of loops are shared out to the lanes of vectors."""
        return any(
            isinstance(one, For) and one.vectors for one in every_statement(self.kernel.body)
        )
