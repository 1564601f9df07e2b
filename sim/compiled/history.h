/* The history of a queue: the cycles of the takings that its peak may depend on, once these are
 * more than a few.
 *
 * The history is a chain of pieces, in the order of the tokens; a piece has batches of takings. The
 * takings of a batch are mostly close together, so a batch keeps the cycle of its first taking, and
 * for each taking the cycles since then in half a word. Where takings are further apart, a piece is
 * wide: its batches keep whole cycles.
 */
#include <stddef.h>

#include "runtime.h"

/* The takings that a peak accounts for at once, and those that are looked at together. */
enum { BATCH = 256, PACK = 16 };

typedef struct {
    uint32_t start;
    uint16_t later[BATCH];
} Narrow;

typedef uint32_t Wide[BATCH];

struct Piece {
    Piece *next;
    int64_t bytes, is_wide;
    int64_t first, end; /* the first token of its first batch, and the one after its last batch */
    union {
        Narrow narrow[1];
        Wide wide[1];
    };
};

/* Lets the history of a queue go on in a new piece from some token on. Its size is a fraction of
 * what the peak depends on, or a large page. */
static int extend_history(Queue *q, int64_t first, int is_wide) {
    int64_t bytes = 8 * (int64_t)sizeof(Narrow);
    while (bytes < q->peak / 2) bytes *= 2;
    if (bytes > LARGE_PAGE / 8) bytes = LARGE_PAGE;
    Piece *made = q->spare;
    if (made && made->bytes == bytes)
        q->spare = NULL;
    else if (!(made = reserve(bytes)))
        return 0;
    const int64_t room = bytes - (int64_t)offsetof(Piece, narrow);
    made->next = NULL;
    made->bytes = bytes;
    made->is_wide = is_wide;
    made->first = first;
    made->end = first + room / (int64_t)(is_wide ? sizeof(Wide) : sizeof(Narrow)) * BATCH;
    *(q->newest ? &q->newest->next : &q->oldest) = made;
    if (q->newest) q->newest->end = first;
    q->newest = made;
    return 1;
}

/* A part of a piece: takings of tokens that follow each other in one batch. */
typedef struct {
    const uint32_t *taken; /* of a wide piece; of others, NULL */
    uint32_t start;
    const uint16_t *later;
    int64_t length;
} Part;

/* Where the history has a token, with up to some number of those that follow. */
static Part part_at(const Piece **piece, int64_t token, int64_t length) {
    while (token >= (*piece)->end) *piece = (*piece)->next;
    const int64_t at = token & (BATCH - 1), batch = (token - (*piece)->first) / BATCH;
    const int64_t count = BATCH - at < length ? BATCH - at : length;
    if ((*piece)->is_wide) return (Part){.taken = (*piece)->wide[batch] + at, .length = count};
    const Narrow *narrow = (*piece)->narrow + batch;
    return (Part){NULL, narrow->start, narrow->later + at, count};
}

/* How many of these takings were before a cycle. */
static int64_t count_before(const uint32_t *taken, int64_t length, uint32_t cycle) {
    int32_t before = 0;
    for (int64_t k = 0; k < length; k++) before += (int32_t)(taken[k] - cycle) < 0;
    return before;
}

/* How many tokens were taken before a cycle. All tokens before ``token`` were; no token that is two
 * batches after it, or that the history does not have, was. */
static int64_t recall_before(const Queue *q, int64_t token, int64_t end, uint32_t cycle) {
    const Piece *piece = q->oldest;
    token &= -BATCH;
    if (end > token + 2 * BATCH) end = token + 2 * BATCH;
    int64_t before = token;
    while (token < end) {
        const Part part = part_at(&piece, token, end - token);
        const int32_t after = (int32_t)(cycle - part.start);
        if (part.taken) {
            before += count_before(part.taken, part.length, cycle);
        } else if (after > UINT16_MAX) {
            before += part.length;
        } else if (after > 0) {
            uint16_t found = 0;
            for (int64_t k = 0; k < part.length; k++) found += part.later[k] < (uint16_t)after;
            before += found;
        }
        token += part.length;
    }
    return before;
}

