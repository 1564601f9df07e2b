"""Configs: shipped ones, the most specific setting, overrides, and every mistake's whole text."""

import json
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sam.memory_regions import Region
from sam.support.errors import UserError
from sim.config.hardware import BlockTiming, Config, load, parse_override, shipped
from tests.support.mutants import require_survival

SHIPPED = f"shipped are {', '.join(shipped())}; or give a path to a YAML file"


def _error(*arguments: object) -> str:
    with pytest.raises(UserError) as raised:
        load(*arguments)  # type: ignore[arg-type]
    return str(raised.value)


def test_shipped() -> None:
    found = shipped()
    assert list(found) == sorted(found)
    assert found["finite"] == "queues of four tokens, every block one cycle"
    assert found["ideal"] == "unbounded queues, every block one cycle"
    assert {"capstan", "gamma", "outerspace", "sigma"} < found.keys()


def test_ideal_is_the_default_and_everything_takes_a_cycle() -> None:
    config = load()
    assert config.name == "ideal"
    assert config.clock.clock_ghz == 1.0
    assert config.queue("a.crd -> b.in_crd", "crd", "alu") == (None, 1)
    assert config.block("a", "alu") == BlockTiming(1, 1, None, 64)


def test_finite_differs_from_ideal_in_its_depth_alone() -> None:
    finite, ideal = load("finite").resolved(), load("ideal").resolved()
    assert finite["queues"].pop("depth") == 4
    assert ideal["queues"].pop("depth") == "unbounded"
    assert finite.pop("name") != ideal.pop("name")
    assert finite.pop("description") != ideal.pop("description")
    assert finite == ideal


def test_a_file_that_is_no_machines_spells_out_every_key() -> None:
    for name in ("ideal", "finite"):
        text = resources.files("hw_configs").joinpath(f"{name}.yaml").read_text()
        for part, section in load(name).resolved().items():
            if isinstance(section, dict):
                lines = text.partition(f"\n{part}:")[2].partition("\n\n")[0]
                assert [key for key in section if f"\n  {key}: " not in lines] == []


def test_the_most_specific_queue_setting_wins_key_by_key() -> None:
    config = load(
        {
            "queues": {
                "depth": 2,
                "kinds": {"val": {"depth": 3, "latency_cycles": 5}},
                "readers": {"reducer": {"depth": 4}},
                "names": {
                    "b.in_val": {"depth": 7},
                    "a.val -> b.in_val": {"depth": "unbounded"},
                },
            }
        }
    )
    assert config.queue("a.crd -> b.in_crd", "crd", "alu") == (2, 1)
    assert config.queue("a.val -> c.in_val", "val", "alu") == (3, 5)
    assert config.queue("d.val -> b.in_val", "val", "alu") == (7, 5)
    assert config.queue("a.val -> b.in_val", "val", "alu") == (None, 5)
    assert config.queue("a.bv -> b.in_bv", "bv", "alu") == (2, 1)
    assert config.queue("a.val -> c.in_val", "val", "reducer") == (4, 5)
    assert config.queue("d.val -> b.in_val", "val", "reducer") == (7, 5)


def test_the_most_specific_block_setting_wins_key_by_key() -> None:
    config = load(
        {
            "blocks": {
                "initiation_interval_cycles": 2,
                "kinds": {"reducer": {"latency_cycles": 4, "capacity": 64}},
                "names": {"reduce k": {"capacity": "unbounded", "initiation_interval_cycles": 1}},
            }
        }
    )
    assert config.block("alu", "alu") == BlockTiming(1, 2, None, 64)
    assert config.block("reduce j", "reducer") == BlockTiming(4, 2, 64, 64)
    assert config.block("reduce k", "reducer") == BlockTiming(4, 1, None, 64)


