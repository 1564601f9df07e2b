/* What compiled blocks are made of: queues, and the block itself.
 *
 * A block runs ahead in its own local time. A token carries the cycle in which it becomes visible.
 * The cycle of its taking is remembered, as long as it tells a writer when its place was free again,
 * or how many tokens the queue held at once; two such cycles are never 2^31 cycles apart.
 */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hierarchy.h"
#include "memories.h"
#include "order.h"
#include "values.h"
#include "waits.h"

#define DATA 0
#define EMPTY 1
#define STOP 2
#define DONE 3

/* Why a block came to a stop. A BLOCKED block needs room in a queue of finite depth. A CROWDED block
 * has used up a stretch of an unbounded queue. An ORDERED block must not go on before others have
 * come as far. A HELD block has fired as often as it is allowed to. A LATE block would fire in a cycle before which the run is ended. */
enum {
    RUNNING, STARVED, BLOCKED, CROWDED, HELD, FINISHED_BLOCK, ORDERED, LATE, FAILED, OVER_CAPACITY, NO_MEMORY
};

/* The most firings in one call, which a part of a packed count can hold; fewer firings where each may
 * let other blocks fire; and the firings that only take tokens and happen at once. */
enum { MOST_FIRINGS = 65535, FEW_FIRINGS = 1024, AT_ONCE = 8 };

#define RARE(test) __builtin_expect(!!(test), 0)

/* Ends the last call of a block whose next firing comes after the end of the run. Only kernels
 * that define LIMITED ask. What the firing has changed in the memory of the block stays, and is not
 * reported. */
#ifdef LIMITED
#define ENDED_BEFORE(cycle) if ((cycle) >= b->end) goto late;
#else
#define ENDED_BEFORE(cycle)
#endif

/* Ends a call of a block that has fired as often as it is allowed to. Only kernels that define HOLDABLE
 * ask. */
#ifdef HOLDABLE
#define HOLD \
    if (b->allowed - b->fired <= fired) { b->status = HELD; goto back; } \
    if (b->allowed - b->fired < most) most = b->allowed - b->fired;
#else
#define HOLD
#endif

typedef struct Block Block;
typedef struct Piece Piece;

/* Elements by which the arrays in a stretch are longer than its places, so that places of the same
 * number do not fall into the same set of a cache. */
enum { GAP = 8 };

/* The most tokens that count as few. */
enum { FEW = 64 };

/* Places of a queue, used in turn: for the control words, an int64_t each, the cycle of becoming
 * visible, times 4, plus the kind; behind them, for the cycles of the latest takings, a uint32_t,
 * the lower half; behind those for the values, column by column: int64_t, double or double complex. */
typedef struct Stretch {
    struct Stretch *next;
    int64_t end; /* the token after its last, where there is a next */
} Stretch;

static inline int64_t *control_of(Stretch *s) { return (int64_t *)(s + 1); }

/* A queue holds one token or several that always move together, one in each column. Its tokens are
 * given to its last stretch and taken from its first; mostly, both are one. */
typedef struct {
    Block *writer, *reader;
    Stretch *from, *to;
    Piece *oldest, *newest; /* the cycles of all takings that the peak may depend on, once it is more
                             * than a few tokens */
    Piece *spare;      /* a piece of that which may be used again */
    int64_t size;      /* bytes of a stretch */
    int64_t places;    /* of a stretch */
    int64_t head, tail;/* tokens taken and given so far */
    int64_t base;      /* the first token that needs its place in the last stretch */
    int64_t depth;     /* 0 where unbounded */
    int64_t latency;
    int64_t seen;      /* taken tokens that the peak accounts for */
    int64_t batch;     /* takings left before the peak has to account for them */
    int64_t peak;      /* the most tokens that it held at once */
    int64_t grew;      /* whether the peak grew when it last accounted for tokens */
    int64_t starves;   /* whether its reader waits for a token in it */
    int64_t crowds;    /* whether its writer waits for room in it */
    int64_t prepared;  /* tokens behind the last for which there has been no room yet */
    int64_t stamps;    /* bytes from a stretch to the cycles of its tokens' being given, a uint32_t
                        * each; 0 where they become visible a latency after that */
    int64_t wire;      /* whether its reader takes all visible tokens whenever it fires */
    Bins *given, *taken; /* tokens over time, where waits are kept; else NULL */
    uint32_t latest[FEW]; /* the cycles of the last takings that the peak accounts for */
} Queue;

/* The token after the last in the stretch that is taken from. */
static inline int64_t end_of(const Queue *q) { return q->from == q->to ? q->tail : q->from->end; }

