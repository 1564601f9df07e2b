"""The structures of the scheduler: see test_shared_layout.py for how they are held against C."""

import re

from sim.compiled import memory, structures
from sim.compiled.translations import text
from sim.retiming import firings, timing


def test_every_way_to_stop_has_a_name_in_python():
    [names] = re.findall(r"enum \{\s*(RUNNING[^}]*)\}", text("runtime.h"))
    assert [name.strip() for name in names.split(",")] == [*structures.Status.__members__]


def test_every_structure_that_python_lays_out_is_checked():
    for module, shared in (
        (structures, structures.SHARED),
        (memory, memory.SHARED_HIERARCHY),
        (firings, firings.SHARED),
        (timing, timing.SHARED),
    ):
        own = {
            found
            for name, found in vars(module).items()
            if name.startswith("C") and hasattr(found, "_fields_")
        }
        assert own <= {*shared.structures.values()}
