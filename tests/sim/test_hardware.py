"""Memory, tiles, skipping and lanes, all at once: both engines give the same, to the last cycle."""

import re

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import custard
from custard import UserError
from experiments.dense import evaluate
from tests.support.compiler import needs_compiler
from tests.support.profiles import examples
from tests.support.programs import Program, programs

pytestmark = needs_compiler

relaxed = settings(suppress_health_check=list(HealthCheck))


@st.composite
def schedules(draw: st.DrawFn, program: Program, tiles: int) -> list[str]:
    """Commands for tiles of some levels, lanes and skipping, as far as the compiler takes them."""
    schedule = [f"reorder({','.join(program.order)})"]
    if tiles:
        schedule.append(f"tile({','.join(map(str, (4, 2)[-tiles:]))})")
    accesses = re.findall(r"(\w)\(([\w,]+)\)", program.expression.partition("=")[2])
    ends = [str(level) for level in range(tiles + 1)] if tiles else [""]
    loops = [variable + end for variable in program.order for end in ends]
    wanted = [
        f"skip({tensor},{variable}{end})"
        for tensor, variables in accesses
        for variable in variables.split(",")
        for end in ends
    ]
    wanted = draw(st.lists(st.sampled_from(wanted), unique=True)) if wanted else []
    lanes = st.sampled_from([f"parallelize({loop},Lanes,{n})" for loop in loops for n in (2, 3)])
    for command in [*draw(st.lists(lanes, max_size=1)), *wanted]:
        try:
            custard.compile(
                program.expression, program.formats, [*schedule, command], dims=program.dims
            )
        except UserError:
            continue
        schedule.append(command)
    return schedule


@st.composite
def machines(draw: st.DrawFn, tiles: int) -> dict[str, object]:
    """A memory for each level of tiles and one outside of them at least, and short queues.

    Facts that kernels are compiled for have few values, as compiling takes longer than a run.
    """
    levels = []
    for number in range(draw(st.integers(1 + tiles, 3))):
        level = {
            "name": f"m{number}",
            "bandwidth_gb_per_s": draw(st.sampled_from((1, 7, 64, "unbounded"))),
            "latency_cycles": draw(st.sampled_from((0, 1, 9))),
            "ports": draw(st.sampled_from((1, 2, "per_block"))),
        }
        if number:
            level["capacity_bytes"] = draw(st.sampled_from((600, 2000)))
            level["line_bytes"] = draw(st.sampled_from((8, 32)))
        levels.append(level)
    inner = levels[len(levels) - tiles :]
    buffers = st.sampled_from((2, 3, "unbounded"))
    return {
        "memory": {
            "levels": levels,
            "outstanding_requests": draw(st.sampled_from((1, 3, "unbounded"))),
        },
        "tiling": {
            "levels": [
                {"memory": level["name"], "tile": 2, "buffers": draw(buffers)} for level in inner
            ]
        },
        "queues": {
            "depth": draw(st.sampled_from((16, "unbounded"))),
            "readers": {"intersecter": {"depth": 2}},
            "latency_cycles": draw(st.sampled_from((1, 3))),
        },
    }


def outcome(program, inputs, config, engine):
    """All that a run tells, or the text of its error."""
    try:
        run = program.simulate(inputs, config=config, engine=engine)
    except UserError as error:
        return str(error)
    return run.cycles, run.blocks, run.streams, run.memory, run.output.to_numpy().tolist()


@settings(relaxed, max_examples=examples(500, compiles=True))
@given(st.data())
def test_engines_agree(data):
    program = data.draw(
        programs(max_order=2, levels="ds", operators="**+", allow_zero_extent=False)
    )
    assume(program.order)
    tiles = data.draw(st.integers(0, 2))
    schedule = data.draw(schedules(program, tiles))
    compiled = custard.compile(program.expression, program.formats, schedule, dims=program.dims)
    config = data.draw(machines(tiles))
    found = outcome(compiled, program.tensors, config, "compiled")
    assert found == outcome(compiled, program.tensors, config, "simpy")
    if isinstance(found, str):
        event(found.split(" ")[0])
        assert "deadlock" in found or "has room for" in found
    else:
        event("done")
        due = evaluate(program.expression, program.tensors, program.dims)
        assert found[-1] == due.tolist()
