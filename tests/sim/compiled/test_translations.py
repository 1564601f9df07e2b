"""Which optimisations a kernel of the compiled engine gets."""

from types import SimpleNamespace

import numpy as np
import pytest

from sam.blocks.block_memory import Stored
from sam.support import c_compiler as cc
from sim.compiled import translations


def test_a_kernel_of_many_lines_is_compiled_with_few_optimisations():
    assert translations._flags("int x;\n") == (*cc.FLAGS, "-D_GNU_SOURCE")
    many = translations._flags("\n" * translations._MANY_LINES)
    assert "-O3" not in many
    assert "-march=native" in many
    assert "-ffp-contract=off" in many


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 2, True),
        (1, True, False),
        (1.0, 2.0, False),
        (0.0, -0.0, False),
        (np.zeros(2), np.ones(9), True),
        (np.zeros(2), np.zeros(2, int), False),
        (Stored(0), Stored(1), True),
        (Stored(0), Stored(0, integers=True), False),
        (SimpleNamespace(a=1, b=0.5), SimpleNamespace(a=2, b=0.5), True),
        (SimpleNamespace(a=1, b=0.5), SimpleNamespace(a=1, b=1.5), False),
    ],
)
def test_parts_of_a_memory_that_are_written_into_the_c(one, other, same):
    """Of whole numbers and arrays, the type; other constants as they are."""
    assert (translations._memory(one, []) == translations._memory(other, [])) == same


def test_an_object_of_unknown_type_has_no_key():
    with pytest.raises(translations._Unknown):
        translations._memory(object(), [])
