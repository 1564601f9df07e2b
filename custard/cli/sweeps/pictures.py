"""Pictures of matplotlib in our style, whatever the user's settings, and the words at their axes.

A picture of the same data has the same bytes each time.
"""

from __future__ import annotations

import importlib.util
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sam.support.errors import UserError
from sam.support.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The kinds of picture, each with the metadata that leaves the time of drawing out.
_PICTURES: Mapping[str, dict[str, Any]] = {
    ".png": {},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}

# Colours that the colour-blind tell apart (Okabe and Ito), and marks that print without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
# The fonts of a picture: TrueType in a PDF, as publishers ask.
STYLE: Any = {"pdf.fonttype": 42, "svg.hashsalt": "sweep", "font.size": 9}

# Units by the ending of a column's name. First those that are part of a key, and go with its name.
_KEY_UNITS = {
    "_cycles": "cycles",
    "_bytes": "bytes",
    "_pj": "pJ",
    "gb_per_s": "GB/s",
    "_ghz": "GHz",
    "seconds": "seconds",
}
_UNITS = {
    ".depth": "tokens",
    ".peak": "tokens",
    ".capacity": "entries",
    ".busy": "cycles",
    ".memory": "cycles",
    ".done": "cycles",
    ".nnz": "values",
    ".bytes_read": "bytes",
    ".bytes_written": "bytes",
}
_NAMES = {"seconds": "wall time (seconds)", "time.seconds": "time (seconds)"}


def require_picture(path: Path) -> None:
    """Raises UserError for a file whose suffix tells no kind of picture."""
    if path.suffix not in _PICTURES:
        hint = f"one of {', '.join(_PICTURES)}"
        raise UserError(f"the suffix of {path.name} is not that of a picture", hint=hint)


@contextmanager
def styled() -> Iterator[type[Figure]]:
    """matplotlib's class of figures, in our style, whatever the user's settings of matplotlib are.

    A backend of ``$MPLBACKEND`` that does not exist would break its import, and TeX in a
    ``matplotlibrc`` each picture where TeX is not installed.
    """
    found = importlib.util.find_spec("matplotlib")
    assert found is not None
    assert found.origin is not None
    own = {"MATPLOTLIBRC": str(Path(found.origin).parent / "mpl-data" / "matplotlibrc")}
    before = {name: os.environ.pop(name, None) for name in ("MPLBACKEND", "MATPLOTLIBRC")}
    os.environ.update(own)
    try:
        import matplotlib  # here, for it takes long, and few commands plot
        from matplotlib.figure import Figure
    finally:
        del os.environ["MATPLOTLIBRC"]
        os.environ.update({name: value for name, value in before.items() if value is not None})
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield Figure


def save(figure: Any, path: Path) -> None:
    """Writes a figure of matplotlib as the picture that the suffix tells.

    Always the same bytes for the same figure. Raises UserError where it cannot be written.
    """
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:], dpi=300, metadata=_PICTURES[path.suffix])
    write_whole(path, picture.getvalue())


def label(column: str) -> str:
    """The label of an axis: the column's name, and its unit."""
    if column in _NAMES:
        return _NAMES[column]
    name = column.removeprefix("set.").removeprefix("time.")
    for ending, unit in _KEY_UNITS.items():
        if name.endswith(ending):
            return f"{name.removesuffix(ending).rstrip('._').replace('_', ' ')} ({unit})"
    unit = next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
    return name.replace("_", " ") + (f" ({unit})" if unit else "")


def named(column: str, value: Any) -> str:
    """A value with the last part of its column's name, and with a unit if the name has one."""
    name = column.rpartition(".")[2]
    for ending, unit in _KEY_UNITS.items():
        if name.endswith(ending):
            return f"{name.removesuffix(ending).rstrip('_').replace('_', ' ')} = {value} {unit}"
    return f"{name} = {value}"


_PREFIXES = (("", 1.0), ("milli", 1e-3), ("micro", 1e-6), ("nano", 1e-9))


def scale(column: str, values: Sequence[float]) -> tuple[float, str]:
    """The unit in which values of a column are shown, and the label of the axis.

    Of seconds it is the prefix that fits the largest of them.
    """
    text = label(column)
    most = max(values, default=0)
    if not text.endswith("(seconds)") or not 0 < most < 1:
        return 1.0, text
    prefix, size = next((p for p in _PREFIXES if most >= p[1]), _PREFIXES[-1])
    return size, f"{text.removesuffix('seconds)')}{prefix}seconds)"
