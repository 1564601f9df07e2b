/* Runs the blocks of a machine in turn, each as far as it comes, until no block can go on.
 *
 * Blocks that talk through queues alone run ahead of each other. A block that reads a wire or asks a
 * shared memory is ordered: it stops before a firing whose key, the cycle of the firing, lies after
 * the block's limit. When nothing else can go on, no block will fire before the smallest key, and
 * all tokens given up to that cycle are there; so the limits rise to it. Blocks that may go on at
 * once do so in the order of the blocks.
 *
 * Requests to memory are served one by one. Other blocks notice a request only some cycles later;
 * all requests that are due before then are served before the other blocks go on.
 */
#include "history.h"
#include "logs.h"

typedef struct {
    int64_t count;
    Block **blocks;
    uint64_t *awake; /* a bit for each block: whether it may have something to do */
    int64_t failed;  /* the block that failed */
    int64_t ordered_count;
    Block **ordered; /* the blocks that depend on time */
} Machine;

static uint32_t *taken_of(const Queue *q, Stretch *s) {
    return (uint32_t *)(control_of(s) + q->places + GAP);
}

/* Lets a queue go on in a new stretch. */
static int extend(Queue *q) {
    Stretch *made = malloc((size_t)q->size);
    if (!made) return 0;
    if (q->to) {
        q->to->next = made;
        q->to->end = q->tail;
    }
    q->to = made;
    q->base = q->tail;
    return 1;
}

/* Goes over to the next stretch, whose first token is the next to be taken. */
static void turn(Queue *q) {
    Stretch *done = q->from;
    q->from = done->next;
    free(done);
    wake(q->reader);
}

/* Whether the queue held more than ``peak`` tokens when one of the next tokens to account for was
 * given: exactly if the token ``peak`` places before it had not been taken before that cycle.
 * Without a history, ``recent`` has the takings of a few tokens before the next and of those that
 * follow; the queue has held no more than a few so far, so all others were taken long before. */
static int exceeded(const Queue *q, const uint32_t *recent, int64_t peak, const uint32_t *given,
                    int64_t length) {
    if (!recent) return recall_since(q, q->seen - peak, length, given);
    const int64_t next = peak > FEW ? peak - FEW : 0;
    return some_since(recent + (FEW + next - peak), length - next, given + next);
}

/* The most tokens that the queue held when these tokens were given, if that is more than the peak.
 * Each token can raise the number by one. A queue that fills holds the most at the last token: all
 * tokens not taken before. In other queues bisection finds the number. */
