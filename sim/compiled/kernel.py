"""The C function around the firing of a block.

It fires the block until an input is empty or an output is full, with the state and the ends of
all queues in local variables. A firing happens at ``now``, the first cycle in which all that it
needs is there; ``cause`` is the port that was last.

How often the outputs have room is found before the first firing, so that a firing needs to look at
its inputs alone. Where a queue of finite depth has no room, the call ends, unless the scheduler
tells it to try (``tries``): then each give looks for room itself, and where there is none, the
state becomes again what it was before the firing. Where an output is so short that a call fires a
few times at most, that is done at once, and its ends stay where they are in memory; and where such
an input is empty, the call lets the block that writes it go on, instead of ending. A block that has
to wait for room in such an output, and then does nothing but give to it for some firings, prepares
what it gives; the reader lets that in, and so finds when each of these firings happens.

Where all firings for data leave some of the state the same, the next one has no need to look at
that. When some of these have followed each other, and each does the same to its inputs and outputs
whatever the data are, then as many more follow as there are data and room for, and the ends of the
queues move once for all.

Where a firing has taken from one input alone, the next one waits for that one only, as what was at
the heads of the others still is. When many have, more of them happen at once, as long as all do no
more than that and none of them has to wait. Where now one of two inputs is taken from alone and now
the other, it would be hard to foresee which; so that is found out for each pair of the tokens that
come next, and what happens is a path through this table.

A block that reads a wire, or touches a memory which it shares with others, depends on time. Before
it reads or asks, it compares the cycle of that with a limit. Where that is exceeded, it stops, in
the state before the firing; the scheduler raises the limit when all others have come so far.

A firing that touches memory happens when all of that is taken, and what it gives is made when all
of it is there, or later (``made``): so the queues that it gives to have the cycles of giving too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sim.compiled.residual import Body, Fail, Leave, Line, Port, Touch, Wait, gives_alone


@dataclass(frozen=True)
class Queue:
    """An end of a queue: the numbers of the ports that its lanes belong to.

    ``short``  whether it has so few places that those who share it take turns all the time
    ``ahead``  whether it is short, and its writer prepares tokens that there is no room for yet
    ``quick``  whether its latency is 1
    ``wire``   whether it is the end of a wire that is read
    """

    ports: tuple[int, ...]
    places: int
    bounded: bool
    short: bool
    quick: bool
    wire: bool = False
    ahead: bool = False


def source(
    body: Body,
    inputs: Sequence[Queue],
    outputs: Sequence[Queue],
    quick: bool,
    logged: bool = False,
) -> str:
    """The whole C source of a block's kernel between queues; ``quick`` where it may fire always.

    What is 1 in most machines, an initiation interval or a latency, is written into it. It keeps a
    log of its waits if ``logged``: see ``waits.h``.
    """
    text = _Writer(body, inputs, outputs, quick).source()
    ports = len(body.inputs) + len(slots([queue.ports for queue in outputs]))
    return f"#define LOGGED {ports}\n{text}" if logged else text


def slots(outputs: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """The output ports of some queues, each with the number of the queue.

    The slots of a block, for which it may wait, are its inputs, and then these.
    """
    return [(port, q) for q, ports in enumerate(outputs) for port in ports]


class _Writer:
    """Writes a kernel."""

    def __init__(
        self, body: Body, inputs: Sequence[Queue], outputs: Sequence[Queue], quick: bool
    ) -> None:
        self.body, self.inputs, self.outputs, self.quick = body, inputs, outputs, quick
        self.queue_of = {port: q for q, queue in enumerate(inputs) for port in queue.ports}
        self.queued = {body.given[port] for queue in outputs for port in queue.ports}
        self.tries = any(queue.bounded for queue in outputs)
        self.wires = [(q, queue.ports[0]) for q, queue in enumerate(inputs) if queue.wire]
        self.touches = body.touches > 0
        self.short = [(q, queue) for q, queue in enumerate(outputs) if queue.short]
        self.pulls = any(queue.short for queue in inputs)
        self.brief = bool(inputs) and all(queue.short for queue in (*inputs, *outputs))
        self.long = [(q, queue) for q, queue in enumerate(outputs) if not queue.short]
        self.saved = list(body.state) if self.tries or self.touches else []
        few = {body.taken[queue.ports[0]] for queue in inputs if queue.short}
        self.prepares = any(queue.ahead for queue in outputs)
        self.several = body.several.keys() - few
        self.mixed = body.mixed if len(self.several) == 2 else {}
        self.strips = bool(body.straight) and not (self.wires or self.touches or self.turns())

    def source(self) -> str:
        body = self.body
        restore = _each(" {0} = o{0};", ((name,) for name in self.saved))
        return _TEMPLATE.format(
            ends=ENDS,
            headers="".join(f'#include "{name}"\n' for name in self.headers()),
            fields=_each("    {} {};\n", ((t, name) for name, (t, _) in body.state.items()))
            + _each(_WIRE_FIELDS, ((n, body.inputs[n].ctype) for _, n in self.wires))
            or "    char none;\n",
            starts=_each("    s->{} = {};\n", ((n, value) for n, (_, value) in body.state.items()))
            + _each("    s->k{} = EMPTY;\n", ((n,) for _, n in self.wires)),
            places=self.places(),
            interval="1" if self.quick else "b->interval",
            macros=_each(_SHORT, ((q, _latency(q, queue)) for q, queue in self.short))
            + self.rooms()
            + "".join(self.input_macros(p) for p in body.inputs if not p.wire)
            + "".join(map(self.output_macros, body.outputs)),
            locals=self.locals(),
            most="FEW_FIRINGS" if self.pulls else "MOST_FIRINGS",
            room="".join(self.room(q, queue) for q, queue in self.long),
            read=self.read(),
            fired=_TOUCHING_FIRED if self.touches else _FIRED,
            window=self.window(),
            strip=self.strip(),
            begin=self.begin(body.first),
            reset=self.reset(),
            firings=self.firings(),
            crowded="".join(self.crowded(q, queue) for q, queue in self.long),
            ordered=_ORDERED.format(restore=restore if self.touches else "")
            if self.wires or self.touches
            else "",
            prepared=_PREPARED if self.prepares else "",
            blocked=_BLOCKED.format(restore=restore, prepare=self.prepare(restore))
            if self.tries
            else "",
            tries="b->status == ORDERED ? tries : b->always"
            if self.wires or self.touches
            else "b->always",
            back=_each("    state->{0} = {0};\n", ((name,) for name in body.state)) + self.back(),
        )

    def headers(self) -> list[str]:
        return ["runtime.h", "mask.h"] if self.mixed else ["runtime.h"]

    # Before the firings

    def places(self) -> str:
        """The structures that the tokens of the queues lie in."""
        ends = [("In", q, queue, self.body.inputs) for q, queue in enumerate(self.inputs)]
        ends += [("Out", q, queue, self.body.outputs) for q, queue in enumerate(self.outputs)]
        return "".join(
            _PLACES.format(
                end=end,
                q=q,
                places=queue.places,
                lanes=_each(
                    " {} lane{}[{} + GAP];",
                    ((ports[p].ctype, lane, queue.places) for lane, p in enumerate(queue.ports)),
                )
                + (_STAMPS.format(queue.places) if end == "Out" and self.touches else ""),
            )
            for end, q, queue, ports in ends
        )

    def rooms(self) -> str:
        return "".join(
            (_BOUNDED_ROOM if queue.bounded else _ROOM_IN).format(q=q, places=queue.places)
            for q, queue in self.long
        )

    def locals(self) -> str:
        body = self.body
        parts = []
        const = "" if self.pulls else "const "
        for q, queue in enumerate(self.inputs):
            parts.append(_INPUT_QUEUE.format(q=q, const=const, end=_end(q, queue)))
        for q, queue in self.long:
            parts.append(_OUTPUT_QUEUE.format(q=q, latency=_latency(q, queue)))
            parts.append(_BOUNDED_QUEUE.format(q=q) if queue.bounded else "")
        parts += [
            (_WIRE if port.wire else _INPUT).format(n=port.index, ctype=port.ctype)
            for port in body.inputs
        ]
        parts += [_OUTPUT.format(n=port.index, ctype=port.ctype) for port in body.outputs]
        parts.append(_each("    {1} {0} = 0;\n", body.variables.items()))
        for name, (ctype, _) in body.state.items():
            parts.append(f"    {ctype} {name} = state->{name};\n")
            if self.tries or self.touches:
                parts.append(f"    {ctype} o{name} = {name};\n")
        for k, (name, ctype) in enumerate(body.memory.items()):
            parts.append(f"    {ctype} *restrict {name} = b->memory[{k}];\n")
        for k, name in enumerate(body.numbers):
            parts.append(f"    const int64_t {name} = b->numbers[{k}];\n")
        if self.wires:
            parts.append("    const int64_t limit = b->limit;\n")
        if self.touches:
            parts.append(_TOUCHING)
        return "".join(parts)

    def room(self, q: int, queue: Queue) -> str:
        """Lets no firing use up more than the places of a queue."""
        tries = "!tries && " if queue.bounded else ""
        return f"    if ({tries}fired + ROOM_IN_{q} < most) most = fired + ROOM_IN_{q};\n"

    # Firings

    def firings(self) -> str:
        """A firing of each sort."""
        body = self.body
        parts = [self.text(body.first)]
        if body.steady:
            parts.append(f"    steady:;\n{self.begin(body.steady)}{self.reset()}")
            parts.append(self.text(body.steady))
        for leader, lines in body.following.items():
            if leader in self.several:
                parts.append(self.at_once(leader, body.several[leader]))
            parts.append(f"    again{leader}:;\n{self.begin(lines, leader)}{self.reset()}")
            parts.append(self.text(lines, leader))
        if body.general:
            parts += ["        ANY_TOKENS", self.save(body.general), self.text(body.general)]
        return "\n".join(parts)

    def text(self, lines: Sequence[Line], leader: int | None = None) -> str:
        """The C of a firing; ``leader`` is that of the one that it follows, if any."""
        return "\n".join(filter(None, (self.line(line, leader) for line in lines)))

    def at_once(self, leader: int, lines: Sequence[Line]) -> str:
        """Several firings that only take from the leader's inputs."""
        led = self.led(leader)
        return _AT_ONCE.format(
            n=leader,
            enough=_each(_ENOUGH, led),
            firsts=_each(_FIRST_AT, led),
            ats=_each(_ONE_AT, led),
            reset=self.reset(),
            judged=self.judged(lines, [leader], f"judged{leader}"),
            ready=_each(_READY, led),
            takes=_each(_TAKE_AT, led),
            heads=_each(_HEAD_AFTER, led),
        )

    def led(self, leader: int) -> list[tuple[int, int]]:
        """The queues whose tokens are taken with those of a leader, with their places."""
        return [
            (q, queue.places)
            for q, queue in enumerate(self.inputs)
            if self.body.taken[queue.ports[0]] == leader
        ]

    def window(self) -> str:
        """Firings that take from one of two groups of inputs alone, now this and now that."""
        if not self.mixed:
            return ""
        down, across = sorted(self.several)
        rows, columns = self.led(down), self.led(across)
        return _WINDOW.format(
            enough=_each(_ENOUGH, rows + columns) + _each(_MORE, columns),
            firsts=_each(_FIRST_AT, rows + columns),
            late="".join(" || " + _LATE.format(q) for q, _ in rows + columns)[4:],
            columns="".join(
                _COLUMNS.format(kind=kind, are=_each(_KIND_IS, ((q, kind) for q, _ in columns)))
                for kind in sorted({column for _, column in self.mixed})
            ),
            row=_each(_ROW_AT, rows),
            first=rows[0][0],
            differ=_each(_KINDS_DIFFER, rows[1:]),
            down=down,
            across=across,
            tables="".join(
                _TABLE.format(
                    row=row,
                    column=column,
                    down=down,
                    across=across,
                    ats=_each(_COLUMN_AT, columns),
                    reset=self.reset(),
                    judged=self.judged(lines, [down, across], f"judged_{n}"),
                    label=f"judged_{n}",
                )
                for n, ((row, column), lines) in enumerate(self.mixed.items())
            ),
            taken_across=_each(_TAKEN_ACROSS, columns),
            taken_down=_each(_TAKEN_DOWN, rows),
            heads=_each(" h{0} += i;", rows) + _each(" h{0} += j;", columns),
        )

    def moved(self) -> tuple[list[tuple[int, Queue]], list[tuple[int, Queue]]]:
        """The queues that each straight firing takes from, and those that it gives to."""
        [end] = (line for line in self.body.straight if isinstance(line, Leave))
        taken = [(q, one) for q, one in enumerate(self.inputs) if one.ports[0] in end.takes]
        given = [(q, one) for q, one in enumerate(self.outputs) if one.ports[0] in end.gives]
        return taken, given

    def turns(self) -> bool:
        """Whether straight firings share a queue with a block with which they take turns."""
        taken, given = self.moved()
        return any(queue.short for _, queue in (*taken, *given))

    def strip(self) -> str:
        """Straight firings, as many as there are data and room for."""
        if not self.strips:
            return ""
        taken, given = self.moved()
        lines = []
        for line in self.body.straight:
            if isinstance(line, Wait) and line.output:
                lines += [f"{line.indent}FREED{line.port}(n)"] if self.needs_room(line) else []
            elif isinstance(line, Wait):
                lines += [f"{line.indent}DATA{line.port}(stripped)"] if self.is_new(line) else []
            elif isinstance(line, Leave):
                done = ["PASSED", *(_TAKEN.format(q=q) for q, _ in taken)]
                done += [self.counted(n, sure=True) for n in line.gives if self.body.given[n] == n]
                done += [self.pushed(q, queue, f"to{q}") for q, queue in given]
                lines += [line.indent + one for one in done]
            else:
                lines.append(str(line))
        ends = [[(q, queue.places) for q, queue in side] for side in (taken, given)]
        return _STRIP.format(
            free=" && !tries" if self.tries else "",
            firsts=_each(_FIRST_AT, ends[0]) + _each(_FIRST_TO, ends[1]),
            fewer=_each(_FEWER_TAKEN, ends[0]) + _each(_FEWER_GIVEN, ends[1]),
            ats=_each(_AT_NOW, ends[0]) + _each(_TO_NOW, ends[1]),
            reset=self.reset(),
            lines="\n".join(lines),
            moved=_each(" h{0} += n;", ends[0]) + _each(" T{0} += n;", ends[1]),
        )

    def pushed(self, q: int, queue: Queue, at: str) -> str:
        """Gives a token to a queue."""
        values = _each(
            " out{0}->lane{1}[{2}] = gv{3};",
            ((q, lane, at, port) for lane, port in enumerate(queue.ports)),
        )
        if self.touches:
            values += f" out{q}->stamps[{at}] = (uint32_t)now;"
        made = "made" if self.touches else "now"
        kind = self.body.given[queue.ports[0]]
        return _PUSHED.format(q=q, n=kind, at=at, values=values, made=made)

    def judged(self, lines: Sequence[Line], leaders: Sequence[int], label: str) -> str:
        """Finds out whether a firing does no more than to take from the inputs of a leader.

        Sets ``alone`` followed by its number for each of them, and goes to the label.
        """
        parts = []
        for line in lines:
            if isinstance(line, str):
                parts.append(line)
            elif isinstance(line, Fail | Leave):
                does = [f"alone{n} = {self.alone(line, n)};" for n in leaders]
                then = f"{' '.join(does)} goto {label};"
                parts.append(line.then(then) if isinstance(line, Fail) else line.indent + then)
        return "\n".join(parts)

    def alone(self, line: Fail | Leave, leader: int) -> str:
        """Whether a firing that ends here has done no more than to take from a leader's inputs."""
        if isinstance(line, Fail) or line.finished != "0":
            return "0"
        does = {f"take{self.body.taken[n]}": sure for n, sure in line.takes.items()}
        does |= {f"give{self.body.given[n]}": sure for n, sure in line.gives.items()}
        sure = does.pop(f"take{leader}", None)
        if sure is None or any(does.values()):
            return "0"
        tests = ([] if sure else [f"take{leader}"]) + [f"({other} ^ 1)" for other in does]
        return " & ".join(tests) or "1"

    def begin(self, lines: Sequence[Line], leader: int | None = None) -> str:
        """What comes before a firing; ``leader`` is that of the one that it follows, if any."""
        ends = (
            (q, end.places)
            for q, end in enumerate(self.inputs)
            if not end.wire and leader in (None, self.body.taken[end.ports[0]])
        )
        spent = "" if self.brief else _SPENT
        return spent + _BEGIN + _each(_AT, ends) + self.save(lines)

    def save(self, lines: Sequence[Line]) -> str:
        """Keeps the state for the case that a firing does not come to its end after all."""
        waits = any(isinstance(line, Wait) and self.needs_room(line) for line in lines)
        if not self.saved or not (waits or self.touches):
            return ""
        save = _ALWAYS_SAVE if self.touches or self.short else _SAVE
        return save.format(saves=_each(" o{0} = {0};", ((name,) for name in self.saved)))

    def reset(self) -> str:
        """Forgets what the firing before has done."""
        taken = (n for n in _firsts(self.body.taken) if not self.body.inputs[n].wire)
        return (
            _each("        take{} = 0;\n", ((n,) for n in taken))
            + _each("        give{} = 0;\n", ((n,) for n in _firsts(self.body.given)))
            + ("        asks = 0;\n" if self.touches else "")
        )

    def read(self) -> str:
        """Reads the wires, before all else: in the first cycle in which the block may fire."""
        if not self.wires:
            return ""
        return _ORDER + "".join(
            _READ.format(q=q, n=n, at=self.at("h", q, self.inputs)) for q, n in self.wires
        )

    def input_macros(self, port: Port) -> str:
        n, q = port.index, self.queue_of[port.index]
        kinds = _each(" k{} = c_ & 3;", ((p,) for p in self.inputs[q].ports))
        lane = self.inputs[q].ports.index(n)
        queue = self.inputs[q]
        there = _PULLED if queue.short else _THERE_NOW if self.pulls else _THERE
        there = there.format(n=n, q=q, end=_end(q, queue))
        macros = _INPUT_MACROS.format(n=n, q=q, lane=lane, kinds=kinds, there=there)
        first = self.body.taken[n] == n
        return macros + _TAKE_MACROS.format(
            n=n,
            take=f" take{n} = 1;" if first else "",
            some=f" take{n} |= (test);" if first else "",
        )

    def output_macros(self, port: Port) -> str:
        n = port.index
        first = f" give{n} = 1; gk{n} = (kind);" if self.body.given[n] == n else ""
        bounded = [
            (q, self.slot(n, q), queue.places)
            for q, queue in enumerate(self.outputs)
            if queue.bounded and n in queue.ports
        ]
        return _OUTPUT_MACROS.format(
            n=n,
            first=first,
            full=_each(_FULL, bounded),
            freed=_each(_FREED, bounded),
        )

    def slot(self, port: int, q: int) -> int:
        """The slot of an output port at one of its queues."""
        given = slots([queue.ports for queue in self.outputs])
        return len(self.body.inputs) + given.index((port, q))

    def at(self, end: str, q: int, queues: Sequence[Queue]) -> str:
        """The place at an end of a queue."""
        return f"{end}{q} & {queues[q].places - 1}"

    def line(self, line: Line, leader: int | None) -> str:
        if isinstance(line, Wait):
            return self.wait(line)
        if isinstance(line, Touch):
            return f"{line.indent}TOUCH({line.region}, {line.index}, {int(line.write)})"
        if isinstance(line, Fail):
            value = "" if line.value is None else f"b->which = {line.value}; "
            return line.then(f"{value}b->port = {line.message}; goto failed;")
        return self.leave(line, leader) if isinstance(line, Leave) else line

    def wait(self, line: Wait) -> str:
        """The wait, unless all queues of the port have been waited for."""
        if not line.output:
            name = "PEEK_DATA" if line.data else "PEEK"
            return f"{line.indent}{name}{line.port}" if self.is_new(line) else ""
        return f"{line.indent}ROOM{line.port}" if self.needs_room(line) else ""

    def needs_room(self, line: Wait) -> bool:
        """Whether a line waits for room that a firing has not waited for yet."""
        return line.output and any(
            queue.bounded and line.port in queue.ports and not line.after & {*queue.ports}
            for queue in self.outputs
        )

    def is_new(self, line: Wait) -> bool:
        """Whether nothing has come from the queue of an input yet."""
        return not line.after & {*self.inputs[self.queue_of[line.port]].ports}

    def leave(self, line: Leave, before: int | None) -> str:
        """What is done when a firing ends here."""
        known = line.finished in ("0", "1")
        lines = ["FIRED"] if known else [f"last = {line.finished};", "FIRED"]
        for q, queue in enumerate(self.inputs):
            if queue.ports[0] in line.takes:
                first = self.body.taken[queue.ports[0]]
                sure = line.takes[queue.ports[0]]
                lines.append(f"{_TAKEN.format(q=q)} h{q} += {'1' if sure else f'take{first}'};")
                if queue.ahead:
                    taken = "" if sure else f"take{first} && "
                    lines.append(_ADMIT.format(q=q, taken=taken, last=queue.places - 1))
        for n, sure in line.gives.items():
            if self.body.given[n] == n:
                lines.append(self.counted(n, sure))
        for q, queue in enumerate(self.outputs):
            if queue.ports[0] in line.gives:
                first = self.body.given[queue.ports[0]]
                pushed = f"{self.pushed(q, queue, self.at('T', q, self.outputs))} T{q}++;"
                pushed += f" {_WAKE_READER.format(q=q)}" if queue.short else ""
                sure = line.gives[queue.ports[0]]
                lines.append(pushed if sure else f"if (give{first}) {{ {pushed} }}")
        leaders = {self.body.taken[n] for n in line.takes}
        for leader in line.again:
            others = " && ".join(f"!take{other}" for other in sorted(leaders - {leader}))
            again = f"goto again{leader};"
            if leader in self.several:
                if leader == before:
                    lines.append(f"if ({others or 1} && ++row >= AT_ONCE) goto several{leader};")
                else:
                    again = f"{{ row = 0; {again} }}"
            lines.append(f"if ({others or 1}) {again}")
        if line.finished == "1":
            lines.append("goto finished;")
        elif line.steady and (self.strips or self.body.steady):
            if self.strips:
                lines.append("row++;")
            if self.body.steady:
                lines.append("if (row < AT_ONCE) goto steady;" if self.strips else "goto steady;")
            lines.append("continue;")
        else:
            lines.append("continue;" if known else "if (last) goto finished; continue;")
        return "\n".join(line.indent + one for one in lines)

    def counted(self, n: int, sure: bool) -> str:
        """Counts a token that is given, surely or maybe."""
        unless = _UNLESS_DATA.format(n=n) if n in self.queued else ""
        return unless + _COUNTED.format(n=n, given="1" if sure else f"give{n}")

    def prepare(self, restore: str) -> str:
        """Prepares what the next firings give, as long as they give alone."""
        if not self.prepares:
            return ""
        [queue], lines = self.outputs, []
        for line in self.body.giving:
            if isinstance(line, Wait):
                lines += [] if line.output else [f"{line.indent}goto unprepared;"]
            elif isinstance(line, Fail):
                lines.append(line.then("goto unprepared;"))
            elif isinstance(line, Leave):
                lines.append(f"{line.indent}goto {'' if gives_alone(line) else 'un'}prepared;")
            else:
                lines.append(str(line))
        return _PREPARE.format(
            saves=_each(" o{0} = {0};", ((name,) for name in self.saved)),
            reset=self.reset(),
            lines="\n".join(lines),
            restore=restore,
            counted=" ".join(self.counted(n, sure=True) for n in _firsts(self.body.given)),
            last=queue.places - 1,
            first=self.body.given[queue.ports[0]],
            values=_each(
                " out0->lane{0}[(T0 + n) & {1}] = gv{2};",
                ((lane, queue.places - 1, port) for lane, port in enumerate(queue.ports)),
            ),
        )

    # After the firings

    def crowded(self, q: int, queue: Queue) -> str:
        return _CROWDED.format(q=q, number=self.slot(queue.ports[0], q))

    def back(self) -> str:
        body = self.body
        parts = [
            (_BOUNDED_INPUT_BACK if queue.bounded else _INPUT_BACK).format(
                q=q, free=f" && e{q} - h{q} < q{q}->depth" if queue.ahead else ""
            )
            for q, queue in enumerate(self.inputs)
        ]
        parts += [
            _COUNTS.format(n=n, but_data=" >> 16" if n in self.queued else "")
            for n in _firsts(body.given)
        ]
        parts += [_OUTPUT_BACK.format(q=q, wake=_WAKE_READER.format(q=q)) for q, _ in self.long]
        parts += [_WIRE_BACK.format(n=n) for _, n in self.wires]
        parts += ["    b->made = made;\n"] if self.touches else []
        return "".join(parts)


