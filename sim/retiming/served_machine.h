/* A machine whose parts ask memory, with the times of the tokens in its queues, and the codes of its
 * firings. The structures are laid out by serving.py. */
#pragma once
#include <stdint.h>
#include <stdlib.h>

#include "accesses.h"
#include "codes.h"

#define RARE(test) __builtin_expect(!!(test), 0)

/* The tokens whose takings a peak accounts for at once, and those that a queue has places for at first. */
enum { BATCH = 16, FEW = 256 };

/* How many firings of a part are looked through for the next that moves a token, or asks. */
enum { FAR = 256 };

/* A cycle that does not come. */
#define NEVER (INT64_MAX / 2)

/* Why a part has stopped: at the end of its codes, for want of a token or of room, or at a request. */
enum { AT_END, STARVED, CROWDED, ORDERED };

typedef struct Part Part;

/* A cycle in a ring, or waited: a type of its own, so that compilers know that no store of one changes
 * a field. */
typedef long long Cycle;

/* A queue: when tokens became visible, when they were given, if its writer asks memory, and when they
 * were taken; each a ring. */
typedef struct {
    int64_t head, tail;      /* tokens taken and given so far */
    Cycle *visible, *given, *taken;
    int64_t places, kept;    /* places for visible tokens, and for takings */
    int64_t latency;
    int64_t limit;     /* how many tokens there may be between head and tail */
    int64_t depth;     /* INT64_MAX where it is unbounded */
    int64_t near;      /* whether it may be full */
    int64_t starves, crowds; /* whether its reader, or its writer, waits for what moves in it */
    int64_t seen;      /* taken tokens that the peak accounts for */
    int64_t batch;     /* takings left before the peak has to account for them */
    int64_t peak;      /* the most tokens that it held at once */
    int64_t stamped;   /* whether its writer asks memory */
    Part *writer, *reader;
    uint64_t given_bit, taken_bit; /* in ``moves`` of its writer's codes, and its reader's */
    int64_t next_given, next_taken; /* the number of the firing in which that comes next */
} Queue;

typedef struct {
    Queue *queue;
    int64_t port;
} Operation;

/* A touch of an entry of a region. It needs no order if it ``never`` does, or if the part has read
 * that line before: by line, ``there`` is then the cycle in which it arrived, and 0 before; NULL if
 * the order matters always. A read from a cache whose ports take no time is ``quick``: ``hits`` counts
 * those of lines that are in the cache, and the hierarchy does not. */
typedef struct {
    int64_t region, write;
    int64_t many;      /* whether it is any number of touches, which comes ahead of the indices */
    int64_t never, quick;
    Cycle *there;
    int64_t per_line, shift; /* the entries of a line, and their logarithm or -1 */
    int64_t kept, latency, hits;
} Touch;

/* What the firings of a code do: they wait for tokens, then for room; they take and give, and touch
 * entries of memory. */
typedef struct {
    int64_t waits, rooms, takes, gives, touches;
    int64_t quick; /* whether all touches are */
    Operation *operations;
    Touch *touch;
    int64_t shape; /* the first four numbers in one */
    uint64_t moves; /* bits of the queues that it takes from or gives to, and TOUCHES */
} Code;

/* The bit of codes that touch memory. The queues of a part share the last of the others, if
 * they are more than bits. */
#define TOUCHES ((uint64_t)1 << 63)

struct Part {
    Queue **in, **out;       /* ended by NULL */
    const uint8_t *at, *end; /* codes that are not read yet */
    Code *codes;
    int64_t code, left;      /* the one that was read, and how often it is still to come */
    uint64_t *awake;
    uint64_t bit;
    int64_t fired, status;
    Queue *waits_for;        /* where it is starved or crowded */
    int64_t interval, ready;
    Cycle *waits;            /* by port, inputs first: cycles waited */
    /* Of a part that asks memory: its number among these, else -1; the entries that it touches next;
     * when its latest requests were ready, in turn, how many there are, 0 where unbounded, and the
     * next place; the last cycle in which one of its tokens was made; cycles waited for memory; and
     * the latency of what it touches, at least. */
    int64_t asker;
    const uint32_t *touched;
    Cycle *places;
    int64_t outstanding, place;
    int64_t made, waited, delay;
    /* The request at which it has stopped: its cycle, that of its firing without memory, and the
     * port that was waited for last. */
    int64_t key, asked, cause;
    int64_t next_asked;      /* the number of the firing that asks next */
};

