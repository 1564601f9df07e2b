"""The simulators of SAM graphs."""

from sam.support.errors import UserError
from sim.simulate import simulate
from sim.stats import BlockStats, Run, StreamStats

__all__ = ["BlockStats", "Run", "StreamStats", "UserError", "simulate"]