def _end(q: int, queue: Queue) -> str:
    """The token after the last of a queue that can be taken."""
    return f"q{q}->tail" if queue.bounded else f"end_of(q{q})"


def _latency(q: int, queue: Queue) -> str:
    """How long tokens take through a queue that is given to."""
    return "1" if queue.quick else f"r{q}->latency"


def _firsts(leaders: Sequence[int]) -> list[int]:
    """The ports that others move with, and those that move alone."""
    return [n for n, first in enumerate(leaders) if n == first]


def _each(form: str, items: Iterable[tuple[object, ...]]) -> str:
    return "".join(form.format(*item) for item in items)


_PLACES = """typedef struct {{
    Stretch stretch; int64_t control[{places} + GAP]; uint32_t taken[{places} + 2 * GAP];{lanes}
}} {end}{q};
"""

_ROOM_IN = "#define ROOM_IN_{q} ({places} - (T{q} - r{q}->base))\n"
_BOUNDED_ROOM = """#define H{q} r{q}->head
#define ROOM_IN_{q} (D{q} - (T{q} - H{q}))
"""

_INPUT_QUEUE = """    Queue *q{q} = b->in[{q}];
    int64_t h{q} = q{q}->head, at{q} = 0;
    {const}int64_t e{q} = {end};
    In{q} *restrict in{q} = (void *)q{q}->from;
"""

