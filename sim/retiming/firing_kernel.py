"""The C function that runs a block without time, and writes a code for each firing.

It is made from the same translated step as the kernels with time (``sim.compiled.kernel``). The
effect of a firing is a path: a set of bits, one for each line of the step that waits for a token or
for room, and one for each group of inputs that is taken from together. Lines of a step only follow
each other downwards, so the bits tell their order, too. Most bits are known where a firing ends;
the C compiler puts them together. Paths are numbered as they first occur, and a code is that
number: see ``sim.retiming.codes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim.compiled.kernel.c import ENDS, TUNING
from sim.compiled.residual import Body, Fail, Leave, Line, Touch, Wait

MOST_BITS = 128


class Untraceable(Exception):
    """A step whose firings have no codes; the message tells why."""


@dataclass(frozen=True)
class FiringEnd:
    """An end of a queue: the numbers of the ports that its columns belong to.

    ``handover``  whether it is a handover, which has one place: until a token in it is taken, the
                  half of the block that gives must leave the memory of both alone
    """

    ports: tuple[int, ...]
    handover: bool = False


@dataclass(frozen=True)
class Event:
    """The meaning of a bit of a path.

    ``side``   "wait" for a token at an input, "give" to an output, "take" from some inputs, or
               "read" or "write" an entry of memory
    ``ports``  these ports; of an entry, the number of its region
    ``many``   whether it touches any number of entries, in a loop
    """

    side: str
    ports: tuple[int, ...]
    many: bool = False


@dataclass(frozen=True)
class FiringKernel:
    """The C source of a block, and the meanings of the bits of its paths, from the lowest."""

    source: str
    events: tuple[Event, ...]


def firing_kernel(
    body: Body, inputs: Sequence[FiringEnd], outputs: Sequence[FiringEnd]
) -> FiringKernel:
    """The kernel of a block between queues. Raises Untraceable."""
    if any(port.wire for port in body.inputs):
        raise Untraceable("a block reads a wire")
    if body.touches and any(end.handover for end in outputs):
        raise Untraceable("the first half of a block touches memory")
    writer = _KernelWriter(body, inputs, outputs)
    return FiringKernel(writer.source(), tuple(writer.events))


class _KernelWriter:
    """Writes a kernel."""

    def __init__(
        self, body: Body, inputs: Sequence[FiringEnd], outputs: Sequence[FiringEnd]
    ) -> None:
        self.body, self.inputs, self.outputs = body, inputs, outputs
        self.queue_of = {port: q for q, queue in enumerate(inputs) for port in queue.ports}
        self.events: list[Event] = []
        self.firsts = [n for n, first in enumerate(body.taken) if n == first]
        self.given = [n for n, first in enumerate(body.given) if n == first]
        self.wide = [q for q, queue in enumerate(outputs) if not queue.handover]
        self.hands_over = len(self.wide) < len(outputs)
        self.saved = list(body.state) if self.hands_over else []
        self.take_bits = {
            n: self.bit("take", *(p for p, first in enumerate(body.taken) if first == n))
            for n in self.firsts
        }

    def source(self) -> str:
        body = self.body
        firings = [self.text(body.first)]
        if body.general:
            firings += [f"    any_tokens:;\n{self.reset()}", self.text(body.general)]
        return _TEMPLATE.format(
            ends=ENDS,
            fields="".join(f"    {t} {name};\n" for name, (t, _) in body.state.items())
            or "    char none;\n",
            starts="".join(f"    s->{n} = {value};\n" for n, (_, value) in body.state.items()),
            macros="".join(map(self.input_macros, range(len(body.inputs))))
            + "".join(map(self.output_macros, range(len(body.outputs)))),
            locals=self.locals(),
            room="".join(_ROOM.format(q=q) for q in self.wide),
            crowded="".join(_CROWDED.format(q=q) for q in self.wide),
            save="".join(f"        o{name} = {name};\n" for name in self.saved),
            blocked=_BLOCKED.format("".join(f" {name} = o{name};" for name in self.saved))
            if self.hands_over
            else "",
            at="".join(_AT.format(q=q) for q in range(len(self.inputs))),
            reset=self.reset(),
            firings="\n".join(firings),
            back=self.back(),
        )

    def bit(self, side: str, *ports: int, many: bool = False) -> int:
        """A new bit of paths."""
        if len(self.events) == MOST_BITS:
            raise Untraceable("a block has firings of too many kinds")
        self.events.append(Event(side, ports, many))
        return len(self.events) - 1

    def locals(self) -> str:
        body = self.body
        parts = []
        for q, queue in enumerate(self.inputs):
            columns = [(column, body.inputs[port].ctype) for column, port in enumerate(queue.ports)]
            parts.append(
                _INPUT_QUEUE.format(q=q) + "".join(_COLUMN.format("i", q, *x) for x in columns)
            )
        for q, queue in enumerate(self.outputs):
            columns = [
                (column, body.outputs[port].ctype) for column, port in enumerate(queue.ports)
            ]
            parts.append(
                _OUTPUT_QUEUE.format(q=q) + "".join(_COLUMN.format("o", q, *x) for x in columns)
            )
        parts += [_TOUCHED] if body.touches else []
        parts += [f"    int64_t k{n} = 0, take{n} = 0;\n" for n in range(len(body.inputs))]
        parts += [_OUTPUT.format(n=n, ctype=port.ctype) for n, port in enumerate(body.outputs)]
        parts += [f"    {ctype} {name} = 0;\n" for name, ctype in body.variables.items()]
        parts += [f"    {t} {name} = state->{name};\n" for name, (t, _) in body.state.items()]
        parts += [f"    {body.state[name][0]} o{name} = {name};\n" for name in self.saved]
        parts += [
            f"    {ctype} *restrict {name} = b->memory[{k}];\n"
            for k, (name, ctype) in enumerate(body.memory.items())
        ]
        parts += [
            f"    const int64_t {name} = b->numbers[{k}];\n" for k, name in enumerate(body.numbers)
        ]
        return "".join(parts)

    def reset(self) -> str:
        """Forgets the firing before."""
        return (
            "        low = high = 0;\n"
            + "".join(f"        take{n} = 0;\n" for n in self.firsts)
            + "".join(f"        give{n} = 0;\n" for n in self.given)
        )

    def input_macros(self, n: int) -> str:
        q = self.queue_of[n]
        column = self.inputs[q].ports.index(n)
        first = self.body.taken[n] == n
        return _INPUT_MACROS.format(
            n=n,
            q=q,
            column=column,
            kinds="".join(f" k{port} = c_;" for port in self.inputs[q].ports),
            take=f" take{n} = 1;" if first else "",
            some=f" take{n} |= (test);" if first else "",
        )

    def output_macros(self, n: int) -> str:
        first = f" give{n} = 1; gk{n} = (kind);" if self.body.given[n] == n else ""
        handovers = [q for q, one in enumerate(self.outputs) if one.handover and n in one.ports]
        full = "".join(_FULL.format(q=q) for q in handovers)
        return f"#define GIVE{n}(kind, value){full}{first} gv{n} = (value);\n"

    def text(self, lines: Sequence[Line]) -> str:
        """The C of a firing."""
        found: list[str] = []
        loops: list[str] = []
        among = False
        for line in lines:
            if isinstance(line, str):
                indent = line[: len(line) - len(line.lstrip())]
                if line.lstrip() == "for (;;) {":
                    loops.append(indent)
                elif loops and line == f"{loops[-1]}}}":
                    loops.pop()
            if loops and isinstance(line, Wait | Leave):
                raise Untraceable("a block waits in a loop")
            among = among and bool(loops)
            if isinstance(line, Touch) and loops:
                if among:
                    raise Untraceable("a block touches two entries in each round of a loop")
                among = True
            found.append(self.touch(line, loops) if isinstance(line, Touch) else self.line(line))
        return "\n".join(found)

    def touch(self, line: Touch, loops: Sequence[str]) -> str:
        """Notes the index of an entry; in a loop, all of them behind their number."""
        bit = self.bit("write" if line.write else "read", line.region, many=bool(loops))
        noted = f"TOUCHED_AMONG({_word(bit)}, {line.index})" if loops else f"TOUCHED({line.index})"
        return f"{line.indent}{noted} PATH({_word(bit)}, 1)"

    def line(self, line: Line) -> str:
        if isinstance(line, Wait):
            bit = self.bit("give" if line.output else "wait", line.port)
            wait = "" if line.output else f"{'PEEK_DATA' if line.data else 'PEEK'}{line.port} "
            is_new = line.output or not line.after & {*self.inputs[self.queue_of[line.port]].ports}
            return f"{line.indent}{wait if is_new else ''}PATH({_word(bit)}, 1)"
        if isinstance(line, Fail):
            return line.then(f"b->port = {line.message}; goto failed;")
        if isinstance(line, Leave):
            return self.leave(line)
        return str(line)

    def leave(self, line: Leave) -> str:
        """Ends a firing: notes its path, and moves its tokens."""
        lines = [f"last = {line.finished};"]
        for n in self.firsts:
            if n in line.takes:
                taken = "1" if line.takes[n] else f"take{n}"
                lines.append(f"PATH({_word(self.take_bits[n])}, {taken})")
        lines.append("FIRED")
        for q, queue in enumerate(self.inputs):
            if queue.ports[0] in line.takes:
                sure = line.takes[queue.ports[0]]
                lines.append(
                    f"h{q} += {'1' if sure else f'take{self.body.taken[queue.ports[0]]}'};"
                )
        for n, sure in line.gives.items():
            if self.body.given[n] == n:
                lines.append(f"given{n} += (uint64_t){'1' if sure else f'give{n}'} << 16 * gk{n};")
        for q, queue in enumerate(self.outputs):
            if queue.ports[0] in line.gives:
                first = self.body.given[queue.ports[0]]
                values = "".join(
                    f" o{q}_{column}[T{q} & om{q}] = gv{port};"
                    for column, port in enumerate(queue.ports)
                )
                pushed = f"okinds{q}[T{q} & om{q}] = gk{first};{values} T{q}++;"
                sure = line.gives[queue.ports[0]]
                lines.append(pushed if sure else f"if (give{first}) {{ {pushed} }}")
        if line.finished == "1":
            lines.append("goto finished;")
        else:
            lines.append(
                "continue;" if line.finished == "0" else "if (last) goto finished; continue;"
            )
        return "\n".join(line.indent + one for one in lines)

    def back(self) -> str:
        body = self.body
        return (
            "".join(f"    state->{name} = {name};\n" for name in body.state)
            + (_TOUCHED_BACK if body.touches else "")
            + "".join(_INPUT_BACK.format(q=q) for q in range(len(self.inputs)))
            + "".join(f"    count(b->counts[{n}], given{n});\n" for n in self.given)
            + "".join(_OUTPUT_BACK.format(q=q) for q in range(len(self.outputs)))
        )


def _word(bit: int) -> str:
    """The word of a path that a bit is in, and its place there."""
    return f"{'low' if bit < 64 else 'high'}, {bit % 64}"


_COLUMN = "    {3} *restrict {0}{1}_{2} = {0}q{1}->columns[{2}];\n"

_INPUT_QUEUE = """    Queue *iq{q} = b->in[{q}];
    int64_t h{q} = iq{q}->head, at{q} = 0;
    const int64_t e{q} = iq{q}->tail, im{q} = iq{q}->places - 1;
    const uint8_t *restrict ikinds{q} = iq{q}->kinds;
