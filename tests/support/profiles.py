"""How long the property tests run: ``HYPOTHESIS_PROFILE=full`` for all their examples."""

import os

from hypothesis import settings

settings.register_profile("quick", deadline=None, derandomize=True)
settings.register_profile("full", deadline=None)

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")


def examples(n: int, compiles: bool = False) -> int:
    """The examples to run of the ``n`` that a test is meant for: all in full, a fifth in quick.

    In quick, a fiftieth of examples that compile C. Quick runs the same examples each time.
    """
    return n if PROFILE == "full" else max(1, n // (50 if compiles else 5))
