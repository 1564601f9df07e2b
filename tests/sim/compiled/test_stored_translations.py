"""Translations on disk: used by the next process, and never for a step that differs."""

from pathlib import Path

import numpy as np
import pytest

import custard
import sim
from sam.memory_regions import Region
from sam.support import disk_cache
from sim.compiled import stored_translations, translations
from sim.compiled.residual import INT, Residual, StepPort
from sim.compiled.steps import specialise
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

PRODUCT = custard.compile("y(i) = A(i,j) * x(j)")
INPUTS = {"A": np.array([[1.0, 0, 2], [0, 3, 0]]), "x": np.array([4.0, 5, 6])}
EXPECTED = [16.0, 15.0]
MEMORY = Path(__file__).parents[3] / "examples" / "memory.yaml"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SAM_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def translated(monkeypatch):
    """The steps that are translated from here on, as in a process that has just started."""
    steps = []

    def translate(step, *rest):
        steps.append(step)
        return specialise.translate(step, *rest)

    monkeypatch.setattr(translations, "translate", translate)
    new_process()
    return steps


def new_process():
    translations._kept.clear()
    stored_translations._digest.cache_clear()


def simulated(config=None):
    return sim.simulate(PRODUCT.graph, INPUTS, config, engine="compiled")


def test_the_next_process_translates_nothing(translated):
    first = simulated()
    assert translated
    translated.clear()
    new_process()
    second = simulated()
    assert translated == []
    on_simpy = sim.simulate(PRODUCT.graph, INPUTS, engine="simpy")
    assert second.cycles == first.cycles == on_simpy.cycles
    assert second.output.to_numpy().tolist() == EXPECTED


def test_regions_of_memory_are_those_of_the_run(translated):
    first = simulated(MEMORY)
    translated.clear()
    new_process()
    second = simulated(MEMORY)
    assert translated == []
    expected = sim.simulate(PRODUCT.graph, INPUTS, MEMORY, engine="simpy")
    assert second.memory
    assert first.cycles == second.cycles == expected.cycles
    assert second.memory == expected.memory


def test_regions_keep_their_order():
    first, second, third = (Region("A", 0, "crd") for _ in range(3))
    residual = Residual(None, (), (), (), (third, first))
    stored_translations.put("0" * 32 + ".kernel", residual, [first, second, third])
    others = [Region("B", 0, "crd") for _ in range(3)]
    found = stored_translations.find("0" * 32 + ".kernel", others)
    assert [id(region) for region in found.regions] == [id(others[2]), id(others[0])]


def test_other_sources_are_translated_again(translated, monkeypatch):
    simulated()
    translated.clear()
    new_process()
    read = stored_translations._sources
    monkeypatch.setattr(stored_translations, "_sources", lambda folder: [*read(folder), b"x = 1"])
    simulated()
    assert translated


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\x80\x04K\x01."])
def test_an_entry_that_is_no_kernel_is_made_again(folder, translated, content):
    simulated()
    for path in folder.glob("*.kernel"):
        disk_cache.put(path.name, content)
    translated.clear()
    new_process()
    assert simulated().output.to_numpy().tolist() == EXPECTED
    assert translated


def test_a_step_of_a_user_is_not_stored():
    def step(p, s, m):
        return True

    for of_user in (step, new_process, lambda p, s, m: True):
        assert stored_translations.name((of_user, (), (), None, INT)) is None


def test_names_tell_apart_all_facts_that_decide_the_c():
    from sam.arithmetic import Operation
    from sam.blocks.base import Port as Declared

    parts = [0, 0.0, -0.0, False, "0", None, (), (0,), int, float, np.ndarray, Declared]
    parts += [Operation("add", np.dtype(one)) for one in (np.int32, np.int64, bool)]
    parts += [StepPort("in", 0, INT), StepPort("in", 0, INT, True), StepPort("in", 1, INT)]
    names = [stored_translations.name((part,)) for part in parts]
    assert None not in names
    assert len({*names}) == len(parts)
