"""The rules that every step keeps, whatever tokens have come when it is tried."""

from collections import deque
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest

from sam.blocks import KINDS, Surroundings
from sam.graph import Slot
from sam.levels import Compressed, Dense
from sam.memory_regions import Region, RegionTable
from sam.tensor import Tensor
from sam.token import DONE, D, parse_stream

ROWS = Tensor(
    (4, 9),
    (0, 1),
    (Dense(4), Compressed(np.array([0, 0, 3, 3, 5]), np.array([1, 4, 7, 0, 2]))),
    np.arange(5.0),
)
BITS = Tensor.of(np.array([1.0, 0, 1, 0, 0, 1, 1]), "b")
SLOTS = [Slot(name, name) for name in ("B", "bits")]
AROUND = Surroundings(
    {"B": ROWS, "bits": BITS},
    {"j": 9},
    word_bits=3,
    regions=RegionTable(SLOTS, Slot("X", "X"), lambda unit, itemsize: 4),
)


class Missing(Exception):
    """A step asked for a token that has not come."""


class Input:
    """A port with tokens, of which none may have come."""

    def __init__(self, log, name, tokens):
        self.log, self.name, self.tokens, self.hidden = log, name, deque(tokens), False

    def peek(self):
        # To look again at a token that has been seen, and is there yet, changes nothing.
        seen = self.name in self.log.peeked and ("take", self.name) not in self.log.acts
        assert seen or not self.log.acts, f"{self.name} is peeked at after {self.log.acts}"
        if self.hidden or not self.tokens:
            raise Missing(self.name)
        self.log.peeked.add(self.name)
        return self.tokens[0]

    def take(self):
        assert self.name in self.log.peeked, f"{self.name} is taken unseen"
        self.log.act("take", self.name)


class Output:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def give(self, kind, value):
        assert not self.log.touched, f"{self.name} is given to after {self.log.touched}"
        self.log.act("give", self.name, kind, value)


class Touched:
    """The memory that a block says that it touches."""

    def __init__(self, log):
        self.log = log

    def read(self, region, index):
        self.touch(region, index)

    def write(self, region, index):
        assert region.length is None
        self.touch(region, index)

    def touch(self, region, index):
        assert isinstance(region, Region)
        assert index >= 0
        assert region.length is None or index < region.length
        if not self.log.touched:
            assert snapshot(SimpleNamespace(), self.log.memory) == self.log.before
        self.log.touched.append((region.part, index))


class Log:
    """What one firing does."""

    def __init__(self):
        self.peeked, self.acts, self.touched = set(), [], []

    def begin(self, memory):
        self.memory, self.before = memory, snapshot(SimpleNamespace(), memory)

    def act(self, *what):
        assert all(what[:2] != act[:2] for act in self.acts), f"two times {what[:2]}"
        self.acts.append(what)

    def clear(self):
        self.peeked.clear()
        self.acts.clear()
        self.touched.clear()


def snapshot(state, memory):
    return deepcopy((vars(state), _plain(memory)))


def _plain(thing):
    if isinstance(thing, np.ndarray):
        return thing.tolist()
    if isinstance(thing, list | tuple):
        return [_plain(item) for item in thing]
    if isinstance(thing, dict):
        return {key: _plain(value) for key, value in thing.items()}
    return _plain(vars(thing)) if hasattr(thing, "__dict__") and not callable(thing) else thing