static int64_t highest(const Queue *q, const uint32_t *recent, const uint32_t *given,
                       int64_t length) {
    const uint32_t last = given[length - 1];
    const int64_t early = q->seen - q->peak, end = q->seen + length;
    const int64_t before = recent ? early + count_before(recent + FEW - q->peak, length, last)
                                  : recall_before(q, early, end, last);
    int64_t high = q->peak + length, low = end - before > q->peak ? end - before : q->peak;
    if (!exceeded(q, recent, low, given, length)) return low;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (exceeded(q, recent, middle, given, length))
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Adds tokens to the counts over time: all at once if they fall into one bin, else half by half. Of
 * the cycle of each, the lower half is in ``cycles``, near that of its control word; or, without
 * ``cycles``, it lies a latency before that. */
static void add_all(Bins *bins, const int64_t *control, const uint32_t *cycles, int64_t latency,
                    int64_t length) {
#define CYCLE(k) \
    ((control[k] >> 2) + (cycles ? (int32_t)(cycles[k] - (uint32_t)(control[k] >> 2)) : -latency))
    const int64_t last = CYCLE(length - 1);
    if (CYCLE(0) >> bins->shift == last >> bins->shift && last >> bins->shift < BINS) {
        add_to_bins(bins, last, length);
    } else if (length < 4) {
        for (int64_t k = 0; k < length; k++) add_to_bins(bins, CYCLE(k), 1);
    } else {
        const int64_t half = length / 2;
        add_all(bins, control, cycles, latency, half);
        add_all(bins, control + half, cycles ? cycles + half : NULL, latency, length - half);
    }
#undef CYCLE
}

/* Raises the peak to the most tokens held when each of the taken tokens was given, up to a token. */
static int account_until(Queue *q, int64_t until) {
    if (q->wire) {
        q->seen = q->head;
        q->peak = q->tail > 0;
    }
    const int64_t wrap = (q->places < BATCH ? q->places : BATCH) - 1;
    const int64_t *control = control_of(q->from);
    const uint32_t *taken = taken_of(q, q->from);
    while (q->seen < until) {
        int64_t first = q->seen, at = first & (q->places - 1), end = (first | wrap) + 1;
        int64_t length = (end < until ? end : until) - first;
        if (q->given) {
            const char *stamps = q->stamps ? (char *)q->from + q->stamps + at * 4 : NULL;
            add_all(q->given, control + at, (const uint32_t *)stamps, q->latency, length);
            add_all(q->taken, control + at, taken + at, 0, length);
            if (q->depth && q->peak == q->depth) {
                q->seen += length;
                continue;
            }
        }
        uint32_t cycles[PACK + BATCH + PACK], *given = cycles + PACK;
        for (int64_t k = 0; k < length; k++)
            given[k] = (uint32_t)((control[at + k] >> 2) - q->latency);
        if (q->stamps) memcpy(given, (char *)q->from + q->stamps + at * 4, (size_t)length * 4);
        uint32_t some[FEW + BATCH], *recent = q->newest ? NULL : some, before = given[0] - 1;
        if (q->seen == 0)
            for (int64_t n = 0; n < FEW; n++) q->latest[n] = before;
        /* The cycles beside those of the tokens change nothing for recall_since. */
        for (int64_t n = 0; n < PACK; n++) {
            given[n - PACK] = given[0];
            given[length + n] = taken[at + length - 1] + 1;
        }
        if (recent) {
            memcpy(recent, q->latest, sizeof q->latest);
            memcpy(recent + FEW, taken + at, (size_t)length * 4);
            memcpy(q->latest, recent + length, sizeof q->latest);
        } else if (!remember(q, taken + at, length)) {
            return 0;
        }
        if (q->grew || exceeded(q, recent, q->peak, given, length)) {
            const int64_t peak = highest(q, recent, given, length);
            q->grew = peak > q->peak;
            q->peak = peak;
            if (recent && peak > FEW && !begin_history(q, recent, length, before)) return 0;
        }
        q->seen += length;
    }
    return 1;
}

/* Accounts for the tokens that have been taken; of an unbounded queue mostly for whole batches. */
static int account(Queue *q) {
    const int ends = q->from != q->to && q->head == q->from->end;
    const int64_t until = q->depth == 0 && !ends ? q->head & -BATCH : q->head;
    if (!account_until(q, until)) return 0;
    if (q->depth == 0) {
        if (ends) turn(q);
        if (q->from == q->to) q->base = q->seen;
        if (q->crowds) q->crowds = 0, wake(q->writer);
    } else if (q->peak == q->depth) {
        if (!q->given) q->batch = INT64_MAX;
        forget(q);
    }
    return 1;
}

/* Lets the writer of a queue go on whose reader has found it empty, if the writer waited for room in
 * this queue alone. Gives whether the queue holds a token then. The scheduler will find out if the
 * writer has failed. */
static int pull(Block *b, Queue *q) {
    Block *writer = q->writer;
    if (q->head - q->seen >= q->batch) account(q);
    if (q->tail != q->head) return 1;
    if (writer->status != BLOCKED || writer->out[writer->which] != q || writer->pulls) return 0;
    q->crowds = 0;
    for (int64_t n = 0; n < writer->outs; n++) {
        const Queue *other = writer->out[n];
        if (other->depth && other->tail - other->head >= other->depth) {
            wake(writer);
            return 0;
        }
    }
    *writer->awake &= ~writer->bit;
    b->pulls = 1;
    writer->fire(writer);
    b->pulls = 0;
    if (writer->status >= FAILED) wake(writer);
    return q->tail != q->head;
}

int open_queue(Queue *q) {
    q->batch = q->places / 2 < BATCH ? q->places / 2 : BATCH;
    if (!extend(q)) return 0;
    q->from = q->to;
    return 1;
}

/* Accounts for the last tokens; those that nobody has taken stayed until the end of the run. */
int settle(Queue *q, int64_t end) {
    if (q->batch == INT64_MAX) return 1;
    while (q->head < q->tail) {
        uint32_t *taken = taken_of(q, q->from);
        const int64_t last = end_of(q);
        for (; q->head < last; q->head++) taken[q->head & (q->places - 1)] = (uint32_t)end;
        if (!account(q)) return 0;
    }
    return account_until(q, q->head);
}

/* Accounts for all tokens that have been taken so far. */
int catch_up(Queue *q) {
    return q->batch == INT64_MAX || account_until(q, q->head);
}

/* Begins to look for the peak of a short queue anew. It has been taken from only in the places that
 * its stretch still has, as far as the next tokens can tell. */
void restart_peak(Queue *q) {
    if (q->depth == 0 || q->depth > FEW || q->head < FEW) return;
    const uint32_t *taken = taken_of(q, q->from);
    for (int64_t n = 0; n < FEW; n++) q->latest[n] = taken[(q->head - FEW + n) & (q->places - 1)];
    forget(q);
    q->seen = q->head;
    q->batch = q->places / 2 < BATCH ? q->places / 2 : BATCH;
    q->peak = 0;
    q->grew = 1;
}

void close_queue(Queue *q) {
    while (q->from != q->to) {
        Stretch *next = q->from->next;
        free(q->from);
        q->from = next;
    }
    free(q->from);
    forget(q);
}

void release(Growing *g) { release_items(g); }

int64_t give_up(Growing *g, int64_t size) { return give_up_items(g, size); }

void unmap(void *items, int64_t bytes) { release_items(&(Growing){.items = items, .mapped = bytes}); }

int append(Growing *g, int64_t value) {
    APPEND(g, int64_t, value);
    return 1;
no_memory:
    return 0;
}

/* Finds the first message of a wire in an order of service that is kept. */
void begin_reads(Reads *r) { next_read(r); }

void prepare(Machine *m) {
    for (int64_t n = 0; n < m->count; n++) {
        Block *b = m->blocks[n];
        b->account = account;
        b->pull = pull;
        b->write = write_wait;
        b->note = note;
        b->awake = m->awake + n / 64;
        b->bit = (uint64_t)1 << n % 64;
        wake(b);
    }
}

/* Lets each block whose bit is set go on, and the blocks behind it that it wakes. Gives 0 if a block
 * has failed. */
static int sweep(Machine *m) {
    for (int64_t word = 0; 64 * word < m->count; word++) {
        uint64_t left = ~(uint64_t)0;
        while (m->awake[word] & left) {
            int bit = __builtin_ctzll(m->awake[word] & left);
            int64_t n = 64 * word + bit;
            left = ~(uint64_t)1 << bit;
            m->awake[word] &= ~((uint64_t)1 << bit);
            Block *b = m->blocks[n];
            if (b->status < FINISHED_BLOCK || b->status == ORDERED) b->fire(b);
            if (b->status >= FAILED) {
                m->failed = n;
                return 0;
            }
        }
    }
    return 1;
}

/* Gives each crowded block a new stretch of its queue. Gives the number of such blocks, or -1 if there
 * is no memory. */
static int64_t relieve(Machine *m) {
    int64_t found = 0;
    for (int64_t n = 0; n < m->count; n++) {
        Block *b = m->blocks[n];
        if (b->status != CROWDED) continue;
        Queue *q = b->out[b->which];
        if (!account(q) || (q->tail - q->base > q->places / 2 && !extend(q))) {
            b->status = NO_MEMORY;
            m->failed = n;
            return -1;
        }
        q->crowds = 0;
        wake(b);
        found++;
    }
    return found;
}

static int quiet(Machine *m) {
    uint64_t any = 0;
    for (int64_t word = 0; 64 * word < m->count; word++) any |= m->awake[word];
    return !any;
}

/* Lets blocks ask memory, one after the other, in the order of their cycles and then of the blocks,
 * as long as no earlier request can still appear. Gives 0 if a block has failed. */
static int serve(Machine *m) {
    int64_t horizon = INT64_MAX;
    for (;;) {
        int64_t next = -1, second = INT64_MAX;
        for (int64_t n = 0; n < m->ordered_count; n++) {
            const Block *b = m->ordered[n];
            if (b->status != ORDERED) continue;
            if (!b->asks) {
                if (b->key < horizon) horizon = b->key;
            } else if (next < 0 || b->key < m->ordered[next]->key) {
                /* It has to ask before blocks that come earlier in their order. */
                if (next >= 0) {
                    if (m->ordered[next]->key < second) second = m->ordered[next]->key;
                    second--;
                }
                next = n;
            } else if (b->key < second) {
                second = b->key;
            }
        }
        if (next < 0 || m->ordered[next]->key >= horizon) return 1;
        Block *b = m->ordered[next];
        int64_t reach = b->key + b->reach;
        if (reach < horizon) horizon = reach;
        b->until = second < horizon ? second : horizon - 1;
        b->fire(b);
        b->until = -1;
        if (b->status >= FAILED) {
            for (m->failed = 0; m->blocks[m->failed] != b;) m->failed++;
            return 0;
        }
        /* It may go on at once: it has run out of a stretch only, or of the firings of one call. */
        const int awake = (*b->awake & b->bit) != 0;
        if ((awake || b->status == CROWDED || b->status == RUNNING) && b->ready < horizon)
            horizon = b->ready;
    }
}

/* Lets the blocks go on whose firings come next. Gives 0 if no block waits for its turn, and -1 if a
 * block has failed. */
static int advance(Machine *m) {
    int64_t first = INT64_MAX;
    int found = 0;
    for (int64_t n = 0; n < m->ordered_count; n++) {
        Block *b = m->ordered[n];
        if (b->status == ORDERED && b->key < first) first = b->key;
    }
    if (first == INT64_MAX) return 0;
    for (int64_t n = 0; n < m->ordered_count; n++) {
        Block *b = m->ordered[n];
        b->limit = first + b->ahead;
        if (b->status == ORDERED && !b->asks && b->key <= b->limit) {
            wake(b);
            found = 1;
        }
    }
    return found || serve(m) ? 1 : -1;
}

/* Runs up to a number of rounds. Gives 0 if there is more to do, 1 if no block can go on, and 2 if a
 * block has failed. */
int64_t run(Machine *m, int64_t rounds) {
    while (rounds-- > 0) {
        if (!sweep(m)) return 2;
        if (!quiet(m)) continue;
        int64_t found = relieve(m);
        if (found < 0) return 2;
        if (found > 0) continue;
        int more = advance(m);
        if (more <= 0) return more ? 2 : 1;
    }
    return 0;
}
