/* The times of firings in many machines at once, one in each lane.
 *
 * All lanes have the same parts, queues and firings, in the same order at each part. The time of a
 * firing is the latest of: when the part is ready again; when the tokens that it waits for are
 * visible; when the places of the tokens that it gives have been freed. A place is that of the token
 * ``depth`` before, so it lies in another row in lanes of other depths.
 *
 * A part goes on as long as all lanes know all of that: as long as there are tokens, and room in the
 * lane whose queue is the shortest. A queue that is unbounded in all lanes has a limit all the same,
 * which grows when nothing else can go on.
 */
#include "codes.h"
#include "lanes.h"
#include "takings.h"

#define RARE(test) __builtin_expect(!!(test), 0)

/* The tokens whose takings a peak accounts for at once; the tokens that an unbounded queue holds at
 * first; the most ports that a firing waits for; the latest cycle that 32 bits are trusted with. */
enum { BATCH = 32, FEW = 64, MOST_WAITS = 256, LATEST = 1 << 30 };

/* A peak is far if it depends on more takings than this: its lane remembers these for itself. */
enum { FAR = 256 };

/* Times are gathered where lanes of one vector have more depths than that, from up to so many rows. */
enum { FEW_DEPTHS = 3, GATHERED = 1 << 24 };

/* The shape of most firings: how often they wait, need room, take and give. */
#define GIVING(w, t) SHAPE(w, 0, t, 0) SHAPE(w, 0, t, 1) SHAPE(w, 1, t, 1) SHAPE(w, 2, t, 2)
#define SHAPES                                                              \
    GIVING(0, 0) GIVING(1, 0) GIVING(1, 1) GIVING(2, 1) GIVING(2, 2)

enum { NEEDS_CODES, STARVED, CROWDED, NO_MEMORY };

typedef struct Part Part;

/* Lanes by a number that they have: the different numbers, which lanes have each, and which of the
 * numbers there are in each vector, from one up to another: few, where lanes of like numbers lie side
 * by side. */
typedef struct {
    int64_t count, number[LANES];
    Test has[LANES];
    int64_t first[VECTORS], end[VECTORS];
} Sorted;

/* A queue of rows: when tokens become visible, and when they were taken. */
typedef struct {
    Part *writer, *reader;
    int64_t *depth_of; /* by lane; INT64_MAX where it is unbounded */
    TIME *latency_of;  /* by lane */
    int64_t *peak_of;  /* by lane: the most tokens that it held at once */
    int64_t head, tail;/* tokens taken and given so far */
    int64_t seen;      /* taken tokens that the peaks account for */
    int64_t batch;     /* takings left before the peaks have to account for them */
    int64_t limit;     /* how many tokens there may be between head and tail */
    int64_t hard;      /* the smallest depth of a lane */
    int64_t starves, crowds; /* whether its reader, or its writer, waits for what moves in it */
    int64_t places, kept;    /* rows that there are for visible tokens, and for taken ones */
    Row *visible, *taken;
    Sorted depths;     /* those that are near enough to be looked at */
#ifdef GATHERS
    Test near;         /* the lanes that have these */
    Row depth;         /* and the depth of each */
    int64_t gathers[VECTORS]; /* whether each lane reads a row of its own, rather than one by depth */
#endif
    Sorted peaks;      /* those that may still grow */
    Row latency;
    Takings takings[LANES]; /* of lanes whose peak is far */
} Queue;

typedef struct {
    Queue *queue;
    int64_t port;
} Operation;

/* What the firings of a code do: they wait for tokens, then for room; they take and give. */
typedef struct {
    int64_t waits, rooms, takes, gives;
    Operation *operations;
    int64_t shape; /* the four numbers in one */
} Code;

