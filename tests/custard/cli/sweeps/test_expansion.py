"""The points of a sweep file: axes with names, variables in values, and mistakes in both."""

import pytest

from custard.cli.sweeps.expansion import expanded, read
from sam.support.errors import UserError
from sam.support.yaml_text import parse_yaml

VECTOR = "expression: y(i) = x(i)\n"


def _points(text):
    data = parse_yaml(VECTOR + text, "s.yaml")
    return list(expanded(read(data, "s.yaml"), data))


def test_labels_of_an_axis_stand_for_parts_of_points():
    found = _points(
        """
grid:
  matrix:
    small: {inputs: {x: small.tns}, dims: {i: 4}}
    large: {inputs: {x: large.tns}}
    none:
  order: {1: {schedule: "reorder(i)"}, 2: {schedule: [], labels: {is: natural}}}
"""
    )
    assert [tuple(axes.values()) for _, axes in found] == [
        ("small", 1, None),
        ("small", 2, "natural"),
        ("large", 1, None),
        ("large", 2, "natural"),
        ("none", 1, None),
        ("none", 2, "natural"),
    ]
    assert {tuple(axes) for _, axes in found} == {("matrix", "order", "is")}
    first, last = found[0][0], found[-1][0]
    assert (first.inputs, first.dims, first.schedule) == (
        {"x": "small.tns"},
        {"i": 4},
        "reorder(i)",
    )
    assert (last.inputs, last.dims, last.schedule) == ({}, {}, [])


def test_a_list_of_labels_is_for_variables():
    found = _points(
        """
inputs: {x: "data/${name}.tns"}
schedule: ["split(i, i0, i1, ${tile})"]
grid:
  name: [a, b]
  tile: [4, 8]
  seed: ["${tile}"]
  set: {queues.depth: ["${tile}", 1]}
"""
    )
    assert [tuple(axes.values()) for _, axes in found[:3]] == [
        ("a", 4, 4, 4),
        ("a", 4, 4, 1),
        ("a", 8, 8, 8),
    ]
    point, axes = found[-2]
    assert list(axes) == ["name", "tile", "seed", "set.queues.depth"]
    assert point.inputs == {"x": "data/b.tns"}
    assert point.schedule == ["split(i, i0, i1, 8)"]
    assert (point.seed, point.set) == (8, {"queues.depth": 8})


def test_variables_are_keys_and_labels_of_the_point_too():
    found = _points(
        """
seed: 3
labels: {kind: "k${seed}"}
inputs: {x: "${kind}-${dims.i}.tns"}
points: [{dims: {i: 4}}, {dims: {i: 5}, labels: {kind: other}}]
"""
    )
    assert [point.inputs["x"] for point, _ in found] == ["k3-4.tns", "other-5.tns"]
    assert [axes for _, axes in found] == [
        {"dims.i": 4, "kind": "k3"},
        {"dims.i": 5, "kind": "other"},
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "grid: {sed: [1]}",
            "grid.sed is not a key of a point, and no text uses ${sed}\nhint: did you mean seed?",
        ),
        (
            "grid: {queues.depth: [1, 2]}",
            "grid.queues.depth is not a key of a point, and no text uses ${queues.depth}\n"
            "hint: a value of the config: grid: {set: {queues.depth: [...]}}",
        ),
        (
            "grid: {width: [1]}",
            "grid.width is not a key of a point, and no text uses ${width}\n"
            'hint: as in inputs: {B: "${width}.mtx"}',
        ),
        (
            "grid: {width: {a: {}, b: }}",
            "grid.width is not a key of a point, and no text uses ${width}\n"
            'hint: as in inputs: {B: "${width}.mtx"}',
        ),
        (
            "grid: {sett: {queues.depth: [1, 2]}}",
            "grid.sett.queues.depth: it is [1, 2]; it must be a section of keys and values\n"
            "hint: did you mean grid.set?",
        ),
        (
            "grid: {matrix: {a: {inputs: {x: 1}}, b: {input: {x: 2}}}}",
            'grid.matrix.b: unknown key "input"\nhint: did you mean inputs?',
        ),
        (
            "grid: {order: {ijk: {schedule: reorder(i,j)}}}",
            'grid.order.ijk: unknown key "j)"\n'
            'hint: reorder(i... needs quotes in braces or brackets, as in "reorder(i,j)"',
        ),
        (
            "grid: {matrix: {a: 3}}",
            "grid.matrix.a: it is 3; it must be a section of keys and values",
        ),
        *(
            (
                f"grid: {{matrix: {given}}}",
                "grid.matrix has no labels\n"
                "hint: as in grid: {matrix: {small: {inputs: {B: small.mtx}}, large: {...}}}, or a "
                'list, as in grid: {n: [8, 16], dims: {i: ["${n}"]}}',
            )
            for given in ("[]", "{}", "3", "west", "[[1]]", "[true]", "{true: {}}", "")
        ),
        (
            "grid: {set: {queues.depth: [1, 2, 1]}}",
            "grid.set.queues.depth has the value 1 twice",
        ),
        (
            "grid: {matrix: [west, small, west], seed: [0]}",
            'grid.matrix has the value "west" twice',
        ),
        (
            "grid: {set.queues.depth: [1, 2]}",
            "grid.set.queues.depth has a dot in its name\n"
            "hint: as in grid: {set: {queues.depth: [...]}}",
        ),
        (
            "labels: {n: 1}\ngrid: {n: [1], seed: ['${n}']}\npoints: [{labels: {n: 2}}]",
            "an axis and a label are both called n",
        ),
        (
            "grid: {n: [1, x], seed: ['${n}']}",
            'the point n="x", seed="x": seed is "x"; it must be a whole number of at least 0',
        ),
        (
            "seed: ${sed}",
            '"${sed}" has the variable sed, and the point has no axis, label or key of that name'
            "\nhint: did you mean seed?",
        ),
        ("seed: ${seed}", "the variable seed stands for itself"),
        (
            "formats: ${x}\nlabels: {x: CSR}\npoints: [{formats: {x: d}}]",
            'the point formats.x="d": ',
        ),
        (
            "sed: ${n}",
            's.yaml: unknown key "sed"\nhint: did you mean seed?',
        ),
        ("points: ['${n}']", 'points.1: it is "${n}"; it must be a section of keys and values'),
    ],
)
def test_mistakes(text, message):
    if message.endswith(": "):  # the other values are overridden, and it is no mistake
        assert _points(text)[0][0].formats == {"x": "d"}
        return
    with pytest.raises(UserError) as refusal:
        _points(text)
    assert str(refusal.value) == message
