"""Outermost levels that have an array with the position of each coordinate."""

import custard
from custard.to_c.builder import Types


def test_the_array_is_filled_once_and_located_in():
    formats = {"y": "d", "A": "CSR", "x": "s"}
    program = custard.compile("y(i) = A(i,j) * x(j)", formats, target="c")
    text = program.kernel(Types(looked_up=frozenset("x"))).source
    kernel = text[text.index("int compute(") :]
    assert kernel.count("x_places0[x_coordinates0[p]] = (int32_t)(p + 1);") == 1
    assert "const int64_t px0 = x_places0[j] - 1;" in kernel
    assert "free(x_places0);" in kernel
    # Nothing is filled where no loop locates.
    assert "x_places0" not in program.source
