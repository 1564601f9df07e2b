"""The section ``memory`` of a hardware config."""

import numpy as np
import pytest

import custard
from sam.levels import INDEX, WORD
from sam.memory_regions import Region
from sam.support.errors import UserError
from sim.config.hardware import load

LEVELS = [{"name": "DRAM"}, {"name": "LLB"}, {"name": "L1"}]


def memory(**more):
    sections = {"levels": LEVELS, **more}
    return load(None, {f"memory.{key}": value for key, value in sections.items()}).memory


def test_memory_is_ideal_without_levels():
    assert load(None).memory.levels == ()


def test_a_level_has_defaults():
    [level] = memory(levels=[{"name": "DRAM"}]).levels
    assert (level.capacity_bytes, level.bandwidth_gb_per_s) == ("unbounded", "unbounded")
    assert (level.latency_cycles, level.ports, level.line_bytes) == (1, 1, None)
    assert (level.replacement, level.energy_pj_per_byte) == ("lru", 0)


def test_the_bytes_of_an_entry():
    one = memory(index_bytes=2)
    assert one.entry_bytes(INDEX, 8) == 2
    assert one.entry_bytes(WORD, 8) == 8
    assert one.entry_bytes("value", 4) == 4
    assert memory(value_bytes=16).entry_bytes("value", 4) == 16


@pytest.mark.parametrize(
    ("places", "due"),
    [
        ({}, 0),
        ({"crd": "LLB"}, 1),
        ({"B": "L1", "crd": "LLB"}, 2),
        ({"B": "L1", "B.crd": "LLB"}, 1),
        ({"B.crd": "LLB", "B.1": "L1"}, 2),
        ({"B.1": "LLB", "B.1.crd": "L1"}, 2),
        ({"B.0": "LLB", "C": "L1", "seg": "L1"}, 0),
    ],
)
def test_the_most_particular_place_of_an_array_counts(places, due):
    assert memory(places=places).home(Region("B", 1, "crd")) == due


def test_an_array_that_a_graph_places_lives_there():
    assert memory(places={"B": "LLB"}).home(Region("B", 0, "crd", lives_in="L1")) == 2


@pytest.mark.parametrize(
    ("sections", "text"),
    [
        ({"levels": {"name": "DRAM"}}, "has levels that are not a list"),
        ({"levels": [{"name": "DRAM"}] * 2}, "has two levels that are called DRAM"),
        ({"places": {"B": "LLC"}}, 'has "LLC" for the place of B, and no such level'),
        ({"levels": [{"name": "DRAM", "ports": 0}]}, 'at least 1, or "per_block"'),
        ({"levels": [{"name": "DRAM", "replacement": "random"}]}, 'must be "lru" or "fifo"'),
        ({"levels": [{"name": "DRAM", "bandwidth_gb_per_s": 0}]}, "a number greater than 0"),
        ({"levels": [{"name": "D.RAM"}]}, "text without dots"),
    ],
)
def test_mistakes(sections, text):
    with pytest.raises(UserError) as caught:
        memory(**sections)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (
            "Q",
            'memory.places has "Q", and the graph has no tensor Q\n'
            "hint: one of b, x, seg, crd, val, tile",
        ),
        ("b.ref", 'memory.places has "b.ref", and ref is not an array\nhint: one of '),
    ],
)
def test_places_that_a_graph_does_not_have(place, text):
    program = custard.compile("x(i) = b(i)", {"b": "s", "x": "s"})
    config = {"memory.levels": LEVELS, "memory.places": {place: "LLB"}}
    with pytest.raises(UserError) as caught:
        program.simulate({"b": np.ones(3)}, overrides=config)
    assert str(caught.value).startswith(text)
