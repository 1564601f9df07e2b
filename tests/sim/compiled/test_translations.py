"""Which optimisations a kernel of the compiled engine gets."""

from sam.support import c_compiler as cc
from sim.compiled import translations


def test_a_kernel_of_many_lines_is_compiled_with_few_optimisations():
    assert translations._flags("int x;\n") == cc.FLAGS
    many = translations._flags("\n" * translations._MANY_LINES)
    assert "-O3" not in many
    assert "-march=native" in many
    assert "-ffp-contract=off" in many
