"""The tokens of a short run, cycle by cycle, for the page to play."""

from __future__ import annotations

from typing import Any

from sam.token import DATA, DONE, EMPTY, STOP
from sim.attribution.log import Log, Passed
from sim.stats import Run

MOST_CYCLES, MOST_TOKENS = 20_000, 60_000


def why_not(run: Run) -> str | None:
    """Why the run is not played; None if it is."""
    if run.parts:
        return "The player shows programs of one graph."
    if run.cycles > MOST_CYCLES:
        return f"The player shows runs of up to {MOST_CYCLES:,} cycles."
    if run.tokens > MOST_TOKENS:
        return f"The player shows runs of up to {MOST_TOKENS:,} tokens."
    if run.again is None:
        return "The player needs the inputs of the run."
    return None


def played(run: Run) -> dict[str, Any] | None:
    """The data of the player: the tokens of each stream, and the waits of each block.

    For a token: the cycles from the giving of the token before to its own giving, from there until
    it is visible, and from there until it is taken; and its text, in the paper's notation.
    """
    if why_not(run) is not None:
        return None
    assert run.again is not None
    again = run.again(config=run.config, engine="simpy", validate=False, tokens=True, threads=1)
    log = again.log
    assert log is not None
    return {
        "cycles": run.cycles,
        "tokens": {edge: _stream(passed) for edge, passed in log.tokens.items()},
        "waits": {name: _waits(log, n) for n, name in enumerate(log.blocks)},
    }


def _stream(passed: Any) -> list[list[Any]]:
    columns: list[list[Any]] = [[], [], [], []]
    before = 0
    for token in passed:
        columns[0].append(token.given - before)
        columns[1].append(token.visible - token.given)
        columns[2].append(max(token.taken, token.visible) - token.visible)
        columns[3].append(notation(token))
        before = token.given
    return columns


def notation(token: Passed) -> str:
    """A token as the SAM paper writes it."""
    if token.kind == DATA:
        value = token.value
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    return {EMPTY: "N", STOP: f"S{token.value}", DONE: "D"}[token.kind]


def _waits(log: Log, block: int) -> list[list[int]]:
    """The waits of a block: first and last cycle and cause of each; and the block's end."""
    waits = log.waits[block]
    found = [waits.ready.tolist(), waits.asked.tolist(), []]
    for cause in waits.cause.tolist():
        found[2].append(int(waits.awaited[cause].is_input))
    requests = waits.requests
    if requests is not None:
        chosen = requests.taken > requests.asked
        found[0] += requests.asked[chosen].tolist()
        found[1] += requests.taken[chosen].tolist()
        found[2] += [2] * int(chosen.sum())
        order = sorted(range(len(found[0])), key=lambda n: found[0][n])
        found = [[column[n] for n in order] for column in found]
    return [*found, [waits.fired, waits.interval]]