struct Part {
    const uint8_t *at, *end; /* codes that are not read yet */
    Code *codes;
    int64_t code, left;      /* the one that was read, and how often it is still to come */
    uint64_t *awake;
    uint64_t bit;
    int64_t fired, status;
    Queue *waits_for;        /* where it is starved or crowded */
    int64_t rest;            /* the port whose waits are what remains when all others are known */
    TIME *interval_of;       /* by lane */
    TIME *ready_of;          /* by lane */
    TIME *waits_of;          /* by port, inputs first, and by lane: cycles waited, but at ``rest`` */
    Row ready, interval, *waits;
};

typedef struct {
    int64_t count, queue_count;
    Part **parts;
    Queue **queues;
    uint64_t *awake;
    int8_t *live;            /* by lane, whether it still counts */
    int64_t late;            /* whether a time is later than can be told */
} Machine;

static inline void wake(Part *p) { *p->awake |= p->bit; }

static inline int64_t at_least(int64_t places) {
    int64_t found = 64;
    while (found < places) found *= 2;
    return found;
}

/* Rows of their own for more tokens, with those from some token on up to another. */
static int more_rows(Row **rows, int64_t *places, int64_t needed, int64_t from, int64_t to) {
    const int64_t made = at_least(needed), old = *places;
    if (made <= old) return 1;
    Row *found = aligned_alloc(64, (size_t)made * sizeof(Row));
    if (!found) return 0;
    const Row none = all(-1);
    for (int64_t n = 0; n < made; n++) found[n] = none;
    if (to - from > old) from = to - old;
    if (from < 0) from = 0;
    for (int64_t n = from; n < to; n++) found[n & (made - 1)] = (*rows)[n & (old - 1)];
    free(*rows);
    *rows = found;
    *places = made;
    return 1;
}

/* Sorts some lanes by a number. */
static void sort_lanes(Sorted *s, const int64_t *of, const int8_t *lanes) {
    int8_t flags[LANES][LANES];
    s->count = 0;
    for (int v = 0; v < VECTORS; v++) s->first[v] = s->end[v] = 0;
    for (int k = 0; k < LANES; k++) {
        if (!lanes[k]) continue;
        int64_t n = 0;
        while (n < s->count && s->number[n] != of[k]) n++;
        if (n == s->count) {
            memset(flags[n], 0, LANES);
            s->number[s->count++] = of[k];
        }
        flags[n][k] = 1;
        const int v = k / WIDTH;
        if (!s->end[v] || n < s->first[v]) s->first[v] = n;
        if (n >= s->end[v]) s->end[v] = n + 1;
    }
    for (int64_t n = 0; n < s->count; n++)
        for (int v = 0; v < VECTORS; v++) s->has[n].of[v] = mask_of(flags[n] + v * WIDTH);
}

/* The tokens of a queue that its peaks may not account for yet. There are rows for the peak, and for
 * these twice. */
static int64_t ahead(const Queue *q) { return q->limit + BATCH + 2; }

/* In a lane whose peak is further below its depth than that, the queue cannot be full. */
static void sort_depths(Queue *q, const int8_t *live) {
    int8_t near[LANES];
    for (int k = 0; k < LANES; k++)
        near[k] = live[k] && q->depth_of[k] != INT64_MAX &&
                  q->depth_of[k] <= q->peak_of[k] + ahead(q);
    sort_lanes(&q->depths, q->depth_of, near);
#ifdef GATHERS
    for (int k = 0; k < LANES; k++) ((TIME *)&q->depth)[k] = near[k] ? (TIME)q->depth_of[k] : 0;
    for (int v = 0; v < VECTORS; v++) {
        q->near.of[v] = mask_of(near + v * WIDTH);
        q->gathers[v] = q->kept <= GATHERED && q->depths.end[v] - q->depths.first[v] > FEW_DEPTHS;
    }
#endif
}

static int is_far(const Queue *q, int lane) {
    return q->depth_of[lane] == INT64_MAX && q->peak_of[lane] > FAR;
}