_OUTPUT_QUEUE = """    Queue *r{q} = b->out[{q}];
    int64_t T{q} = r{q}->tail;
    const int64_t L{q} = {latency};
    Out{q} *restrict out{q} = (void *)r{q}->to;
"""

# Of a short queue, each firing looks at itself; so little else is done in a call.
_SHORT = """#define r{0} b->out[{0}]
#define T{0} r{0}->tail
#define H{0} r{0}->head
#define D{0} r{0}->depth
#define L{0} {1}
#define out{0} ((Out{0} *)r{0}->to)
"""

_BOUNDED_QUEUE = "    const int64_t D{q} = r{q}->depth;\n"

_INPUT = """    int64_t k{n} = 0, take{n} = 0;
"""

_WIRE_FIELDS = "    int64_t k{0}; {1} v{0};\n"

_WIRE = """    int64_t k{n} = state->k{n};
    {ctype} v{n} = state->v{n};
"""

_OUTPUT = """    int64_t give{n} = 0, gk{n} = 0;
    uint64_t given{n} = 0;
    {ctype} gv{n} = 0;
"""

_STARVED = "{{ b->port = {n}; q{q}->starves = 1; goto starved; }}"
_THERE = f"if (RARE(h{{q}} == e{{q}})) {_STARVED}"
_PULLED = f"""if (h{{q}} == e{{q}} && h{{q}} == (e{{q}} = q{{q}}->tail)) {{{{ \\
        if (!q{{q}}->crowds || fired >= most) {_STARVED} \\
        q{{q}}->head = h{{q}}; \\
        if (!b->pull(b, q{{q}})) {_STARVED} \\
        e{{q}} = q{{q}}->tail; \\
    }}}}"""
