"""Sweep files: the points that they mean, and every mistake in them, word for word."""

import hashlib
import json
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

from custard.cli.sweeps import description as sweep
from custard.cli.sweeps.plots import Plot
from custard.cli.sweeps.sections import SweepFile
from custard.cli.sweeps.workers import Limits
from custard.cli.unfinished import UnfinishedRun
from sam.support.errors import UserError
from sim.config.hardware import shipped
from tests.support.mutants import require_survival

ROOT = Path(__file__).parents[4]


@pytest.fixture
def read(tmp_path):
    """Reads the text of a sweep file."""

    def read(text):
        file = tmp_path / "s.yaml"
        file.write_text(text)
        return sweep.read(file)

    return read


PRODUCT = "expression: y(i) = A(i,j) * x(j)\n"
VECTOR = "expression: y(i) = x(i)\n"


def test_a_file_without_points_and_grid_has_one_point(read, tmp_path):
    asked = read(PRODUCT + "inputs: {A: '@random(0.5)', x: 2.5}")
    [point] = asked.points
    assert point.axes == {}
    config = point.settings.pop("config")
    assert (config["name"], config["queues"]["depth"]) == ("ideal", "unbounded")
    assert point.settings == {
        "version": "0.1.0",
        "expression": "y(i) = A(i,j) * x(j)",
        "inputs": {"A": "@random(0.5)", "x": "2.5"},
        "formats": {},
        "schedule": [],
        "dims": {},
        "seed": 0,
        "engine": "auto",
        "strict": False,
        "drop_zeros": False,
        "check": False,
    }
    assert asked.folder == tmp_path / "s"
    assert asked.limits == Limits()


def test_points_and_grid_are_combined_the_last_axis_fastest(read):
    asked = read(
        PRODUCT
        + """
formats: {A: CSR, x: d}
schedule: reorder(i,j)
set: {queues.latency_cycles: 2}
points:
  - {labels: {name: rows}}
  - {labels: {name: columns}, formats: {A: CSC}, schedule: ["reorder(j,i)", "coiterate(x,j)"]}
grid:
  seed: [0, 1]
  set: {queues.depth: [4, unbounded]}
"""
    )
    assert [tuple(point.axes.values()) for point in asked.points[:5]] == [
        ("rows", "CSR", "reorder(i,j)", 0, 4),
        ("rows", "CSR", "reorder(i,j)", 0, "unbounded"),
        ("rows", "CSR", "reorder(i,j)", 1, 4),
        ("rows", "CSR", "reorder(i,j)", 1, "unbounded"),
        ("columns", "CSC", ["reorder(j,i)", "coiterate(x,j)"], 0, 4),
    ]
    assert len(asked.points) == 8
    last = asked.points[-1]
    assert list(last.axes) == ["name", "formats.A", "schedule", "seed", "set.queues.depth"]
    assert last.settings["formats"] == {"A": "CSC", "x": "d"}
    assert last.settings["schedule"] == ["reorder(j,i)", "coiterate(x,j)"]
    queues = last.settings["config"]["queues"]
    assert (queues["depth"], queues["latency_cycles"]) == ("unbounded", 2)


def test_labels_change_no_result(read):
    asked = read(VECTOR + "points: [{labels: {a: 1}}, {labels: {a: 2}}, {labels: {a: 1}, seed: 1}]")
    hashes = [point.hash for point in asked.points]
    assert hashes[0] == hashes[1] != hashes[2]


