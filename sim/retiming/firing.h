/* What blocks are made of that run without time: queues of tokens, and the codes of firings. */
#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memories.h"
#include "values.h"

#define DATA 0
#define EMPTY 1
#define STOP 2
#define DONE 3

enum { RUNNING, STARVED, CROWDED, FINISHED_BLOCK, FAILED, OVER_CAPACITY, NO_MEMORY, TOO_MANY_PATHS };

/* The most firings in one call, and places for paths that are found at once. */
enum { MOST_RECENT = 4096, PATHS = 64 };

#define RARE(test) __builtin_expect(!!(test), 0)

typedef struct Block Block;

/* A ring of tokens, with room for ``places``, a power of two: their kinds, and columns of their
 * values: int64_t, double or double complex. A handover has one place, and keeps it. */
typedef struct {
    Block *writer, *reader;
    uint8_t *kinds;
    void **columns;
    int64_t *sizes;    /* by column, the bytes of a value */
    int64_t column_count;
    int64_t places;
    int64_t head, tail;/* tokens taken and given so far */
    int64_t starves;   /* whether its reader waits for a token in it */
    int64_t crowds;    /* whether its writer waits for room in it */
} Queue;

/* What a firing has done, as bits, and the number of that. */
typedef struct {
    uint64_t low, high, code;
} Path;

struct Block {
    Queue **in, **out;
    void *state;
    void **memory;
    int64_t *numbers;
    int64_t (*counts)[4]; /* by output, the first of those that move together: tokens by kind */
    int64_t (*fire)(Block *);
    uint64_t (*find)(Block *, uint64_t low, uint64_t high);
    uint64_t *awake;   /* where the scheduler finds that the block has something to do */
    uint64_t bit;
    int64_t fired, status, port, which; /* why it stopped, at which port, at which queue */
    int64_t overflows; /* whether it has more paths than there are codes, or an index is too large */
    uint16_t *recent;  /* the codes of the firings of this call */
    Growing codes;     /* those of all calls before that are not read yet, packed */
    int64_t last, run; /* the last packed code, and how often it comes after that */
    uint32_t *(*reserve)(Block *, uint32_t *touched); /* makes room for another call's */
    int64_t touches;   /* the most entries of memory that a firing touches */
    Growing touched;   /* the indices of all that were touched, uint32_t each */
    Growing known;     /* all paths, by their codes */
    Path paths[PATHS]; /* some of them, by a hash */
};

static inline void wake(Block *b) { *b->awake |= b->bit; }

static inline uint64_t place_of_path(uint64_t low, uint64_t high) {
    return ((low ^ high * 0xD6E8FEB86659FD93u) * 0x9E3779B97F4A7C15u) >> 58;
}

#define PATH(word, place, test) word |= (uint64_t)(test) << (place);

#define TOUCHED(index)                             \
    {                                              \
        const int64_t i_ = (index);                \
        b->overflows |= RARE(i_ >> 32 != 0);       \
        *touched++ = (uint32_t)i_;                 \
    }

/* Notes one of several entries that a line of a firing touches: their number comes first. */
#define TOUCHED_AMONG(word, place, index)                       \
    {                                                           \
        if (!(word >> (place) & 1)) several = 0, *touched++ = 0; \
        uint32_t *there_ = b->reserve(b, touched);              \
        if (!there_) goto no_memory;                            \
        touched = there_;                                       \
        TOUCHED(index)                                          \
        several++;                                              \
        touched[-1 - several] = (uint32_t)several;              \
    }

#define FIRED                                                               \
    {                                                                       \
        const Path *p_ = paths + place_of_path(low, high);                  \
        codes[fired++] = RARE(p_->low != low || p_->high != high)           \
                             ? b->find(b, low, high) : p_->code;            \
    }

/* Adds what one call has given to the tokens by kind: four counts, packed in one number. */
static inline void count(int64_t *counts, uint64_t given) {
    for (int k = 0; k < 4; k++) counts[k] += given >> 16 * k & 65535;
}