typedef struct {
    int64_t count, queue_count;
    Part **parts;
    Queue **queues;
    uint64_t *awake;
    int64_t asker_count;
    Part **askers;
    int64_t *when;           /* by part that asks */
    Part **path;             /* room for all parts */
    Hierarchy *hierarchy;
} Machine;

static inline void wake(Part *p) { *p->awake |= p->bit; }

/* Queues */

static inline int64_t given_at(const Queue *q, int64_t token) {
    const int64_t at = token & (q->places - 1);
    return q->stamped ? q->given[at] : q->visible[at] - q->latency;
}

/* Places for more tokens, with those from some token on up to another. */
static int more_places(Cycle **cells, int64_t old, int64_t made, int64_t from, int64_t to) {
    Cycle *found = malloc((size_t)made * sizeof(Cycle));
    if (!found) return 0;
    if (to - from > old) from = to - old;
    if (from < 0) from = 0;
    for (int64_t n = from; n < to; n++) found[n & (made - 1)] = (*cells)[n & (old - 1)];
    free(*cells);
    *cells = found;
    return 1;
}

static inline int64_t at_least(int64_t places) {
    int64_t found = 64;
    while (found < places) found *= 2;
    return found;
}

/* Makes room for the tokens that the limit lets in, and for the takings that the peak depends on.
 * The tokens between the limit and the peak may not be accounted for yet. */
static int make_room(Queue *q) {
    const int64_t ahead = q->limit + BATCH + 2;
    const int64_t places = at_least(q->limit + BATCH), kept = at_least(q->peak + 2 * ahead);
    if (places > q->places) {
        if (!more_places(&q->visible, q->places, places, q->seen, q->tail)) return 0;
        if (q->stamped && !more_places(&q->given, q->places, places, q->seen, q->tail)) return 0;
        q->places = places;
    }
    if (kept > q->kept) {
        if (!more_places(&q->taken, q->kept, kept, q->head - q->kept, q->head)) return 0;
        q->kept = kept;
    }
    q->near = q->depth <= q->peak + ahead;
    if (q->peak >= q->depth) q->batch = INT64_MAX;
    return 1;
}

/* Raises the peak to the most tokens held when each of the taken tokens was given. A token raises it
 * by one if the token ``peak`` places before it had not been taken before. */
static int account(Queue *q) {
    const int64_t mask = q->kept - 1;
    int64_t peak = q->peak;
    if (q->head > peak && q->taken[(q->head - 1 - peak) & mask] >= given_at(q, q->seen)) {
        for (int64_t n = q->seen; n < q->head; n++)
            peak += n >= peak && q->taken[(n - peak) & mask] >= given_at(q, n);
    }
    q->seen = q->head;
    if (peak == q->peak) return 1;
    q->peak = peak;
    return make_room(q);
}

/* When there is room for the next token, at the earliest. */
static inline int64_t room(const Queue *q) {
    const int64_t token = q->tail - q->depth;
    return q->near && token >= 0 ? q->taken[token & (q->kept - 1)] + 1 : 0;
}

/* Codes */

/* Reads the next code of a part, with how often it comes. Gives 0 where there is none. */
static inline int read_code(Part *p) { return next_code(&p->at, p->end, &p->code, &p->left); }

/* How many firings a part has at least before one that moves what a bit stands for. ``next`` keeps the
 * number of that firing. */
static int64_t firings_before(const Part *p, uint64_t bit, int64_t *next) {
    if (*next >= p->fired) return *next - p->fired;
    const uint8_t *at = p->at;
    int64_t code = p->code, left = p->left, n = p->fired;
    while (n < p->fired + FAR && (left || next_code(&at, p->end, &code, &left)) &&
           !(p->codes[code].moves & bit)) {
        n += left;
        left = 0;
    }
    *next = n;
    return n - p->fired;
}
