"""The source of a kernel, with the fast paths that are on; all of them give the same runs."""

import numpy as np
import pytest

import custard
from sam.support.errors import UserError
from sim.compiled.kernel.source import PATHS, paths_on, paths_without, source
from tests.support.compiler import needs_compiler
from tests.support.kernels import NAMES, long
from tests.support.profiles import PROFILE
from tests.support.steps import FORWARD, translated


def names(paths):
    return [path.name for path in paths]


def test_all_paths_are_on(monkeypatch):
    monkeypatch.delenv("SAM_PATHS_OFF", raising=False)
    assert tuple(paths_on()) == PATHS


@pytest.mark.parametrize(
    ("off", "on"),
    [
        ("all", []),
        ("prepare", ["short", "pull", "steady", "at_once", "following", "window", "data"]),
        ("short", ["pull", "steady", "at_once", "following", "window", "data"]),
        ("pull, at_once", ["short", "steady", "following", "data"]),
        ("data", ["short", "pull", "prepare"]),
        (" ", NAMES),
    ],
)
def test_paths_that_are_off_and_those_that_need_them(monkeypatch, off, on):
    monkeypatch.setenv("SAM_PATHS_OFF", off)
    assert names(paths_on()) == on


def test_an_unknown_path_is_a_mistake(monkeypatch):
    monkeypatch.setenv("SAM_PATHS_OFF", "pull,folowing")
    with pytest.raises(UserError) as caught:
        paths_on()
    assert str(caught.value) == (
        "SAM_PATHS_OFF has 'folowing', which is not a fast path\nhint: did you mean following?"
    )


def test_a_kernel_that_keeps_a_log_says_how_many_slots_it_has():
    body = translated(FORWARD, ports=("a", "crd")).body
    plain = source(body, [long(0)], [long(0), long(0)], paths=paths_without(NAMES))
    logged = source(body, [long(0)], [long(0), long(0)], True, paths_without(NAMES))
    assert logged == f"#define LOGGED 3\n{plain}"


DEPTHS = [1, 2, 20, "unbounded"]
PROGRAMS = {
    "X(i,j)=B(i,k)*C(k,j)": (["reorder(i,k,j)"], {}),
    "X(i,j)=B(i,k)*C(j,k)": (["reorder(i,j,k)"], {}),
    "X(i,j)=B(i,j)+C(i,j)": ([], {}),
    "X(i,j)=B(i,j)*C(i,k)*D(k,j)": (["reorder(i,j,k)"], {"C": "dd", "D": "dd:1,0"}),
}


@needs_compiler
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("expression", PROGRAMS)
def test_runs_are_the_same_with_all_paths_with_none_and_with_each_one_off(
    expression, depth, monkeypatch
):
    schedule, formats = PROGRAMS[expression]
    program = custard.compile(expression, formats, schedule)
    generator = np.random.default_rng(0)
    inputs = {
        name: generator.random((20, 20)) * (generator.random((20, 20)) < share)
        for name, share in zip("BCD", (0.2, 0.3, 0.6), strict=True)
        if f"{name}(" in expression
    }

    def told(engine):
        try:
            run = program.simulate(inputs, overrides={"queues.depth": depth}, engine=engine)
        except UserError as error:
            return str(error)
        return run.cycles, run.blocks, run.streams, repr(run.output.to_numpy().tolist())

    # In quick, a path is off once with each program, and once with each depth.
    turn = [*PROGRAMS].index(expression) + DEPTHS.index(depth)
    paths = NAMES if PROFILE == "full" else NAMES[turn % 4 :: 4]
    due = told("simpy")
    for off in ("", "all", *paths):
        monkeypatch.setenv("SAM_PATHS_OFF", off)
        assert told("compiled") == due, off
