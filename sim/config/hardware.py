"""Hardware configs: YAML, validated, with the setting that holds for each queue and block.

``load`` reads a config; ``Config.queue`` and ``Config.block`` answer the engines. A key may be
set in three places: the section itself, its ``kinds``, its ``names``. The most specific place wins,
for each key on its own. Units stand in the keys.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from sam.graph import Graph
from sam.levels import WORD_BITS
from sam.support.errors import UserError, nearest, one_of
from sam.support.yaml_sections import (
    Depth,
    Limit,
    Positive,
    Section,
    Span,
    Text,
    check_keys,
    check_section,
    is_count,
    is_texts,
    mistake,
    must_be,
    show,
    validated,
)
from sam.support.yaml_text import parse_yaml, read_yaml
from sim.config.memory import Memory
from sim.config.naming import NOTHING, called, changed, path_of, value_of


@dataclass(frozen=True)
class BlockTiming:
    """The times of one block, in cycles, and its ``capacity`` in entries, None where unbounded.

    ``word_bits`` is the same for all blocks, since words go from block to block.
    """

    latency: int
    initiation_interval: int
    capacity: int | None
    word_bits: int


def _check_stream_kinds(value: Any) -> Any:
    return check_keys(value, ("crd", "ref", "val", "bv"))


def _check_block_kinds(value: Any) -> Any:
    from sam.blocks import KINDS

    return check_keys(value, KINDS)


WordBits = Annotated[
    int,
    must_be(
        f"a whole number from 1 to {WORD_BITS}",
        lambda value: is_count(value) and value <= WORD_BITS,
    ),
]


Buffers = Annotated[
    int | Literal["unbounded"],
    must_be(
        'a whole number of at least 2, as streams look one tile ahead, or "unbounded"',
        lambda value: value == "unbounded" or (is_count(value) and value >= 2),
    ),
]


Keys = Annotated[
    tuple[str, ...],
    must_be("a list of keys", is_texts),
]


class Clock(Section):
    """``clock_ghz``  cycles per nanosecond."""

    clock_ghz: Positive = 1.0


class QueueSettings(Section):
    """Settings of one kind of stream, or of one queue, that override the section's."""

    depth: Depth | None = None
    latency_cycles: Span | None = None


class Queues(Section):
    """The queues between blocks.

    ``depth``           tokens that a queue holds
    ``latency_cycles``  from the push of a token to the first cycle in which its reader sees it;
                        a wire, which holds the newest message and never more, has one too
    ``kinds``           settings by stream: crd, ref, val, bv
    ``readers``         settings by the kind of block that reads; they override settings by stream
    ``names``           settings by edge, ``a.x -> b.y``, or by the reader's port, ``b.y``
    """

    depth: Depth = "unbounded"
    latency_cycles: Span = 1
    kinds: Annotated[dict[str, QueueSettings], BeforeValidator(_check_stream_kinds)] = Field(
        default_factory=dict
    )
    readers: Annotated[dict[str, QueueSettings], BeforeValidator(_check_block_kinds)] = Field(
        default_factory=dict
    )
    names: Annotated[dict[str, QueueSettings], BeforeValidator(check_section)] = Field(
        default_factory=dict
    )


class BlockSettings(Section):
    """Settings of one kind of block, or of one block, that override the section's."""

    latency_cycles: Span | None = None
    initiation_interval_cycles: Span | None = None
    capacity: Limit | None = None


class Blocks(Section):
    """The blocks.

    ``latency_cycles``              from a firing to the push of what it emits
    ``initiation_interval_cycles``  from a firing to the next that may follow
    ``capacity``                    entries of a reducer's memory
    ``word_bits``                   coordinates in a word of a bitvector stream, 1 to 64
    ``kinds``                       settings by kind of block, a key of ``sam.blocks.KINDS``
    ``names``                       settings by node of the graph
    """

    latency_cycles: Span = 1
    initiation_interval_cycles: Span = 1
    capacity: Limit = "unbounded"
    word_bits: WordBits = WORD_BITS
    kinds: Annotated[dict[str, BlockSettings], BeforeValidator(_check_block_kinds)] = Field(
        default_factory=dict
    )
    names: Annotated[dict[str, BlockSettings], BeforeValidator(check_section)] = Field(
        default_factory=dict
    )