def test_a_file_is_named_after_its_stem_unless_it_says(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("queues: {depth: 3}\n")
    assert load(path) == load(str(path))
    assert load(path).name == "mine"
    assert load(path).queues.depth == 3


def test_overrides() -> None:
    config = load(
        "finite",
        {
            "queues.depth": 8,
            "queues.names.scan B.i.crd -> b.in_crd.depth": 2,
            "queues.kinds.ref": {"latency_cycles": 3},
            "queues.kinds.ref.depth": "unbounded",
            "blocks.kinds.reducer.latency_cycles": 4,
            "blocks.names.scan B.i.initiation_interval_cycles": 6,
            "clock.clock_ghz": 2,
        },
    )
    assert config.queue("x.crd -> y.in_crd", "crd", "alu") == (8, 1)
    assert config.queue("scan B.i.crd -> b.in_crd", "crd", "alu") == (2, 1)
    assert config.queue("x.ref -> y.in_ref", "ref", "alu") == (None, 3)
    assert config.block("r", "reducer").latency == 4
    assert config.block("scan B.i", "level_scanner").initiation_interval == 6
    assert config.clock.clock_ghz == 2


def test_overrides_of_memory() -> None:
    levels = [{"name": "DRAM"}, {"name": "LLB", "capacity_bytes": 64}]
    config = load(
        {"memory": {"levels": levels}},
        {
            "memory.levels.LLB.capacity_bytes": 128,
            "memory.levels.DRAM.bandwidth_gb_per_s": 68.256,
            "memory.places.B": "LLB",
            "memory.places.C.1.crd": "LLB",
        },
    )
    dram, llb = config.memory.levels
    assert (dram.bandwidth_gb_per_s, dram.capacity_bytes) == (68.256, "unbounded")
    assert (llb.bandwidth_gb_per_s, llb.capacity_bytes) == ("unbounded", 128)
    assert config.memory.places == {"B": "LLB", "C.1.crd": "LLB"}
    assert load(json.loads(json.dumps(config.resolved()))) == config


def test_the_most_particular_place_holds() -> None:
    places = {"crd": "a", "B": "b", "B.crd": "c", "B.1": "d", "B.1.crd": "e"}
    levels = [{"name": name} for name in ("DRAM", *"abcde")]
    memory = load({"memory": {"levels": levels, "places": places}}).memory
    homes = {
        ("C", 0, "seg"): "DRAM",
        ("C", 0, "crd"): "a",
        ("B", None, "val"): "b",
        ("B", 0, "crd"): "c",
        ("B", 1, "seg"): "d",
        ("B", 1, "crd"): "e",
    }
    for (tensor, level, part), home in homes.items():
        assert memory.levels[memory.home(Region(tensor, level, part))].name == home


def test_overrides_do_not_change_the_config_they_start_from() -> None:
    base, overrides = (
        load("finite"),
        {"queues.kinds.crd": {"depth": 1}, "queues.kinds.crd.depth": 2},
    )
    assert load(base, overrides).queues.kinds["crd"].depth == 2
    assert base == load("finite")
    assert overrides["queues.kinds.crd"] == {"depth": 1}


limits = st.just("unbounded") | st.integers(1, 10**6)


@given(
    limits,
    st.dictionaries(st.text(), st.fixed_dictionaries({}, optional={"depth": limits})),
    st.dictionaries(st.text(), st.fixed_dictionaries({}, optional={"capacity": limits})),
)
def test_a_resolved_config_is_json_and_loads_as_the_same(
    depth: object, queue_names: dict[str, object], block_names: dict[str, object]
) -> None:
    config = load(
        {"queues": {"depth": depth, "names": queue_names}, "blocks": {"names": block_names}}
    )
    assert load(json.loads(json.dumps(config.resolved()))) == config


def test_a_config_does_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load().name = "other"  # type: ignore[misc]
    assert isinstance(load(), Config)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("queues.depth=8", ("queues.depth", 8)),
        ("queues.depth = unbounded", ("queues.depth", "unbounded")),
        ("clock.clock_ghz=1.5", ("clock.clock_ghz", 1.5)),
        ("description=a=b", ("description", "a=b")),
    ],
)
def test_parse_override(text: str, parsed: tuple[str, object]) -> None:
    assert parse_override(text) == parsed


@pytest.mark.parametrize("text", ["queues.depth", "=8", ""])
def test_an_override_that_sets_nothing(text: str) -> None:
    with pytest.raises(UserError) as raised:
        parse_override(text)
    assert str(raised.value) == f'"{text}" sets nothing\nhint: KEY=VALUE, as in queues.depth=8'


def test_an_override_with_a_broken_value() -> None:
    with pytest.raises(UserError) as raised:
        parse_override("name=[1")
    assert str(raised.value) == (
        "--set name=[1, line 1: expected ',' or ']', but got '<stream end>'"
    )


