"""Random scheduling commands, for the property tests of both targets."""

import re
from collections.abc import Sequence

from hypothesis import strategies as st

_BOTH = (
    *("split", "divide", "tile", "fuse", "pos", "coord", "shares", "precompute", "choice"),
    *("reorder", "reorder", "bound"),
)
SAM = (*_BOTH, "shares", "shares", "lanes", "lanes")
C = (*_BOTH, "parallelize", "parallelize", "unroll", "assemble")
_ACCESS = r"\w+\([\w,]*\)"
UNITS = ("CPUThread", "CPUThread", "CPUVector", "NotParallel")
RACES = ("NoRaces", "IgnoreRaces", "Atomics", "Temporary", "ParallelReduction")


@st.composite
def commands(
    draw: st.DrawFn, expression: str, loops: Sequence[str], n: int, kinds: Sequence[str]
) -> str:
    """A command, or some that go together, for a program with these loops; most are legal.

    ``n`` makes their names new ones.
    """
    right = expression.partition("=")[2]
    kind = draw(st.sampled_from(kinds))
    loop = draw(st.sampled_from(loops))
    inner = loops[(loops.index(loop) + 1) % len(loops)]
    size = draw(st.integers(1, 4))
    tensor = draw(st.sampled_from(re.findall(r"\w+(?=\()", right) or ["B"]))
    match kind:
        case "split" | "divide":
            return f"{kind}({loop},{loop}{n}a,{loop}{n}b,{size})"
        case "tile":
            return draw(st.sampled_from((f"tile({size})", f"tile({2 * size},{size})")))
        case "reorder":
            return f"reorder({','.join(draw(st.permutations(loops)))})"
        case "fuse":
            return f"fuse({loop},{inner},f{n})"
        case "pos":
            return f"pos({loop},{loop}{n}p,{tensor})"
        case "coord":
            return f"coord({loop},{loop}{n}c)"
        case "shares":
            split = draw(st.sampled_from(("split", "divide")))
            fused = f"fuse({loop},{inner},f{n});" if draw(st.booleans()) else ""
            taken = f"f{n}" if fused else loop
            return f"{fused}pos({taken},p{n},{tensor});{split}(p{n},p{n}a,p{n}b,{size})"
        case "precompute":
            parts = re.findall(rf"(?={_ACCESS} [*+] {_ACCESS})({_ACCESS} [*+] {_ACCESS})", right)
            part = draw(st.sampled_from([*parts, *re.findall(_ACCESS, right)] or ["B"]))
            return f"precompute({part},{loop},{draw(st.sampled_from((loop, f'{loop}{n}w')))})"
        case "choice":
            return f"{draw(st.sampled_from(('locate', 'coiterate')))}({tensor},{loop})"
        case "lanes":
            return f"parallelize({loop},Lanes,{size})"
        case "parallelize":
            unit, races = draw(st.sampled_from(UNITS)), draw(st.sampled_from(RACES))
            return f"parallelize({loop},{unit},{races})"
        case "bound":
            kind, number = draw(st.sampled_from((("MaxConstraint", 100), ("MinConstraint", 0))))
            return f"bound({loop},{loop}{n}m,{number},{kind})"
        case "assemble":
            return f"assemble(X,{draw(st.sampled_from(('Append', 'Insert')))})"
    return f"unroll({loop},{size})"