def test_paths_are_relative_to_the_file_and_contents_count(read, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.tns").write_text("1 1\n")
    (tmp_path / "slow.yaml").write_text("queues: {latency_cycles: 9}")
    text = VECTOR + "inputs: {x: in/x.tns}\nconfig: slow.yaml\noutput: out/here"
    asked = read(text)
    [point] = asked.points
    digest = hashlib.sha256(b"1 1\n").hexdigest()
    assert point.settings["inputs"] == {"x": {"file": "in/x.tns", "sha256": digest}}
    assert point.settings["config"]["queues"]["latency_cycles"] == 9
    assert asked.folder == tmp_path / "out" / "here"
    (tmp_path / "in" / "x.tns").write_text("1 2\n")
    assert read(text).points[0].hash != point.hash
    listed = read(text.replace("in/x.tns", '"in/x.tns:0-based"')).points[0].settings["inputs"]["x"]
    assert (listed["file"], listed["listing"]) == ("in/x.tns", ":0-based")


def test_a_point_is_measured(read, tmp_path):
    (tmp_path / "x.tns").write_text("1 3\n4 5\n")
    asked = read(VECTOR + "inputs: {x: x.tns}\ncheck: true\nschedule: reorder(i)\nseed: 4")
    record = asked.measure(asked.points[0].settings)
    assert record["matches_numpy"] is True
    assert record["result"]["first"] == [["0", "3.0"], ["3", "5.0"]]
    assert (record["schedule"], record["seed"]) == (["reorder(i)"], 4)
    assert record["blocks"]["array_x"]["tokens"]["val"]["data"] == 2


def test_a_wrong_result_is_a_mistake(read, monkeypatch):
    asked = read(VECTOR + "inputs: {x: '@dense'}\ndims: {i: 2}\ncheck: true")
    monkeypatch.setattr("custard.dense_evaluator.evaluate", lambda *_: np.array([0.25, 0.5]))
    monkeypatch.setattr("custard.dense_evaluator.first_difference", lambda *_: "it is wrong")
    with pytest.raises(UserError, match="it is wrong"):
        asked.measure(asked.points[0].settings)


@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize(
    "program",
    [
        "expression: X(i,j) = B(i,k) * C(k,j)\nschedule: reorder(i,j,k)\nformats: {C: 'ss:1,0'}",
        "expression: X(i,j) = A(i,j) * B(i,k) * C(k,j)\n"
        "schedule: ['reorder(i,k,j)', 'precompute(B(i,k) * C(k,j), j, j, T)']",
    ],
)
def test_points_that_differ_in_config_are_measured_together(read, engine, program):
    names = {name: "@random(0.4)" for name in "ABC" if f"{name}(" in program}
    asked = read(
        f"{program}\nengine: {engine}\ncheck: true\ninputs: {json.dumps(names)}\n"
        "dims: {i: 5, j: 4, k: 6}\nlimits: {cycles: 400}\nconfig: finite\n"
        "grid: {set: {queues.depth: [1, 2, unbounded], queues.latency_cycles: [1, 50]}}"
    )
    settings = [point.settings for point in asked.points]
    assert len({asked.together.key(each) for each in settings}) == 1
    found = {}
    asked.together.measure(settings, found.__setitem__)
    statuses = set()
    for n, each in enumerate(settings):
        statuses.add(type(found[n]))
        if isinstance(found[n], UserError):
            with pytest.raises(UserError) as refusal:
                asked.measure(each)
            assert str(found[n]) == str(refusal.value)
            if isinstance(found[n], UnfinishedRun):
                reached = [mistake.record for mistake in (found[n], refusal.value)]
                assert reached[0]["cycles"] == reached[1]["cycles"] == 400
                assert reached[0]["blocks"] == reached[1]["blocks"]
        else:
            alone = asked.measure(each)
            assert list(found[n]) == list(alone)
            for record in (found[n], alone):
                del record["seconds"], record["compile_seconds"]
            assert json.dumps(found[n]) == json.dumps(alone)
    assert statuses >= {dict, UnfinishedRun}


def test_other_differences_are_measured_apart(read):
    asked = read(
        VECTOR + "grid: {seed: [0, 1], drop_zeros: [true, false], config: [ideal, finite]}"
    )
    keys = [asked.together.key(point.settings) for point in asked.points]
    assert keys[::2] == keys[1::2]
    assert len({*keys}) == 4


def test_a_wrong_result_together_is_a_mistake(read, monkeypatch):
    asked = read(
        VECTOR + "inputs: {x: '@dense'}\ndims: {i: 2}\ncheck: true\nconfig: finite\n"
        "grid: {set: {queues.depth: [2, 4]}}"
    )
    monkeypatch.setattr("custard.dense_evaluator.evaluate", lambda *_: np.array([0.25, 0.5]))
    monkeypatch.setattr("custard.dense_evaluator.first_difference", lambda *_: "it is wrong")
    found = {}
    asked.together.measure([point.settings for point in asked.points], found.__setitem__)
    assert [str(mistake) for mistake in found.values()] == ["it is wrong"] * 2


def test_the_page_on_sweeps_has_all_keys():
    page = (ROOT / "docs" / "SWEEPS.md").read_text()
    for section in (SweepFile, Limits, Plot):
        for key in section.model_fields:
            assert re.search(rf"`{key}`|^{key}:", page, re.MULTILINE), key


def test_the_examples_on_the_page_are_read(read, tmp_path):
    page = (ROOT / "docs" / "SWEEPS.md").read_text()
    texts = re.findall(r"```yaml\n(.*?)^ *```", page, re.DOTALL | re.MULTILINE)
    assert len(texts) == 8
    for text in map(textwrap.dedent, texts):
        text = text if "expression:" in text else f"expression: X(i,j) = B(i,k) * C(k,j)\n{text}"
        assert read(text).points


def test_the_example_is_read():
    asked = sweep.read(ROOT / "examples" / "sweep.yaml")
    assert len(asked.points) == 15
    assert asked.limits == Limits(seconds=60, memory_bytes=4_000_000_000)
    assert sorted(asked.plots) == ["depths.pdf", "pareto.png", "speedup.png"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "it is [1, 2]; it must be a section of keys and values"),
        ("seed: 1", 'no expression is given\nhint: as in expression: "X(i,j) = B(i,k) * C(k,j)"'),
        ("expression: y(i = x(i)", "this ( is never closed\n  y(i = x(i)\n   ^"),
        (VECTOR + "grd: {}", 'unknown key "grd"\nhint: did you mean grid?'),
        (
            VECTOR + "limits: {second: 1}",
            'unknown key "limits.second"\nhint: did you mean seconds?',
        ),
        (
            VECTOR + "limits: {seconds: 0}",
            "limits.seconds is 0; it must be a number greater than 0",
        ),
        (
            VECTOR + "limits: {memory_bytes: 2 GB}",
            'limits.memory_bytes is "2 GB"; it must be a whole number of at least 1',
        ),
        (VECTOR + "points: []", "points is []; it must be a list of at least one point"),
        (VECTOR + "points: [{sed: 1}]", 'points.1: unknown key "sed"\nhint: did you mean seed?'),
        (VECTOR + "points: [{}, 3]", "points.2: it is 3; it must be a section of keys and values"),
        (
            VECTOR + "points: [{grid: {}}]",
            'points.1: unknown key "grid"\nhint: one of labels, expression, formats, schedule, '
            "dims, strict, drop_zeros, inputs, seed, config, set, engine, check",
        ),
        (
            VECTOR + "grid: {seed: 3}",
            "grid.seed is not a list of values\n"
            "hint: as in grid: {seed: [0, 1], set: {queues.depth: [2, 4]}}",
        ),
        (
            VECTOR + "grid: {set: {queues.depth: []}}",
            "grid.set.queues.depth is not a list of values\n"
            "hint: as in grid: {seed: [0, 1], set: {queues.depth: [2, 4]}}",
        ),
        (
            VECTOR + "grid: {sed: [1]}",
            "grid.sed is not a key of a point, and no text uses ${sed}\nhint: did you mean seed?",
        ),
        (
            VECTOR + "grid: {seed: [0, -1]}",
            "grid.seed: seed is -1; it must be a whole number of at least 0",
        ),
        (
            VECTOR + "grid: {set: {queues.dept: [1]}}",
            'set: unknown key "queues.dept"\nhint: did you mean depth?',
        ),
        (
            VECTOR + "config: finit",
            'there is no config "finit"\nhint: did you mean finite? shipped are '
            f"{', '.join(shipped())}; or give a path to a YAML file",
        ),
        (VECTOR + "engine: simp", "unknown engine simp\nhint: did you mean simpy?"),
        (
            VECTOR + "formats: {z: CSR}",
            "formats has z, and y(i) = x(i) has no such tensor\nhint: one of y, x",
        ),
        (
            VECTOR + "inputs: {xx: '@dense'}",
            "inputs has xx, and y(i) = x(i) has no such tensor\nhint: did you mean x?",
        ),
        (
            VECTOR + "dims: {k: 3}",
            "dims has k, and y(i) = x(i) has no such variable\nhint: one of i",
        ),
        (
            VECTOR + "inputs: {x: true}",
            "inputs.x is true; it must be a file, a number, @random, @random(SHARE) or @dense",
        ),
        (VECTOR + "formats: {x: 3}", "formats.x is 3; it must be text"),
        (VECTOR + "schedule: 3", "schedule is 3; it must be a command, or a list of commands"),
        (VECTOR + "dims: {i: 1.5}", "dims.i is 1.5; it must be a whole number of at least 0"),
        (
            VECTOR
            + f"grid: {{dims: {{{', '.join(f'{name}: [1, 2, 3]' for name in 'ijklmnopqrst')}}}}}",
            "points and grid make 531441 points; 100000 are the most\n"
            "hint: split the sweep into several files",
        ),
        (VECTOR + "grid: {dims: {1: [2]}}", "grid.dims has the key 1, which is not text"),
        (VECTOR + "check: maybe", 'check is "maybe"; it must be true or false'),
        (
            VECTOR + "points: [{labels: {cycles: 1}}]",
            "a column of the table is called cycles\nhint: rename the label",
        ),
        (VECTOR + "plots: {a.png: {y: cycles}}", "plots.a.png.x is missing"),
        (
            VECTOR + "plots: {a.jpg: {x: seed}}",
            "the suffix of a.jpg is not that of a picture\nhint: one of .png, .pdf, .svg",
        ),
    ],
)
def test_mistakes(read, tmp_path, text, message):
    with pytest.raises(UserError) as refusal:
        read(text)
    assert str(refusal.value) == f"{tmp_path / 's.yaml'}: {message}"