@pytest.mark.parametrize(
    ("config", "error"),
    [
        (
            {"queue": {"depth": 1}},
            'config: unknown key "queue"\nhint: did you mean queues?',
        ),
        (
            {"queues.kinds.crd.depth": 1},
            'config: unknown key "queues.kinds.crd.depth"\n'
            "hint: a section in a section, as in queues: {kinds: {crd: {depth: ...}}}",
        ),
        (
            {"queues": {"dept": 1}},
            'config: unknown key "queues.dept"\nhint: did you mean depth?',
        ),
        (
            {"clock": {"x": 1}},
            'config: unknown key "clock.x"\nhint: one of clock_ghz',
        ),
        (
            {"queues": {"kinds": {"cdr": {}}}},
            'config: unknown key "queues.kinds.cdr"\nhint: did you mean crd?',
        ),
        (
            {"blocks": {"kinds": {"redcer": {}}}},
            'config: unknown key "blocks.kinds.redcer"\nhint: did you mean reducer?',
        ),
        (
            {"blocks": {"names": {"a.b": {"latency": 1}}}},
            'config: unknown key "blocks.names.a.b.latency"\nhint: did you mean latency_cycles?',
        ),
        (
            {"queues": {"depth": 0}},
            'config: queues.depth is 0; it must be a whole number of at least 1, or "unbounded"',
        ),
        (
            {"queues": {"depth": "8"}},
            'config: queues.depth is "8"; it must be a whole number of at least 1, or "unbounded"',
        ),
        (
            {"queues": {"depth": 10**6 + 1}},
            'config: queues.depth is 1000001; it must be at most 1000000, or "unbounded"',
        ),
        (
            {"queues": {"latency_cycles": np.int64(2**40)}},
            "config: queues.latency_cycles is 1099511627776; it must be at most 1000000000",
        ),
        (
            {"blocks": {"capacity": 2**64}},
            "config: blocks.capacity is 18446744073709551616; "
            'it must be at most 1152921504606846976, or "unbounded"',
        ),
        (
            {"memory": {"levels": [{"name": "DRAM", "ports": 10**9}]}},
            "config: memory.levels.0.ports is 1000000000; "
            'it must be at most 1000000, or "per_block"',
        ),
        (
            {"queues": {"kinds": {"crd": {"latency_cycles": True}}}},
            "config: queues.kinds.crd.latency_cycles is true; "
            "it must be a whole number of at least 1",
        ),
        (
            {"blocks": {"initiation_interval_cycles": 1.5}},
            "config: blocks.initiation_interval_cycles is 1.5; "
            "it must be a whole number of at least 1",
        ),
        (
            {"blocks": {"word_bits": 65}},
            "config: blocks.word_bits is 65; it must be a whole number from 1 to 64",
        ),
        (
            {"memory": {"levels": [{"name": "DRAM", "latency_cycle": 1}]}},
            'config: unknown key "memory.levels.0.latency_cycle"\n'
            "hint: did you mean latency_cycles?",
        ),
        (
            {"memory": {"levels": [{"latency_cycles": 1}]}},
            "config: memory.levels.0.name is missing",
        ),
        (
            {"memory": {"levels": [{"name": "DRAM", "latency_cycles": -1}]}},
            "config: memory.levels.0.latency_cycles is -1; it must be a whole number of at least 0",
        ),
        (
            {"memory": {"levels": [{"name": "a.b"}]}},
            'config: memory.levels.0.name is "a.b"; it must be text without dots',
        ),
        (
            {"memory": {"levels": [{"name": "DRAM", "bandwidth_gb_per_s": 0}]}},
            "config: memory.levels.0.bandwidth_gb_per_s is 0; "
            'it must be a number greater than 0, or "unbounded"',
        ),
        (
            {"memory": {"levels": [{"name": "DRAM", "ports": "many"}]}},
            'config: memory.levels.0.ports is "many"; '
            'it must be a whole number of at least 1, or "per_block"',
        ),
        (
            {"memory": {"levels": [{"name": "DRAM", "energy_pj_per_byte": -2}]}},
            "config: memory.levels.0.energy_pj_per_byte is -2; it must be a number of at least 0",
        ),
        (
            {"memory": {"levels": {"name": "DRAM"}}},
            "config: memory has levels that are not a list (from the outermost level inwards)",
        ),
        (
            {"memory": {"levels": [{"name": "DRAM"}, {"name": "DRAM"}]}},
            "config: memory has two levels that are called DRAM",
        ),
        (
            {"memory": {"levels": [{"name": "DRAM"}], "places": {"B": "DRUM"}}},
            'config: memory has "DRUM" for the place of B, and no such level: did you mean DRAM?',
        ),
        (
            {"clock": {"clock_ghz": 0}},
            "config: clock.clock_ghz is 0; it must be a number greater than 0",
        ),
        (
            {"tiling": {"levels": "GB"}},
            'config: tiling.levels is "GB"; it must be a list of levels',
        ),
        ({"name": 3}, "config: name is 3; it must be text"),
        ({"queues": None}, "config: queues is null; it must be a section of keys and values"),
        (
            {"queues": {"names": {"b.y": 3}}},
            "config: queues.names.b.y is 3; it must be a section of keys and values",
        ),
        (
            {"blocks": {"names": {True: {}}}},
            "config: blocks.names has the key true, which is not text: put it in quotes",
        ),
        (
            "finit",
            f'there is no config "finit"\nhint: did you mean finite? {SHIPPED}',
        ),
        (
            "zzz",
            f'there is no config "zzz"\nhint: {SHIPPED}',
        ),
        ("none.yaml", 'cannot read the config "none.yaml": No such file or directory'),
    ],
)
def test_mistakes(config: object, error: str) -> None:
    assert _error(config) == error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            b"queues:\n  depth: 0\n",
            ': queues.depth is 0; it must be a whole number of at least 1, or "unbounded"',
        ),
        (b"queues:\n  depth: [1\n", ", line 3: expected ',' or ']', but got '<stream end>'"),
        (b"queues:\n\tdepth: 1\n", ", line 2: found character '\\t' that cannot start any token"),
        (b"name: a\nname: b\n", ', line 2: the key "name" stands twice'),
        (b"queues:\n  depth: &d [*d]\n", ", line 2: *d stands inside the value that it names"),
        (
            b"clock: {clock_ghz: 1:30}",
            ': clock.clock_ghz is "1:30"; it must be a number greater than 0',
        ),
        (b"", " is empty; it must have keys and values"),
        (b"- 1\n", ": it is [1]; it must be a section of keys and values"),
    ],
)
def test_mistakes_in_a_file(tmp_path: Path, text: bytes, error: str) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(text)
    assert _error(path) == f"{path}{error}"


