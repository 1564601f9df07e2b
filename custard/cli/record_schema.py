"""The schema of records: the parts that a report prints.

Records come from files, which people and programs change. Each part that a report shows is checked;
other parts are kept as they are. A record tells its ``record_version``; without one it is of
version 1. The version goes up when a part changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)

from custard.cli.run_record import RECORD_VERSION as VERSION
from sam.support.errors import UserError, quoted, shown, visible
from sim.stats import TOKEN_KINDS, BlockStats, StreamStats, Traffic

_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Statistics(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


def _model_of(statistics: type) -> type[_Statistics]:
    """The model of a dataclass of statistics: each number in it is a count or an amount. It leaves
    out all else, so that the dataclass can be made of what is left."""
    hints = get_type_hints(statistics)
    parts: dict[str, Any] = {name: (_in_range(hint), ...) for name, hint in hints.items()}
    return create_model(f"_{statistics.__name__}Record", __base__=_Statistics, **parts)


def _in_range(hint: Any) -> Any:
    if hint in (int, float):
        return _Count if hint is int else _Amount
    parts = tuple(map(_in_range, get_args(hint)))
    return get_origin(hint)[parts] if parts else hint


_Traffic: Any = _model_of(Traffic)
_Block: Any = _model_of(BlockStats)
_Stream: Any = _model_of(StreamStats)


class _Named(_Record):
    name: str


class _ResultRecord(_Record):
    tensor: str
    shape: list[_Count]
    format: str
    entries: _Count
    nonzeros: _Count
    first: list[Annotated[list[str], Field(min_length=2, max_length=2)]]

    @model_validator(mode="after")
    def _scalar_has_a_value(self) -> _ResultRecord:
        return _require(self, bool(self.shape or self.first), "a scalar has no value")


class _LevelTraffic(_Record):
    busy: list[_Amount]
    tensors: dict[str, _Traffic]
    total: _Traffic


_kinds: Any = dict.fromkeys(TOKEN_KINDS, (_Count, ...))
_Tokens: Any = create_model("_Tokens", __base__=_Record, **_kinds)


class _GraphRecord(_Record):
    """Where the cycles of a graph went."""

    cycles: Annotated[int, Field(ge=1, lt=2**63)]
    tokens: _Tokens
    bottleneck: str | None
    blocks: dict[str, _Block]
    copies: list[Annotated[list[str], Field(min_length=1)]] = []  # none in records of old
    streams: dict[str, _Stream]

    @model_validator(mode="after")
    def _cycles_add_up(self) -> _GraphRecord:
        for name, block in self.blocks.items():
            spent = [block.busy, block.memory, block.done]
            spent += [*block.starved.values(), *block.blocked.values()]
            _require(
                self,
                sum(spent) <= self.cycles,
                f"the cycles of {quoted(name)} do not add up to those of the run",
            )
        return self


class _Titled(_GraphRecord):
    title: str


class _Times(_Record):
    runs: _Count
    median: _Amount
    minimum: _Amount
    largest: str = ""
    entries: _Count = 0
    nanoseconds_per_entry: _Amount = 0.0

    @model_validator(mode="after")
    def _entries_are_told_whole(self) -> _Times:
        told = self.model_fields_set & {"largest", "entries", "nanoseconds_per_entry"}
        return _require(self, len(told) in (0, 3), "it must tell the largest input whole")


class _ProgramRecord(_Record):
    """A program that was compiled, and not run."""

    record_version: int = VERSION
    expression: str
    cin: str
    formats: dict[str, str]
    notes: list[str]
    target: str = "sam"
    difference: str | None = None
    unfinished: str | None = None
    matches_numpy: bool | None = None


class _Compiled(_ProgramRecord):
    primitives: dict[str, _Count]


class _InC(_ProgramRecord):
    compiler: str | bool
    result: _ResultRecord | None = None
    times: _Times | None = None


class _OfLevel(_Record):
    gb_per_s: _Amount
    peak_gb_per_s: _Amount | None


class _Time(_Record):
    clock_ghz: _Amount
    seconds: _Amount
    multiplications: _Count
    multiplications_per_cycle: _Amount
    energy_pj: _Amount
    memory: dict[str, _OfLevel]


class _Simulated(_ProgramRecord, _GraphRecord):
    engine: str
    config: _Named
    seconds: _Amount
    compile_seconds: _Amount = 0.0
    memory: dict[str, _LevelTraffic]
    result: _ResultRecord | None
    graphs: list[_Titled] | None = None
    time: _Time | None = None


class _CauseRecord(_Record):
    what: str
    cycles: _Count


class _WhatIfRecord(_Record):
    what: str
    how: list[str]
    cycles: _Count
    saves: Annotated[int, Field(gt=-(2**63), lt=2**63)]
    cycles_in_this_order: _Count | None = None


class _BoundRecord(_Record):
    why: str
    cycles: _Count


class _ExplainedRecord(_ProgramRecord):
    """Why a run took as long as it did."""

    inputs: list[str]
    sentence: str
    machine: str
    cycles: Annotated[int, Field(ge=1, lt=2**63)]
    causes: list[_CauseRecord]
    what_ifs: list[_WhatIfRecord]
    bounds: list[_BoundRecord]
    imbalance: str | None
    is_timed: bool = False

    @model_validator(mode="after")
    def _cycles_add_up(self) -> _ExplainedRecord:
        for one in self.what_ifs:
            before = self.cycles - one.saves
            fits = before in (one.cycles, one.cycles_in_this_order)
            _require(self, fits, f"the cycles of {quoted(one.what)} do not add up")
        return self


# Records of programs that no simulation ran, by target.
_UNSIMULATED: Mapping[str, type[_ProgramRecord]] = {"sam": _Compiled, "c": _InC}


class _Failure(_Record):
    """The result of a point of a sweep that failed."""

    error: str


def failure(data: Mapping[str, Any], origin: str) -> str:
    """The error of the result of a point that failed. Raises UserError."""
    return str(_validated(_Failure, data, origin)["error"])


def record(data: Any, origin: str) -> dict[str, Any]:
    """A record of ``origin``, its parts of the types that a report needs.

    Raises UserError, which names the first part that is missing or wrong.
    """
    version = data.get("record_version", VERSION) if isinstance(data, Mapping) else VERSION
    if version != VERSION:
        raise UserError(
            f"{origin} is a record of version {shown(version)}; this custard reads {VERSION}"
        )
    if not isinstance(data, Mapping) or "cin" not in data:
        hint = "give a file of a sweep's folder, or what --json wrote of one run"
        raise UserError(f"{origin} is not a result", hint=hint)
    target = data.get("target")
    model = _Simulated if "cycles" in data else _UNSIMULATED.get(str(target), _Compiled)
    model = _ExplainedRecord if "sentence" in data else model
    found: dict[str, Any] = _visible(_validated(model, data, origin))
    return found


def _visible(part: Any) -> Any:
    """A part of a record without characters that control the terminal it is printed to."""
    if isinstance(part, str):
        return visible(part)
    if isinstance(part, dict):
        return {_visible(name): _visible(value) for name, value in part.items()}
    return [_visible(one) for one in part] if isinstance(part, list) else part


def _validated(model: type[BaseModel], data: Any, origin: str) -> dict[str, Any]:
    try:
        return model.model_validate(data).model_dump(exclude_unset=True)
    except ValidationError as mistake:
        first = mistake.errors(include_url=False)[0]
    place = quoted(".".join(map(str, first["loc"])))
    if first["type"] == "missing":
        raise UserError(f"{origin} is not a result: {place} is missing")
    why = first["msg"].removeprefix("Value error, ")
    why = f"{place}: {why[0].lower()}{why[1:]}" if place else why
    found = "" if first["type"] == "value_error" else f", not {shown(first['input'])}"
    raise UserError(f"{origin} is not a result: {why}{found}")


def _require(part: Any, holds: bool, otherwise: str) -> Any:
    if not holds:
        raise ValueError(otherwise)
    return part
