"""Texts of the published dialect, written by hand."""

from __future__ import annotations


def dot(formats: str, nodes: str, edges: str) -> str:
    """A text of the dialect: a node a line, ``name type key=value ...``, and an edge a line,
    ``source target stream label``."""
    lines = ["digraph SAM {", f'    comment="{formats}"']
    for line in nodes.strip().splitlines():
        name, type, *attributes = line.split()
        quoted = (
            f'{key}="{value}"' for key, _, value in (one.partition("=") for one in attributes)
        )
        lines.append(f'    {name} [type="{type}" {" ".join(quoted)}]')
    for line in edges.strip().splitlines():
        source, target, kind, *label = line.split()
        comment = f' comment="{label[0]}"' if label else ""
        lines.append(f'    {source} -> {target} [type="{kind}"{comment}]')
    return "\n".join([*lines, "}"]) + "\n"