class TileLevel(Section):
    """One level of tiles.

    ``memory``   the memory that they are brought into, the name of a level of ``memory``
    ``tile``     the intended extent of a tile in each mode, which an error recommends for a program
                 without tiles. Whether tiles fit is up to the memory's capacity
    ``buffers``  tiles of each tensor that it holds at once: the one in use and those ahead of it.
                 If unbounded, as many as there is room for: see ``sim.tiling``
    """

    memory: Text
    tile: Span
    buffers: Buffers = 2


class Tiling(Section):
    """The tiles that move between memories.

    ``levels``  from the largest tiles, in the outermost memory, inwards
    """

    levels: Annotated[
        tuple[TileLevel, ...],
        must_be("a list of levels", lambda value: isinstance(value, list | tuple)),
    ] = ()


class Config(Section):
    """A machine.

    ``changed``  the keys that overrides have set to other values, which are told with the name:
                 ``called``
    """

    name: Text = "custom"
    description: Text = ""
    changed: Keys | None = None
    clock: Clock = Clock()
    queues: Queues = Queues()
    blocks: Blocks = Blocks()
    memory: Memory = Memory()
    tiling: Tiling = Tiling()

    @model_validator(mode="after")
    def _tiles_have_memories(self) -> Config:
        levels = [level.name for level in self.memory.levels]
        inwards = [place.memory for place in self.tiling.levels]
        for name in inwards:
            if name not in levels[1:]:
                known = f": {one_of(name, levels[1:])}" if levels[1:] else ""
                raise mistake(
                    f'has tiles in "{name}", which is not a memory inside another one{known}'
                )
        if sorted(set(inwards), key=levels.index) != inwards:
            raise mistake(f"has tiles in {', '.join(inwards)}: they go inwards, each level once")
        return self

    def queue(self, edge: str, stream: str, reader: str) -> tuple[int | None, int]:
        """Depth in tokens (None: unbounded) and latency in cycles of the queue on an edge.

        ``edge`` is its text, ``stream`` crd, ref, val or bv, and ``reader`` a kind of block; an
        edge's name is more specific than its reader's port.
        """
        names = self.queues.names
        if not (names or self.queues.readers or self.queues.kinds):
            return _limit(self.queues.depth), self.queues.latency_cycles
        places = [
            names.get(edge),
            names.get(edge.partition(" -> ")[2]),
            self.queues.readers.get(reader),
            self.queues.kinds.get(stream),
            self.queues,
        ]
        return _limit(_first(places, "depth")), _first(places, "latency_cycles")

    def block(self, node_name: str, kind: str) -> BlockTiming:
        """The times of the block of that name and kind."""
        if not (self.blocks.names or self.blocks.kinds):
            return self._of_any_block
        return self._timing([self.blocks.names.get(node_name), self.blocks.kinds.get(kind)])

    @cached_property
    def _of_any_block(self) -> BlockTiming:
        return self._timing([])

    def _timing(self, places: Sequence[Section | None]) -> BlockTiming:
        """The times of a block whose own settings override those of all blocks."""
        places = [*places, self.blocks]
        return BlockTiming(
            latency=_first(places, "latency_cycles"),
            initiation_interval=_first(places, "initiation_interval_cycles"),
            capacity=_limit(_first(places, "capacity")),
            word_bits=self.blocks.word_bits,
        )

    def require_names_of(self, graph: Graph, elsewhere: Collection[str] = ()) -> None:
        """Raises UserError for a setting by name where no queue or block of the graph has it.

        Settings by kind may stand without a block: they belong to the machine, not to a graph.
        ``elsewhere`` has the tensors of other graphs of the same program.
        """
        blocks = [node.name for node in graph.nodes]
        queues = [
            *(str(edge.target) for edge in graph.edges),
            *(str(edge) for edge in graph.edges),
        ]
        for section, what, names, known in (
            ("queues", "queue", self.queues.names, queues),
            ("blocks", "block", self.blocks.names, blocks),
        ):
            for name in names:
                if name not in known:
                    raise UserError(
                        f'{section}.names sets "{name}", and the graph has no such {what}',
                        hint=one_of(name, known),
                    )
        self.memory.require_names_of(graph, elsewhere)

    @property
    def called(self) -> str:
        """The name with what overrides have changed, as in ``ideal with queues.depth=4``."""
        return called(self.resolved())

    def resolved(self) -> dict[str, Any]:
        """The config with all its defaults as plain JSON data, which ``load`` reads back."""
        return self.model_dump(mode="json", exclude_none=True)


