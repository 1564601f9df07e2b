"""The protocol of fast paths, and the parts of the plain kernel that a path may change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from sim.compiled.residual import Leave, Line

if TYPE_CHECKING:
    from sim.compiled.kernel.plain import BlockKernel


@dataclass(frozen=True)
class InputEnd:
    """How a kernel deals with a queue that it takes from.

    ``there``  C that ends the call if there is no token for the port ``$n``
    ``fixed``  whether no tokens are added during a call
    ``taken``  C done after a token has been taken; ``$taken`` stands for a test whether one has
    ``room``   C of a further test whether its writer has room again
    """

    there: str
    fixed: bool = True
    taken: str = ""
    room: str = ""


@dataclass(frozen=True)
class OutputEnd:
    """How a kernel deals with a queue that it gives to.

    ``macros``  C before the function
    ``locals``  C at its start
    ``given``   C done after a token has been given
    ``back``    C at its end
    """

    macros: str = ""
    locals: str = ""
    given: str = ""
    back: str = ""


@dataclass(frozen=True)
class Further:
    """Another firing that a kernel has.

    ``opening``  the C before it, with the label that leads to it
    ``leader``   the leader of the inputs that the firing before has taken from, if it follows such
                 a firing
    """

    opening: str
    lines: Sequence[Line]
    leader: int | None = None


@dataclass(frozen=True)
class KernelParts:
    """The parts of a kernel that a path writes; empty ones stay as in the plain kernel.

    ``first``    the firing that the kernel begins with
    ``further``  other firings
    ``inputs``, ``outputs``  ends of queues, by their numbers
    ``most``     the most firings of a call
    ``begin``    before the first firing of a call
    ``blocked``  where an output is full
    ``headers``  C files that it includes
    """

    first: Sequence[Line] = ()
    further: Sequence[Further] = ()
    inputs: Mapping[int, InputEnd] = field(default_factory=dict)
    outputs: Mapping[int, OutputEnd] = field(default_factory=dict)
    most: str = ""
    begin: str = ""
    blocked: str = ""
    headers: Sequence[str] = ()


class Path(ABC):
    """A fast path: C with the same effect as single firings of the plain kernel, to the cycle.

    ``name``   by which it is switched off
    ``needs``  the names of paths without which it never applies
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def applies(self, kernel: BlockKernel) -> bool:
        """Whether its precondition holds."""

    @abstractmethod
    def write(self, kernel: BlockKernel) -> KernelParts:
        """Its parts of a kernel that it applies to."""

    def after(self, kernel: BlockKernel, line: Leave, leader: int | None) -> list[str]:
        """C in the place of a new beginning, after a firing that ends at ``line``.

        ``leader`` is the leader that the firing itself follows, if any. After a line that is a
        ``goto``, no other path is asked.
        """
        return []