def test_mistakes_of_files(read, tmp_path):
    with pytest.raises(UserError) as refusal:
        read("seed: 1\nseed: 2")
    assert str(refusal.value) == f'{tmp_path / "s.yaml"}, line 2: the key "seed" stands twice'
    with pytest.raises(UserError) as refusal:
        sweep.read(tmp_path / "no.yaml")
    assert str(refusal.value) == (
        f'cannot read the sweep "{tmp_path / "no.yaml"}": No such file or directory'
    )


def test_a_missing_input_fails_its_points(read, tmp_path):
    text = VECTOR + "grid: {name: [no, is], inputs: {x: ['${name}.tns']}}"
    (tmp_path / "is.tns").write_text("1 1\n")
    missing, there = (point for point in read(text).points)
    assert missing.settings["inputs"] == {"x": {"file": "no.tns", "sha256": None}}
    assert read(text).measure(there.settings)["result"]["nnz"] == 1
    path = tmp_path / "no.tns"
    for make, why in (
        (path.exists, "No such file or directory"),
        (path.mkdir, "Is a directory"),
    ):
        make()
        again = read(text).points[0]
        assert again.hash == missing.hash
        with pytest.raises(UserError) as refusal:
            read(text).measure(again.settings)
        assert str(refusal.value) == f"cannot read {path}: {why}"
    path.rmdir()
    path.write_text("1 5\n")
    with pytest.raises(UserError, match="it could not be read when the sweep began"):
        read(text).measure(missing.settings)
    assert read(text).points[0].hash != missing.hash
    [nowhere] = read(VECTOR + "inputs: {x: ~nobody-of-that-name/x.tns}").points
    with pytest.raises(UserError, match="cannot tell where ~nobody-of-that-name"):
        read(text).measure(nowhere.settings)