class Machine:
    """One half of a block, with all of its tokens at hand but for one hidden port at a time."""

    def __init__(self, ports, step, state, memory, log):
        self.ports, self.step, self.memory, self.log = ports, step, memory, log
        copied = {k: list(v) if isinstance(v, list) else v for k, v in state.items()}
        self.state = SimpleNamespace(**copied)
        self.finished = False

    def fire(self, inputs):
        """Tries the step once with each input hidden, then fires it; gives its effects."""
        before = snapshot(self.state, self.memory)
        for port in inputs:
            port.hidden = True
            # Where the step does not ask for the port, this try would be the firing itself.
            trial = deepcopy((self.state, self.memory))
            self.log.begin(trial[1])
            try:
                self.step(self.ports, *trial)
            except Missing:
                assert not self.log.acts
                assert not self.log.touched
                assert snapshot(*trial) == before, f"changed before {port.name} was there"
            self.log.clear()
            port.hidden = False
        self.log.begin(self.memory)
        finished = self.step(self.ports, self.state, self.memory)
        assert finished in (None, True)
        acts = list(self.log.acts)
        self.log.clear()
        ended = any(
            (act[0] == "give" and act[2] == DONE)
            or (act[0] == "take" and _port(inputs, act[1]).tokens[0] == D)
            for act in acts
        )
        last = ended and all(len(port.tokens) <= 1 for port in inputs)
        assert (finished is True) == last, "True is for the last D, and for nothing else"
        for act in acts:
            if act[0] == "take":
                _port(inputs, act[1]).tokens.popleft()
        self.finished = finished is True
        return acts


def _port(inputs, name):
    return next(port for port in inputs if port.name == name)


def drive(kind, parameters, streams):
    """Runs a block to its end, and holds every firing to the rules."""
    block = KINDS[kind].block(parameters)
    log = Log()
    inputs = []
    named = {group: [] for group in (*block.groups, *(p.group for p in block.ports if p.group))}
    for port in block.ports:
        if port.direction == "in":
            end = Input(log, port.name, parse_stream(streams[port.name]))
            inputs.append(end)
        else:
            end = Output(log, port.name)
        if port.group is None:
            named[port.name] = end
        else:
            named[port.group].append(end)
    handed = Input(log, "handed", [])
    if block.emitter is not None:
        named |= {"handover": Output(log, "handover"), "handed": handed}
    ports = SimpleNamespace(**named, memory=Touched(log))
    memory = block.memory(AROUND)
    front = Machine(ports, block.step, block.state, memory, log)
    back = block.emitter and Machine(ports, block.emitter.step, block.emitter.state, memory, log)
    while not front.finished:
        for act in front.fire(inputs):
            if act[:2] == ("give", "handover"):
                handed.tokens.append(act[2:])
        while back and handed.tokens and not back.finished:
            back.fire([handed])
    assert back is None or back.finished
    assert all(not port.tokens for port in inputs)


MERGED = {
    "in_crd0": "0, 2, S0, S0, 1, 5, S1, D",
    "in_crd1": "2, 3, S0, 4, S0, 1, S1, D",
    "in_crd2": "1, 2, S0, S0, 0, 1, 6, S1, D",
    "in_ref0_0": "0, 1, S0, S0, 2, 3, S1, D",
    "in_ref1_0": "0, 1, S0, 2, S0, 3, S1, D",
    "in_val1_1": "0, 1, S0, 2, S0, 3, S1, D",
}
PAYLOADS = {"payloads": [["ref"], ["ref", "val"], []]}
WORDS = {
    "in_bv0": "5, 0, 1, S0, S0, 3, S1, D",
    "in_bv1": "4, 7, S0, 1, S0, 7, 1, S1, D",
    "in_ref0": "0, 2, 2, S0, S0, 3, S1, D",
    "in_ref1": "0, 1, S0, 4, S0, 5, 8, S1, D",
}
MOVED = {"streams": ["crd", "val"], "depth": 1}


def writer(code, by_reference):
    return {"level": 1, "format": code, "variable": "j", "by_reference": by_reference}