_THERE_NOW = f"if (RARE(h{{q}} == e{{q}}) && h{{q}} == (e{{q}} = {{end}})) {_STARVED}"
_INPUT_MACROS = """#define v{n} in{q}->lane{lane}[at{q}]
#define PEEK{n} {there} \\
    {{ int64_t c_ = in{q}->control[at{q}], w_ = c_ >> 2;{kinds} \\
       if (w_ > now) {{ now = w_; cause = {n}; }} }}
#define DATA{n}(otherwise) \\
    {{ int64_t c_ = in{q}->control[at{q}], w_ = c_ >> 2; \\
       if (RARE(c_ & 3)) goto otherwise; \\
       if (w_ > now) {{ now = w_; cause = {n}; }} }}
#define PEEK_DATA{n} {there} DATA{n}(any_tokens)
"""

_TAKE_MACROS = """#define TAKE{n}{take}
#define TAKE_IF{n}(test){some}
"""

_OUTPUT_MACROS = """#define GIVE{n}(kind, value){first} gv{n} = (value);
#define FREED{n}(n){freed}
#define ROOM{n}{full} FREED{n}(0)
"""

# Whether a queue is full, and otherwise when the place of the token n after its end has been freed.
_FULL = """ \\
    if (T{0} - D{0} >= H{0}) {{ b->port = {1}; b->which = {0}; goto blocked; }}"""
