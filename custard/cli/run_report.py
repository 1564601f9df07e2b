"""What a run tells, for a program (``as_json``) and, made of that, for a person (``summary``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sam.tensor import Tensor
from sim.stats import TOKEN_KINDS, BlockStats, Run

_BAR_WIDTH = 20
_SHOWN_ENTRIES = 5
# Where a block's cycles go: the bar's character, which tells without colour, and its colour.
_SHARES = {
    "busy": ("█", "green"),
    "starved": ("░", "yellow"),
    "blocked": ("▒", "red"),
    "memory": ("▚", "magenta"),
    "done": ("·", "bright_black"),
}


def summary(told: Mapping[str, Any], seconds: float) -> RenderableType:
    """The blocks, the totals and the beginning of the result of a run, as ``as_json`` told it.

    ``seconds`` is the time that it took.
    """
    lines = () if told["result"] is None else result_lines(told["result"])
    memory = [Padding(memory_table(told), (0, 0, 1, 0))] if told.get("memory") else []
    parts = told.get("graphs")
    if not parts:
        table = Padding(blocks_table(told), (1, 0))
        return Group(table, *memory, _totals(told, seconds), *lines)
    shown: list[RenderableType] = []
    for n, part in enumerate(parts, 1):
        share = _percent(part["cycles"], told["cycles"])
        title = f"\ngraph {n} of {len(parts)}, {part['cycles']:,} cycles ({share}): "
        shown += [Text(title, "bold").append(part["title"]), Padding(blocks_table(part), (1, 0))]
    return Group(*shown, *memory, _totals(told, seconds), *lines)


def bottleneck(run: Run) -> str | None:
    """The block with the most busy cycles, the first of them; None where no block was busy."""
    blocks = _machine_blocks(run.blocks)
    busiest = max(blocks, key=lambda name: blocks[name].busy, default=None)
    return None if busiest is None or blocks[busiest].busy == 0 else busiest


def blocks_table(told: Mapping[str, Any]) -> Table:
    """Where the cycles of each block went, in per cent of the run's, as ``as_json`` told it."""
    blocks = _machine_blocks({name: BlockStats(**each) for name, each in told["blocks"].items()})
    cycles = told["cycles"]
    waits_for_memory = any(block.memory for block in blocks.values())
    table = Table(box=None, header_style="bold", pad_edge=False, caption=_legend(waits_for_memory))
    table.caption_justify = "left"
    table.add_column("block", no_wrap=True)
    table.add_column("fired", justify="right")
    table.add_column("busy", justify="right")
    table.add_column("of all cycles", no_wrap=True)
    table.add_column("starved by")
    table.add_column("blocked by")
    if waits_for_memory:
        table.add_column("memory", justify="right")
    table.add_column("done", justify="right")
    marked = told["bottleneck"]
    for name, block in blocks.items():
        cells: list[RenderableType] = [
            Text(f"{name} ◀" if name == marked else name, "bold" if name == marked else ""),
            str(block.fired),
            _percent(block.busy, cycles),
            _bar(block, cycles),
            _by_port(block.starved, cycles),
            _by_port(block.blocked, cycles),
            _percent(block.done, cycles),
        ]
        if waits_for_memory:
            cells.insert(-1, _percent(block.memory, cycles))
        table.add_row(*cells)
    return table


def memory_table(told: Mapping[str, Any]) -> Table:
    """What each level of memory did, in all and for each tensor, as ``as_json`` told it."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("memory", no_wrap=True)
    columns = "reads", "writes", "bytes read", "written", "hits", "at most", "pJ", "busy"
    for column in columns:
        table.add_column(column, justify="right")
    for name, level in told["memory"].items():
        busy = max(level["busy"], default=0)
        table.add_row(name, *_traffic(level["total"]), _percent(busy, told["cycles"]), style="bold")
        for tensor, traffic in level["tensors"].items():
            table.add_row(f"  {tensor}", *_traffic(traffic), "")
    return table


def _traffic(told: Mapping[str, Any]) -> list[str]:
    """The cells of some traffic."""
    looked_up = told["hits"] + told["misses"]
    return [
        f"{told['reads']:,}",
        f"{told['writes']:,}",
        f"{told['bytes_read']:,}",
        f"{told['bytes_written']:,}",
        _percent(told["hits"], looked_up) if looked_up else "-",
        f"{told['peak_bytes']:,}",
        f"{told['energy_pj']:,.0f}" if told["energy_pj"] else "-",
    ]


def as_json(run: Run) -> dict[str, Any]:
    """The run as plain JSON data, with no more of its result than the summary shows.

    ``blocks`` by node: the fields of ``BlockStats``; ``streams`` by edge: those of
    ``StreamStats``; ``memory`` by level: those of ``MemoryStats``, and the ``total`` of its
    tensors; ``result``: the tensor's name, shape, format, type of the values, how many are stored
    (``nnz``), how many of them are entries and not 0, and the first entries as text.
    """
    told = {
        "engine": run.engine,
        "config": dict(run.config),
        "cycles": run.cycles,
        "tokens": _tokens(run),
        "bottleneck": bottleneck(run),
        "blocks": {name: asdict(block) for name, block in run.blocks.items()},
        "streams": {name: asdict(stream) for name, stream in run.streams.items()},
        "memory": {
            name: {**asdict(level), "total": asdict(level.total)}
            for name, level in run.memory.items()
        },
        "result": _result(run),
    }
    if run.parts:
        told["graphs"] = [{"title": part.graph.title, **as_json(part)} for part in run.parts]
    return told


def _machine_blocks(blocks: Mapping[str, BlockStats]) -> dict[str, BlockStats]:
    """The blocks without the root, which stands outside the machine."""
    return {name: block for name, block in blocks.items() if block.kind != "root"}


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


def _by_port(waits: Mapping[str, int], cycles: int) -> str:
    """The ports that were waited for, the longest waits first."""
    longest_first = sorted(waits.items(), key=lambda wait: -wait[1])
    return ", ".join(f"{port} {_percent(n, cycles)}" for port, n in longest_first if n) or "-"


def _bar(block: BlockStats, cycles: int) -> Text:
    """All cycles as one bar. What is left of a character goes to the share that it cuts."""
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
        bar.append(character * (round(_BAR_WIDTH * upto / cycles) - len(bar)), colour)
    return bar


def _legend(waits_for_memory: bool) -> Text:
    legend = Text()
    for share, (character, colour) in _SHARES.items():
        if share != "memory" or waits_for_memory:
            legend.append(character, colour).append(f" {share}  ")
    return legend.append("◀ the bottleneck: the most busy cycles")


def _totals(told: Mapping[str, Any], seconds: float) -> Text:
    tokens = told["tokens"]
    kinds = ", ".join(f"{tokens[kind]:,} {kind}" for kind in TOKEN_KINDS)
    text = Text.assemble((f"{told['cycles']:,} cycles", "bold"))
    return text.append(f"\n{sum(tokens.values()):,} tokens: {kinds}\n{seconds:.2f} s to simulate")


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