def alike(config: Config) -> Hashable:
    """The settings that decide tokens, and the entries of memory that are touched.

    Under configs that agree in them, each block of a graph fires equally often with the same
    tokens, and asks for the same entries; only the cycles and the traffic may differ.
    """
    blocks = config.blocks
    capacities = [
        tuple((name, one.capacity) for name, one in section.items() if one.capacity is not None)
        for section in (blocks.kinds, blocks.names)
    ]
    tiles = (config.memory, config.clock) if config.tiling.levels else None
    takes_time = bool(config.memory.levels)
    return repr((takes_time, tiles, config.tiling, blocks.capacity, capacities)), blocks.word_bits


def _first(places: Iterable[Section | None], key: str) -> Any:
    return next(found for place in places if (found := getattr(place, key, None)) is not None)


def _limit(value: int | Literal["unbounded"]) -> int | None:
    return None if value == "unbounded" else value


def load(
    config: str | Path | Mapping[str, Any] | Config | None = None,
    overrides: Mapping[str, object] | None = None,
    origin: str = "overrides",
) -> Config:
    """The config of a shipped name, a path to a YAML file or a dict, with overrides.

    None is ``ideal``. A key of ``overrides`` is a dotted path, as in ``queues.depth``; under
    ``names``, everything between ``names.`` and the last dot is the name, even with dots. Of a
    section that is given, the keys that it lacks stay as they are. Raises
    UserError, naming the file and the key, or ``origin``, which the user knows the overrides by.
    """
    if isinstance(config, Config):
        base = config
    elif isinstance(config, Mapping):
        base = validated(Config, config, "config")
    elif config is None or isinstance(config, str | Path):
        base = _load_named("ideal" if config is None else config)
    else:
        raise UserError(
            f"the config is {type(config).__name__}, not a name, a path or a mapping",
            hint='as in config="finite" or config={"queues": {"depth": 4}}',
        )
    if not isinstance(overrides, Mapping | None):
        raise UserError(
            f"overrides is {type(overrides).__name__}, not a mapping from keys",
            hint='as in overrides={"queues.depth": 8}',
        )
    if not overrides:
        return base
    before = base.resolved()
    data = deepcopy(before)
    overrides = dict(_leaves(before, overrides))
    try:
        for key, value in overrides.items():
            _set(data, key, value)
    except UserError as mistake:
        raise mistake.about(origin) from None
    found = validated(Config, data, origin)
    keys = changed(before, found.resolved(), overrides)
    return found.model_copy(update={"changed": tuple(keys) or None})


def load_each(
    configs: Iterable[str | Path | Mapping[str, Any] | Config | None],
    overrides: Mapping[str, Any] | None = None,
) -> list[Config]:
    """The configs that several machines use, each as ``load`` gives it. Raises UserError."""
    if isinstance(configs, str | Path | Mapping | Config) or not isinstance(configs, Iterable):
        raise UserError(
            f"configs is {type(configs).__name__}, not a list of configs",
            hint='as in configs=["finite", {"queues": {"depth": 4}}]',
        )
    return [load(config, overrides) for config in configs]