_FREED = """ \\
    {{ int64_t f_ = T{0} + n - D{0}; \\
       int64_t late_ = (int32_t)(out{0}->taken[f_ & ({2} - 1)] - (uint32_t)now); \\
       if (late_ >= 0 && f_ >= 0) {{ now += late_ + 1; cause = {1}; }} }}"""

_SAVE = "        if (tries) {{{saves} }}\n"
_ALWAYS_SAVE = "       {saves}\n"

_SPENT = "        if (RARE(fired == most)) goto spent;\n"
_BEGIN = """        now = ready;
        cause = 0;
"""
_AT = "        at{0} = h{0} & ({1} - 1);\n"

# The loops over firings are left whole, as compilers make vectors of loops before they unroll them.
_ENOUGH = " && e{0} - h{0} >= AT_ONCE && (h{0} & ({1} - 1)) <= {1} - AT_ONCE"
_FIRST_AT = "            const int64_t first{0} = h{0} & ({1} - 1);\n"
_ONE_AT = "                const int64_t at{0} = first{0} + j;\n"
_READY = """
                all &= (in{0}->control[at{0}] & 3) == DATA;
                all &= in{0}->control[at{0}] >> 2 <= ready + j * interval;"""
_TAKE_AT = " in{0}->taken[first{0} + j] = (uint32_t)(ready + j * interval);"
_HEAD_AFTER = "            h{0} += AT_ONCE;\n"
_AT_ONCE = """    several{n}:
        while (most - fired >= AT_ONCE{enough}) {{
{firsts}            int64_t all = 1;
#pragma GCC unroll 1
            for (int64_t j = 0; j < AT_ONCE; j++) {{
                int64_t alone{n};
{ats}{reset}{judged}
                judged{n}:;
                all &= alone{n};{ready}
            }}
            if (!all) break;
#pragma GCC unroll 1
            for (int64_t j = 0; j < AT_ONCE; j++) {{{takes} }}
{heads}            ready += AT_ONCE * interval;
            fired += AT_ONCE;
        }}
        row = 0;"""

