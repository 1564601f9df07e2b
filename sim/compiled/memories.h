/* The memories that steps fill: growing arrays, and the accumulators of reducers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

typedef struct {
    void *items;
    int64_t length, room;
    int64_t mapped; /* bytes that the system has mapped for it, or 0 */
} Growing;

/* An accumulator of one dimension keeps its values by coordinate, unless the extent is too large. Any
 * other keeps them one by one, with their points. */
typedef struct {
    int64_t dimensions, capacity;
    Growing points;    /* coordinates of the sub-tensor that is being taken in */
    Growing values;
    Growing table;     /* open addressing: index of a point plus 1; 0 where free */
    Growing bits;      /* where values are by coordinate: a bit for each coordinate that has a value */
    Growing tops;      /* and one for each word of bits that is not zero */
    Growing order;     /* of the sub-tensor that is being given out: sorted indices */
    Growing out_points, out_values;
} Accumulator;

/* The bytes of a large page. */
enum { LARGE_PAGE = 1 << 21 };

/* A piece of memory, to be freed. A large piece is made of large pages, where the system has them:
 * to get pages one by one takes longer than to fill them. */
static inline void *reserve(int64_t bytes) {
    if (bytes < LARGE_PAGE / 2) return malloc((size_t)bytes);
    void *made = aligned_alloc(LARGE_PAGE, (size_t)((bytes + LARGE_PAGE - 1) & -LARGE_PAGE));
#ifdef MADV_HUGEPAGE
    if (made) madvise(made, (size_t)bytes, MADV_HUGEPAGE);
#endif
    return made;
}

/* Doubles the room of an array. A large one grows without being copied, where the system can. */
static inline int grow(Growing *g, int64_t size) {
    int64_t room = g->room ? 2 * g->room : 64, bytes = room * size;
    void *items;
#ifdef MREMAP_MAYMOVE
    if (bytes >= LARGE_PAGE) {
        bytes = (bytes + LARGE_PAGE - 1) & -LARGE_PAGE;
        items = g->mapped ? mremap(g->items, (size_t)g->mapped, (size_t)bytes, MREMAP_MAYMOVE)
                          : mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (items == MAP_FAILED) return 0;
        madvise(items, (size_t)bytes, MADV_HUGEPAGE);
        if (!g->mapped && g->items) memcpy(items, g->items, (size_t)(g->room * size));
        if (!g->mapped) free(g->items);
        g->mapped = bytes;
    } else
#endif
    {
        items = realloc(g->items, (size_t)bytes);
        if (!items) return 0;
    }
    g->items = items;
    g->room = room;
    return 1;
}

/* Gives back the memory of an array. */
static inline void release_items(Growing *g) {
#ifdef MREMAP_MAYMOVE
    if (g->mapped) munmap(g->items, (size_t)g->mapped);
    else
#endif
        free(g->items);
}

/* Gives up the memory of an array that the system has mapped for it, to be unmapped by whoever has it
 * from now on. Gives how many bytes that is, and 0 where nothing is given up. */
static inline int64_t give_up_items(Growing *g, int64_t size) {
    const int64_t bytes = (g->length * size + LARGE_PAGE - 1) & -LARGE_PAGE;
    if (!g->mapped) return 0;
#ifdef MREMAP_MAYMOVE
    if (bytes < g->mapped) munmap((char *)g->items + bytes, (size_t)(g->mapped - bytes));
#endif
    *g = (Growing){0};
    return bytes;
}

/* Doubles the room of an array, with zeros in the new half, as the system maps it. */
static inline int grow_zeros(Growing *g, int64_t size) {
    int64_t old = g->room;
    if (!grow(g, size)) return 0;
    if (!g->mapped) memset((char *)g->items + old * size, 0, (size_t)((g->room - old) * size));
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
            if (!grow_zeros(g_, sizeof(type))) goto no_memory;              \
        if (i_ >= g_->length) g_->length = i_ + 1;                          \
        (type *)g_->items + i_;                                             \
    })

