"""What the tests of sweeps measure in place of a simulation, in processes of their own."""

import os
import signal
import time
from pathlib import Path

from custard.cli.sweeps import workers
from custard.cli.sweeps.points import Point, Results, run
from sam.support.errors import UserError


def square(settings):
    return {"cycles": settings["n"] ** 2, "where": {"pid": os.getpid()}}


def asked(settings):
    """The settings themselves."""
    return dict(settings)


def slow_square(settings):
    """Takes a moment; every start of a point is a line of the log."""
    with Path(settings["log"]).open("a") as log:
        log.write(f"{settings['n']} {os.getpid()}\n")
    time.sleep(0.15)
    return square(settings)


kept = []
"""What points leave behind in their process."""


def misbehave(settings):
    """Fails in the way that the settings name; tells how many points were measured here before."""
    before = len(kept)
    kept.append(bytearray(settings.get("keeps", 0)))
    match settings["how"]:
        case "well":
            return {"cycles": 7}
        case "tell":
            return {"pid": os.getpid(), "before": before}
        case "exit if used":
            if before:
                os._exit(3)
            return {"before": before}
        case "bug if used":
            return {"before": before, "inverse": 1 / (before == 0)}
        case "memory, in words":
            try:
                bytearray(settings["bytes"])
            except MemoryError:
                raise UserError("the reels are full", hint="empty them") from None
        case "memory, of a thread":
            raise RuntimeError("can't start new thread")
        case "mistake":
            raise UserError("the reels are empty", hint="fill them")
        case "bug":
            raise ZeroDivisionError("by zero")
        case "memory":
            return {"cycles": len(bytearray(settings["bytes"]))}
        case "time":
            time.sleep(60)
        case "signal":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            os._exit(3)
        case _:
            return {"before": before}


def same_kind(settings):
    """What settings must have in common that are measured together."""
    return settings.get("kind", "")


def misbehave_together(several, tell):
    """Measures points, and fails at the first that asks for that, unless it is alone."""
    for at, settings in enumerate(several):
        match settings["how"]:
            case "tell mistake":
                tell(at, UserError("the reels are empty", hint="fill them"))
            case "tell bug":
                tell(at, ZeroDivisionError("by zero"))
            case how if how.startswith("alone"):
                misbehave({**settings, "how": how.removeprefix("alone ")})
            case _:
                tell(at, {**misbehave(settings), "together": len(several)})


def slow_points(folder, count):
    return [Point({"n": n, "log": str(folder / "log")}, {"n": n}) for n in range(count)]


def sweep_slowly(folder, count):
    def start(tasks):
        return workers.run_local(tasks, slow_square, workers.Limits(), jobs=2)

    run(slow_points(folder, count), Results(folder / "results", {}), start)
