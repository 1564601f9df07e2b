"""Records in files: parts that a report needs are checked, each mistake is told once."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

import custard
from custard.cli import run_record
from sam.support.errors import UserError
from sim.config import hardware
from tests.support.mutants import require_survival

MEMORY = Path(__file__).parents[3] / "examples" / "memory.yaml"


def simulated(expression, *inputs, config="ideal", schedule=()):
    dims = {v: n for v, n in {"i": 4, "j": 5, "k": 3}.items() if v in expression}
    program = custard.compile(expression, schedule=list(schedule), dims=dims)
    told = run_record.simulate(program, [], inputs, hardware.load(config), compare=True)[1]
    return {**told, "seconds": 0.25}


def explained(expression, *inputs):
    program = custard.compile(expression, dims={"i": 4, "j": 5})
    machine = hardware.load(MEMORY)
    run = run_record.simulate(program, [], inputs, machine, attribution=True)[0]
    about = {**run_record.of_program(program, []), "inputs": list(inputs)}
    return {**about, **run.explain().as_json()}


RECORDS = {
    "a run": simulated("y(i) = A(i,j) * x(j)", "A=@random", "x=@dense"),
    "a scalar": simulated("y = x(i)", "x=@dense"),
    "with memory": simulated("y(i) = A(i,j) * x(j)", "A=@random", "x=@dense", config=MEMORY),
    "of several graphs": simulated(
        "X(i,j) = B(i,j) * C(i,k) * D(k,j)",
        *("B=@random", "C=@dense", "D=@dense"),
        schedule=["precompute(C(i,k) * D(k,j), j, j, ws)"],
    ),
    "explained": explained("y(i) = A(i,j) * x(j)", "A=@dense", "x=@dense"),
    "compiled": run_record.of_program(custard.compile("y(i) = x(i)"), []),
    "in C": {
        **run_record.of_program(custard.compile("y(i) = x(i)", target="c"), []),
        "compiler": "cc",
        "seconds": 0.5,
        "result": {
            "tensor": "y",
            "shape": [4],
            "format": "d:0",
            "entries": 4,
            "nonzeros": 4,
            "first": [["0", "1.0"]],
        },
        "times": {
            "runs": 7,
            "median": 0.001,
            "minimum": 0.0005,
            "largest": "x",
            "entries": 4,
            "nanoseconds_per_entry": 250.0,
        },
    },
}


STREAM = next(iter(RECORDS["a run"]["streams"]))


def report(path):
    console = Console(file=io.StringIO(), width=120, markup=False, emoji=False)
    return run_record.report_file(console, path), console.file.getvalue()


def mistake(tmp_path, document):
    path = tmp_path / "r.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(UserError) as caught:
        report(path)
    return str(caught.value).replace(str(path), "FILE")


@pytest.mark.parametrize("name", RECORDS)
def test_the_report_of_a_file_is_that_of_the_run(name, tmp_path):
    record = json.loads(json.dumps(RECORDS[name]))
    shown = Console(file=io.StringIO(), width=120, markup=False, emoji=False)
    run_record.show(shown, record)
    path = tmp_path / "r.json"
    unversioned = {key: value for key, value in record.items() if key != "record_version"}
    for document in (record, {"status": "done", "record": record}, unversioned):
        path.write_text(json.dumps(document))
        assert report(path) == (0, shown.file.getvalue())


def changed(name, *place, value=None):
    """A record with another value, or without one, at a place."""
    record = json.loads(json.dumps(RECORDS[name]))
    part = record
    for key in place[:-1]:
        part = part[key]
    if value is None:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return record


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (changed("a run", "blocks", value=3), "blocks: input should be a valid dictionary, not 3"),
        (changed("a run", "blocks", "root", "busy"), "blocks.root.busy is missing"),
        (
            changed("a run", "blocks", "root", "busy", value="much"),
            'blocks.root.busy: input should be a valid integer, not "much"',
        ),
        (changed("a run", "engine"), "engine is missing"),
        (changed("a run", "config", "name"), "config.name is missing"),
        (changed("a run", "seconds"), "seconds is missing"),
        (
            changed("a run", "cycles", value=0),
            "cycles: input should be greater than or equal to 1, not 0",
        ),
        (
            changed("a run", "formats", value=[]),
            "formats: input should be a valid dictionary, not []",
        ),
        (
            changed("with memory", "memory", "DRAM", "total", "hits"),
            "memory.DRAM.total.hits is missing",
        ),
        (changed("explained", "causes", 0, "what"), "causes.0.what is missing"),
        (
            changed("explained", "what_ifs", 0, "how", value=3),
            "what_ifs.0.how: input should be a valid list, not 3",
        ),
        (changed("of several graphs", "graphs", 0, "title"), "graphs.0.title is missing"),
        (changed("compiled", "primitives"), "primitives is missing"),
        (changed("in C", "result", "shape"), "result.shape is missing"),
        (changed("in C", "times", "median"), "times.median is missing"),
        (
            changed("a run", "streams", STREAM, "peak", value=10**30),
            f"streams.{STREAM}.peak: input should be less than 9223372036854775808, not {10**30}",
        ),
        (
            changed("a run", "streams", STREAM, "tokens", value={"data": "3"}),
            f'streams.{STREAM}.tokens.data: input should be a valid integer, not "3"',
        ),
        (
            changed("a run", "tokens", "stop", value=True),
            "tokens.stop: input should be a valid integer, not true",
        ),
        (
            changed("a run", "seconds", value=float("nan")),
            "seconds: input should be a finite number, not NaN",
        ),
        (
            changed("with memory", "memory", "DRAM", "total", "energy_pj", value=-1.5),
            "memory.DRAM.total.energy_pj: input should be greater than or equal to 0, not -1.5",
        ),
        (
            changed("in C", "times", "median", value=float("inf")),
            "times.median: input should be a finite number, not Infinity",
        ),
    ],
)
def test_a_record_lacking_a_part_of_the_report_is_refused(document, message, tmp_path):
    assert mistake(tmp_path, document) == f"FILE is not a result: {message}"


def test_a_run_without_a_clock_has_no_times(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**RECORDS["a run"], "time": None}))
    assert " GHz" not in report(path)[1]


def test_a_record_does_not_control_the_terminal(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**RECORDS["a run"], "notes": ["\x1b[31mred\x9bA"], "cin": "a\rb"}))
    _, shown = report(path)
    assert "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}A" in shown
    assert "a\N{REPLACEMENT CHARACTER}b" in shown


def test_cycles_that_do_not_add_up(tmp_path):
    said = mistake(tmp_path, changed("a run", "blocks", "scan_A_i", "busy", value=10**18))
    assert said == (
        "FILE is not a result: the cycles of scan_A_i do not add up to those of the run"
    )


def test_statistics_of_later_versions_are_left_out(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(changed("a run", "blocks", "scan_A_i", "stalled", value=3)))
    assert report(path)[0] == 0


def test_a_result_or_times_may_be_null(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**RECORDS["in C"], "result": None, "times": None}))
    assert report(path)[0] == 0


def test_a_long_value_is_quoted_behind_the_reason(tmp_path):
    said = mistake(tmp_path, changed("a run", "cycles", value="x" * 10**6))
    assert said.startswith("FILE is not a result: cycles: input should be a valid integer, ")
    assert len(said) < 350


def test_data_that_are_no_record_are_refused(tmp_path):
    hint = "\nhint: give a file of a sweep's folder, or what --json wrote of one run"
    for document in ({"status": "done"}, "[]", "null", '"cin"'):
        assert mistake(tmp_path, document) == "FILE is not a result" + hint
    assert mistake(tmp_path, {**RECORDS["a run"], "record_version": 2}) == (
        "FILE is a record of version 2; this custard reads 1"
    )
    assert mistake(tmp_path, {"status": "failed"}) == "FILE is not a result: error is missing"
    assert mistake(tmp_path, '{"cin": }') == (
        'FILE is not JSON: expecting value in line 1\n  {"cin": }\n          ^'
    )
    assert "nested too deep" in mistake(tmp_path, "[" * 100_000)
    assert "more than 60 digits" in mistake(tmp_path, "1" * 6000)


def test_names_are_not_markup(tmp_path):
    record = changed("a run", "blocks", "[/red]", value=RECORDS["a run"]["blocks"]["root"])
    record["blocks"]["[/red]"]["kind"] = "array"
    path = tmp_path / "r.json"
    path.write_text(json.dumps(record))
    assert "[/red]" in report(path)[1]


def test_mutants_of_a_record_are_reported_or_refused(tmp_path):
    path = tmp_path / "r.json"

    def use(data):
        path.write_bytes(data)
        report(path)

    texts = [json.dumps(record, indent=1).encode() for record in RECORDS.values()]
    failed = json.dumps({"status": "failed", "error": "a mistake"}).encode()
    require_survival(use, [*texts, failed])