typedef struct LogPiece LogPiece;
struct LogPiece {
    LogPiece *next;
    int64_t length, room; /* in words */
    uint16_t words[];
};

typedef struct LogPages LogPages;

/* A log of words, in memory and ahead of these in a file. */
typedef struct {
    LogPages *pages;       /* where its pieces lie */
    LogPiece *first, *last; /* pieces behind the last are empty */
    int64_t first_words, more_words; /* of its first piece, and of others */
    int64_t in_memory; /* the words of pieces before the last */
    int64_t limit;     /* the most of them before they go to the file; 0 where there is no limit */
    int64_t in_file;
    FILE *file;
} Log;

struct Block {
    Queue **in;
    Queue **out;       /* the queues of all outputs */
    int64_t outs;      /* the number of these queues */
    void *state;
    void **memory;
    int64_t *numbers;
    int64_t *waits;    /* by port, inputs first: cycles waited */
    int64_t (*counts)[4]; /* by output, the first of those that move together: tokens by kind; not all
                           * data are counted where they go through a queue */
    int64_t (*fire)(Block *);
    int (*account)(Queue *);
    int (*pull)(Block *, Queue *);
    int64_t pulls;     /* whether it waits for the writer of one of its queues, which is firing */
    uint64_t *awake;   /* where the scheduler finds that the block has something to do */
    uint64_t bit;
    int64_t interval, ready, fired;
    int64_t status, port, which; /* why it stopped, at which port, at which queue of its outputs */
    int64_t allowed;   /* the most firings, if its kernel is HOLDABLE */
    int64_t end;       /* the cycle before which the run is ended, if its kernel is LIMITED */
    /* Of a block that depends on time: the cycle that its next firing is ordered by, when it is
     * ORDERED; the last such cycle that it may go on in; and how many cycles that may lie after all
     * that others have yet to do. */
    int64_t key, limit, ahead;
    /* Of a block that touches memory: whether it stopped for that, and then the last cycle in which
     * it may ask; and how many cycles after a firing others notice it at the earliest. */
    int64_t asks, until, reach;
    Hierarchy *hierarchy;
    int (*touch)(Block *, int64_t region, int64_t index, int write, int64_t cycle);
    int64_t *regions;  /* the numbers of those that it touches */
    int64_t asker;     /* its number among the blocks that touch memory */
    int64_t taken, served; /* of a request: when all of it is taken, and when it is ready */
    int64_t waited;    /* cycles spent waiting for memory */
    int64_t made;      /* the last cycle in which one of its tokens was made */
    Reads *reads;      /* by wire that it reads, where the order of service is noted or kept */
    int64_t *places;   /* the cycles in which its latest requests were ready, in turn */
    int64_t outstanding, place; /* the number of places, 0 where unbounded; the next place */
    /* Of a block whose waits are kept: the log of these, its next word and its end, the cycle of its
     * last entry, and what makes entries that kernels cannot. */
    Log *waits_log, *requests_log;
    uint16_t *log, *log_end;
    int64_t logged;
    int (*write)(Block *, uint64_t run, uint64_t wait, uint64_t cause);
    int (*note)(Block *, int64_t asked, int raises);
    /* Of its request: from when on it had a place; the region whose port was the last to take it, and
     * whether another port was free; the region that came last, and how that came about. */
    int64_t placed, held_up, crowded, last_region, links;
    Link *link;
};

static inline void wake(Block *b) { *b->awake |= b->bit; }

/* Lets the next prepared token into a full queue, of which one has been taken in a cycle: the writer,
 * which waits for that, gives it as soon as the place is free. Gives the token after. */
static inline int64_t admit(Queue *q, int64_t *control, int64_t token, int64_t taken) {
    Block *writer = q->writer;
    int64_t now = writer->ready;
    if (taken + 1 > now) {
        writer->waits[writer->port] += taken + 1 - now;
        LOG_WRITER(writer, taken + 1)
        now = taken + 1;
    }
    *control |= (now + q->latency) << 2;
    writer->ready = now + writer->interval;
    if (--q->prepared == 0) q->crowds = 1;
    return q->tail = token + 1;
}

/* Whether a compiler sees that tokens are data. */
#define KNOWN_DATA(kind) (__builtin_constant_p(kind) && (kind) == DATA)

/* Adds what one call has given to the tokens by kind: four counts, packed in one number. */
static inline void count(int64_t *counts, uint64_t given) {
    for (int k = 0; k < 4; k++) counts[k] += given >> 16 * k & MOST_FIRINGS;
}