static void sort_peaks(Queue *q, const int8_t *live) {
    int8_t grows[LANES];
    q->batch = INT64_MAX;
    for (int k = 0; k < LANES; k++) {
        grows[k] = live[k] && q->peak_of[k] < q->depth_of[k];
        if (grows[k]) q->batch = BATCH;
        if (is_far(q, k)) grows[k] = 0;
    }
    sort_lanes(&q->peaks, q->peak_of, grows);
}

/* Makes room for what the limit lets in, and for what the peaks depend on. */
static int make_room(Queue *q, const int8_t *live) {
    int64_t peak = 0;
    for (int k = 0; k < LANES; k++)
        if (live[k] && !is_far(q, k) && q->peak_of[k] > peak) peak = q->peak_of[k];
    if (!more_rows(&q->visible, &q->places, q->limit + BATCH, q->seen, q->tail)) return 0;
    if (!more_rows(&q->taken, &q->kept, peak + 2 * ahead(q), q->head - q->kept, q->head)) return 0;
    sort_depths(q, live);
    return 1;
}

/* Sets the limit of a queue from the lanes that still count. */
static int limit_queue(Queue *q, const int8_t *live, int64_t limit) {
    q->hard = INT64_MAX;
    for (int k = 0; k < LANES; k++)
        if (live[k] && q->depth_of[k] < q->hard) q->hard = q->depth_of[k];
    q->limit = limit < q->hard ? limit : q->hard;
    sort_peaks(q, live);
    return make_room(q, live);
}

/* Raises the peak of a lane to the most tokens held when each of some tokens was given. A token raises
 * the peak by one if the token ``peak`` places before it had not been taken before. */
static int64_t raised(const Queue *q, int lane, int64_t peak) {
    const TIME *visible = (const TIME *)q->visible + lane, *taken = (const TIME *)q->taken + lane;
    const TIME latency = q->latency_of[lane];
    for (int64_t n = q->seen; n < q->head; n++) {
        const TIME given = visible[(n & (q->places - 1)) * LANES] - latency;
        peak += n >= peak && taken[((n - peak) & (q->kept - 1)) * LANES] >= given;
    }
    return peak;
}

/* Lets a lane whose peak is far remember its takings, from those on that the peak depends on. */
static int begin_takings(Queue *q, int lane) {
    Takings *const takings = q->takings + lane;
    if (q->peak_of[lane] < q->seen) takings->before = q->seen - q->peak_of[lane];
    return add_takings(takings, q->taken, q->kept - 1, lane, takings->before, q->seen);
}

/* Accounts for the tokens that have been taken in a lane whose peak is far. */
static int account_far(Queue *q, int lane) {
    Takings *const takings = q->takings + lane;
    const TIME *visible = (const TIME *)q->visible + lane, latency = q->latency_of[lane];
    if (!takings->last && !begin_takings(q, lane)) return 0;
    if (!add_takings(takings, q->taken, q->kept - 1, lane, q->seen, q->head)) return 0;
    for (int64_t n = q->seen; n < q->head; n++) {
        const TIME there = visible[(n & (q->places - 1)) * LANES];
        /* If the next token is given in the next cycle, no fewer are held then. */
        if (n + 1 < q->head && visible[((n + 1) & (q->places - 1)) * LANES] == there + 1) continue;
        const int64_t before = taken_before(takings, there - latency);
        if (n + 1 - before > q->peak_of[lane]) q->peak_of[lane] = n + 1 - before;
        /* The last token would hold this many if it was given now. */
        if (q->head - before <= q->peak_of[lane]) break;
    }
    return 1;
}

