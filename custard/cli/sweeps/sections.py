"""The sections of a sweep file: the keys that it may have, and those of a point.

In the text of each value of a point variables may stand (``custard.cli.sweeps.variables``).
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from custard.cli.sweeps.plots import Plot
from custard.cli.sweeps.workers import Limits
from sam.support.yaml_sections import Section, Text, check_section, is_texts, must_be

METRICS = ("cycles", "bottleneck", "result.nnz")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_label(value: Any) -> bool:
    """Whether a value may name a point in a column of the table."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_commands(value: Any) -> bool:
    return isinstance(value, str) or is_texts(value)


_SECTION = BeforeValidator(check_section)
_Flag = Annotated[bool, must_be("true or false", lambda value: isinstance(value, bool))]
_Whole = Annotated[int, must_be("a whole number of at least 0", _is_whole)]
_Input = Annotated[
    str | int | float, must_be("a file, a number, @random, @random(SHARE) or @dense", is_label)
]
_Commands = Annotated[str | list[str], must_be("a command, or a list of commands", _is_commands)]
_Label = Annotated[str | int | float, must_be("text or a number", is_label)]


class PointSection(Section):
    """The keys of a point, each with the option of ``custard`` that it stands for.

    ``labels``      columns of the table that name the point, and do nothing else
    ``expression``  EXPRESSION
    ``formats``     -f, a format by tensor
    ``schedule``    -s, a command or a list of them
    ``dims``        --dims, an extent by variable
    ``strict``      --strict
    ``drop_zeros``  --drop-zeros
    ``inputs``      -i, a value by tensor
    ``seed``        --seed
    ``config``      --config
    ``set``         --set, a value by dotted key
    ``engine``      --engine
    ``check``       --check; a point whose result is wrong has failed
    """

    labels: Annotated[dict[str, _Label], _SECTION] = Field(default_factory=dict)
    expression: Text | None = None
    formats: Annotated[dict[str, Text], _SECTION] = Field(default_factory=dict)
    schedule: _Commands = Field(default_factory=list)
    dims: Annotated[dict[str, _Whole], _SECTION] = Field(default_factory=dict)
    strict: _Flag = False
    drop_zeros: _Flag = False
    inputs: Annotated[dict[str, _Input], _SECTION] = Field(default_factory=dict)
    seed: _Whole = 0
    config: Text = "ideal"
    set: Annotated[dict[str, Any], _SECTION] = Field(default_factory=dict)
    engine: Text = "auto"
    check: _Flag = False

    def given(self) -> dict[str, Any]:
        """The keys that are set, each with its value."""
        set_ = self.model_fields_set
        return {key: getattr(self, key) for key in PointSection.model_fields if key in set_}


class SweepFile(PointSection):
    """A sweep file: the defaults of all points, and the keys that only a sweep has.

    ``points``   points, each with the keys that it overrides
    ``grid``     by key of a point a list of values; by any other name, an axis: parts of a point by
                 label, or a list of labels. All combinations are run
    ``limits``   of one point: ``seconds``, ``memory_bytes``
    ``output``   the folder of the results; the file's name without its suffix by default
    ``metrics``  columns of the table: places in the record of a run
    ``plots``    by file name, in the folder of the results
    """

    points: Annotated[
        list[Any] | None,
        must_be("a list of at least one point", lambda v: isinstance(v, list) and v),
    ] = None
    grid: Annotated[dict[str, Any], _SECTION] = Field(default_factory=dict)
    limits: Limits = Field(default_factory=Limits)
    output: Text | None = None
    metrics: Annotated[list[str], must_be("a list of metrics", is_texts)] = Field(
        default_factory=lambda: list(METRICS)
    )
    plots: Annotated[dict[str, Plot], _SECTION] = Field(default_factory=dict)