_FIRST_TO = "            const int64_t first_to{0} = T{0} & ({1} - 1);\n"
_FEWER_TAKEN = """            if (e{0} - h{0} < length) length = e{0} - h{0};
            if ({1} - first{0} < length) length = {1} - first{0};
"""
_FEWER_GIVEN = "            if ({1} - first_to{0} < length) length = {1} - first_to{0};\n"
_AT_NOW = "                const int64_t at{0} = first{0} + n;\n"
_TO_NOW = "                const int64_t to{0} = first_to{0} + n;\n"
_STRIP = """        if (row >= AT_ONCE{free}) {{
{firsts}            int64_t length = most - fired, n = 0;
{fewer}            for (; n < length; n++) {{
                now = ready;
                cause = 0;
{ats}{reset}{lines}
            }}
        stripped:
           {moved}
            fired += n;
            row = 0;
        }}
"""

# Of these tokens, the rows and columns of a table, all are there when the firings begin. A column
# that is not taken yet has the cycle of a later firing for a while.
_MORE = " && e{0} - h{0} >= 2 * AT_ONCE"
_LATE = "in{0}->control[first{0} + AT_ONCE - 1] >> 2 > ready"
_KIND_IS = " is[n] &= (in{0}->control[first{0} + n] & 3) == {1};"
_COLUMNS = """#pragma GCC unroll 1
            for (int64_t n = 0; n < AT_ONCE; n++) {{ is[n] = 1;{are} }}
            const uint64_t columns{kind} = mask_of(is);
"""
_ROW_AT = "                const int64_t at{0} = first{0} + i;\n"
_COLUMN_AT = "                    const int64_t at{0} = first{0} + n;\n"
_KINDS_DIFFER = "                if ((in{0}->control[at{0}] & 3) != kind) break;\n"
_TAKEN_ACROSS = " in{0}->taken[first{0} + j + n] = (uint32_t)(ready + (i + j + n) * interval);"
_TAKEN_DOWN = "                in{0}->taken[at{0}] = (uint32_t)(ready + (i + j) * interval);\n"
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
_WINDOW = """        while (most - fired >= 2 * AT_ONCE{enough}) {{
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
"""

