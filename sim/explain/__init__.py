"""Why a run took as long as it did, and what would make it shorter.

``bounds``    cycles that no change of queues or latencies can go below
``what_if``   changes that each make one resource ideal, for the causes on the critical path
``telling``   the explanation: a sentence, and the tables behind it
"""

from sim.explain.telling import Explanation, explain

__all__ = ["Explanation", "explain"]
