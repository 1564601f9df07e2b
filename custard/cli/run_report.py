"""The report of a run: as JSON data (``as_json``) and, made from that, as text (``summary``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from itertools import repeat
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sam.lanes import copies
from sam.tensor import Tensor
from sim.explain.lanes import folded
from sim.stats import TOKEN_KINDS, BlockStats, Run, of_machine

_WIDE, _SHOWN_ENTRIES = 100, 5
# Columns about memory that a narrow console lacks, the first of them first.
_SPARED = ("at most", "reads", "writes", "pJ", "hits")
# Where a block's cycles go: the bar's character, which tells without colour, and its colour.
_SHARES = {
    "busy": ("█", "green"),
    "starved": ("░", "yellow"),
    "blocked": ("▒", "red"),
    "memory": ("▚", "magenta"),
    "done": ("·", "bright_black"),
}


def summary(
    told: Mapping[str, Any], seconds: float, width: int = _WIDE, all_lanes: bool = False
) -> RenderableType:
    """The blocks, the totals and the beginning of the result of a run, as ``as_json`` told it.

    ``seconds`` is the time that it took; ``width`` and ``all_lanes`` are those of ``blocks_table``.
    """
    lines = () if told["result"] is None else result_lines(told["result"])
    memory = [Padding(memory_table(told, width), (0, 0, 1, 0))] if told.get("memory") else []
    parts = told.get("graphs")
    if not parts:
        table = Padding(blocks_table(told, width, all_lanes), (1, 0))
        return Group(table, *memory, _totals(told, seconds), *lines)
    shown: list[RenderableType] = []
    for n, part in enumerate(parts, 1):
        share = _percent(part["cycles"], told["cycles"])
        title = f"\ngraph {n} of {len(parts)}, {part['cycles']:,} cycles ({share}): "
        table = Padding(blocks_table(part, width, all_lanes), (1, 0))
        shown += [Text(title, "bold").append(part["title"]), table]
    return Group(*shown, *memory, _totals(told, seconds), *lines)


def in_time(run: Run) -> dict[str, Any]:
    """Time, throughput and energy of a run, by the clock of its config.

    ``seconds``; ``multiplications``, those of ALUs on data, and how many ``per_cycle``;
    ``energy_pj`` of all levels of memory; and by level of memory the ``gb_per_s`` that it moved,
    and the ``peak_gb_per_s`` of all of its ports, None where that is unbounded.
    """
    clock = float(run.config["clock"]["clock_ghz"])
    seconds = run.cycles / clock / 1e9
    multipliers = (block for part in run.parts or (run,) for block in part.multipliers)
    products = sum(block.tokens["val"]["data"] for block in multipliers)
    bandwidth = {level["name"]: level["bandwidth_gb_per_s"]
                 for level in run.config["memory"]["levels"]}  # fmt: skip
    moved = {}
    for name, level in run.memory.items():
        peak = bandwidth[name]
        moved[name] = {
            "gb_per_s": (level.total.bytes_read + level.total.bytes_written) / seconds / 1e9,
            "peak_gb_per_s": None if peak == "unbounded" else peak * len(level.busy),
        }
    return {
        "clock_ghz": clock,
        "seconds": seconds,
        "multiplications": products,
        "multiplications_per_cycle": products / run.cycles,
        "energy_pj": sum(level.total.energy_pj for level in run.memory.values()),
        "memory": moved,
    }


def bottleneck(run: Run) -> str | None:
    """The block with the most busy cycles, the first of them; None where no block was busy."""
    blocks = of_machine(run.blocks)
    busiest = max(blocks, key=lambda name: blocks[name].busy, default=None)
    return None if busiest is None or blocks[busiest].busy == 0 else busiest


def blocks_table(told: Mapping[str, Any], width: int = _WIDE, all_lanes: bool = False) -> Table:
    """Where the cycles of each block went, in per cent of the run's, as ``as_json`` told it.

    ``width``      the columns of the console; a narrow one has less of each block, in the order of
                   ``_LAYOUTS``, so that names of blocks and ports stay whole
    ``all_lanes``  whether the blocks of lanes have a row each; else one row has their least, mean
                   and largest share of busy cycles, and the mean of all others
    """
    blocks = of_machine({name: BlockStats(**each) for name, each in told["blocks"].items()})
    rows = {name: [block] for name, block in blocks.items()}
    if not all_lanes:
        groups = folded(blocks, told.get("copies", []))
        rows = {name: [blocks[one] for one in lanes] for name, lanes in groups.items()}
    busiest = blocks.get(told["bottleneck"])
    marked = {name for name, lanes in rows.items() if any(one is busiest for one in lanes)}
    for layout in _LAYOUTS:
        columns = _columns(rows, marked, told["cycles"], layout)
        if _fit(columns, width):
            break
    waits_for_memory = any(column.header == "memory" for column in columns)
    table = Table(
        box=None,
        header_style="bold",
        pad_edge=False,
        caption=_legend(waits_for_memory, layout.bar > 0, any(map(_is_folded, rows.values()))),
    )
    table.caption_justify = "left"
    _fill(table, columns)
    return table


@dataclass(frozen=True)
class _TableLayout:
    """What a table of blocks has room for.

    ``bar``    the characters of a bar; 0 where there is none
    ``ports``  all ports that were waited for, beside each other or, if ``stacked``, in lines of
               their own; else the first
    ``wide``   the shares of lanes have their units, and done cycles a column
    ``fired``  the number of firings
    ``apart``  whether waits for tokens and for room have a column each; else there is the longest
    """

    bar: int = 0
    ports: bool = False
    stacked: bool = False
    wide: bool = False
    fired: bool = True
    apart: bool = True


_LAYOUTS = (
    _TableLayout(20, ports=True, wide=True),
    _TableLayout(20, ports=True, stacked=True, wide=True),
    _TableLayout(10, ports=True, stacked=True, wide=True),
    _TableLayout(20, wide=True),
    _TableLayout(10),
    _TableLayout(6),
    _TableLayout(),
    _TableLayout(fired=False),
    _TableLayout(fired=False, apart=False),
)


@dataclass
class _Column:
    """A column of a table."""

    header: str
    cells: list[Text]
    right: bool = False

    @property
    def width(self) -> int:
        lines = (line for cell in self.cells for line in cell.plain.split("\n"))
        return max(map(cell_len, (self.header, *lines)))


def _fill(table: Table, columns: Sequence[_Column], styles: Iterable[str] = repeat("")) -> None:
    """Puts columns into a table; each row has a style.

    Where the console has too little room, names and ports go on in a second line.
    """
    for column in columns:
        justify: JustifyMethod = "right" if column.right else "left"
        table.add_column(column.header, justify=justify, no_wrap=column.right, overflow="fold")
    rows = zip(*(column.cells for column in columns), strict=True)
    for style, cells in zip(styles, rows, strict=False):
        table.add_row(*cells, style=style)


def _fit(columns: Sequence[_Column], width: int) -> bool:
    """Whether columns stand beside each other in a console of a width."""
    return sum(column.width for column in columns) + 2 * (len(columns) - 1) <= width


def _columns(
    rows: Mapping[str, Sequence[BlockStats]], marked: Set[str], cycles: int, layout: _TableLayout
) -> list[_Column]:
    """The columns of the table of blocks in a layout; rows of lanes have several blocks."""
    means = [_mean(lanes) for lanes in rows.values()]

    def column(header: str, cell: Callable[[BlockStats], str], right: bool = False) -> _Column:
        return _Column(header, [Text(cell(block)) for block in means], right)

    def waits(header: str, of: Callable[[BlockStats], Mapping[str, int]]) -> _Column:
        return column(header, lambda block: _by_port(of(block), cycles, layout))

    names = _Column("block", [])
    for name, lanes in rows.items():
        shown = f"{name} x{len(lanes)}" if _is_folded(lanes) else name
        names.cells.append(Text(f"{shown} ◀", "bold") if name in marked else Text(shown))
    busy = [
        Text(_spread([lane.busy for lane in lanes], cycles, layout.wide)) for lanes in rows.values()
    ]
    found = [names]
    if layout.fired:
        found.append(column("fired", lambda block: str(block.fired), right=True))
    found.append(_Column("busy", busy, right=True))
    if layout.bar:
        header = "of all cycles" if layout.bar > len("of all cycles") else "cycles"
        found.append(_Column(header, [_bar(block, cycles, layout.bar) for block in means]))
    if layout.apart:
        found.append(waits("starved by", lambda block: block.starved))
        found.append(waits("blocked by", lambda block: block.blocked))
    else:
        found.append(waits("waits at", lambda block: {**block.starved, **block.blocked}))
    if any(block.memory for block in means):
        found.append(column("memory", lambda block: _percent(block.memory, cycles), right=True))
    if layout.wide:
        found.append(column("done", lambda block: _percent(block.done, cycles), right=True))
    return found


def _mean(lanes: Sequence[BlockStats]) -> BlockStats:
    """The mean of the blocks of lanes, in whole cycles."""
    if len(lanes) == 1:
        return lanes[0]

    def mean(counts: Sequence[int]) -> int:
        return round(sum(counts) / len(lanes))

    def by_port(name: str) -> dict[str, int]:
        ports = dict.fromkeys(port for lane in lanes for port in getattr(lane, name))
        return {p: mean([getattr(lane, name).get(p, 0) for lane in lanes]) for p in ports}

    return BlockStats(
        kind=lanes[0].kind,
        fired=mean([lane.fired for lane in lanes]),
        busy=mean([lane.busy for lane in lanes]),
        starved=by_port("starved"),
        blocked=by_port("blocked"),
        memory=mean([lane.memory for lane in lanes]),
        done=mean([lane.done for lane in lanes]),
        tokens={},
    )


def _spread(counts: Sequence[int], cycles: int, wide: bool) -> str:
    """A share of the cycles; of several blocks the least, the mean and the largest, if they differ,
    of which the last alone has its unit where there is little room."""
    least, most = _percent(min(counts), cycles), _percent(max(counts), cycles)
    mean = _percent(sum(counts) / len(counts), cycles)
    if least == most:
        return mean
    if not wide:
        least, mean = least.removesuffix("%"), mean.removesuffix("%")
    return f"{least} {mean} {most}"


def memory_table(told: Mapping[str, Any], width: int = _WIDE) -> Table:
    """The traffic of each level of memory, in all and for each tensor, as ``as_json`` told it.

    In a console of few columns, ``width``, some numbers are left out, and the others stay whole.
    """
    powered = any(level["total"]["energy_pj"] for level in told["memory"].values())
    heads = ["memory", "reads", "writes", "bytes read", "written", "hits", "at most"]
    heads += [*(["pJ"] if powered else []), "busy"]
    rows, styles = [], []
    for name, level in told["memory"].items():
        busy = min(max(level["busy"], default=0), told["cycles"])  # writes may go on after the end
        rows.append([name, *_traffic(level["total"], powered), _percent(busy, told["cycles"])])
        styles.append("bold")
        for tensor, traffic in level["tensors"].items():
            rows.append([f"  {tensor}", *_traffic(traffic, powered), ""])
            styles.append("")
    cells = zip(*rows, strict=True)
    columns = [
        _Column(head, [*map(Text, each)], head != "memory")
        for head, each in zip(heads, cells, strict=True)
    ]
    for spared in _SPARED:
        if _fit(columns, width):
            break
        columns = [column for column in columns if column.header != spared]
    table = Table(box=None, header_style="bold", pad_edge=False)
    _fill(table, columns, styles)
    return table


def _traffic(told: Mapping[str, Any], powered: bool) -> list[str]:
    """The cells of some traffic; of its energy, if some level takes any."""
    looked_up = told["hits"] + told["misses"]
    return [
        f"{told['reads']:,}",
        f"{told['writes']:,}",
        f"{told['bytes_read']:,}",
        f"{told['bytes_written']:,}",
        _percent(told["hits"], looked_up) if looked_up else "-",
        f"{told['peak_bytes']:,}",
        *([f"{told['energy_pj']:,.0f}" if told["energy_pj"] else "-"] if powered else []),
    ]


def as_json(run: Run) -> dict[str, Any]:
    """The run as plain JSON data, with no more of its result than the summary shows.

    ``blocks`` by node: the fields of ``BlockStats``; ``copies``: blocks that do the same work in
    all lanes; ``streams`` by edge: those of ``StreamStats``; ``memory`` by level: those of
    ``MemoryStats``, and the ``total`` of its tensors; ``result``: the tensor's name, shape, format,
    type of the values, how many are stored (``nnz``), how many of them are entries and not 0, and
    the first entries as text.
    """
    told = {
        "engine": run.engine,
        "config": dict(run.config),
        "cycles": run.cycles,
        "tokens": _tokens(run),
        "bottleneck": bottleneck(run),
        "time": in_time(run),
        "blocks": {name: {**vars(block)} for name, block in run.blocks.items()},
        "copies": [] if run.parts else copies(run.graph),
        "streams": {name: {**vars(stream)} for name, stream in run.streams.items()},
        "memory": {
            name: {**asdict(level), "total": asdict(level.total)}
            for name, level in run.memory.items()
        },
        "result": _result(run),
    }
    if run.parts:
        told["graphs"] = [{"title": part.graph.title, **as_json(part)} for part in run.parts]
    return told


def _tokens(run: Run) -> dict[str, int]:
    """The tokens that went through all streams, by kind."""
    total: Counter[str] = Counter(dict.fromkeys(TOKEN_KINDS, 0))
    for stream in run.streams.values():
        total.update(stream.tokens)
    return dict(total)


def _result(run: Run) -> dict[str, Any] | None:
    if run.output is None or run.graph.result is None:
        return None
    return result_as_json(run.graph.result.slot.tensor or "", run.output)


def result_as_json(name: str, tensor: Tensor) -> dict[str, Any]:
    """A result as plain JSON data, its first entries as text."""
    coordinates, values = tensor.to_coo()
    shown = range(min(_SHOWN_ENTRIES, len(values)))
    return {
        "tensor": name,
        "shape": list(tensor.shape),
        "format": tensor.format,
        "dtype": str(tensor.dtype),
        "nnz": tensor.nnz,
        "entries": len(values),
        "nonzeros": int(np.count_nonzero(values)),
        "first": [[",".join(str(mode[n]) for mode in coordinates), str(values[n])] for n in shown],
    }


def _percent(part: float, whole: float) -> str:
    if part == 0:
        return "-"
    return "<1%" if 200 * part < whole else f"{100 * part / whole:.0f}%"


def _by_port(waits: Mapping[str, int], cycles: int, layout: _TableLayout) -> str:
    """The ports that were waited for, the longest waits first; maybe only the first of them."""
    longest_first = sorted(waits.items(), key=lambda wait: -wait[1])
    told = [f"{port} {_percent(n, cycles)}" for port, n in longest_first if n]
    if layout.ports:
        return (",\n" if layout.stacked else ", ").join(told) or "-"
    return told[0] + " ..." * (len(told) > 1) if told else "-"


def _bar(block: BlockStats, cycles: int, width: int) -> Text:
    """All cycles as one bar. A character on the border of two shares goes to the first share."""
    spent = {
        "busy": block.busy,
        "starved": sum(block.starved.values()),
        "blocked": sum(block.blocked.values()),
        "memory": block.memory,
        "done": block.done,
    }
    bar, upto = Text(), 0
    for share, (character, colour) in _SHARES.items():
        upto += spent[share]
        bar.append(character * (round(width * upto / cycles) - len(bar)), colour)
    return bar


def _is_folded(row: Sequence[BlockStats]) -> bool:
    """Whether a row has the blocks of several lanes."""
    return len(row) > 1


def _legend(waits_for_memory: bool, bars: bool, lanes: bool) -> Text:
    legend = Text()
    for share, (character, colour) in _SHARES.items() if bars else ():
        if share != "memory" or waits_for_memory:
            legend.append(character, colour).append(f" {share}  ")
    legend.append("◀ most busy")
    return legend.append("\nxN: N lanes, the least, mean and most busy; else the mean" * lanes)


def _totals(told: Mapping[str, Any], seconds: float) -> Text:
    tokens = told["tokens"]
    kinds = ", ".join(f"{tokens[kind]:,} {kind}" for kind in TOKEN_KINDS)
    text = Text.assemble((f"{told['cycles']:,} cycles", "bold"))
    if told.get("time") is not None:
        text.append(_in_time(told["time"]))
    text.append(f"\n{sum(tokens.values()):,} tokens: {kinds}\n{seconds:.2f} s to simulate")
    compiling = told.get("compile_seconds", 0)
    if compiling:
        text.append(f", after {compiling:.2f} s to compile kernels, once on this machine")
    return text


def _in_time(time: Mapping[str, Any]) -> str:
    """The times of a run in words, as ``in_time`` told them."""
    said = f", {_seconds(time['seconds'])} at {time['clock_ghz']:g} GHz"
    if time["multiplications"]:
        said += f"; {time['multiplications_per_cycle']:.3g} multiplications per cycle"
    for name, level in time["memory"].items():
        peak = level["peak_gb_per_s"]
        of_peak = "" if peak is None else f" of {peak:g}"
        said += f"\n{name} moved {level['gb_per_s']:.3g}{of_peak} GB/s"
    if time["energy_pj"]:
        said += f"\n{time['energy_pj']:,.0f} pJ in all levels of memory"
    return said


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def result_lines(result: Mapping[str, Any]) -> Iterator[Text]:
    """The beginning of a result, as ``result_as_json`` told it."""
    name, shape, nonzeros = result["tensor"], result["shape"], result["nonzeros"]
    if not shape:
        yield Text(f"\n{name} = {result['first'][0][1]}")
        return
    yield Text(
        f"\n{name} has the shape {tuple(shape)}, stored as {result['format']}: "
        f"{nonzeros} nonzero{'s' * (nonzeros != 1)}"
    )
    for coordinates, value in result["first"]:
        yield Text(f"  {name}({coordinates}) = {value}")
    if result["entries"] > len(result["first"]):
        yield Text("  ...")
