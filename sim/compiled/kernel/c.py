"""The C of the plain kernel, in forms that ``plain.Kernel`` fills in."""

from __future__ import annotations

TUNING = """#if defined __tune_znver3__ || defined __tune_znver4__
#pragma GCC target("tune=generic")
#endif
"""
"""Has gcc keep the variables that have no register on the stack.

Tuned for these CPUs, whose moves between whole numbers and vectors are fast, it keeps them in
vector registers; a loop has several such moves then, and takes up to twice as long (measured on
Zen 4).
"""

# Values loaded once, ahead of the firings, would have to stay in registers, of which there are too
# few.
TEMPLATE = (
    TUNING
    + """#pragma GCC optimize("no-tree-loop-im", "no-ivopts")
#include "runtime.h"
{headers}
typedef struct {{
{fields}}} State;

int64_t state_size(void) {{ return sizeof(State); }}

void start(State *s) {{
    memset(s, 0, sizeof *s);
{starts}}}

{places}{macros}
{fired}
int64_t fire(Block *b) {{
    State *state = b->state;
    int64_t now, cause, ready = b->ready, *restrict waits = b->waits;
    const int64_t interval = b->interval;
    int64_t last;
{locals}
    int64_t fired = 0, most, row = 0;
{prepared}spent:
    most = {most};
{room}    LOG_ROOM
    HOLD
    if (fired >= most) goto crowded;
    for (;;) {{
{begin}{read}{reset}
{firings}
    }}
crowded:
{crowded}    b->status = RUNNING;
    wake(b);
    goto back;
{ends}{ordered}{blocked}back:
    b->ready = ready;
    b->fired += fired;
{back}
    return fired;
}}
"""
)

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

LATE = """late:
    b->status = LATE;
    goto back;
"""
"""Another end, of kernels that keep time: the block would fire after the end of the run."""

# Queues

PLACES = """typedef struct {{
    Stretch stretch; int64_t control[{places} + GAP]; uint32_t taken[{places} + 2 * GAP];{columns}
}} {end}{q};
"""
STAMPS = " uint32_t stamps[{}];"

INPUT_QUEUE = """    Queue *q{q} = b->in[{q}];
    int64_t h{q} = q{q}->head, at{q} = 0;
    {const}int64_t e{q} = {end};
    In{q} *restrict in{q} = (void *)q{q}->from;
"""
OUTPUT_QUEUE = """    Queue *r{q} = b->out[{q}];
    int64_t T{q} = r{q}->tail;
    const int64_t L{q} = r{q}->latency;
    Out{q} *restrict out{q} = (void *)r{q}->to;
"""
HEAD = "#define H{q} r{q}->head\n"
DEPTH = "    const int64_t D{q} = r{q}->depth;\n"

# A firing uses at most one place of each queue, so a call can have as many as there are places left
# in the stretch of an unbounded one.
ROOM = (
    "    if (fired + {places} - (T{q} - r{q}->base) < most)"
    " most = fired + {places} - (T{q} - r{q}->base);\n"
)
CROWDED = """    if ({places} - (T{q} - r{q}->base) <= 0) {{
        b->port = {number};
        b->which = {q};
        b->status = CROWDED;
        r{q}->crowds = 1;
        goto back;
    }}
"""

# Ports

INPUT = """    int64_t k{n} = 0, take{n} = 0;
"""
OUTPUT = """    int64_t give{n} = 0, gk{n} = 0;
    uint64_t given{n} = 0;
    {ctype} gv{n} = 0;
"""

STARVED = "{{ b->port = $n; q{q}->starves = 1; goto starved; }}"
THERE = f"if (RARE(h{{q}} == e{{q}})) {STARVED}"
INPUT_MACROS = """#define v{n} in{q}->column{column}[at{q}]
#define PEEK{n} {there} \\
    {{ int64_t c_ = in{q}->control[at{q}], w_ = c_ >> 2;{kinds} \\
       if (w_ > now) {{ now = w_; cause = {n}; }} }}
#define PEEK_DATA{n} {there} \\
    {{ int64_t c_ = in{q}->control[at{q}], w_ = c_ >> 2; \\
       if (RARE(c_ & 3)) goto any_tokens; \\
       if (w_ > now) {{ now = w_; cause = {n}; }} }}
#define TAKE{n}{take}
#define TAKE_IF{n}(test){some}
"""
OUTPUT_MACROS = """#define GIVE{n}(kind, value){first} gv{n} = (value);
#define ROOM{n}{full}{freed}
"""

# Whether a queue is full, and otherwise when the place of the next token has been freed.
FULL = """ \\
    if (T{0} - D{0} >= H{0}) {{ b->port = {1}; b->which = {0}; goto blocked; }}"""
