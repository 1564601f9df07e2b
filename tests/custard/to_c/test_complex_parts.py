"""Values and their parts."""

import pytest

from custard.to_c.complex_parts import (
    apart,
    is_complex,
    opposite,
    part_type,
    product,
    subtracted,
    together,
)
from custard.to_c.loop_ir import BOOL, Call, Op, Type, Var

DOUBLE, FLOAT = Type("double"), Type("float")
COMPLEX, SMALL = Type("double complex"), Type("float complex")


@pytest.mark.parametrize(
    ("type", "part", "names"),
    [(COMPLEX, DOUBLE, ("creal", "cimag")), (SMALL, FLOAT, ("crealf", "cimagf"))],
)
def test_a_complex_value_has_two_parts(type, part, names):
    value = Var("z", type)
    assert is_complex(type)
    assert part_type(type) == part
    assert apart(value) == [Call(name, (value,), part) for name in names]
    assert together(apart(value), type).type == type


def test_a_real_value_is_its_only_part():
    value = Var("x", DOUBLE)
    assert apart(value) == [value]
    assert together([value], DOUBLE) == value


def test_products_are_those_of_numpy():
    z, x, flag = Var("z", SMALL), Var("x", DOUBLE), Var("flag", BOOL)
    assert product(z, z) == Call("multiply_float_complex", (z, z), SMALL)
    assert product(x, x) == Op("*", (x, x), DOUBLE)
    assert product(flag, flag) == Op("&", (flag, flag), BOOL)


def test_the_opposite_of_a_computed_complex_value_is_a_call():
    z, x = Var("z", SMALL), Var("x", DOUBLE)
    for value in (z, x, product(x, x)):
        assert opposite(value) == Op("-", (value,), value.type)
        assert subtracted(opposite(value)) == value
        assert subtracted(value) is None
    assert opposite(product(z, z)) == Call("negate_float_complex", (product(z, z),), SMALL)
    assert subtracted(opposite(product(z, z))) == product(z, z)
