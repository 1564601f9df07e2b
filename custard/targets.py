"""The table of targets: the facts in which they differ.

The compiler and the command ask this table; none of them compares the names of targets. Which
scheduling commands a target follows stands with the commands (``custard.language.commands``), and
what the command runs and reports for a target in ``custard/cli``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from sam.support.errors import UserError, one_of

if TYPE_CHECKING:
    from custard.ir import cin
    from custard.program import Program
    from custard.request import Request


@dataclass(frozen=True)
class Target:
    """A target.

    ``about``      the sort of its programs, in a few words
    ``levels``     the levels of a tensor of some order that no format is given for
    ``module``     the module with its ``ordered`` and ``compiled``, imported when they are needed
    ``autoscheduling``  the module with its ``AUTOSCHEDULER``, imported when schedules are chosen
    ``simulated``  whether a run is a simulation, which counts cycles
    ``options``    the options of the command that only it takes, by the names of their arguments
    """

    name: str
    about: str
    levels: Callable[[int], str]
    module: str
    autoscheduling: str
    simulated: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    def ordered(
        self, program: cin.LoopProgram, request: Request
    ) -> tuple[cin.LoopProgram, list[str]]:
        """The program with its loops in the order that suits the formats; and notes."""
        found: tuple[cin.LoopProgram, list[str]]
        found = import_module(self.module).ordered(program, request)
        return found

    def compiled(self, program: cin.LoopProgram, request: Request, notes: list[str]) -> Program:
        """The program that runs, of concrete index notation. Raises UserError."""
        found: Program = import_module(self.module).compiled(program, request, notes)
        return found


_COMPRESSED: Callable[[int], str] = "s".__mul__

TARGETS: Mapping[str, Target] = {
    one.name: one
    for one in (
        Target(
            "sam",
            "a graph and its cycles",
            _COMPRESSED,
            "custard.to_sam.target",
            "custard.autoscheduling.on_sam",
            simulated=True,
            options={
                "config": "--config",
                "overrides": "--set",
                "engine": "--engine",
                "validate": "--validate",
                "dot": "--dot",
                "report": "--report",
                "trace": "--trace",
                "vcd": "--vcd",
                "window": "--window",
                "draw": "--draw",
                "plot": "--plot",
                "max_cycles": "--max-cycles",
                "all_lanes": "--all-lanes",
            },
        ),
        Target(
            "c",
            "C, which runs on this machine",
            # A matrix is CSR, as scipy's is.
            lambda order: "ds" if order == 2 else _COMPRESSED(order),
            "custard.to_c.target",
            "custard.autoscheduling.on_c",
            options={
                "time": "--time",
                "fast_math": "--fast-math",
                "prefix": "--prefix",
            },
        ),
    )
}
DEFAULT = "sam"


def target_of(name: str) -> Target:
    """The target of a name. Raises UserError."""
    if not isinstance(name, str) or name not in TARGETS:
        raise UserError(f"unknown target {name}", hint=one_of(name, TARGETS))
    return TARGETS[name]


def require_option(target: str, name: str, shown: str | None = None) -> None:
    """Raises UserError for an option that other targets take, and this one does not.

    ``name`` is that of its argument, and ``shown`` what the user wrote.
    """
    takes = [one.name for one in TARGETS.values() if name in one.options]
    if takes and target not in takes:
        raise _without_meaning(shown or name, target, takes)


def require_simulated(target: str, what: str) -> None:
    """Raises UserError for what needs a simulation, on a target that is not simulated."""
    if not target_of(target).simulated:
        takes = [one.name for one in TARGETS.values() if one.simulated]
        raise _without_meaning(what, target, takes)


def _without_meaning(what: str, target: str, takes: list[str]) -> UserError:
    hint = f"it is for target {' and '.join(takes)}"
    return UserError(f"{what} has no meaning on target {target}", hint=hint)
