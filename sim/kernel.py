"""The C function around the firing of a block.

It fires the block until an input is empty or an output is full, with the state and the ends of
all queues in local variables. A firing happens at ``now``, the first cycle in which all that it
needs is there; ``cause`` is the port that was last. Where an output turns out to be full, the
state is as it was before the firing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

INT, REAL, COMPLEX = "int64_t", "double", "double complex"


@dataclass(frozen=True)
class Port:
    """A port that a step knows: its number among the inputs or outputs, the type of its values.

    ``readers``  how many queues an output has
    ``bounded``  whether one of them has a finite depth
    """

    name: str
    index: int
    ctype: str
    output: bool = False
    readers: int = 0
    bounded: bool = False


@dataclass(frozen=True)
class Body:
    """The C of one firing, and what it uses.

    ``state``      by variable: its type, and what it starts from
    ``variables``  the other variables, by name their types
    ``memory``     the pointers into the memory of the block, by name their types
    ``numbers``    the names of the numbers in it
    ``finished``   the expression that tells whether this was the last firing
    """

    inputs: Sequence[Port]
    outputs: Sequence[Port]
    state: Mapping[str, tuple[str, str]]
    variables: Mapping[str, str]
    memory: Mapping[str, str]
    numbers: Sequence[str]
    lines: Sequence[str]
    finished: str

    def queues(self, port: Port) -> range:
        """The numbers of an output's queues among those of all outputs."""
        first = sum(other.readers for other in self.outputs[: port.index])
        return range(first, first + port.readers)


def source(body: Body) -> str:
    """The whole C source of a block's kernel."""
    restored = list(body.state) if any(port.bounded for port in body.outputs) else []
    return _TEMPLATE.format(
        fields=_each("    {} {};\n", ((t, name) for name, (t, _) in body.state.items()))
        or "    char none;\n",
        starts=_each("    s->{} = {};\n", ((n, value) for n, (_, value) in body.state.items())),
        macros="".join(_PEEK.format(n=port.index) for port in body.inputs)
        + "".join(_room(body, port) for port in body.outputs),
        locals=_locals(body),
        save="".join(_crowded(body, port) for port in body.outputs)
        + _each("        o{0} = {0};\n", ((name,) for name in restored)),
        body="\n".join(body.lines),
        finished=body.finished,
        commit="".join(_COMMIT_INPUT.format(n=port.index) for port in body.inputs)
        + "".join(_commit(body, port) for port in body.outputs),
        restore=_each("    {0} = o{0};\n", ((name,) for name in restored)),
        back=_each("    state->{0} = {0};\n", ((name,) for name in body.state))
        + "".join(_INPUT_BACK.format(n=port.index) for port in body.inputs)
        + "".join(_back(body, port) for port in body.outputs),
    )


def _each(form: str, items: Iterable[tuple[object, ...]]) -> str:
    return "".join(form.format(*item) for item in items)


def _locals(body: Body) -> str:
    parts = [
        _INPUT_LOCALS.format(n=port.index, ctype=port.ctype, place=_place(port))
        for port in body.inputs
    ]
    for port in body.outputs:
        parts.append(_OUTPUT_LOCALS.format(n=port.index, ctype=port.ctype))
        parts += [_QUEUE_LOCALS.format(q=q, place=_place(port)) for q in body.queues(port)]
    parts.append(_each("    {1} {0} = 0;\n", body.variables.items()))
    parts.append(
        _each(
            "    {1} {0} = state->{0}, o{0} = {0};\n",
            ((name, ctype) for name, (ctype, _) in body.state.items()),
        )
    )
    for k, (name, ctype) in enumerate(body.memory.items()):
        parts.append(f"    {ctype} *restrict {name} = b->memory[{k}];\n")
    for k, name in enumerate(body.numbers):
        parts.append(f"    const int64_t {name} = b->numbers[{k}];\n")
    return "".join(parts)


def _room(body: Body, port: Port) -> str:
    number = len(body.inputs) + port.index
    checks = "".join(_ROOM.format(q=q, number=number) for q in body.queues(port))
    return f"#define ROOM{port.index} {checks}\n"


def _crowded(body: Body, port: Port) -> str:
    """Stops before the places of an output's queues are used up."""
    number = len(body.inputs) + port.index
    return "".join(_CROWDED.format(q=q, number=number) for q in body.queues(port))


def _commit(body: Body, port: Port) -> str:
    pushes = "".join(_PUSH.format(q=q, n=port.index) for q in body.queues(port))
    return _COMMIT_OUTPUT.format(n=port.index, pushes=pushes)


def _back(body: Body, port: Port) -> str:
    tails = "".join(_QUEUE_BACK.format(q=q) for q in body.queues(port))
    return _COUNTS.format(n=port.index) + tails


