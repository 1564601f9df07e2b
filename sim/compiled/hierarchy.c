/* The memory hierarchy as blocks ask it, in order of time or of service, and its end. */
#include "runtime.h"

#include "accesses.h"

/* Keeps how the access that comes last of a request came about, and which was taken last. */
static void note_access(Block *b, int64_t region, int64_t taken, int64_t served) {
    Hierarchy *h = b->hierarchy;
    const int64_t kept = h->region[region].kept;
    if (taken > b->taken) b->held_up = region, b->crowded = row(h, kept)[0].conflict;
    if (served <= b->served) return;
    b->last_region = region;
    b->links = h->links[kept];
    memcpy(b->link, row(h, kept), (size_t)b->links * sizeof(Link));
}

/* Touches an entry in the cycle of a request: raises the cycles in which ports have taken all of the
 * request, and in which all is ready. */
int touch(Block *b, int64_t region, int64_t index, int write, int64_t cycle) {
    Hierarchy *h = b->hierarchy;
    int64_t taken, served;
    if (!access_entry(h, b->asker, region, index, write, cycle, &taken, &served)) return 0;
    if (h->link) note_access(b, region, taken, served);
    b->taken = larger(b->taken, taken);
    b->served = larger(b->served, served);
    return 1;
}

/* Whether a touch is the first of a request. The requests of a block come in different cycles. */
static int begins(Order *o, const Block *b, int64_t cycle) {
    if (o->asker == b->asker && o->cycle == cycle) return 0;
    o->asker = b->asker;
    o->cycle = cycle;
    return 1;
}

/* Touches an entry, and notes the order of requests. */
int touch_and_note(Block *b, int64_t region, int64_t index, int write, int64_t cycle) {
    Order *o = b->hierarchy->order;
    if (begins(o, b, cycle)) {
        const int64_t length = o->runs.length;
        uint32_t *last = length ? (uint32_t *)o->runs.items + length - 1 : NULL;
        if (last && *last >> RUN_BITS == b->asker && (*last & MOST_IN_RUN) < MOST_IN_RUN)
            ++*last;
        else
            APPEND(&o->runs, uint32_t, (uint32_t)b->asker << RUN_BITS | 1);
    }
    return touch(b, region, index, write, cycle);
no_memory:
    return 0;
}

/* Lets the block of the next run of requests ask, in any cycle. */
void grant(Order *o) {
    if (o->next == o->runs.length) return;
    const uint32_t run = ((uint32_t *)o->runs.items)[o->next++];
    Block *b = o->askers[run >> RUN_BITS];
    o->left = run & MOST_IN_RUN;
    b->until = INT64_MAX;
    wake(b);
}

/* Touches an entry where the order is kept: at the earliest when the request before was served. After
 * the last request of a run the block may ask no more. */
int touch_in_order(Block *b, int64_t region, int64_t index, int write, int64_t cycle) {
    Order *o = b->hierarchy->order;
    if (begins(o, b, cycle)) {
        o->now = larger(o->now, cycle);
        if (--o->left == 0) {
            b->until = -1;
            grant(o);
        }
    }
    return touch(b, region, index, write, o->now);
}

/* Writes out all that was changed, after the last cycle. */
int finish(Hierarchy *h) {
    h->over = 1;
    for (int64_t level = h->levels - 1; level >= 0; level--)
        while (h->level[level].made && h->level[level].lines[0].newer)
            if (!evict(h, level, 0, 0)) return 0;
    return 1;
}

void forget(Hierarchy *h) {
    for (int64_t level = 0; level < h->levels; level++) {
        for (int64_t region = 0; region < h->regions; region++) free(h->level[level].where[region].at);
        free(h->level[level].lines);
    }
}
