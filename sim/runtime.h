/* What compiled blocks are made of: queues, growing arrays, accumulators, and the block itself.
 *
 * A block runs ahead in its own local time. A token carries the cycle in which it becomes visible.
 * The cycle of its taking is remembered, as long as it tells a writer when its place was free again,
 * or how many tokens the queue held at once; two such cycles are never 2^31 cycles apart.
 */
#define _GNU_SOURCE
#include <complex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DATA 0
#define EMPTY 1
#define STOP 2
#define DONE 3

/* Why a block came to a stop. */
enum { RUNNING, STARVED, BLOCKED, CROWDED, FINISHED_BLOCK, FAILED, OVER_CAPACITY, NO_MEMORY };

typedef struct {
    void *values;      /* by place: int64_t, double or double complex */
    int64_t *visible;  /* by place: the cycle of becoming visible, times 4, plus the kind */
    uint32_t *taken;   /* the cycles of the latest takings, of each the lower half */
    int64_t size;      /* bytes of a value */
    int64_t mask;      /* places - 1 */
    int64_t past;      /* takings that are remembered - 1 */
    int64_t head, tail;/* tokens taken and given so far */
    int64_t depth;     /* 0 where unbounded */
    int64_t latency;
    int64_t seen, gone;/* tokens given and taken that the peak has accounted for */
    int64_t peak;
    int64_t reader_ready;/* before this cycle its reader takes nothing more */
} Queue;

typedef struct {
    void *items;
    int64_t length, room;
} Growing;

typedef struct {
    int64_t dimensions, capacity;
    Growing points;    /* coordinates of the sub-tensor that is being taken in */
    Growing values;
    Growing table;     /* open addressing: index of a point plus 1; 0 where free */
    Growing order;     /* of the sub-tensor that is being given out: sorted indices */
    Growing out_points, out_values;
} Accumulator;

typedef struct {
    Queue **in;
    Queue **out;       /* the queues of all outputs, one output after the other */
    int64_t *readers;  /* how many queues each output has */
    void *state;
    void **memory;
    int64_t *numbers;
    int64_t *waits;    /* by port, inputs first: cycles waited */
    int64_t (*counts)[4];
    int64_t interval, ready, fired;
    int64_t status, port, which;
} Block;

static inline int grow(Growing *g, int64_t size) {
    int64_t room = g->room ? 2 * g->room : 64;
    void *items = realloc(g->items, (size_t)(room * size));
    if (!items) return 0;
    memset((char *)items + g->room * size, 0, (size_t)((room - g->room) * size));
    g->items = items;
    g->room = room;
    return 1;
}

#define APPEND(g, type, value)                                              \
    do {                                                                    \
        Growing *g_ = (g);                                                  \
        if (g_->length == g_->room && !grow(g_, sizeof(type))) goto no_memory; \
        ((type *)g_->items)[g_->length++] = (value);                        \
    } while (0)

/* The place of an index in an array that is all zeros where nothing was stored. */
#define STORED(g, type, index)                                              \
    ({                                                                      \
        Growing *g_ = (g);                                                  \
        int64_t i_ = (index);                                               \
        while (i_ >= g_->room)                                              \
            if (!grow(g_, sizeof(type))) goto no_memory;                    \
        if (i_ >= g_->length) g_->length = i_ + 1;                          \
        (type *)g_->items + i_;                                             \
    })

/* Counts how full a queue has been, as far as both its ends are known: the tokens given that are
 * not yet accounted for, up to the cycle before which its reader takes nothing more.
 *
 * No token taken since the last time has been in the queue for more than ``longest`` cycles, and a
 * queue gets no more than one token in a cycle: it has not held more than longest + 1 of them. */
static inline void account(Queue *q, int64_t longest) {
    int64_t seen = q->seen, gone = q->gone, peak = q->peak, mask = q->mask, past = q->past;
    if (longest + 1 <= peak && q->head > seen) {
        seen = q->head;
        if (gone < seen - longest - 1) gone = seen - longest - 1;
    }
    while (seen < q->tail) {
        int64_t given = (q->visible[seen & mask] >> 2) - q->latency;
        while (gone < q->head && (int32_t)(q->taken[gone & past] - (uint32_t)given) < 0) gone++;
        if (gone == q->head && q->reader_ready < given) break;
        if (++seen - gone > peak) peak = seen - gone;
    }
    q->seen = seen;
    q->gone = gone;
    q->peak = peak;
}

/* Makes room to remember the takings of all tokens that the queue has. */
static inline int remember(Queue *q) {
    while (q->tail - q->gone > q->past) {
        int64_t room = 2 * (q->past + 1);
        uint32_t *taken = malloc((size_t)room * 4);
        if (!taken) return 0;
        for (int64_t n = q->gone; n < q->head; n++)
            taken[n & (room - 1)] = q->taken[n & q->past];
        free(q->taken);
        q->taken = taken;
        q->past = room - 1;
    }
    return 1;
}