static inline uint64_t scramble(const int64_t *point, int64_t n) {
    uint64_t hash = 0;
    for (int64_t k = 0; k < n; k++)
        hash = (hash ^ (uint64_t)point[k]) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    return hash;
}

/* The place in the table of a point of n coordinates, or the free place that it should get. */
static inline int64_t *place_of(Accumulator *a, int64_t n, const int64_t *point) {
    int64_t *table = a->table.items;
    uint64_t mask = (uint64_t)a->table.room - 1, h = scramble(point, n) & mask;
    while (table[h] &&
           memcmp((int64_t *)a->points.items + (table[h] - 1) * n, point, (size_t)(n * 8)))
        h = (h + 1) & mask;
    return table + h;
}

/* Makes sure that the table has a place for one more point. */
static inline int make_place(Accumulator *a, int64_t n) {
    if (2 * (a->points.length + 1) <= a->table.room) return 1;
    int64_t room = a->table.room ? 2 * a->table.room : 128;
    int64_t *table = calloc((size_t)room, 8);
    if (!table) return 0;
    free(a->table.items);
    a->table.items = table;
    a->table.room = room;
    for (int64_t i = 0; i < a->points.length; i++)
        *place_of(a, n, (int64_t *)a->points.items + i * n) = i + 1;
    return 1;
}

/* Adds a value at a point of n coordinates. Whether the point is new is hard to foresee, so there is
 * no branch on it. Points and values have room for as many. */
#define ACCUMULATE(a, n, type, point, value, plus)                          \
    do {                                                                    \
        Accumulator *a_ = (a);                                              \
        if (!make_place(a_, n)) goto no_memory;                             \
        int64_t *place_ = place_of(a_, n, point), length_ = a_->points.length; \
        if (length_ == a_->points.room &&                                   \
            !(grow(&a_->points, n * 8) && grow_zeros(&a_->values, sizeof(type)))) \
            goto no_memory;                                                 \
        int64_t new_ = *place_ == 0, index_ = new_ ? length_ : *place_ - 1; \
        if (new_ & (length_ == a_->capacity)) goto over_capacity;           \
        type *sum_ = (type *)a_->values.items + index_, x_ = *sum_, y_ = (value); \
        type sums_[2] = {plus(x_, y_), y_};                                 \
        *sum_ = sums_[new_];                                                \
        for (int k_ = 0; k_ < n; k_++)                                      \
            ((int64_t *)a_->points.items)[length_ * n + k_] = point[k_];    \
        *place_ = index_ + 1;                                               \
        a_->points.length = length_ + new_;                                 \
    } while (0)

/* Sorts indices of points by one of their coordinates, 11 bits at a time, keeping the order of
 * those that agree in it. */
static inline void sort_by(const int64_t *points, int64_t n, int64_t level, int64_t length,
                           int64_t **order, int64_t **spare) {
    int64_t most = 0;
    for (int64_t i = 0; i < length; i++)
        if (points[i * n + level] > most) most = points[i * n + level];
    for (int shift = 0; shift == 0 || most >> shift; shift += 11) {
        int64_t starts[2049] = {0}, *from = *order, *to = *spare;
        for (int64_t i = 0; i < length; i++)
            starts[((points[from[i] * n + level] >> shift) & 2047) + 1]++;
        for (int k = 0; k < 2048; k++) starts[k + 1] += starts[k];
        for (int64_t i = 0; i < length; i++)
            to[starts[(points[from[i] * n + level] >> shift) & 2047]++] = from[i];
        *order = to;
        *spare = from;
    }
}

static inline int before(const int64_t *left, const int64_t *right, int64_t n) {
    for (int64_t k = 0; k < n; k++)
        if (left[k] != right[k]) return left[k] < right[k];
    return 0;
}

/* Puts the points in order: few by insertion, many by their coordinates from the last to the
 * first. */
