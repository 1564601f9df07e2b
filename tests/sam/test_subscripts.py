"""Affine forms of index variables, worked out by hand and by trying all values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam.subscripts import Affine, Span, with_inferred

FORM = Affine("i", 2, (("k", -1),), 3)


def test_a_form_is_written_as_it_is_computed():
    assert str(FORM) == "-k+2*i+3"
    assert str(Affine("i")) == "i"
    assert str(Affine("i", -1, (), -2)) == "-i-2"
    assert FORM.variables == ("k", "i")


def test_another_variable_may_resolve_it():
    assert FORM.resolved_by("k") == Affine("k", -1, (("i", 2),), 3)
    assert FORM.resolved_in(["i", "k"]) == FORM.resolved_by("k")
    assert FORM.resolved_in(["k", "i"]) is FORM
    assert FORM.renamed({"k": "k'"}).variables == ("k'", "i")


@st.composite
def forms(draw):
    scales = st.sampled_from([-3, -2, -1, 1, 2, 3])
    return Affine("i", draw(scales), (("k", draw(scales)),), draw(st.integers(-4, 4)))


def values(form, extents):
    return [
        form.scale * i + form.terms[0][1] * k + form.constant
        for i in range(extents["i"])
        for k in range(extents["k"])
    ]


@given(forms(), st.integers(1, 5), st.integers(1, 5))
def test_the_span_is_one_more_than_the_largest_value(form, i, k):
    extents = {"i": i, "k": k}
    assert form.span(extents) == max(0, max(values(form, extents)) + 1)


def test_a_span_that_is_empty_or_not_known():
    assert FORM.span({"i": 3, "k": 0}) == 0
    assert FORM.span({"i": 3}) is None


@given(forms(), st.integers(1, 4), st.integers(0, 12))
def test_the_largest_extent_keeps_the_end_inside(form, k, size):
    """By trying extents: the form's end to which the variable moves it stays inside."""
    found = form.largest("i", size, {"k": k})

    def inside(n):
        at = values(form, {"i": n, "k": k})
        return (max(at) < size) if form.scale > 0 else (min(at) >= 0)

    fits = [n for n in range(1, 30) if inside(n)]
    assert found == max(fits, default=0)


def test_extents_follow_one_another():
    """x(i+k) of 9 places with 3 of k gives 7 of i; a mode at 2*i then has 13."""
    found = with_inferred({"k": 3}, [(Affine("i", 1, (("k", 1),)), 9)], [Span("m", Affine("i", 2))])
    assert found == {"k": 3, "i": 7, "m": 13}


def test_several_forms_hold_a_variable():
    sizes = [(Affine("i", 1), 9), (Affine("i", 2), 9)]
    assert with_inferred({}, sizes) == {"i": 5}


def test_extents_that_nothing_fixes_stay_unknown():
    assert with_inferred({}, [(Affine("i", 1, (("k", 1),)), 9)]) == {}


@pytest.mark.parametrize("size", [0, 1])
def test_no_room(size):
    assert Affine("i", 1, (), 5).largest("i", size, {}) == 0