static inline uint64_t scramble(const int64_t *point, int64_t n) {
    uint64_t hash = 0;
    for (int64_t k = 0; k < n; k++)
        hash = (hash ^ (uint64_t)point[k]) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    return hash;
}

/* The index of a point in the accumulator, or minus one less than the index that it should get. */
static inline int64_t find_point(Accumulator *a, const int64_t *point) {
    int64_t n = a->dimensions;
    if (!a->table.room) return -1;
    uint64_t mask = (uint64_t)a->table.room - 1;
    for (uint64_t h = scramble(point, n) & mask;; h = (h + 1) & mask) {
        int64_t index = ((int64_t *)a->table.items)[h] - 1;
        if (index < 0) return -1;
        if (!memcmp((int64_t *)a->points.items + index * n, point, (size_t)(n * 8))) return index;
    }
}

static inline int insert_point(Accumulator *a, const int64_t *point) {
    int64_t n = a->dimensions, length = a->points.length;
    if (2 * (length + 1) > a->table.room) {
        int64_t room = a->table.room ? 2 * a->table.room : 128;
        int64_t *table = calloc((size_t)room, 8);
        if (!table) return 0;
        for (int64_t i = 0; i < length; i++) {
            uint64_t h = scramble((int64_t *)a->points.items + i * n, n) & (uint64_t)(room - 1);
            while (table[h]) h = (h + 1) & (uint64_t)(room - 1);
            table[h] = i + 1;
        }
        free(a->table.items);
        a->table.items = table;
        a->table.room = room;
    }
    if (length == a->points.room && !grow(&a->points, n * 8)) return 0;
    memcpy((int64_t *)a->points.items + length * n, point, (size_t)(n * 8));
    uint64_t mask = (uint64_t)a->table.room - 1, h = scramble(point, n) & mask;
    while (((int64_t *)a->table.items)[h]) h = (h + 1) & mask;
    ((int64_t *)a->table.items)[h] = length + 1;
    a->points.length = length + 1;
    return 1;
}

#define ACCUMULATE(a, type, point, value, plus)                             \
    do {                                                                    \
        Accumulator *a_ = (a);                                              \
        int64_t i_ = find_point(a_, point);                                 \
        if (i_ < 0) {                                                       \
            if (a_->points.length == a_->capacity) goto over_capacity;      \
            if (!insert_point(a_, point)) goto no_memory;                   \
            APPEND(&a_->values, type, value);                               \
        } else {                                                            \
            type x_ = ((type *)a_->values.items)[i_], y_ = (value);         \
            ((type *)a_->values.items)[i_] = plus(x_, y_);                  \
        }                                                                   \
    } while (0)

static inline int compare_points(const void *left, const void *right, void *context) {
    const Accumulator *a = context;
    const int64_t *x = (int64_t *)a->out_points.items + *(const int64_t *)left * a->dimensions;
    const int64_t *y = (int64_t *)a->out_points.items + *(const int64_t *)right * a->dimensions;
    for (int64_t k = 0; k < a->dimensions; k++)
        if (x[k] != y[k]) return x[k] < y[k] ? -1 : 1;
    return 0;
}

/* Sorts the sub-tensor that has been taken in, and makes it the one that is given out. */
static inline int complete(Accumulator *a) {
    Growing points = a->out_points, values = a->out_values;
    a->out_points = a->points;
    a->out_values = a->values;
    points.length = values.length = 0;
    a->points = points;
    a->values = values;
    int64_t length = a->out_points.length;
    if (a->table.room > 0) memset(a->table.items, 0, (size_t)a->table.room * 8);
    while (a->order.room < length)
        if (!grow(&a->order, 8)) return 0;
    int64_t *order = a->order.items;
    int sorted = 1;
    for (int64_t i = 0; i < length; i++) {
        order[i] = i;
        sorted = sorted && (i == 0 || compare_points(&order[i - 1], &order[i], a) < 0);
    }
    a->order.length = length;
    if (!sorted) qsort_r(order, (size_t)length, 8, compare_points, a);
    return 1;
}

static inline int64_t coordinate_of(Accumulator *a, int64_t n, int64_t level) {
    int64_t index = ((int64_t *)a->order.items)[n];
    return ((int64_t *)a->out_points.items)[index * a->dimensions + level];
}

static inline int64_t shared_with_last(Accumulator *a, int64_t n) {
    int64_t level = 0;
    while (coordinate_of(a, n - 1, level) == coordinate_of(a, n, level)) level++;
    return level;
}