static inline int sort_points(const int64_t *points, int64_t n, Growing *order) {
    int64_t length = order->length, *sorted = order->items;
    for (int64_t i = 0; i < length; i++) sorted[i] = i;
    if (length <= 64) {
        for (int64_t i = 1; i < length; i++) {
            int64_t one = sorted[i], k = i;
            for (; k > 0 && before(points + one * n, points + sorted[k - 1] * n, n); k--)
                sorted[k] = sorted[k - 1];
            sorted[k] = one;
        }
        return 1;
    }
    int64_t *spare = malloc((size_t)length * 8), *made = spare;
    if (!spare) return 0;
    for (int64_t level = n - 1; level >= 0; level--)
        sort_by(points, n, level, length, &sorted, &spare);
    if (sorted == made) memcpy(order->items, made, (size_t)length * 8);
    free(made);
    return 1;
}

/* Sorts the sub-tensor that has been taken in, and makes it the one that is given out. */
static inline int complete(Accumulator *a) {
    Growing points = a->out_points, values = a->out_values;
    int64_t length = a->points.length, n = a->dimensions;
    a->out_points = a->points;
    a->out_values = a->values;
    points.length = 0;
    a->points = points;
    a->values = values;
    while (a->order.room < length)
        if (!grow(&a->order, 8)) return 0;
    a->order.length = length;
    if (a->table.room > 0) memset(a->table.items, 0, (size_t)a->table.room * 8);
    return sort_points(a->out_points.items, n, &a->order);
}

/* Makes room for the value at a coordinate. */
static inline int widen(Accumulator *a, int64_t coordinate, int64_t size) {
    while (coordinate >= a->values.room)
        if (!grow(&a->values, size)) return 0;
    while (64 * a->bits.room < a->values.room)
        if (!grow_zeros(&a->bits, 8)) return 0;
    while (64 * a->tops.room < a->bits.room)
        if (!grow_zeros(&a->tops, 8)) return 0;
    return 1;
}

/* Adds a value at a coordinate; again without a branch on whether it is new. */
#define ADD_TO_VECTOR(a, type, coordinate, value, plus)                     \
    do {                                                                    \
        Accumulator *a_ = (a);                                              \
        int64_t at_ = (coordinate);                                         \
        if (at_ >= a_->values.room && !widen(a_, at_, sizeof(type))) goto no_memory; \
        uint64_t *word_ = (uint64_t *)a_->bits.items + (at_ >> 6);          \
        uint64_t bit_ = (uint64_t)1 << (at_ & 63);                          \
        int64_t new_ = !(*word_ & bit_);                                    \
        if (new_ & (a_->points.length == a_->capacity)) goto over_capacity; \
        type *sum_ = (type *)a_->values.items + at_, x_ = *sum_, y_ = (value); \
        type sums_[2] = {plus(x_, y_), y_};                                 \
        *sum_ = sums_[new_];                                                \
        *word_ |= bit_;                                                     \
        ((uint64_t *)a_->tops.items)[at_ >> 12] |= (uint64_t)1 << (at_ >> 6 & 63); \
        a_->points.length += new_;                                          \
    } while (0)

/* Makes the vector that has been taken in the one that is given out: its values, in order. */
static inline int complete_vector(Accumulator *a, int64_t size) {
    const int64_t length = a->points.length;
    while (a->out_points.room < length)
        if (!grow(&a->out_points, 8)) return 0;
    while (a->out_values.room < length)
        if (!grow(&a->out_values, size)) return 0;
    uint64_t *tops = a->tops.items, *bits = a->bits.items;
    int64_t *to = a->out_points.items, found = 0;
    for (int64_t top = 0; found < length; top++) {
        for (; tops[top]; tops[top] &= tops[top] - 1) {
            const int64_t word = 64 * top + __builtin_ctzll(tops[top]);
            for (uint64_t left = bits[word]; left; left &= left - 1) {
                to[found] = 64 * word + __builtin_ctzll(left);
                memcpy((char *)a->out_values.items + found * size,
                       (char *)a->values.items + to[found] * size, (size_t)size);
                found++;
            }
            bits[word] = 0;
        }
    }
    a->order.length = length;
    a->points.length = 0;
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