/* Accounts for the tokens that have been taken. */
static int account(Machine *m, Queue *q) {
    const int64_t visible_mask = q->places - 1, taken_mask = q->kept - 1;
    int8_t grows[LANES] = {0};
    int grew = 0;
    for (int k = 0; k < LANES; k++)
        if (m->live[k] && is_far(q, k) && !account_far(q, k)) return 0;
    const Sorted *const peaks = &q->peaks;
    for (int v = 0; v < VECTORS; v++) {
        const Vector since = q->latency.of[v] + 1;
        for (int64_t n = peaks->first[v]; n < peaks->end[v]; n++) {
            const int64_t peak = peaks->number[n];
            const Mask holds = peaks->has[n].of[v];
            /* Times only grow: no more are held than before if the last of these takings was before
             * the first of these tokens was given. */
            const Vector last = q->taken[(q->head - 1 - peak) & taken_mask].of[v] + since;
            if (!any(later(last, q->visible[q->seen & visible_mask].of[v]) & holds)) continue;
            Vector most = (Vector){0} - since;
            for (int64_t t = q->seen; t < q->head; t++)
                most = latest(q->taken[(t - peak) & taken_mask].of[v] -
                                  q->visible[t & visible_mask].of[v],
                              most);
            const Mask more = later(most + since, (Vector){0}) & holds;
            if (!any(more)) continue;
            for (int k = 0; k < WIDTH; k++) grows[v * WIDTH + k] |= (int8_t)in_lane(more, k);
            grew = 1;
        }
    }
    if (grew)
        for (int k = 0; k < LANES; k++)
            if (grows[k]) q->peak_of[k] = raised(q, k, q->peak_of[k]);
    q->seen = q->head;
    if (!grew) return 1;
    sort_peaks(q, m->live);
    int64_t peak = 0;
    for (int k = 0; k < LANES; k++)
        if (grows[k] && is_far(q, k) && !q->takings[k].last && !begin_takings(q, k)) return 0;
    for (int64_t n = 0; n < q->peaks.count; n++)
        if (q->peaks.number[n] > peak) peak = q->peaks.number[n];
    sort_depths(q, m->live);
    return peak + 2 * ahead(q) <= q->kept || make_room(q, m->live);
}

/* When there is room for the next token, at the earliest. */
static inline Vector room(const Queue *q, int v) {
    const int64_t mask = q->kept - 1;
    Vector found = (Vector){0} - 1;
#ifdef GATHERS
    if (q->gathers[v]) {
        const Vector row_of = ((TIME)(q->tail & mask) - q->depth.of[v]) & (TIME)mask;
        return gathered(q->near.of[v], q->taken, v, row_of, found) + 1;
    }
#endif
    const Sorted *const depths = &q->depths;
    for (int64_t d = depths->first[v]; d < depths->end[v]; d++)
        found = pick(depths->has[d].of[v], q->taken[(q->tail - depths->number[d]) & mask].of[v], found);
    return found + 1;
}

/* The time of a firing; ``since`` is when the part is ready again. It is inlined where its numbers are
 * known. There is no loop for firings of one code: queues that are short in some lane let few of them
 * follow each other, and compilers would keep in registers what each needs once. */
static inline __attribute__((always_inline)) void time_firing(Part *p, Row *since,
                                                              const Operation *wait,
                                                              const int64_t waits,
                                                              const int64_t rooms,
                                                              const int64_t takes,
                                                              const int64_t gives) {
    const Operation *full = wait + waits, *take = full + rooms, *give = take + takes;
    const int64_t rest = p->rest;
    for (int v = 0; v < VECTORS; v++) {
        Mask moved[MOST_WAITS];
        const Vector ready = since->of[v];
        Vector now = ready;
        for (int64_t k = 0; k < waits; k++) {
            const Queue *q = wait[k].queue;
            const Vector there = q->visible[q->head & (q->places - 1)].of[v];
            moved[k] = later(there, now);
            now = latest(there, now);
        }
        for (int64_t k = 0; k < rooms; k++) {
            const Vector free = room(full[k].queue, v);
            moved[waits + k] = later(free, now);
            now = latest(free, now);
        }
        const Vector waited = now - ready;
        Mask left = ~nowhere();
        for (int64_t k = waits + rooms - 1; k >= 0; k--) {
            Vector *const sum = &p->waits[wait[k].port].of[v];
            if (wait[k].port != rest) *sum = added_where(moved[k] & left, *sum, waited);
            left &= ~moved[k];
        }
        for (int64_t k = 0; k < takes; k++) {
            const Queue *q = take[k].queue;
            q->taken[q->head & (q->kept - 1)].of[v] = now;
        }
        for (int64_t k = 0; k < gives; k++) {
            const Queue *q = give[k].queue;
            q->visible[q->tail & (q->places - 1)].of[v] = now + q->latency.of[v];
        }
        since->of[v] = now + p->interval.of[v];
    }
}

