"""Random programs under random schedules give what the dense evaluator gives, on both engines."""

import re

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import custard
from custard import UserError
from experiments.corpus import engines_differ
from tests.dense import evaluate
from tests.profiles import examples
from tests.programs import Program, programs

relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
_ACCESS = r"\w+\([\w,]*\)"
_KINDS = ("split", "divide", "fuse", "precompute", "parallelize", "reorder")


def compiled(program: Program, schedule: list[str]):
    return custard.compile(program.expression, program.formats, schedule, dims=program.dims)


@st.composite
def commands(draw: st.DrawFn, program: Program, loops: list[str], n: int, kinds=_KINDS) -> str:
    """A command for a program with these loops; ``n`` makes its names new ones."""
    kind = draw(st.sampled_from(kinds))
    loop = draw(st.sampled_from(loops))
    size = draw(st.integers(1, 4))
    if kind in ("split", "divide"):
        return f"{kind}({loop},{loop}{n}a,{loop}{n}b,{size})"
    if kind == "parallelize":
        return f"parallelize({loop},Lanes,{size})"
    if kind == "reorder":
        return f"reorder({','.join(draw(st.permutations(loops)))})"
    if kind == "fuse":
        at = loops.index(loop)
        inner = loops[(at + 1) % len(loops)]
        return f"fuse({loop},{inner},f{n})"
    right = program.expression.partition("=")[2]
    parts = re.findall(rf"(?={_ACCESS} [*+] {_ACCESS})({_ACCESS} [*+] {_ACCESS})", right)
    parts += re.findall(_ACCESS, right)
    part = draw(st.sampled_from(parts or ["B"]))
    new = draw(st.sampled_from((loop, f"{loop}{n}w")))
    return f"precompute({part},{loop},{new})"


@st.composite
def schedules(draw: st.DrawFn, program: Program, kinds=_KINDS) -> list[str]:
    """Commands that the compiler takes; those that it refuses are left out."""
    schedule = [f"reorder({','.join(program.order)})"]
    loops = list(program.order)
    for n in range(draw(st.integers(1, 4))):
        command = draw(commands(program, loops, n, kinds))
        try:
            found = compiled(program, [*schedule, command])
        except UserError:
            continue
        schedule.append(command)
        statements = found.scheduled.statements
        loops = list(dict.fromkeys(loop for one in statements for loop in one.loops))
    return schedule


def check(program: Program, schedule: list[str], engines: tuple[str, ...] = ("simpy",)) -> None:
    found = compiled(program, schedule)
    runs = [found.simulate(program.tensors, engine=engine) for engine in engines]
    due = evaluate(program.expression, program.tensors, program.dims)
    np.testing.assert_array_equal(runs[0].output.to_numpy(), due)
    assert engines_differ(runs[0], runs[-1]) == ""
    runs[0].output.validate()
    assert runs[0].output.format == str(program.formats.get("X", runs[0].output.format))


@settings(relaxed, max_examples=examples(300))
@given(st.data())
def test_any_schedule(data):
    program = data.draw(programs(explicit_sums=True, accumulate=True))
    assume(program.order and ("+=" not in program.expression or "X" in program.tensors))
    check(program, data.draw(schedules(program)))


@settings(relaxed, max_examples=examples(40))
@given(st.data())
def test_engines_agree(data):
    program = data.draw(programs(max_operands=2))
    assume(program.order)
    check(program, data.draw(schedules(program, ("split", "parallelize"))), ("simpy", "compiled"))
