"""A block of one's own: a pruner, put into the graph of a matrix product.

    python examples/custom_block.py

A block is a *step*, which is a function, and a ``Kind``, which says what ports, state and memory
the step finds. Once the kind is in ``sam.blocks.KINDS``, graphs may have nodes of it, both engines
run it, and configs (``blocks.kinds.pruner.latency_cycles``), reports and drawings know its name.

The pruner goes between the blocks that give coordinates with their values and the writers of a
result. It drops the entries that are small in absolute value and, of each fiber, those beyond the
first ``most``: so hardware keeps the result of one layer of a network sparse for the next.

**The step** is called as ``step(p, s, m)`` with the ports ``p``, the state ``s``, which lasts from
firing to firing, and the memory ``m``. One call is one firing, and takes one cycle. The engine
decides in which, and may run the step of one block far ahead of the others', so it keeps six
rules:

1. It takes at most one token from each input and gives at most one to each output.
2. It peeks first. Every ``peek`` comes before the first ``take``, ``give`` or change of state:
   where the input is still empty, the engine leaves the step at the peek and runs it again later.
3. It gives before it changes memory (a ``Growing`` or the like of ``sam.blocks.block_memory``).
4. If it touches arrays in a memory that takes time, it says which entries (``p.memory.read``,
   ``p.memory.write``), after all gives and before it changes memory. The pruner touches none.
5. Only the tokens, the state and the memory decide what it does: no time, nothing random, no
   global variable that changes.
6. It returns True in the firing that takes or gives the last ``D``, and None in every other.

**What it may use.** SimPy calls the step as it is. The compiled engine reads its source and
translates it to C, so a step, and the functions that it calls, keep to what has a translation:
assignments, ``if``, ``while``, ``for`` over ports or a known ``range``, ``return``; arithmetic with
``+ - *``, and of whole numbers ``// % << >> & |``, comparisons of two things at a time, ``and``,
``or``, ``not`` of comparisons; ``min``, ``max``, ``len``, ``zip``, ``enumerate``; functions like
itself, with positional arguments; numbers and numpy arrays in the memory, and what
``sam.blocks.block_memory`` has. A whole number of the memory is passed to the C code, any other
constant is written into it. The values that a block gives are of the type of those that it takes.
``abs``, ``/``, strings, dicts, comprehensions and ``try`` have no translation: a step with one of
them is refused by the engine compiled, with its name, and runs on simpy, which ``auto`` takes by
itself.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from rich.console import Console

import custard
import sim
from sam.blocks import KINDS
from sam.blocks.base import Block, Kind, into, out
from sam.graph import Edge, End, Graph, Node, Parameters
from sam.token import DATA, DONE, EMPTY


def prune(p: Any, s: Any, m: Any) -> bool | None:
    """Passes an entry on if it is large enough, and one of the first ``most`` of its fiber."""
    kind, value = p.in_val.peek()
    crd_kind, coordinate = p.in_crd.peek()
    p.in_val.take()
    p.in_crd.take()
    if kind == DATA or kind == EMPTY:
        if kind == DATA and s.kept < m.most and _is_large(value, m.limit):
            p.crd.give(DATA, coordinate)
            p.val.give(DATA, value)
            s.kept += 1
        return None
    s.kept = 0
    p.crd.give(crd_kind, coordinate)
    p.val.give(kind, value)
    return True if kind == DONE else None


def _is_large(value: Any, limit: Any) -> bool:
    return value >= limit or value <= -limit


def _pruner(parameters: Parameters) -> Block:
    """The block of a pruner with the parameters ``limit`` and ``most``.

    The ports have no depths of their own, so it works at any depth: an output is as deep as the
    inputs, which are equally deep.
    """
    return Block(
        ports=(
            into("in_crd", "crd"),
            into("in_val", "val"),
            out("crd", "crd"),
            out("val", "val"),
        ),
        step=prune,
        state={"kept": 0},
        memory=lambda around: SimpleNamespace(limit=parameters["limit"], most=parameters["most"]),
    )


# No primitive of the SAM paper: it does not count in Table 1.
PRUNER = Kind("pruner", None, _pruner)
KINDS[PRUNER.name] = PRUNER


def with_pruner(graph: Graph, limit: float, most: int) -> Graph:
    """The graph with a pruner before the two writers that fill the last level and the values."""
    result = graph.result
    if result is None or not result.slot.levels.endswith("s"):
        raise ValueError("the last level of the result is not compressed: it keeps all entries")
    last = len(result.slot.levels) - 1
    writers = {
        node.name: "crd" if node.kind == "level_writer" else "val"
        for node in graph.nodes
        if node.kind == "value_writer"
        or (node.kind == "level_writer" and node.parameters["level"] == last)
    }
    edges = []
    for edge in graph.edges:
        port = writers.get(edge.target.node)
        if port is None:
            edges.append(edge)
        else:
            edges.append(Edge(edge.source, End("prune", f"in_{port}")))
            edges.append(Edge(End("prune", port), edge.target))
    node = Node("prune", PRUNER.name, {"limit": limit, "most": most})
    return replace(graph, nodes=(*graph.nodes, node), edges=tuple(edges))


def main() -> int:
    """Prunes a product on both engines; the exit status tells whether they agree with numpy."""
    B = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [0.5, 0.0, 0.0]])
    C = np.array([[0.5, 0.0, 1.0, 4.0], [0.0, -2.0, 0.1, 0.0], [0.25, 3.0, 0.0, -2.5]])
    program = custard.compile("X(i,j) = B(i,k) * C(k,j)", schedule="reorder(i,k,j)")
    graph = with_pruner(program.graph, limit=1.0, most=2)
    runs = [sim.simulate(graph, {"B": B, "C": C}, engine=name) for name in ("simpy", "compiled")]

    large = np.where(np.abs(B @ C) >= 1, B @ C, 0)
    due = np.where(np.cumsum(large != 0, axis=1) <= 2, large, 0)
    console = Console(highlight=False)
    console.print(f"the product:\n{B @ C}\nwhat the pruner leaves of it:")
    right = True
    for run in runs:
        assert run.output is not None
        found = run.output.to_numpy()
        right &= bool((found == due).all()) and run.cycles == runs[0].cycles
        pruner = run.blocks["prune"]
        console.print(
            f"{found}\non {run.engine}: {run.cycles} cycles, of which the pruner is busy "
            f"{pruner.busy} and starved {sum(pruner.starved.values())}"
        )
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