FREED = """ \\
    {{ int64_t f_ = T{0} - D{0}; \\
       int64_t late_ = (int32_t)(out{0}->taken[f_ & ({2} - 1)] - (uint32_t)now); \\
       if (late_ >= 0 && f_ >= 0) {{ now += late_ + 1; cause = {1}; }} }}"""

# Firings

BEGIN = """        if (RARE(fired == most)) goto spent;
        now = ready;
        cause = 0;
"""
AT = "        at{0} = h{0} & ({1} - 1);\n"

FIRED = """#define FIRED \\
    ENDED_BEFORE(now) \\
    if (now > ready) { waits[cause] += now - ready; LOG_WAIT } \\
    ready = now + interval; fired++;
"""

TAKEN = "in{q}->taken[at{q}] = (uint32_t)now;"
# How many data go through a queue follows from how many tokens do.
UNLESS_DATA = "if (!KNOWN_DATA(gk{n})) "
COUNTED = "given{n} += (uint64_t){given} << 16 * gk{n};"
PUSHED = "out{q}->control[{at}] = ({made} + L{q}) << 2 | gk{n};{values} T{q}++;"

BLOCKED = """blocked:
    b->status = BLOCKED;
    b->out[b->which]->crowds = 1;
   {restore}
{more}"""

# Wires and memory

WIRE_FIELDS = "    int64_t k{0}; {1} v{0};\n"
WIRE = """    int64_t k{n} = state->k{n};
    {ctype} v{n} = state->v{n};
"""
WIRE_BACK = """    state->k{n} = k{n};
    state->v{n} = v{n};
"""
ORDER = """        ENDED_BEFORE(ready)
        if (ready > limit) { b->key = ready; b->asks = 0; goto ordered; }
"""
READ = """        for (; h{q} != e{q} && in{q}->control[{at}] >> 2 <= ready; h{q}++) {{
            k{n} = in{q}->control[{at}] & 3;
            v{n} = in{q}->column0[{at}];
            NOTE_READ({w})
        }}
        if (RARE(h{q} == e{q} && q{q}->from != q{q}->to)) {{ b->status = RUNNING; goto back; }}
"""
# Where the order of service is kept: the firing waits for the messages that it read, and reads no
# other.
KEPT_READ = """        for (Reads *r_ = b->reads + {w}; r_->firing == b->fired + fired; h{q}++) {{
            if (RARE(h{q} == e{q})) {{
                if (q{q}->from != q{q}->to) {{ b->status = RUNNING; goto back; }}
                b->port = {n};
                q{q}->starves = 1;
                goto starved;
            }}
            k{n} = in{q}->control[{at}] & 3;
            v{n} = in{q}->column0[{at}];
            r_->seen = in{q}->control[{at}] >> 2;
            next_read(r_);
        }}
        if (RARE(h{q} == e{q} && q{q}->from != q{q}->to)) {{ b->status = RUNNING; goto back; }}
"""
SEEN = "        if (b->reads[{0}].seen > now) {{ now = b->reads[{0}].seen; cause = {1}; }}\n"
ORDERED = """ordered:
    b->status = ORDERED;
   {restore}
    goto back;
"""

TOUCHING = """    int64_t asks = 0, asked = 0, had = 0, made = b->made;
"""
TOUCHING_FIRED = """#define TOUCH(n, index, write) \\
    { if (!asks) { \\
        int64_t place_ = b->outstanding ? b->places[b->place] : 0; \\
        asked = now; \\
        if (place_ > now) now = place_; \\
        ENDED_BEFORE(now) \\
        if (now > b->until) { b->key = now; b->asks = 1; goto ordered; } \\
        asks = 1; \\
        LOG_PLACE \\
        b->taken = b->served = now; \\
      } \\
      if (!b->touch(b, b->regions[n], index, write, now)) goto no_memory; }
#define FIRED \\
    ENDED_BEFORE(asks ? b->taken : now) \\
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

# After the firings

COUNTS = "    if (given{n}{but_data}) count(b->counts[{n}], given{n});\n"
INPUT_BACK = """    if (q{q}->head != h{q}) {{
        q{q}->head = h{q};
        if (h{q} - q{q}->seen >= q{q}->batch || (h{q} == e{q} && q{q}->from != q{q}->to))
            if (!b->account(q{q})) b->status = NO_MEMORY;
    }}
"""
BOUNDED_INPUT_BACK = """    if (q{q}->head != h{q}) {{
        q{q}->head = h{q};
        if (h{q} - q{q}->seen >= q{q}->batch && !b->account(q{q})) b->status = NO_MEMORY;
        if (q{q}->crowds{room}) {{
            q{q}->crowds = 0;
            wake(q{q}->writer);
        }}
    }}
"""
WAKE_READER = "if (r{q}->starves) {{ r{q}->starves = 0; wake(r{q}->reader); }}"
OUTPUT_BACK = """    if (r{q}->tail != T{q}) {{
        r{q}->tail = T{q};
        {wake}
    }}
"""