"""

_OUTPUT_QUEUE = """    Queue *oq{q} = b->out[{q}];
    int64_t T{q} = oq{q}->tail;
    const int64_t om{q} = oq{q}->places - 1;
    uint8_t *restrict okinds{q} = oq{q}->kinds;
"""

_OUTPUT = """    int64_t give{n} = 0, gk{n} = 0;
    uint64_t given{n} = 0;
    {ctype} gv{n} = 0;
"""

_INPUT_MACROS = """#define v{n} i{q}_{column}[at{q}]
#define THERE{n} if (RARE(h{q} == e{q})) {{ b->port = {n}; iq{q}->starves = 1; goto starved; }}
#define PEEK{n} THERE{n} {{ const int64_t c_ = ikinds{q}[at{q}];{kinds} }}
#define PEEK_DATA{n} THERE{n} if (RARE(ikinds{q}[at{q}])) goto any_tokens;
#define TAKE{n}{take}
#define TAKE_IF{n}(test){some}
"""

_TOUCHED = """    uint32_t *touched = (uint32_t *)b->touched.items + b->touched.length;
    int64_t several = 0;
"""

_TOUCHED_BACK = "    b->touched.length = touched - (uint32_t *)b->touched.items;\n"

_AT = "        at{q} = h{q} & im{q};\n"

_ROOM = """    if (ROOM_IN({q}) < most) most = ROOM_IN({q});
"""

_CROWDED = """    if (ROOM_IN({q}) == 0) {{
        b->status = CROWDED;
        b->which = {q};
        oq{q}->crowds = 1;
        goto back;
    }}