VALUES = "1, S0, 2, 0, S0, S1, N, S0, S2, D"
CASES = [
    ("level_scanner", {"slot": "B", "level": 1}, {"in_ref": "0, 1, N, 3, S0, S0, 1, S1, D"}),
    ("level_scanner", {"slot": "B", "level": 1}, {"in_ref": "1, D"}),
    ("level_scanner", {"slot": "bits", "level": 0}, {"in_ref": "0, N, 0, S0, D"}),
    ("intersecter", PAYLOADS, MERGED),
    ("unioner", PAYLOADS, MERGED),
    (
        "repeater",
        {"stream": "ref"},
        {
            "in_coordinates": "1, 2, S0, S0, 1, S1, S1, S1, 1, S0, S2, D",
            "in_ref": "5, N, 6, S0, S0, 7, S0, 8, 9, S1, D",
        },
    ),
    ("array", {"slot": "B"}, {"in_ref": "0, N, S0, S1, 4, S1, D"}),
    ("alu", {"operation": "add"}, {"in_val0": VALUES, "in_val1": VALUES}),
    ("alu", {"operation": "negate"}, {"in_val0": VALUES}),
    ("saturating_reducer", {"least": -9, "most": 9}, {"in_val": VALUES}),
    ("reducer", {"dimensions": 0, "empty": "zero"}, {"in_val": VALUES}),
    ("reducer", {"dimensions": 0, "empty": "drop"}, {"in_val": VALUES}),
    ("saturating_reducer", {"least": -2, "most": 5}, {"in_val": VALUES}),
    (
        "reducer",
        {"dimensions": 0, "empty": "absent"},
        {"in_outer": "1, 2, S0, S0, 4, 5, S1, D", "in_val": "1, 2, S0, S1, S1, 3, S0, S2, D"},
    ),
    *(
        (
            "reducer",
            {"dimensions": 0, "empty": empty, "ways": 2},
            {"in_val_0": "1, 2, S0, S1, N, S2, D", "in_val_1": "3, S0, S1, 4, 5, S2, D"},
        )
        for empty in ("zero", "drop")
    ),
    (
        "reducer",
        {"dimensions": 0, "empty": "absent", "ways": 2},
        {
            "in_outer": "1, 2, S0, S0, 4, 5, S1, D",
            "in_val_0": "1, 2, S0, S1, S1, S0, S2, D",
            "in_val_1": "3, S0, S1, S1, 3, S0, S2, D",
        },
    ),
    (
        "parallelizer",
        {"lanes": 2, "streams": ["ref"], "depth": 0},
        {"in_crd": "0, 1, 2, S0, 3, S1, D", "in_ref0": "5, N, 6, S0, 7, S1, D"},
    ),
    (
        "parallelizer",
        {"lanes": 2, "streams": ["crd", "val"], "depth": 1},
        {
            "in_crd": "0, 1, 2, S0, 3, S1, D",
            "in_crd0": "1, S0, S0, 2, S1, S2, D",
            "in_val1": "1, S0, S0, 2, S1, S2, D",
        },
    ),
    (
        "serializer",
        {"lanes": 2, "streams": ["val"], "depth": 0},
        {
            "in_crd0": "0, 2, S0, S1, D",
            "in_crd1": "1, S0, 3, S1, D",
            "in_val0_0": "0, N, S0, S1, D",
            "in_val0_1": "1, S0, 3, S1, D",
        },
    ),
    (
        "serializer",
        {"lanes": 2, "streams": ["crd", "val"], "depth": 1},
        {
            "in_crd0": "0, 2, S0, S1, D",
            "in_crd1": "1, S0, 3, S1, D",
            "in_crd0_0": "0, S0, 1, 2, S1, S2, D",
            "in_crd0_1": "S1, 3, S2, D",
            "in_val1_0": "0, S0, 1, 2, S1, S2, D",
            "in_val1_1": "S1, 3, S2, D",
        },
    ),
    (
        "coordinate_dropper",
        {"drop": "absent"},
        {"in_crd": "1, S0, 3, 4, S0, S1, 5, S0, S2, D", "in_val": VALUES},
    ),
    (
        "reducer",
        {"dimensions": 1},
        {"in_crd0": "1, S0, 1, 2, S1, S2, D", "in_val": "1, S0, 1, 2, S1, S2, D"},
    ),
    (
        "reducer",
        {"dimensions": 2},
        {
            "in_crd0": "0, 1, S0, 2, S1, D",
            "in_crd1": "5, S0, S1, 7, 8, S2, D",
            "in_val": "1, S0, S1, 2, N, S2, D",
        },
    ),
    (
        "reducer",
        {"dimensions": 3},
        {
            "in_crd0": "0, S0, 0, 1, S1, D",
            "in_crd1": "2, 3, S1, 3, S0, 0, S2, D",
            "in_crd2": "4, S0, 5, S2, 5, 6, S1, S3, D",
            "in_val": "1, S0, 2, S2, 3, 4, S1, S3, D",
        },
    ),
    (
        "reducer",
        {"dimensions": 1, "ways": 2},
        {
            "in_crd0_0": "1, 5, S0, 1, 2, S1, 3, S2, D",
            "in_crd0_1": "2, S1, S0, 4, S2, D",
            "in_val_0": "1, 5, S0, 1, N, S1, 3, S2, D",
            "in_val_1": "2, S1, S0, 4, S2, D",
        },
    ),
    (
        "reducer",
        {"dimensions": 2, "ways": 2},
        {
            "in_crd0_0": "0, 1, S0, 2, S1, D",
            "in_crd1_0": "5, S0, S1, 7, 8, S2, D",
            "in_val_0": "1, S0, S1, 2, N, S2, D",
            "in_crd0_1": "1, 2, S1, D",
            "in_crd1_1": "6, S0, 7, S2, D",
            "in_val_1": "3, S0, 4, S2, D",
        },
    ),
    (
        "coordinate_dropper",
        {"drop": "coordinates", "inner": ["crd", "val"]},
        {
            "in_outer": "0, 1, 2, S0, 3, S1, D",
            "in_inner_crd": "1, S0, S0, 2, S1, S2, D",
            "in_inner_val": "1, S0, S0, 2, S1, S2, D",
        },
    ),
    (
        "coordinate_dropper",
        {"drop": "zeros"},
        {"in_crd": "1, S0, 3, 4, S0, S1, 5, S0, S2, D", "in_val": VALUES},
    ),
    (
        "fiber_aligner",
        MOVED,
        {
            "in_old": "0, 2, 4, S0, 1, S1, D",
            "in_new": "1, 2, 3, S0, 2, S1, D",
            "in_crd": "5, S0, 6, 7, S0, 8, S1, 9, S2, D",
            "in_val": "5, S0, 6, 7, S0, 8, S1, 9, S2, D",
        },
    ),
    (
        "fiber_repeater",
        MOVED,
        {
            "in_coordinates": "0, 2, S0, S0, 1, S1, D",
            "in_crd": "5, 6, S0, 7, S0, S1, D",
            "in_val": "5, 6, S0, 7, S0, S1, D",
        },
    ),
    *(
        ("level_writer", writer(code, by_reference=False), {"in_crd": "1, S0, S0, 2, S1, D"})
        for code in "sdbh"
    ),
    *(
        (
            "level_writer",
            writer(code, by_reference=True),
            {"in_crd": "1, S0, S0, 2, S1, S1, S2, D", "in_ref": "0, 1, 3, S0, S0, 4, S1, D"},
        )
        for code in "sdbh"
    ),
    (
        "locator",
        {"slot": "B", "level": 0, "payloads": ["ref", "val"]},
        {
            "in_crd": "1, 2, S0, S0, 9, S1, 3, S0, S1, S2, D",
            "in_located": "0, 0, N, S0, 0, 0, S0, S1, D",
            "in_ref0": "1, N, S0, S0, 9, S1, 3, S0, S1, S2, D",
            "in_val1": "1, 2, S0, S0, 9, S1, 3, S0, S1, S2, D",
        },
    ),
    (
        "searcher",
        {"slot": "B", "level": 0, "payloads": ["val"]},
        {
            "in_crd": "1, 2, S0, S0, 9, S1, 3, S0, S1, S2, D",
            "in_located": "0, 0, N, S0, 0, 0, S0, S1, D",
            "in_val0": "1, 2, S0, S0, 9, S1, 3, S0, S1, S2, D",
        },
    ),
    (
        "affine_unit",
        {"scales": [2, -1], "constant": 1, "slot": "B", "level": 0},
        {"in_crd0": "1, N, S0, S0, 9, S1, D", "in_crd1": "1, 2, S0, S0, 3, S1, D"},
    ),
    (
        "window_scanner",
        {"slot": "B", "level": 0, "variable": "j", "scale": -2, "constant": 1, "offset": True},
        {"in_ref": "0, N, 0, S0, S0, 0, S1, D", "in_offset": "1, N, 2, S0, S0, 9, S1, D"},
    ),
    ("saturating_reducer", {"least": -8, "most": 7}, {"in_val": "1, N, S0, S0, 2, S1, D"}),
    (
        "subsection_scanner",
        {
            "slot": "B",
            "level": 0,
            "variable": "j",
            "scale": 2,
            "constant": -1,
            "others": ["j"],
            "scales": [1],
            "offset": True,
        },
        {"in_ref": "0, N, 0, S0, S0, 0, S1, D", "in_offset": "1, N, 2, S0, S0, 9, S1, D"},
    ),
    ("bitvector_scanner", {"slot": "bits", "level": 0}, {"in_ref": "0, N, 0, S0, S0, 0, S1, D"}),
    ("bitvector_intersecter", {"operands": 2}, WORDS),
    ("bitvector_unioner", {"operands": 2}, WORDS),
    *(
        (kind, {"references": references}, streams)
        for references in (True, False)
        for kind, streams in (
            (
                "bitvector_converter",
                {
                    "in_crd": "0, 2, 9, S0, S0, 4, S1, D",
                    "in_ref": "0, 1, 2, S0, S0, 4, S1, D",
                },
            ),
            ("coordinate_converter", {"in_bv": WORDS["in_bv0"], "in_ref": WORDS["in_ref0"]}),
        )
    ),
    ("value_writer", {"by_reference": False}, {"in_val": "1, N, S0, 2, S1, D"}),
    *(
        (
            "value_writer",
            {"by_reference": True, "accumulate": accumulate},
            {"in_val": "1, N, S0, 2, S1, D", "in_ref": "0, 1, S0, 0, S1, D"},
        )
        for accumulate in (False, True)
    ),
    (
        "tile_loader",
        {
            "slot": "B",
            "level": 1,
            "depth": 1,
            "from": None,
            "memory": "peb",
            "buffers": 2,
            "room": None,
        },
        {"in_ref": "0, 1, N, 3, S0, D", "in_release": "0, 0, 0, 0, S0, D"},
    ),
    ("tile_releaser", {"depth": 2, "levels": 1}, {"in_stream": "1, N, S0, 2, S1, D"}),
    ("root", {}, {}),
    ("source", {"stream": "crd", "depth": 1, "tokens": "1, S0, D"}, {}),
    ("sink", {}, {"in_stream": "1, S0, D"}),
]


@pytest.mark.parametrize(("kind", "parameters", "streams"), CASES)
def test_a_step_keeps_the_rules(kind, parameters, streams):
    """An abandoned step has changed nothing; peeks come first; one token per port; True at the end.

    A step depends on its state and the heads alone, so it is abandoned at the first port that is
    missing, whatever else is: hiding each port by itself covers every subset of them.
    """
    drive(kind, parameters, streams)


def test_every_kind_of_block_is_held_to_the_rules():
    """The examples put kinds of their own into the table."""
    makers = {name: getattr(kind.block, "func", kind.block) for name, kind in KINDS.items()}
    ours = {name for name, maker in makers.items() if maker.__module__.startswith("sam.blocks.")}
    assert {kind for kind, _, _ in CASES} == ours