/* Lets a part fire once with a code. Gives 0 if it has to stop, and -1 where there is no memory left.
 * It is inlined where its numbers are known. */
static inline __attribute__((always_inline)) int go(Machine *m, Part *p, Row *ready, const Code *c,
                                                    const int64_t waits, const int64_t rooms,
                                                    const int64_t takes, const int64_t gives) {
    const Operation *const wait = c->operations, *const take = wait + waits + rooms,
                           *const give = take + takes;
    for (int64_t k = 0; k < waits; k++) {
        Queue *q = wait[k].queue;
        if (q->tail == q->head) {
            q->starves = 1;
            p->waits_for = q;
            p->status = STARVED;
            return 0;
        }
    }
    for (int64_t k = 0; k < gives; k++) {
        Queue *q = give[k].queue;
        if (q->tail - q->head >= q->limit) {
            q->crowds = 1;
            p->waits_for = q;
            p->status = CROWDED;
            return 0;
        }
    }
    time_firing(p, ready, wait, waits, rooms, takes, gives);
    p->left--;
    p->fired++;
    for (int64_t k = 0; k < takes; k++) {
        Queue *q = take[k].queue;
        if (RARE(++q->head - q->seen >= q->batch) && !account(m, q)) return -1;
        if (q->crowds) q->crowds = 0, wake(q->writer);
    }
    for (int64_t k = 0; k < gives; k++) {
        Queue *q = give[k].queue;
        q->tail++;
        if (q->starves) q->starves = 0, wake(q->reader);
    }
    return 1;
}

/* Lets a part go on as far as it comes. */
static int fire(Machine *m, Part *p) {
    int went = 1;
    Row ready = p->ready;
    while (went > 0) {
        if (!p->left && !next_code(&p->at, p->end, &p->code, &p->left)) {
            p->status = NEEDS_CODES;
            break;
        }
        const Code *const c = p->codes + p->code;
        switch (c->shape) {
#define SHAPE(w, r, t, g) case SHAPE_OF(w, r, t, g): went = go(m, p, &ready, c, w, r, t, g); break;
            SHAPES
#undef SHAPE
            default: went = go(m, p, &ready, c, c->waits, c->rooms, c->takes, c->gives);
        }
    }
    p->ready = ready;
    for (int v = 0; v < VECTORS; v++) m->late |= any(later(ready.of[v], (Vector){0} + LATEST));
    return went >= 0;
}

int open_machine(Machine *m) {
    for (int64_t n = 0; n < m->queue_count; n++) {
        Queue *q = m->queues[n];
        memcpy(&q->latency, q->latency_of, sizeof q->latency);
        if (!limit_queue(q, m->live, FEW)) return 0;
    }
    for (int64_t n = 0; n < m->count; n++) {
        Part *p = m->parts[n];
        p->awake = m->awake + n / 64;
        p->bit = (uint64_t)1 << n % 64;
        p->waits = (Row *)p->waits_of;
        p->ready = all(0);
        memcpy(&p->interval, p->interval_of, sizeof p->interval);
        wake(p);
    }
    return 1;
}

void wake_all(Machine *m) {
    for (int64_t n = 0; n < m->count; n++) wake(m->parts[n]);
}

/* Lets all parts go on as far as they come with the codes that there are, or for a number of rounds.
 * Gives 0 where there is no memory left, 1 where none can go on, 2 where a time is too late, and 3
 * otherwise. */