"""

_FULL = " if (ROOM_IN({q}) == 0) {{ b->which = {q}; oq{q}->crowds = 1; goto blocked; }}"

_BLOCKED = """blocked:
    b->status = CROWDED;
   {}
    goto back;
"""

_INPUT_BACK = """    if (iq{q}->head != h{q}) {{
        iq{q}->head = h{q};
        if (iq{q}->crowds) {{ iq{q}->crowds = 0; wake(iq{q}->writer); }}
    }}
"""

_OUTPUT_BACK = """    if (oq{q}->tail != T{q}) {{
        oq{q}->tail = T{q};
        if (oq{q}->starves) {{ oq{q}->starves = 0; wake(oq{q}->reader); }}
    }}
"""

_TEMPLATE = (
    TUNING
    + """#include "firing.h"
typedef struct {{
{fields}}} State;

int64_t state_size(void) {{ return sizeof(State); }}

void start(State *s) {{
    memset(s, 0, sizeof *s);
{starts}}}

#define ROOM_IN(q) (oq##q->places - (T##q - oq##q->head))
{macros}
int64_t fire(Block *b) {{
    State *state = b->state;
    uint16_t *const codes = b->recent;
    const Path *const paths = b->paths;
    uint64_t low = 0, high = 0;
    int64_t last, fired = 0, most = MOST_RECENT;
{locals}
{room}    for (;;) {{
        if (RARE(fired >= most)) goto spent;
{at}{save}{reset}
{firings}
    }}
{blocked}spent:
{crowded}    b->status = RUNNING;
    wake(b);
    goto back;
{ends}back:
    b->fired += fired;
{back}
    return fired;
}}
"""
)