/* Whether some of these takings were in a cycle given for it, or later. */
static int some_since(const uint32_t *taken, int64_t length, const uint32_t *cycles) {
    int32_t found = 0;
    for (int64_t k = 0; k < length; k++) found |= ~(int32_t)(taken[k] - cycles[k]);
    return found < 0;
}

/* Whether some token of the history was taken in the cycle given for it, or later. A few tokens
 * before and behind are looked at, too; the cycles given for them make no difference. */
static int recall_since(const Queue *q, int64_t token, int64_t length, const uint32_t *cycles) {
    const Piece *piece = q->oldest;
    const int64_t early = token & (PACK - 1), end = (token + length + PACK - 1) & -PACK;
    int32_t found = 0;
    token -= early;
    cycles -= early;
    while (token < end) {
        const Part part = part_at(&piece, token, end - token);
        if (part.taken) {
            found |= -some_since(part.taken, part.length, cycles);
        } else {
            for (int64_t k = 0; k < part.length; k++)
                found |= ~(int32_t)(part.start + part.later[k] - cycles[k]);
        }
        token += part.length;
        cycles += part.length;
    }
    return found < 0;
}

/* Adds the takings of the next tokens, all of one batch, to the history. */
static int add_to_history(Queue *q, int64_t token, const uint32_t *taken, int64_t length) {
    const int64_t at = token & (BATCH - 1);
    if (token == q->newest->end && !extend_history(q, token, 0)) return 0;
    Narrow *narrow = q->newest->narrow + (token - q->newest->first) / BATCH;
    if (!q->newest->is_wide && at == 0) narrow->start = taken[0];
    if (!q->newest->is_wide && taken[length - 1] - narrow->start > UINT16_MAX) {
        if (!extend_history(q, token - at, 1)) return 0;
        for (int64_t k = 0; k < at; k++)
            q->newest->wide[0][k] = narrow->start + narrow->later[k];
    }
    if (q->newest->is_wide) {
        memcpy(q->newest->wide[(token - q->newest->first) / BATCH] + at, taken,
               (size_t)length * 4);
    } else {
        for (int64_t k = 0; k < length; k++)
            narrow->later[at + k] = (uint16_t)(taken[k] - narrow->start);
    }
    return 1;
}

/* Adds the takings that the peak accounts for next, and forgets takings that it no longer depends
 * on. */
static int remember(Queue *q, const uint32_t *taken, int64_t length) {
    while (q->oldest != q->newest && q->oldest->end <= q->seen - q->peak - BATCH) {
        Piece *done = q->oldest;
        q->oldest = done->next;
        free(q->spare);
        q->spare = done;
    }
    return add_to_history(q, q->seen, taken, length);
}

/* Begins the history with a few takings and the takings that follow them. It will be asked for less
 * than two batches of earlier takings, which were in the cycle ``before`` or earlier. */
static int begin_history(Queue *q, const uint32_t *recent, int64_t length, uint32_t before) {
    uint32_t taken[4 * BATCH];
    int64_t token = (q->seen & -BATCH) - 2 * BATCH, left = q->seen + length - token;
    const int64_t early = left - (FEW + length);
    if ((int32_t)(recent[0] - before) < 0) before = recent[0];
    for (int64_t n = 0; n < early; n++) taken[n] = before;
    memcpy(taken + early, recent, (size_t)(FEW + length) * 4);
    if (!extend_history(q, token, 0)) return 0;
    for (int64_t n = 0; n < left; n += BATCH)
        if (!add_to_history(q, token + n, taken + n, left - n < BATCH ? left - n : BATCH)) return 0;
    return 1;
}

static void forget(Queue *q) {
    while (q->oldest) {
        Piece *next = q->oldest->next;
        free(q->oldest);
        q->oldest = next;
    }
    free(q->spare);
    q->newest = q->spare = NULL;
}
