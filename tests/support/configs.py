"""Hypothesis strategies for machines: configs, with and without memory."""

from hypothesis import strategies as st

depths = st.sampled_from([1, 2, 3, 4, 8, 64, "unbounded"])
cycles = st.sampled_from([1, 1, 1, 2, 5])
configs = st.fixed_dictionaries(
    {},
    optional={
        "queues.depth": depths,
        "queues.latency_cycles": cycles,
        "queues.kinds.val.depth": depths,
        "queues.kinds.ref.depth": depths,
        "queues.kinds.crd.latency_cycles": cycles,
        "blocks.latency_cycles": cycles,
        "blocks.initiation_interval_cycles": cycles,
        "blocks.word_bits": st.sampled_from([1, 2, 3, 64]),
        "blocks.kinds.level_scanner.initiation_interval_cycles": cycles,
        "blocks.kinds.reducer.latency_cycles": cycles,
        "blocks.names.write_X_vals.initiation_interval_cycles": cycles,
    },
)

rates = st.sampled_from([0.3, 1, 3, 8, 64.0, 68.256, "unbounded"])


@st.composite
def memory_levels(draw, name, **more):
    """A level of memory, as a config has it."""
    return {
        "name": name,
        "bandwidth_gb_per_s": draw(rates),
        "latency_cycles": draw(st.sampled_from([0, 1, 2, 7, 40])),
        "ports": draw(st.sampled_from([1, 2, 3, "per_block"])),
        "line_bytes": draw(st.sampled_from([None, 4, 16, 32, 64])),
        "replacement": draw(st.sampled_from(["lru", "fifo"])),
        **more,
    }


@st.composite
def memories(draw, tensors):
    """The section ``memory`` of a config, with places of some of the tensors."""
    levels = [draw(memory_levels("DRAM"))]
    for name in draw(st.sampled_from([[], ["LLB"], ["LLB"], ["LLB", "L1"]])):
        room = st.sampled_from([64, 64, 100, 150, 300, 1000, "unbounded"])
        levels.append(draw(memory_levels(name, capacity_bytes=draw(room))))
    names = st.sampled_from([level["name"] for level in levels])
    keys = [*tensors, *(f"{t}.{part}" for t in tensors for part in ("crd", "seg", "0")), "val"]
    return {
        "levels": levels,
        "index_bytes": draw(st.sampled_from([4, 8, 3])),
        "outstanding_requests": draw(st.sampled_from([1, 2, 3, 16, "unbounded"])),
        "places": draw(st.dictionaries(st.sampled_from(keys), names, max_size=2)),
    }


@st.composite
def with_memory(draw, *tensors):
    """A config for a program of which some of the tensors have places in memory."""
    memory = draw(memories(tensors))
    return {**draw(configs), **{f"memory.{key}": value for key, value in memory.items()}}