_ORDER = "        if (ready > limit) { b->key = ready; b->asks = 0; goto ordered; }\n"

_STAMPS = " uint32_t stamps[{}];"

_TOUCHING = """    int64_t asks = 0, asked = 0, had = 0, made = b->made;
"""

_FIRED = """#define PASSED \\
    if (now > ready) { waits[cause] += now - ready; LOG_WAIT } \\
    ready = now + interval;
#define FIRED PASSED fired++;
"""

_TOUCHING_FIRED = """#define TOUCH(n, index, write) \\
    { if (!asks) { \\
        int64_t place_ = b->outstanding ? b->places[b->place] : 0; \\
        asked = now; \\
        if (place_ > now) now = place_; \\
        if (now > b->until) { b->key = now; b->asks = 1; goto ordered; } \\
        asks = 1; \\
        LOG_PLACE \\
        b->taken = b->served = now; \\
      } \\
      if (!b->touch(b, b->regions[n], index, write, now)) goto no_memory; }
#define FIRED \\
    had = made; \\
    if (asks) { \\
        now = asked; \\
        b->waited += b->taken - now; \\
        if (b->served > made) made = b->served; \\
        if (b->outstanding) { \\
            b->places[b->place] = b->served; \\
            if (++b->place == b->outstanding) b->place = 0; \\
        } \\
    } \\
    if (now > ready) { \\
        const int64_t late_ = had <= ready ? 0 : (had < now ? had : now) - ready; \\
        b->waited += late_; \\
        waits[cause] += now - ready - late_; \\
        LOG_WAIT \\
    } \\
    LOG_REQUEST \\
    if (asks) now = b->taken; \\
    if (now > made) made = now; \\
    ready = now + interval; fired++;
"""

