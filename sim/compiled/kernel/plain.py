"""The plain kernel: fires a block one firing at a time, until an input is empty or an output full.

The state and the ends of all queues are in local variables. A firing happens at ``now``, the first
cycle in which everything that it needs is there; ``cause`` is the slot that was last. A give looks
for room by itself. If there is none, the state is restored to that before the firing, and the call
ends.

A block that reads a wire, or touches a memory that it shares with others, depends on time. Before
it reads or asks, it compares the cycle with a limit, and stops in the state before the firing if it
comes after that. The scheduler raises the limit once all other blocks have reached it.

A firing that touches memory happens when ports have taken all of its request. The tokens that it
gives are made when all of the data is there, or later (``made``); so the queues that it gives to
keep the cycles of giving, too (``stamps``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sim.compiled.kernel import c
from sim.compiled.kernel.ends import QueueEnd, slots
from sim.compiled.kernel.path import InputEnd, KernelParts, OutputEnd, Path
from sim.compiled.residual import Body, Fail, Leave, Line, StepPort, Touch, Wait, firsts


def each(form: str, items: Iterable[tuple[object, ...]]) -> str:
    """A form filled in with each item, one after the other."""
    return "".join(form.format(*item) for item in items)


class BlockKernel:
    """A kernel of a block between queues, with the given paths that apply to it."""

    def __init__(
        self,
        body: Body,
        inputs: Sequence[QueueEnd],
        outputs: Sequence[QueueEnd],
        paths: Sequence[Path] = (),
        kept: bool = False,
    ) -> None:
        """``kept`` if wires are read as in the order of service that is kept."""
        self.body, self.inputs, self.outputs, self.kept = body, inputs, outputs, kept
        self.queue_of = {port: q for q, queue in enumerate(inputs) for port in queue.ports}
        self.queued = {body.given[port] for queue in outputs for port in queue.ports}
        self.bounded = any(queue.bounded for queue in outputs)
        self.wires = [(q, queue.ports[0]) for q, queue in enumerate(inputs) if queue.wire]
        self.touches = body.touches > 0
        self.saved = list(body.state) if self.bounded or self.touches else []
        self.paths = [path for path in paths if path.applies(self)]
        self.input_ends = {q: self.input_end(q) for q in range(len(inputs))}
        self.output_ends = {q: self.output_end(q) for q in range(len(outputs))}
        self.parts: list[KernelParts] = []
        for path in self.paths:
            part = path.write(self)
            self.input_ends |= part.inputs
            self.output_ends |= part.outputs
            self.parts.append(part)

    def source(self) -> str:
        """The whole C source."""
        body, unbounded = self.body, [(q, o) for q, o in enumerate(self.outputs) if not o.bounded]
        first = next((part.first for part in self.parts if part.first), body.general or body.first)
        return c.TEMPLATE.format(
            headers=each(
                '#include "{}"\n', ((name,) for part in self.parts for name in part.headers)
            ),
            ends=c.ENDS + c.LATE,
            fields=each("    {} {};\n", ((t, name) for name, (t, _) in body.state.items()))
            + each(c.WIRE_FIELDS, ((n, body.inputs[n].ctype) for _, n in self.wires))
            or "    char none;\n",
            starts=each("    s->{} = {};\n", ((n, value) for n, (_, value) in body.state.items()))
            + each("    s->k{} = EMPTY;\n", ((n,) for _, n in self.wires)),
            places=self.places(),
            macros="".join(end.macros for end in self.output_ends.values())
            + "".join(self.input_macros(p) for p in body.inputs if not p.wire)
            + "".join(map(self.output_macros, body.outputs)),
            fired=c.TOUCHING_FIRED if self.touches else c.FIRED,
            locals=self.locals(),
            prepared="".join(part.begin for part in self.parts),
            most=next((part.most for part in self.parts if part.most), "MOST_FIRINGS"),
            room="".join(c.ROOM.format(q=q, places=queue.places) for q, queue in unbounded),
            begin=self.begin(first),
            read=self.read(),
            reset=self.reset(),
            firings="\n".join([self.text(first), *self.further()]),
            crowded="".join(self.crowded(q, queue) for q, queue in unbounded),
            ordered=self.ordered(),
            blocked=self.blocked(),
            back=self.back(),
        )

    # Before the firings

    def places(self) -> str:
        """The structures in which the tokens of the queues are."""
        ends = [("In", q, queue, self.body.inputs) for q, queue in enumerate(self.inputs)]
        ends += [("Out", q, queue, self.body.outputs) for q, queue in enumerate(self.outputs)]
        return "".join(
            c.PLACES.format(
                end=end,
                q=q,
                places=queue.places,
                columns=each(
                    " {} column{}[{} + GAP];",
                    (
                        (ports[p].ctype, column, queue.places)
                        for column, p in enumerate(queue.ports)
                    ),
                )
                + (c.STAMPS.format(queue.places) if end == "Out" and self.touches else ""),
            )
            for end, q, queue, ports in ends
        )

    def input_end(self, q: int) -> InputEnd:
        """The C of a queue that the block takes from."""
        return InputEnd(there=c.THERE.format(q=q))

    def output_end(self, q: int) -> OutputEnd:
        """The C of a queue that the block gives to."""
        bounded = self.outputs[q].bounded
        return OutputEnd(
            macros=c.HEAD.format(q=q) if bounded else "",
            locals=c.OUTPUT_QUEUE.format(q=q) + (c.DEPTH.format(q=q) if bounded else ""),
            back=c.OUTPUT_BACK.format(q=q, wake=c.WAKE_READER.format(q=q)),
        )

    def locals(self) -> str:
        """The local variables."""
        body, parts = self.body, []
        for q, queue in enumerate(self.inputs):
            const = "const " if self.input_ends[q].fixed else ""
            parts.append(c.INPUT_QUEUE.format(q=q, const=const, end=end_of(q, queue)))
        parts += [end.locals for end in self.output_ends.values()]
        parts += [
            (c.WIRE if port.wire else c.INPUT).format(n=port.index, ctype=port.ctype)
            for port in body.inputs
        ]
        parts += [c.OUTPUT.format(n=port.index, ctype=port.ctype) for port in body.outputs]
        parts.append(each("    {1} {0} = 0;\n", body.variables.items()))
        for name, (ctype, _) in body.state.items():
            parts.append(f"    {ctype} {name} = state->{name};\n")
            parts.append(f"    {ctype} o{name} = {name};\n" if self.saved else "")
        for k, (name, ctype) in enumerate(body.memory.items()):
            parts.append(f"    {ctype} *restrict {name} = b->memory[{k}];\n")
        for k, name in enumerate(body.numbers):
            parts.append(f"    const int64_t {name} = b->numbers[{k}];\n")
        timed = self.wires and not self.kept
        parts.append("    const int64_t limit = b->limit;\n" if timed else "")
        parts.append(c.TOUCHING if self.touches else "")
        return "".join(parts)

    def input_macros(self, port: StepPort) -> str:
        """The macros for the lines of a step that peek at an input, or take from it."""
        n, q = port.index, self.queue_of[port.index]
        queue, first = self.inputs[q], self.body.taken[port.index] == port.index
        return c.INPUT_MACROS.format(
            n=n,
            q=q,
            column=queue.ports.index(n),
            kinds=each(" k{} = c_ & 3;", ((p,) for p in queue.ports)),
            there=self.input_ends[q].there.replace("$n", str(n)),
            take=f" take{n} = 1;" if first else "",
            some=f" take{n} |= (test);" if first else "",
        )

    def output_macros(self, port: StepPort) -> str:
        """The macros for the lines of a step that give to an output, and look for room in it."""
        n = port.index
        bounded = [
            (q, self.slot(n, q), queue.places)
            for q, queue in enumerate(self.outputs)
            if queue.bounded and n in queue.ports
        ]
        return c.OUTPUT_MACROS.format(
            n=n,
            first=f" give{n} = 1; gk{n} = (kind);" if self.body.given[n] == n else "",
            full=each(c.FULL, bounded),
            freed=each(c.FREED, bounded),
        )

    def slot(self, port: int, q: int) -> int:
        """The slot of an output port at one of its queues."""
        given = slots([queue.ports for queue in self.outputs])
        return len(self.body.inputs) + given.index((port, q))

    def read(self) -> str:
        """Reads the wires, before all else: in the first cycle in which the block may fire."""
        if not self.wires:
            return ""
        order, read = ("", c.KEPT_READ) if self.kept else (c.ORDER, c.READ)
        return (
            order
            + "".join(
                read.format(w=w, q=q, n=n, at=f"h{q} & {self.inputs[q].places - 1}")
                for w, (q, n) in enumerate(self.wires)
            )
            + self.seen()
        )

    def seen(self) -> str:
        """Waits for the messages of the firing, where it must have read them."""
        return each(c.SEEN, ((w, n) for w, (_, n) in enumerate(self.wires))) if self.kept else ""

    # Firings

    def further(self) -> Iterable[str]:
        """The firings of the paths."""
        for part in self.parts:
            for one in part.further:
                yield one.opening + self.text(one.lines, one.leader)

    def begin(self, lines: Sequence[Line], leader: int | None = None) -> str:
        """Begins a firing; ``leader`` is the leader of the firing that it follows, if any."""
        ends = (
            (q, end.places)
            for q, end in enumerate(self.inputs)
            if not end.wire and leader in (None, self.body.taken[end.ports[0]])
        )
        return c.BEGIN + each(c.AT, ends) + self.save(lines)

    def save(self, lines: Sequence[Line]) -> str:
        """Keeps the state, in case the firing does not come to its end."""
        waits = any(isinstance(line, Wait) and self.needs_room(line) for line in lines)
        if not self.saved or not (waits or self.touches):
            return ""
        return self.keep

    @property
    def keep(self) -> str:
        """Keeps the state."""
        return f"       {each(' o{0} = {0};', ((name,) for name in self.saved))}\n"

    @property
    def restore(self) -> str:
        """Brings back the state that was kept."""
        return each(" {0} = o{0};", ((name,) for name in self.saved))

    def reset(self) -> str:
        """Forgets the firing before."""
        taken = (n for n in firsts(self.body.taken) if not self.body.inputs[n].wire)
        return (
            each("        take{} = 0;\n", ((n,) for n in taken))
            + each("        give{} = 0;\n", ((n,) for n in firsts(self.body.given)))
            + ("        asks = 0;\n" if self.touches else "")
        )

    def text(self, lines: Sequence[Line], leader: int | None = None) -> str:
        """The C of a firing; ``leader`` is the leader of the firing that it follows, if any."""
        return "\n".join(filter(None, (self.line(line, leader) for line in lines)))

    def line(self, line: Line, leader: int | None) -> str:
        match line:
            case Wait(indent, port, output, _, data):
                if output:
                    return f"{indent}ROOM{port}" if self.needs_room(line) else ""
                return f"{indent}PEEK{'_DATA' * data}{port}" if self.is_new(line) else ""
            case Touch(indent, region, index, write):
                return f"{indent}TOUCH({region}, {index}, {int(write)})"
            case Fail(_, message, _, value):
                about = "" if value is None else f"b->which = {value}; "
                return line.then(f"{about}b->port = {message}; goto failed;")
            case Leave():
                return self.leave(line, leader)
            case _:
                return line

    def needs_room(self, line: Wait) -> bool:
        """Whether a line waits for room that its firing has not waited for yet."""
        return line.output and any(
            queue.bounded and line.port in queue.ports and not line.after & {*queue.ports}
            for queue in self.outputs
        )

    def is_new(self, line: Wait) -> bool:
        """Whether the firing has not peeked at the queue of an input yet."""
        return not line.after & {*self.inputs[self.queue_of[line.port]].ports}

    def leave(self, line: Leave, leader: int | None) -> str:
        """Ends a firing: tokens move, and the next firing begins."""
        known = line.finished in ("0", "1")
        lines = ["FIRED"] if known else [f"last = {line.finished};", "FIRED"]
        for q, queue in enumerate(self.inputs):
            if queue.ports[0] in line.takes:
                first, sure = self.body.taken[queue.ports[0]], line.takes[queue.ports[0]]
                lines.append(f"{c.TAKEN.format(q=q)} h{q} += {'1' if sure else f'take{first}'};")
                taken = self.input_ends[q].taken
                lines += [taken.replace("$taken", "1" if sure else f"take{first}")] if taken else []
        for n, sure in line.gives.items():
            if self.body.given[n] == n:
                lines.append(self.counted(n, sure))
        for q, queue in enumerate(self.outputs):
            if queue.ports[0] in line.gives:
                first, sure = self.body.given[queue.ports[0]], line.gives[queue.ports[0]]
                pushed = self.pushed(q) + self.output_ends[q].given
                lines.append(pushed if sure else f"if (give{first}) {{ {pushed} }}")
        for path in self.paths:
            if not lines[-1].startswith("goto "):
                lines += path.after(self, line, leader)
        if line.finished == "1":
            lines.append("goto finished;")
        else:
            lines.append("continue;" if known else "if (last) goto finished; continue;")
        return "\n".join(line.indent + one for one in lines)

    def counted(self, n: int, sure: bool) -> str:
        """Counts a token that is given, surely or maybe."""
        unless = c.UNLESS_DATA.format(n=n) if n in self.queued else ""
        return unless + c.COUNTED.format(n=n, given="1" if sure else f"give{n}")

    def pushed(self, q: int) -> str:
        """Gives a token to a queue."""
        queue, at = self.outputs[q], f"T{q} & {self.outputs[q].places - 1}"
        values = each(
            " out{0}->column{1}[{2}] = gv{3};",
            ((q, column, at, port) for column, port in enumerate(queue.ports)),
        )
        if self.touches:
            values += f" out{q}->stamps[{at}] = (uint32_t)now;"
        made = "made" if self.touches else "now"
        kind = self.body.given[queue.ports[0]]
        return c.PUSHED.format(q=q, n=kind, at=at, values=values, made=made)

    # After the firings

    def crowded(self, q: int, queue: QueueEnd) -> str:
        """Ends a call because the stretch of an unbounded queue is full."""
        number = self.slot(queue.ports[0], q)
        return c.CROWDED.format(q=q, number=number, places=queue.places)

    def ordered(self) -> str:
        """Ends a call because a firing would come after the limit."""
        if not ((self.wires and not self.kept) or self.touches):
            return ""
        return c.ORDERED.format(restore=self.restore if self.touches else "")

    def blocked(self) -> str:
        """Ends a call because an output is full."""
        if not self.bounded:
            return ""
        more = "".join(part.blocked for part in self.parts)
        return c.BLOCKED.format(restore=self.restore, more=more)

    def back(self) -> str:
        """Brings the local variables back."""
        body = self.body
        parts = [f"    state->{name} = {name};\n" for name in body.state]
        parts += [
            (c.BOUNDED_INPUT_BACK if queue.bounded else c.INPUT_BACK).format(
                q=q, room=self.input_ends[q].room
            )
            for q, queue in enumerate(self.inputs)
        ]
        parts += [
            c.COUNTS.format(n=n, but_data=" >> 16" if n in self.queued else "")
            for n in firsts(body.given)
        ]
        parts += [end.back for end in self.output_ends.values()]
        parts += [c.WIRE_BACK.format(n=n) for _, n in self.wires]
        parts += ["    b->made = made;\n"] if self.touches else []
        return "".join(parts)


def end_of(q: int, queue: QueueEnd) -> str:
    """The token after the last that can be taken from a queue."""
    return f"q{q}->tail" if queue.bounded else f"end_of(q{q})"
