"""The memory of a block in C: the text, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from sam.arithmetic import Operation
from sam.blocks.block_memory import Accumulator, Growing, Stored
from sam.support.errors import UserError
from tests.support.steps import general, translated

STATE = {"n": 0, "x": 0.0}
PLUS = Operation("add", np.dtype(float))
MEMORY = SimpleNamespace(
    seg=np.array([0, 1]),
    vals=np.array([1.5]),
    far=np.array([1j]),
    size=3,
    wide=True,
    parts=(1, 2),
    crd=Growing(),
    out=Growing(values=True),
    many=(Growing(), Growing()),
    stored=Stored(0.0),
    counted=Stored(0, integers=True),
    vector=Accumulator(1, None, PLUS),
    scattered=Accumulator(1, None, PLUS, far=True),
    matrix=Accumulator(2, None, PLUS),
    level=SimpleNamespace(seg=np.array([0, 1])),
)


def c(body):
    """The C of a step's firing, without its end."""
    return general(body, STATE, MEMORY).removesuffix("LEAVE untouched; last: 0").rstrip("\n")


@pytest.mark.parametrize(
    ("body", "due"),
    [
        ("s.n = m.seg[s.n + 1]", "s_n = m_seg[(s_n + 1)];"),
        ("s.n = m.level.seg[0]", "s_n = m_level_seg[0];"),
        ("s.x = m.vals[s.n]", "s_x = m_vals[s_n];"),
        ("s.n = m.size", "s_n = n_size;"),
        ("if m.wide:\n    s.n = m.parts[1]", "s_n = 2;"),
        ("m.crd.append(s.n)", "APPEND(m_crd, int64_t, s_n);"),
        ("m.out.append(s.x)", "APPEND(m_out, double, s_x);"),
        ("m.out.clear()", "m_out->length = 0;"),
        ("s.n = m.crd[s.n]", "s_n = ((int64_t *)m_crd->items)[s_n];"),
        ("s.n = len(m.crd)", "s_n = m_crd->length;"),
        (
            "for one in m.many:\n    one.append(s.n)",
            "APPEND(m_many_0, int64_t, s_n);\nAPPEND(m_many_1, int64_t, s_n);",
        ),
        ("m.stored[s.n] = s.x", "(*STORED(m_stored, double, s_n)) = s_x;"),
        ("s.n = m.counted[s.n]", "s_n = (*STORED(m_counted, int64_t, s_n));"),
    ],
)
def test_arrays_and_structures(body, due):
    assert c(body) == due


@pytest.mark.parametrize(
    ("body", "due"),
    [
        (
            "m.vector.add((s.n,), s.x)",
            "#define PLUS(x_, y_) (((x_ + y_)))\nADD_TO_VECTOR(m_vector, double, s_n, s_x, PLUS);",
        ),
        (
            "m.matrix.add((s.n, 1), s.x)",
            "#define PLUS(x_, y_) (((x_ + y_)))\n{ int64_t point_[] = {s_n, 1};\n"
            "ACCUMULATE(m_matrix, 2, double, point_, s_x, PLUS); }",
        ),
        ("m.vector.complete()", "if (!complete_vector(m_vector, sizeof(double))) goto no_memory;"),
        ("m.scattered.complete()", "if (!complete(m_scattered)) goto no_memory;"),
        ("s.n = m.matrix.count()", "s_n = m_matrix->order.length;"),
        ("s.n = m.vector.shared(s.n)", "s_n = 0;"),
        ("s.n = m.matrix.shared(s.n)", "s_n = shared_with_last(m_matrix, s_n);"),
        ("s.x = m.vector.value(s.n)", "s_x = ((double *)m_vector->out_values.items)[s_n];"),
        (
            "s.n = m.vector.coordinate(s.n, 0)",
            "s_n = ((int64_t *)m_vector->out_points.items)[s_n];",
        ),
        (
            "s.x = m.matrix.value(s.n)",
            "s_x = ((double *)m_matrix->out_values.items)"
            "[((int64_t *)m_matrix->order.items)[s_n]];",
        ),
        ("s.n = m.matrix.coordinate(s.n, 1)", "s_n = coordinate_of(m_matrix, s_n, 1);"),
        ("m.vector.release()", ""),
    ],
)
def test_accumulators(body, due):
    assert c(body) == due


def test_the_objects_are_listed_in_the_order_of_their_use():
    found = translated("s.x = m.vals[m.size]\nm.crd.append(m.seg[0])", STATE, MEMORY)
    assert found.memory == (("vals",), ("seg",), ("crd",))
    assert found.numbers == (("size",),)
    assert found.body.memory == {"m_vals": "double", "m_seg": "int64_t", "m_crd": "Growing"}
    assert found.body.numbers == ["n_size"]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("m.crd.extend((1,))", "the method extend of m.crd"),
        ("s.n = m.crd.pop()", "the method pop of m.crd"),
        ("m.crd[0] = 1", "an assignment to m.crd[0]"),
        ("s.n = m.vector[0]", "an item of m.vector, of type Accumulator,"),
        ("s.n = m.crd", "an array, a list or a memory as a number"),
    ],
)
def test_refusals(body, what):
    with pytest.raises(UserError) as caught:
        c(body)
    assert str(caught.value) == (
        f"step, in `{body}`: {what} has no translation to C\nhint: use engine simpy"
    )
