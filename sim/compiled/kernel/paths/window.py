"""Window: firings that drop a token of either of two inputs are a path through a table of 8 by 8.

Which operand of an intersecter has the smaller coordinate is mostly a matter of chance, and so is
where its fiber ends; a branch on either is mispredicted often, which takes longer than the firing.
So the next tokens of one input, the rows, are held against those of the other, the columns. For
each pair, a bit says whether a firing would only take the row, and another whether it would only
take the column. The bits of a row are found without branches, so that the compiler vectorises the
tests.
Nothing waits in a window: all of its tokens are there when it begins.
"""

from __future__ import annotations

from sim.compiled.kernel.path import Further, KernelParts, Path
from sim.compiled.kernel.paths.at_once import ENOUGH, FIRST, judged, leaders, led, only_takes
from sim.compiled.kernel.plain import BlockKernel, each
from sim.compiled.residual import Leave

_MORE = " && e{0} - h{0} >= 2 * AT_ONCE"
_LATE = "in{0}->control[first{0} + AT_ONCE - 1] >> 2 > ready"
_KIND_IS = " & ((in{0}->control[first{0} + n] & 3) == {1})"
_COLUMNS = """#pragma GCC unroll 1
            for (int64_t n = 0; n < AT_ONCE; n++) is[n] = 1{are};
            const uint64_t columns{kind} = mask_of(is);
"""
_ROW_AT = "                const int64_t at{0} = first{0} + i;\n"
_COLUMN_AT = "                        const int64_t at{0} = first{0} + n;\n"
_KINDS_DIFFER = "                if ((in{0}->control[at{0}] & 3) != kind) break;\n"
_TABLE = """
                if (kind == {row}) {{
                    int64_t is{down}[AT_ONCE], is{across}[AT_ONCE];
#pragma GCC unroll 1
                    for (int64_t n = 0; n < AT_ONCE; n++) {{
                        int64_t alone{down}, alone{across};
{ats}{reset}{judged}
                        {label}:;
                        is{down}[n] = alone{down};
                        is{across}[n] = alone{across};
                    }}
                    goes_down |= mask_of(is{down}) & columns{column};
                    goes_across |= mask_of(is{across}) & columns{column};
                }}"""
# A column that is not taken yet has the cycle of a later firing for a while.
_TAKEN_ACROSS = " in{0}->taken[first{0} + j + n] = (uint32_t)(ready + (i + j + n) * interval);"
_TAKEN_DOWN = "                in{0}->taken[at{0}] = (uint32_t)(ready + (i + j) * interval);\n"
_WINDOW = """    window:
        while (most - fired >= 2 * AT_ONCE{enough}) {{
{firsts}            if ({late}) break;
            int64_t i = 0, j = 0, is[AT_ONCE];
{columns}            for (; i < AT_ONCE; i++) {{
{row}                const int64_t kind = in{first}->control[at{first}] & 3;
{differ}                uint64_t goes_down = 0, goes_across = 0;{tables}
#pragma GCC unroll 1
                for (int64_t n = 0; n < AT_ONCE; n++) {{{taken_across} }}
                j += __builtin_ctzll(~(goes_across >> j));
                if (!(goes_down >> j & 1)) break;
{taken_down}            }}
           {heads}
            ready += (i + j) * interval;
            fired += i + j;
            if (i == 0 || j == 0 || (i < AT_ONCE && j < AT_ONCE)) break;
        }}
        continue;"""


class FiringWindow(Path):
    """Applies where several tokens of either of two groups of inputs may be dropped at once."""

    name = "window"
    needs = frozenset({"at_once"})

    def applies(self, kernel: BlockKernel) -> bool:
        return bool(kernel.body.windows) and len(leaders(kernel)) == 2

    def write(self, kernel: BlockKernel) -> KernelParts:
        return KernelParts(headers=("mask.h",), further=[Further(_window(kernel), ())])

    def after(self, kernel: BlockKernel, line: Leave, leader: int | None) -> list[str]:
        if line.finished == "1":
            return []
        return ["goto window;" if line.finished == "0" else "if (!last) goto window;"]


def _window(kernel: BlockKernel) -> str:
    """The loop over windows."""
    down, across = sorted(leaders(kernel))
    rows, columns = led(kernel, down), led(kernel, across)
    windows = kernel.body.windows
    return _WINDOW.format(
        enough=each(ENOUGH, rows + columns) + each(_MORE, columns),
        firsts=each(FIRST, rows + columns),
        late=" || ".join(_LATE.format(q) for q, _ in rows + columns),
        columns="".join(
            _COLUMNS.format(kind=kind, are=each(_KIND_IS, ((q, kind) for q, _ in columns)))
            for kind in sorted({column for _, column in windows})
        ),
        row=each(_ROW_AT, rows),
        first=rows[0][0],
        differ=each(_KINDS_DIFFER, rows[1:]),
        tables="".join(_table(kernel, kinds) for kinds in windows),
        taken_across=each(_TAKEN_ACROSS, columns),
        taken_down=each(_TAKEN_DOWN, rows),
        heads=each(" h{0} += i;", rows) + each(" h{0} += j;", columns),
    )


def _table(kernel: BlockKernel, kinds: tuple[int, int]) -> str:
    """The bits of a row, for pairs of tokens of some kinds."""
    down, across = sorted(leaders(kernel))
    row, column = kinds
    label = f"judged_{row}_{column}"
    return _TABLE.format(
        row=row,
        column=column,
        down=down,
        across=across,
        ats=each(_COLUMN_AT, led(kernel, across)),
        reset=kernel.reset(),
        judged=judged(
            kernel.body.windows[kinds],
            label,
            lambda line: " ".join(
                f"alone{n} = {only_takes(kernel, line, n)};" for n in (down, across)
            ),
        ),
        label=label,
    )
