"""Programs on target ``sam``: graphs, and their simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from custard.ir import cin
from custard.language.formats import Format, parse_format, require_writable
from custard.program import Program
from custard.scheduling.bounds import require_bounds, require_few_pairs
from custard.scheduling.provenance import Derived, derive
from custard.scheduling.statement import Scheduled, Statement
from custard.to_sam.lowering import LoweredGraph, lower
from sam.blocks import primitives
from sam.derivations import Rename, with_derived
from sam.graph import Graph, Slot
from sam.inputs import extents, gather
from sam.support.errors import UserError
from sam.tensor import Tensor


def loaded(config: Any, overrides: Mapping[str, Any] | None = None) -> Any:
    """The machine that a config and overrides mean; raises UserError."""
    from sim.config.hardware import load

    return load(config, overrides)


@dataclass(frozen=True)
class Stage:
    """A statement of a program and its graph."""

    statement: Statement
    lowered: LoweredGraph
    notes: tuple[str, ...]

    @property
    def graph(self) -> Graph:
        return self.lowered.graph

    @property
    def tensor(self) -> str:
        """The tensor that it computes."""
        return self.statement.program.target.tensor


@dataclass(frozen=True, repr=False)
class SamProgram(Program):
    """A program on target ``sam``.

    ``scheduled``  its statements, each of which becomes a graph
    """

    scheduled: Scheduled

    target = "sam"

    def described(self) -> dict[str, Any]:
        counts: Counter[str] = Counter()
        for graph in self.graphs:
            counts.update(primitives(graph))
        return {"primitives": dict(sorted(counts.items()))}

    def shown(self) -> dict[str, Any]:
        from sam.drawing import picture  # here, as few programs are shown

        return {"graphs": [picture(graph).decode() for graph in self.graphs]}

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The statements with their graphs."""
        return tuple(self._stage(one, {}, {}) for one in self.scheduled.statements)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """Its SAM graphs, in the order in which they run; the last one makes the result."""
        return tuple(stage.graph for stage in self.stages)

    @property
    def graph(self) -> Graph:
        """The last of its SAM graphs, or the only one."""
        return self.stages[-1].graph

    @property
    def slots(self) -> tuple[Slot, ...]:
        workspaces = self.scheduled.workspaces
        slots = (slot for graph in self.graphs for slot in graph.slots)
        return tuple(slot for slot in slots if slot.tensor not in workspaces)

    @property
    def identity(self) -> str:
        from sam.dot import to_dot  # here, as few programs are written

        graphs = (replace(graph, title="") for graph in self.graphs)
        return "\n".join(map(to_dot, graphs))

    @property
    def rearranged(self) -> bool:
        return any(stage.lowered.rearranged for stage in self.stages)

    @property
    def statements(self) -> tuple[cin.LoopProgram, ...]:
        """The concrete index notation of each graph, by its own loops."""
        return tuple(self._derived(stage.statement, {}).program for stage in self.stages)

    def _repr_svg_(self) -> str:
        """The picture that a notebook shows: of the graph that makes the result."""
        return self.graph._repr_svg_()

    def with_notes(self) -> SamProgram:
        """The program, with the notes of its graphs."""
        notes = dict.fromkeys(self.notes)
        for stage in self.stages:
            lowered = stage.lowered
            notes |= dict.fromkeys((*stage.notes, *lowered.rearranged, *lowered.decisions))
        found = replace(self, notes=tuple(notes))
        found.__dict__["stages"] = self.stages
        return found

    def extents(self, inputs: Mapping[str, Tensor]) -> dict[str, int]:
        """The extent of each variable of the expression; raises what ``sam.inputs`` raises."""
        return extents(self.slots, inputs, self.dims, (), (), self.cin.spans)

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        config: Any = None,
        overrides: Mapping[str, Any] | None = None,
        engine: str = "auto",
        validate: bool | None = None,
        max_cycles: int | None = None,
        threads: int = 1,
    ) -> Tensor:
        """The result for inputs given by name: numpy, scipy.sparse, ``sam.Tensor``, numbers.

        The other arguments are those of ``sim.simulate``. Raises UserError.
        """
        run = self.simulate(
            inputs,
            config,
            overrides,
            engine,
            validate=validate,
            max_cycles=max_cycles,
            threads=threads,
        )
        output = run.output
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
        max_cycles: int | None = None,
        attribution: bool = False,
        tokens: bool = False,
        threads: int = 1,
        orders: Sequence[Any] | None = None,
    ) -> Any:
        """The ``sim.Run`` for the inputs; its ``parts`` are the runs of several graphs.

        Arguments and errors are those of ``sim.simulate``; ``orders`` has one for each graph.

        The graphs are ``self.graphs``, but lowered again where a mode is empty, or where an input
        without a format is a dense array, which is then stored dense.
        """
        from sim.endless import OutOfCycles
        from sim.simulation import simulate

        given, dense, notes = self._given(inputs)
        known, tensors = self._extents(given), self._tensors(given)
        runs: list[Any] = []
        left = max_cycles
        for n, stage in enumerate(self.stages):
            graph, own = self._graph(stage, given, dense, known)
            try:
                run = simulate(
                    graph,
                    own,
                    config,
                    overrides,
                    engine,
                    progress,
                    validate,
                    tensors,
                    left,
                    attribution,
                    tokens,
                    threads,
                    None if orders is None else orders[n : n + 1],
                )
            except OutOfCycles as mistake:
                assert max_cycles is not None
                raise mistake.after(runs, max_cycles) from None
            assert run.output is not None
            if left is not None:
                left -= run.cycles
            runs.append(run)
            given[stage.tensor] = run.output
        again = partial(
            self.simulate,
            inputs,
            engine=engine,
            progress=progress,
            validate=validate,
            threads=threads,
        )
        return self._whole(runs, notes, inputs, engine, None if orders is not None else again)

    def _whole(
        self,
        runs: Sequence[Any],
        notes: Sequence[str],
        inputs: Mapping[str, Any] | None,
        engine: str,
        again: Callable[..., Any] | None,
    ) -> Any:
        """The run of the program, made of the runs of its graphs."""
        from sim.stats import in_turn

        whole = in_turn(runs)
        others = partial(self._alternatives, inputs, whole.config, engine)
        notes = (*notes, *whole.notes)
        about = {
            "expression": self.expression,
            "cin": [str(one) for one in self.statements],
            "formats": {name: str(form) for name, form in self.formats.items() if form.levels},
            "schedule": list(self.schedule),
            "notes": [*self.notes, *notes],
        }
        return replace(whole, notes=notes, again=again, alternatives=others, about=about)

    def _alternatives(
        self, inputs: Mapping[str, Any] | None, config: Mapping[str, Any], engine: str
    ) -> list[Any]:
        """Other programs for the same expression, with functions that run them."""
        from custard.alternatives import alternatives
        from sim.stats import Alternative

        return [
            Alternative(
                what,
                (f'-s "{what}"' if what.endswith(")") else f"-f {what}",),
                partial(other.simulate, inputs, config, engine=engine),
            )
            for what, other in alternatives(self).items()
        ]

    def simulate_many(
        self,
        inputs: Mapping[str, Any] | None = None,
        configs: Iterable[Any] = (),
        overrides: Mapping[str, Any] | None = None,
        engine: str = "auto",
        max_cycles: int | None = None,
        finished: Callable[[int, Any], None] | None = None,
        return_errors: bool = False,
    ) -> list[Any]:
        """The ``sim.Run`` under each of some configs, each equal to ``simulate`` of that config.

        Arguments and errors are those of ``sim.simulate_many``.
        """
        from sim.config.hardware import load_each
        from sim.endless import OutOfCycles
        from sim.many import outcomes_of, runs_of
        from sim.simulation import require_engine, require_limit
        from sim.stats import Run

        require_engine(engine)
        require_limit(max_cycles)
        loaded = load_each(configs, overrides)
        given, dense, notes = self._given(inputs)
        known, tensors = self._extents(given), self._tensors(given)
        parts: list[list[Run]] = [[] for _ in loaded]
        failed: dict[int, Any] = {}
        done: dict[int, Any] = {}

        def finish(left: Sequence[int], last: bool, k: int, outcome: Any) -> None:
            """Takes the outcome of a stage under a config; the last stage's is the program's."""
            n = left[k]
            if isinstance(outcome, Run):
                parts[n].append(outcome)
                if not last:
                    return
                again = partial(self.simulate, inputs, engine=engine)
                outcome = self._whole(parts[n], notes, inputs, engine, again)
            else:
                if isinstance(outcome, OutOfCycles) and max_cycles is not None:
                    outcome = outcome.after(parts[n], max_cycles)
                failed[n] = outcome
            done[n] = outcome
            if finished is not None:
                finished(n, outcome)

        for stage in self.stages:
            left = [n for n in range(len(loaded)) if n not in failed]
            if not left:
                break
            graph, own = self._graph(stage, given, dense, known)
            limits = [
                None if max_cycles is None else max_cycles - sum(run.cycles for run in parts[n])
                for n in left
            ]
            outcomes_of(
                graph,
                own,
                [loaded[n] for n in left],
                engine,
                tensors,
                limits,
                partial(finish, left, stage is self.stages[-1]),
            )
            # All configs compute the same tensor.
            computed = next((parts[n][-1].output for n in left if n not in failed), None)
            if computed is not None:
                given[stage.tensor] = computed
        outcomes = [done[n] for n in range(len(loaded))]
        return outcomes if return_errors else runs_of(outcomes)

    def size_queues(
        self,
        inputs: Mapping[str, Any] | None = None,
        config: Any = None,
        overrides: Mapping[str, Any] | None = None,
        slack: float = 0.0,
        engine: str = "auto",
        tried: Callable[[int], None] | None = None,
    ) -> Any:
        """The smallest depth of every queue: a ``sim.sizing.Sizing``.

        Arguments and errors are those of ``sim.sizing.size_queues``; raises UserError for a
        program of several graphs.
        """
        from sim.sizing import size_queues

        if len(self.stages) > 1:
            tensors = ", ".join(stage.tensor for stage in self.stages)
            raise UserError(
                f"the program has {len(self.stages)} graphs, for {tensors}, and queues are sized "
                "for one",
                hint="leave out precompute, or size each statement by itself",
            )
        given, dense, _ = self._given(inputs)
        graph, own = self._graph(self.stages[0], given, dense, self._extents(given))
        return size_queues(graph, own, config, overrides, slack, engine, tried)

    def _given(
        self, inputs: Mapping[str, Any] | None
    ) -> tuple[dict[str, Tensor], dict[str, Format], list[str]]:
        """The inputs by name, the formats of those that are dense arrays, and notes on their
        storage."""
        inputs = {} if inputs is None else inputs
        given = gather(self.slots, inputs)
        dense = self.dense_arrays(inputs, given)
        notes = [f"{n} is a dense array, stored as {form}" for n, form in dense.items()]
        for name, tensor in given.items():
            asked, value = self.formats[name], inputs[name]
            if name in dense or isinstance(value, Tensor) or not tensor.ndim:
                continue
            if _format_of(value, tensor.ndim) != asked:
                before = getattr(value, "format", type(value).__name__)
                told = f"{name} is converted from {before} on each run, as the graph reads {asked}"
                notes.append(told)
        return given, dense, notes

    def _extents(self, given: Mapping[str, Tensor]) -> dict[str, int]:
        """The extents for inputs; raises UserError for inputs that break bounds of the schedule."""
        known = self.extents(given)
        for statement in self.scheduled.statements:
            # A tensor with computed subscripts tells the extents of its modes that only got new
            # names.
            for one in reversed(statement.derivations):
                if isinstance(one, Rename) and one.name in known:
                    known.setdefault(one.variable, known[one.name])
            require_few_pairs(statement.derivations, known)
        require_bounds(self.scheduled.bounds, self.cin, known, given)
        return known

    def _tensors(self, given: Mapping[str, Tensor]) -> list[str]:
        """All tensors of the program, which a config may name."""
        return [*given, *(stage.tensor for stage in self.stages)]

    def _graph(
        self,
        stage: Stage,
        given: Mapping[str, Tensor],
        dense: Mapping[str, Format],
        known: Mapping[str, int],
    ) -> tuple[Graph, dict[str, Tensor]]:
        """The graph of a stage for these inputs, and the inputs that it reads."""
        from sim.binding import extents as extents_of

        graph = stage.graph
        if len(self.stages) > 1:
            graph = replace(graph, dims=tuple({**dict(graph.dims), **known}.items()))
        used = {slot.tensor for slot in graph.slots}
        own = {name: tensor for name, tensor in given.items() if name in used}
        found = extents_of(graph, own)
        empty = {variable: 0 for variable, extent in found.items() if extent == 0}
        stored = {name: form for name, form in dense.items() if name in own}
        if stored or empty.keys() & {*graph.nonempty}:
            more = {**known, **empty} if len(self.stages) > 1 else empty
            graph = self._stage(stage.statement, stored, more).graph
        return graph, own

    def _derived(self, statement: Statement, dense: Mapping[str, Format]) -> Derived:
        """A statement by its loops, with some formats beside those of the program."""
        formats = {**self.formats, **self.scheduled.workspaces, **dense}
        return derive(statement.program, statement.derivations, statement.loops, formats)

    def _stage(
        self, statement: Statement, dense: Mapping[str, Format], empty: Mapping[str, int]
    ) -> Stage:
        """The stage of a statement, with some formats and extents beside those of the program."""
        target = statement.program.target.tensor
        is_last = target not in self.scheduled.workspaces
        if is_last:
            require_writable(self.formats[target], target)
        derived = self._derived(statement, dense)
        choices = {
            (name, loop): choice
            for name in derived.formats
            for (tensor, loop), choice in self.choices.items()
            if derived.tensor(name) == tensor
        }
        title = self.expression
        if len(self.scheduled.statements) > 1:
            title = f"{statement.program.target} = {statement.program.value}"
        known = with_derived(self.dims, statement.derivations)
        zero = {variable: 0 for variable, extent in known.items() if extent == 0}
        lowered = lower(
            derived.program,
            derived.formats,
            choices,
            {**self.dims, **zero, **empty},
            title,
            self.drop_zeros and is_last,
            statement.lanes,
        )
        graph = derived.attach(lowered.graph)
        read = dict.fromkeys(slot.tensor for slot in graph.slots if slot.tensor)
        computed = tuple(name for name in read if name in self.scheduled.workspaces)
        lowered = replace(lowered, graph=replace(graph, computed=computed))
        return Stage(statement, lowered, derived.notes)


def _format_of(array: Any, ndim: int) -> Format | None:
    """The format of an array of numpy or scipy; None if the format language has none for it."""
    try:
        return parse_format(getattr(array, "format", "d" * ndim), ndim)
    except UserError:
        return None