def test_numbers_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    path = tmp_path / "octal.yaml"
    path.write_text("queues:\n  depth: 010\n  latency_cycles: 0o10\n")
    config = load(path, dict([parse_override("blocks.word_bits=011")]))
    assert (config.queues.depth, config.queues.latency_cycles, config.blocks.word_bits) == (
        10,
        8,
        11,
    )


def test_numbers_that_no_machine_has() -> None:
    assert _error({"clock": {"clock_ghz": 10**400}}).startswith("config: clock.clock_ghz is 1000")
    assert _error({"queues": {"depth": 10**5000}}) == (
        "config: queues.depth is a number that is too large to show; "
        'it must be at most 1000000, or "unbounded"'
    )


def test_mutants_of_a_config_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"

    def use(data: bytes) -> None:
        path.write_bytes(data)
        load(path, {"queues.depth": 4})

    folder = resources.files("hw_configs")
    require_survival(use, [folder.joinpath(f"{name}.yaml").read_bytes() for name in shipped()])


def test_a_section_leaves_the_keys_that_it_lacks() -> None:
    """As its dotted keys do; the finite config has a depth of 4."""
    found = load("finite", {"queues": {"latency_cycles": 3, "kinds": {"crd": {"depth": 2}}}})
    assert (found.queues.depth, found.queues.latency_cycles) == (4, 3)
    assert found.queues.kinds["crd"].depth == 2
    assert found.called == "finite with queues.latency_cycles=3, queues.kinds.crd.depth=2"
    assert load("finite", {"queues": {}}).queues.depth == 4
    found = load("finite", {"queues": {"names": {"a.b": {"depth": 2}}}})
    assert (found.queues.names["a.b"].depth, found.queues.depth) == (2, 4)
    level = {"name": "DRAM", "latency_cycles": 9}
    found = load({"memory": {"levels": [level]}}, {"memory.levels.DRAM": {"line_bytes": 32}})
    assert (found.memory.levels[0].latency_cycles, found.memory.levels[0].line_bytes) == (9, 32)


def test_a_file_that_is_no_text_and_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    assert _error(path) == f'cannot read the config "{path}": it is not UTF-8 text'
    assert _error(tmp_path) == f'cannot read the config "{tmp_path}": Is a directory'


@pytest.mark.parametrize(
    ("overrides", "error"),
    [
        (
            {"queues.dept": 8},
            'overrides: unknown key "queues.dept"\nhint: did you mean depth?',
        ),
        (
            {"queues.depth.x": 8},
            'overrides: unknown key "queues.depth.x"\nhint: queues.depth has no keys',
        ),
        (
            {"queues.depth": 0},
            'overrides: queues.depth is 0; it must be a whole number of at least 1, or "unbounded"',
        ),
        (
            {"memory.levels": [{"name": "DRAM"}], "memory.levels.DRUM.ports": 3},
            'overrides: unknown key "memory.levels.DRUM.ports"\nhint: did you mean DRAM?',
        ),
        (
            {"memory.levels": [{"name": "DRAM"}], "memory.levels.DRAM": 3},
            'overrides: unknown key "memory.levels.DRAM"\nhint: set the keys inside a list '
            "one by one, as in memory.levels.DRAM.latency_cycles",
        ),
        (
            {"queues.names.b.y": 3},
            'overrides: unknown key "queues.names.b.y"\nhint: one of depth, latency_cycles',
        ),
    ],
)
def test_mistakes_in_overrides(overrides: dict[str, object], error: str) -> None:
    assert _error("ideal", overrides) == error