def _place(port: Port) -> str:
    """The part of the name of the structure of a place that tells the type of its value."""
    return port.ctype.split()[-1]


_PEEK = """#define PEEK{n} \\
    if (h{n} == e{n}) {{ b->port = {n}; goto starved; }} \\
    {{ int64_t w_ = x{n}[h{n} & M{n}].visible; k{n} = w_ & 3; w_ >>= 2; \\
       v{n} = x{n}[h{n} & M{n}].value; \\
       if (w_ > now) {{ now = w_; cause = {n}; }} }}
"""

_ROOM = """\\
    if (D{q}) {{ int64_t f_ = T{q} - D{q}; \\
        if (f_ >= 0) {{ \\
            if (f_ >= H{q}) {{ b->port = {number}; b->which = {q}; goto blocked; }} \\
            int64_t w_ = now + (int32_t)(y{q}[f_ & P{q}] + 1 - (uint32_t)now); \\
            if (w_ > now) {{ now = w_; cause = {number}; }} }} }} """

_INPUT_LOCALS = """    Queue *q{n} = b->in[{n}];
    int64_t h{n} = q{n}->head, k{n} = 0, take{n} = 0;
    if (!remember(q{n})) {{ b->status = NO_MEMORY; return 0; }}
    const int64_t e{n} = q{n}->tail, M{n} = q{n}->mask, N{n} = q{n}->past;
    const Place_{place} *restrict x{n} = (void *)q{n}->places;
    uint32_t *restrict g{n} = q{n}->taken;
    {ctype} v{n} = 0;
"""

_QUEUE_LOCALS = """    Queue *r{q} = b->out[{q}];
    int64_t T{q} = r{q}->tail;
    const int64_t H{q} = r{q}->head, D{q} = r{q}->depth, R{q} = r{q}->mask;
    const int64_t L{q} = r{q}->latency, P{q} = r{q}->past;
    Place_{place} *restrict z{q} = (void *)r{q}->places;
    const uint32_t *y{q} = r{q}->taken;
"""

_COMMIT_INPUT = """        g{n}[h{n} & N{n}] = (uint32_t)now;
        h{n} += take{n};
        take{n} = 0;
"""

_COUNTS = """    b->counts[{n}][DATA] += given{n};
    for (int k = 1; k < 4; k++) {{
        b->counts[{n}][k] += other{n}[k];
        b->counts[{n}][DATA] -= other{n}[k];
    }}
"""

_PUSH = """            z{q}[T{q} & R{q}].value = gv{n};
            z{q}[T{q} & R{q}].visible = ((now + L{q}) << 2) | gk{n};
            T{q}++;
"""

_TEMPLATE = """#include "runtime.h"

typedef struct {{
{fields}}} State;

int64_t state_size(void) {{ return sizeof(State); }}

void start(State *s) {{
    memset(s, 0, sizeof *s);
{starts}}}

{macros}
int64_t fire(Block *b) {{
    State *state = b->state;
    int64_t now, cause, firings = 0, ready = b->ready;
    const int64_t interval = b->interval;
{locals}
    for (;;) {{
        now = ready;
        cause = 0;
{save}
{body}
        if (now > ready) b->waits[cause] += now - ready;
        firings++;
{commit}
        ready = now + interval;
        if ({finished}) {{
            b->status = FINISHED_BLOCK;
            goto back;
        }}
    }}
starved:
    b->status = STARVED;
    goto back;
blocked:
    b->status = BLOCKED;
    goto restore;
crowded:
    b->status = CROWDED;
    goto restore;
failed:
    b->status = FAILED;
    goto restore;
over_capacity:
    b->status = OVER_CAPACITY;
    goto restore;
no_memory:
    b->status = NO_MEMORY;
restore:
{restore}
back:
    b->ready = ready;
    b->fired += firings;
{back}
    return firings;
}}
"""

_OUTPUT_LOCALS = """    int64_t give{n} = 0, gk{n} = 0, given{n} = 0, other{n}[4] = {{0}};
    {ctype} gv{n} = 0;
"""

_CROWDED = """        if (T{q} - H{q} >= R{q}) {{
            b->port = {number};
            b->which = {q};
            goto crowded;
        }}
"""

_COMMIT_OUTPUT = """        if (give{n}) {{
            if (gk{n}) other{n}[gk{n}]++;
{pushes}            give{n} = gk{n} = 0;
            given{n}++;
        }}
"""

_INPUT_BACK = """    if (q{n}->head != h{n}) {{
        q{n}->head = h{n};
        account(q{n});
        wake_writer(q{n});
    }}
"""

_QUEUE_BACK = """    if (r{q}->tail != T{q}) {{
        r{q}->tail = T{q};
        wake_reader(r{q});
    }}
"""