def shipped() -> dict[str, str]:
    """The names of the configs in ``hw_configs``, sorted, each with its description."""
    return {name: _load_named(name).description for name in _shipped_names()}


def parse_override(text: str) -> tuple[str, object]:
    """The key and the value (YAML, or inf for "unbounded") of a command line's ``KEY=VALUE``."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UserError(f'"{text}" sets nothing', hint="KEY=VALUE, as in queues.depth=8")
    found = parse_yaml(value, f"--set {text}")
    return key.strip(), "unbounded" if found == "inf" else found


@cache
def _shipped_names() -> list[str]:
    files = (Path(file.name) for file in resources.files("hw_configs").iterdir())
    return sorted(file.stem for file in files if file.suffix == ".yaml")


@cache
def _load_shipped(name: str) -> Config:
    """A shipped config; it is read once, as nothing changes it."""
    origin = f"{name}.yaml"
    text = resources.files("hw_configs").joinpath(origin).read_text(encoding="utf-8")
    data = parse_yaml(text, origin)
    return validated(Config, {"name": name, **data} if isinstance(data, dict) else data, origin)


def _load_named(config: str | Path) -> Config:
    path = Path(config)
    if config in _shipped_names():
        return _load_shipped(str(config))
    if isinstance(config, str) and path.name == config and not path.suffix and not path.exists():
        close = nearest(config, _shipped_names())
        meant = f"did you mean {close}? " if close else ""
        raise UserError(
            f'there is no config "{config}"',
            hint=f"{meant}shipped are {', '.join(_shipped_names())}; or give a path to a YAML file",
        )
    else:
        origin = str(config)
        data = read_yaml(path, "config")
    if isinstance(data, dict):
        data = {"name": path.stem, **data}
    return validated(Config, data, origin)


_SECTIONS: Mapping[str, type[Section]] = {
    "queues": Queues,
    "blocks": Blocks,
    "memory": Memory,
    "tiling": Tiling,
    "clock": Clock,
}


def _leaves(
    before: Mapping[str, Any], overrides: Mapping[str, object], inside: bool = False
) -> Iterator[tuple[str, object]]:
    """The overrides, with a dotted key for each key of a section that the config has.

    A section ``inside`` one of these may be new, as that of a name in ``queues.names``.
    """
    for key, value in overrides.items():
        known = value_of(before, key) if isinstance(key, str) else None
        is_known = isinstance(known, Mapping)
        is_new = inside and known is NOTHING and value
        if isinstance(value, Mapping) and (is_known or is_new):
            inner = {f"{key}.{name}": each for name, each in value.items()}
            yield from _leaves(before, inner, inside=is_known)
        else:
            yield key, value


def _set(data: Any, key: str, value: object) -> None:
    """Puts the value at the key's path into ``data``."""
    if not isinstance(key, str):
        raise UserError(f"the key {show(key)} is not text", hint='as in "queues.depth"')
    path = path_of(key)
    for section, keys in _SECTIONS.items():
        if path[0] in keys.model_fields and path[0] not in Config.model_fields:
            raise UserError(f'unknown key "{key}"', hint=f"did you mean {section}.{key}?")
    for n, part in enumerate(path[:-1]):
        data = _inside(data, part, key)
        if not isinstance(data, dict | list):
            raise UserError(f'unknown key "{key}"', hint=f"{'.'.join(path[: n + 1])} has no keys")
    if isinstance(data, list):
        raise UserError(
            f'unknown key "{key}"',
            hint="set the keys inside a list one by one, as in memory.levels.DRAM.latency_cycles",
        )
    data[path[-1]] = deepcopy(value)


def _inside(data: Any, part: str, key: str) -> Any:
    """The entry named ``part`` of a section, or of a list of sections with names."""
    if isinstance(data, dict):
        return data.setdefault(part, {})
    names = [section.get("name") for section in data]
    if part not in names:
        raise UserError(f'unknown key "{key}"', hint=one_of(part, names))
    return data[names.index(part)]