TEXTS = (
    PRODUCT
    + "inputs: {A: in/a.tns, x: '@random(0.5)'}\ngrid: {seed: [0, 1], set: {queues.depth: [2, 4]}}",
    PRODUCT
    + """
formats: {A: CSR, x: d}
schedule: [reorder(i,j), "split(i, i0, i1, 4)"]
dims: {i: 4, j: 5}
points:
  - &one {labels: {name: a}, config: finite, set: {queues.depth: 3}}
  - {<<: *one, labels: {name: b}, check: true, drop_zeros: true}
limits: {seconds: 60, memory_bytes: 4000000000}
metrics: [cycles, blocks.root.busy]
plots: {a.png: {x: name, y: cycles, log: [y], x_label: "name"}}
output: out
""",
    PRODUCT
    + """
inputs: {A: "in/${matrix}.tns", x: "@random(${share})"}
labels: {share: 0.5}
grid:
  matrix: [a, "${order}"]
  order: {a: {schedule: "reorder(i,j)"}, b: {schedule: ["reorder(j,i)"], labels: {share: 0.25}}}
  n: [4, 5]
  dims: {i: ["${n}"]}
plots:
  a.png: {kind: bar, x: matrix, mean: matrix, baseline: {order: a}, inverse: true}
  b.png: {x: n, facets: order, where: {matrix: [a], order: a}, series: [share]}
""",
)


def test_mutants_of_a_sweep_are_read_or_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.tns").write_text("1 1 2.5\n")
    path = tmp_path / "s.yaml"

    def use(data):
        path.write_bytes(data)
        sweep.read(path)

    example = (ROOT / "examples" / "sweep.yaml").read_text()
    example = example.replace("../experiments", str(ROOT / "experiments"))
    require_survival(use, [text.encode() for text in (*TEXTS, example)])
