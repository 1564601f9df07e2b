"""Programs on target ``sam``: graphs, and their simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from custard.program import Program
from custard.sam_lowering import lower
from sam.graph import Graph, Slot
from sam.slots import gather
from sam.tensor import Tensor


@dataclass(frozen=True)
class SamProgram(Program):
    """A program on target ``sam``; ``graph`` is its SAM graph."""

    graph: Graph

    @property
    def slots(self) -> tuple[Slot, ...]:
        return self.graph.slots

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        config: Any = None,
        overrides: Mapping[str, Any] | None = None,
        engine: str = "auto",
        validate: bool | None = None,
    ) -> Tensor:
        """The result for inputs given by name: numpy, scipy.sparse, ``sam.Tensor``, numbers.

        ``config``, ``overrides``, ``engine`` and ``validate`` are those of ``sim.simulate``. Raises
        UserError.
        """
        output = self.simulate(inputs, config, overrides, engine, validate=validate).output
        assert output is not None
        return output

    def simulate(
        self,
        inputs: Mapping[str, Any] | None = None,
        config: Any = None,
        overrides: Mapping[str, Any] | None = None,
        engine: str = "auto",
        progress: Any = None,
        validate: bool | None = None,
    ) -> Any:
        """The ``sim.Run`` for the inputs.

        The graph is ``self.graph``, but lowered again where a mode is empty, or where an input
        without a format is a dense array: that is then stored as one.
        """
        from sim.binding import extents
        from sim.simulate import simulate

        inputs = {} if inputs is None else inputs
        given = gather(self.slots, inputs)
        found = extents(self.graph, given)
        empty = {variable: 0 for variable in self.graph.nonempty if found[variable] == 0}
        dense = self.dense_arrays(inputs, given)
        graph = self.graph
        if empty or dense:
            formats, dims = {**self.formats, **dense}, {**self.dims, **empty}
            graph = lower(
                self.cin, formats, self.choices, dims, self.expression, self.drop_zeros
            ).graph
        run = simulate(graph, given, config, overrides, engine, progress, validate)
        notes = (f"{name} is a dense array, stored as {form}" for name, form in dense.items())
        return replace(run, notes=(*notes, *run.notes))