_READ = """        for (; h{q} != e{q} && in{q}->control[{at}] >> 2 <= ready; h{q}++) {{
            k{n} = in{q}->control[{at}] & 3;
            v{n} = in{q}->lane0[{at}];
        }}
        if (RARE(h{q} == e{q} && q{q}->from != q{q}->to)) {{ b->status = RUNNING; goto back; }}
"""

_TAKEN = "in{q}->taken[at{q}] = (uint32_t)now;"
_ADMIT = "if ({taken}q{q}->prepared) e{q} = admit(q{q}, &in{q}->control[e{q} & {last}], e{q}, now);"
# How many data go through a queue follows from how many tokens do.
_UNLESS_DATA = "if (!KNOWN_DATA(gk{n})) "
_COUNTED = "given{n} += (uint64_t){given} << 16 * gk{n};"
_PUSHED = "out{q}->control[{at}] = ({made} + L{q}) << 2 | gk{n};{values}"

ENDS = """starved:
    b->status = STARVED;
    goto back;
finished:
    b->status = FINISHED_BLOCK;
    goto back;
failed:
    b->status = FAILED;
    goto back;
over_capacity:
    b->status = OVER_CAPACITY;
    goto back;
no_memory:
    b->status = NO_MEMORY;
    goto back;
"""
"""Why a call of a kernel ends, besides want of room: the labels that firings go to."""

# What is loaded once, ahead of the firings, has to be kept somewhere: there are too few registers.
_TEMPLATE = """#pragma GCC optimize("no-tree-loop-im", "no-ivopts")
{headers}
typedef struct {{
{fields}}} State;

int64_t state_size(void) {{ return sizeof(State); }}

void start(State *s) {{
    memset(s, 0, sizeof *s);
{starts}}}

{places}{macros}
#define ANY_TOKENS any_tokens: now = ready; cause = row = 0;
{fired}
int64_t fire(Block *b) {{
    State *state = b->state;
    int64_t now, cause, ready = b->ready, *restrict waits = b->waits;
    const int64_t interval = {interval}, tries = b->tries;
    int64_t last;
    LOG_LOCALS
{locals}
    int64_t fired = 0, most, row = 0;
{prepared}spent:
    most = {most};
{room}    LOG_ROOM
    if (fired >= most) goto crowded;
    for (;;) {{
{strip}{window}{begin}{read}{reset}
{firings}
    }}
crowded:
{crowded}    b->status = RUNNING;
    wake(b);
    goto back;
{ends}{ordered}{blocked}back:
    b->ready = ready;
    b->fired += fired;
    b->tries = {tries};
    LOG_BACK
{back}
    return fired;
}}
"""

_ORDERED = """ordered:
    b->status = ORDERED;
   {restore}
    goto back;
"""

_BLOCKED = """blocked:
    b->status = BLOCKED;
    b->out[b->which]->crowds = 1;
   {restore}
{prepare}"""

# The reader lets these tokens in, as their places become free.
_PREPARED = "    if (r0->prepared) return 0;\n"
_PREPARE = """    for (int64_t n = 0; n < AT_ONCE; n++) {{
       {saves}
{reset}{lines}
    unprepared:
       {restore}
        break;
    prepared:
        {counted}
        out0->control[(T0 + n) & {last}] = gk{first};{values}
        r0->prepared = n + 1;
        r0->crowds = 0;
    }}
    fired += r0->prepared;
"""

_CROWDED = """    if (ROOM_IN_{q} <= 0) {{
        b->port = {number};
        b->which = {q};
        b->status = CROWDED;
        r{q}->crowds = 1;
        goto back;
    }}
"""

_COUNTS = "    if (given{n}{but_data}) count(b->counts[{n}], given{n});\n"

_INPUT_BACK = """    if (q{q}->head != h{q}) {{
        q{q}->head = h{q};
        if (h{q} - q{q}->seen >= q{q}->batch || (h{q} == e{q} && q{q}->from != q{q}->to))
            if (!b->account(q{q})) b->status = NO_MEMORY;
    }}
"""

_BOUNDED_INPUT_BACK = """    if (q{q}->head != h{q}) {{
        q{q}->head = h{q};
        if (h{q} - q{q}->seen >= q{q}->batch && !b->account(q{q})) b->status = NO_MEMORY;
        if (q{q}->crowds{free}) {{
            q{q}->crowds = 0;
            wake(q{q}->writer);
        }}
    }}
"""

_WIRE_BACK = """    state->k{n} = k{n};
    state->v{n} = v{n};
"""

_WAKE_READER = "if (r{q}->starves) {{ r{q}->starves = 0; wake(r{q}->reader); }}"
_OUTPUT_BACK = """    if (r{q}->tail != T{q}) {{
        r{q}->tail = T{q};
        {wake}
    }}
"""