int64_t run(Machine *m, int64_t rounds) {
    while (rounds-- > 0) {
        int moved = 0;
        for (int64_t word = 0; 64 * word < m->count; word++) {
            uint64_t left = ~(uint64_t)0;
            while (m->awake[word] & left) {
                const int bit = __builtin_ctzll(m->awake[word] & left);
                left = ~(uint64_t)1 << bit;
                m->awake[word] &= ~((uint64_t)1 << bit);
                if (!fire(m, m->parts[64 * word + bit])) return 0;
                moved = 1;
            }
        }
        if (m->late && sizeof(TIME) == 4) return 2;
        if (moved) continue;
        for (int64_t n = 0; n < m->count; n++) {
            Part *p = m->parts[n];
            Queue *q = p->waits_for;
            if (p->status != CROWDED || q->limit == q->hard) continue;
            q->limit = 2 * q->limit < q->hard ? 2 * q->limit : q->hard;
            if (!make_room(q, m->live)) return 0;
            wake(p);
            moved = 1;
        }
        if (!moved) return 1;
    }
    return 3;
}

/* When no part goes on: finds the lanes that could go on by themselves. Gives how many there are. */
int64_t able(Machine *m, int8_t *lanes) {
    int64_t found = 0;
    memset(lanes, 0, LANES);
    for (int64_t n = 0; n < m->count; n++) {
        const Part *p = m->parts[n];
        if (p->status != CROWDED) continue;
        const Code *c = p->codes + p->code;
        const Operation *give = c->operations + c->waits + c->rooms + c->takes;
        for (int k = 0; k < LANES; k++) {
            int has_room = m->live[k];
            for (int64_t g = 0; g < c->gives; g++) {
                const Queue *q = give[g].queue;
                has_room &= q->tail - q->head < q->depth_of[k];
            }
            lanes[k] |= (int8_t)has_room;
        }
    }
    for (int k = 0; k < LANES; k++) found += lanes[k];
    return found;
}

/* Finds the lanes in which the first part that can go on in any lane can. */
void agreed(Machine *m, int8_t *lanes) {
    for (int64_t n = 0; n < m->count; n++) {
        const Part *p = m->parts[n];
        if (p->status != CROWDED) continue;
        const Code *c = p->codes + p->code;
        const Operation *give = c->operations + c->waits + c->rooms + c->takes;
        int some = 0;
        for (int k = 0; k < LANES; k++) {
            lanes[k] = m->live[k];
            for (int64_t g = 0; g < c->gives; g++) {
                const Queue *q = give[g].queue;
                lanes[k] &= q->tail - q->head < q->depth_of[k];
            }
            some |= lanes[k];
        }
        if (some) return;
    }
}

/* Goes on with fewer lanes. Gives 0 where there is no memory left. */
int forget_lanes(Machine *m) {
    for (int64_t n = 0; n < m->queue_count; n++)
        if (!limit_queue(m->queues[n], m->live, m->queues[n]->limit)) return 0;
    wake_all(m);
    return 1;
}

/* Accounts for all takings, and tells when each part was ready last. */
int settle(Machine *m) {
    for (int64_t n = 0; n < m->queue_count; n++) {
        Queue *q = m->queues[n];
        if (q->batch == BATCH && q->seen != q->head && !account(m, q)) return 0;
    }
    for (int64_t n = 0; n < m->count; n++)
        memcpy(m->parts[n]->ready_of, &m->parts[n]->ready, sizeof(Row));
    return 1;
}

void close_machine(Machine *m) {
    for (int64_t n = 0; n < m->queue_count; n++) {
        free(m->queues[n]->visible);
        free(m->queues[n]->taken);
        for (int k = 0; k < LANES; k++) forget_takings(m->queues[n]->takings + k);
    }
}

int64_t size_of(int64_t what) { return (int64_t[]){sizeof(Queue), sizeof(Part), sizeof(Machine)}[what]; }
