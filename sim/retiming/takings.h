/* The takings of a queue that its peak may depend on, where these are many: two bytes each at most,
 * but for long gaps.
 *
 * At most one token is taken in a cycle. A unit of two bytes is a map of the next 15 cycles, with a
 * bit for each taking; or else a taking after up to 4095 cycles without any; or, before one of these,
 * a multiple of a power of 4096 cycles without any.
 */
#pragma once
#include "lanes.h"

#define MAP 0x8000u

/* The cycles of a map, the bits of a number of cycles, and the units of a page: 4 KB. */
enum { MAPPED = 15, DIGIT = 12, UNITS = 2044 };

typedef struct Page Page;

struct Page {
    Page *next;
    uint16_t units[UNITS];
};

/* All zeros are no takings. */
typedef struct {
    Page *first, *last;
    int64_t begin, end;   /* the oldest unit of the first page, and the end of the last page */
    int64_t oldest, next; /* the first cycle of the oldest unit, and that after the newest */
    int64_t before;       /* tokens taken before the oldest unit */
} Takings;

static int add_unit(Takings *t, uint64_t unit) {
    if (!t->last || t->end == UNITS) {
        Page *const page = malloc(sizeof(Page));
        if (!page) return 0;
        page->next = NULL;
        *(t->last ? &t->last->next : &t->first) = page;
        t->last = page;
        t->end = 0;
    }
    t->last->units[t->end++] = (uint16_t)unit;
    return 1;
}

/* Adds the unit of a taking that the newest unit does not reach; a map has no bits yet. */
static int add_unit_of(Takings *t, int64_t cycle) {
    const uint64_t gap = (uint64_t)(cycle - t->next);
    unsigned unit = MAP;
    t->next += MAPPED;
    if (gap >= MAPPED) {
        t->next = cycle + 1;
        for (uint64_t digit = 1; gap >> digit * DIGIT; digit++)
            if (!add_unit(t, digit << DIGIT | (gap >> digit * DIGIT & 4095))) return 0;
        unit = gap & 4095;
    }
    return add_unit(t, unit);
}

/* Adds the takings of some tokens in a lane, later than all others; ``rows`` is a ring. */
static int add_takings(Takings *t, const Row *rows, int64_t mask, int lane, int64_t token,
                       int64_t end) {
    uint16_t *newest = t->last ? t->last->units + t->end - 1 : NULL;
    unsigned unit = newest ? *newest : 0;
    int64_t next = t->next;
    for (; token < end; token++) {
        const int64_t cycle = lane_of(rows + (token & mask), lane);
        if (cycle >= next) {
            if (newest) *newest = (uint16_t)unit;
            if (!add_unit_of(t, cycle)) return 0;
            newest = t->last->units + t->end - 1;
            unit = *newest;
            next = t->next;
        }
        if (unit & MAP) unit |= 1u << (cycle - next + MAPPED);
    }
    if (newest) *newest = (uint16_t)unit;
    return 1;
}

static void forget_first_page(Takings *t) {
    Page *const next = t->first->next;
    free(t->first);
    t->first = next;
    t->begin = 0;
}

/* How many tokens were taken before a cycle, which is not later than the last taking, and not
 * earlier than that of the last call: takings before it are forgotten. */
static int64_t taken_before(Takings *t, int64_t cycle) {
    for (;;) {
        const unsigned unit = t->first->units[t->begin], digit = unit >> DIGIT;
        const unsigned map = unit & MAP ? unit & ~MAP : 0;
        const int64_t at = cycle - t->oldest;
        const int64_t cycles = map ? MAPPED : ((int64_t)(unit & 4095) << digit * DIGIT) + !digit;
        if (at < cycles)
            return t->before + (map ? __builtin_popcount(map & ((1u << at) - 1)) : 0);
        t->before += map ? __builtin_popcount(map) : !digit;
        t->oldest += cycles;
        if (++t->begin == UNITS) forget_first_page(t);
    }
}

static void forget_takings(Takings *t) {
    while (t->first) forget_first_page(t);
}
