/* The memory hierarchy of sim/memory/hierarchy.py, step by step the same. A function that needs
 * memory of the machine gives 0 where there is none. */
#include "runtime.h"

static int64_t bytes_of(const Region *r, int64_t first, int64_t last) {
    if (!r->sizes) return (last - first) * r->entry;
    int64_t sum = 0;
    for (int64_t n = first; n < last; n++) sum += r->sizes[n];
    return sum;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void unlink_line(Level *l, int32_t n) {
    l->lines[l->lines[n].older].newer = l->lines[n].newer;
    l->lines[l->lines[n].newer].older = l->lines[n].older;
}

static void link_newest(Level *l, int32_t n) {
    l->lines[n].older = l->lines[0].older;
    l->lines[n].newer = 0;
    l->lines[l->lines[0].older].newer = n;
    l->lines[0].older = n;
}

/* A line that is not in use, or 0 where there is no memory. */
static int32_t free_line(Level *l) {
    if (l->spare) {
        int32_t n = l->spare;
        l->spare = l->lines[n].newer;
        return n;
    }
    if (l->used + 1 >= l->made) {
        int32_t made = l->made ? 2 * l->made : 256;
        Line *lines = realloc(l->lines, (size_t)made * sizeof(Line));
        if (!lines) return 0;
        if (!l->made) memset(lines, 0, sizeof(Line));
        l->lines = lines;
        l->made = made;
    }
    return ++l->used;
}

static int make_index(Index *index, int64_t number) {
    int64_t room = index->room ? index->room : 256;
    while (room <= number) room *= 2;
    int32_t *at = realloc(index->at, (size_t)room * 4);
    if (!at) return 0;
    memset(at + index->room, 0, (size_t)(room - index->room) * 4);
    index->at = at;
    index->room = room;
    return 1;
}

static void hold(Level *l, int64_t tensor, int64_t size) {
    l->held += size;
    l->held_of[tensor] += size;
    l->peak = larger(l->peak, l->held);
    l->peak_of[tensor] = larger(l->peak_of[tensor], l->held_of[tensor]);
}

static int look_up(Hierarchy *h, int64_t level, int64_t block, int64_t region, int64_t number,
                   int write, int64_t now, int64_t *ready);

static Link *row(Hierarchy *h, int64_t level) { return h->link + 2 * h->levels * level; }

/* Whether a port of a level is free at a time. */
static int some_free(const Level *l, int64_t now) {
    for (int64_t port = 0; port < l->ports; port++)
        if (l->free[port] <= now) return 1;
    return 0;
}

/* Keeps the links of an access whose line comes from the level outside of it. */
static void link_line(Hierarchy *h, int64_t level) {
    const int64_t own = 2, more = h->links[level - 1];
    memcpy(row(h, level) + own, row(h, level - 1), (size_t)more * sizeof(Link));
    h->links[level] = own + more;
}

/* Moves entries through a port, requested now. Gives when the transfer begins and ends. */
static int move(Hierarchy *h, int64_t level, int64_t block, int64_t region, int64_t first,
                int64_t last, int write, int64_t now, int64_t *start, int64_t *ready) {
    Level *l = h->level + level;
    Region *r = h->region + region;
    int64_t per_line = l->per_line[region];
    if (level == 0 && per_line > 1) {
        first -= first % per_line;
        last = smaller((last + per_line - 1) / per_line * per_line, r->length);
    }
    int64_t size = bytes_of(r, first, last), done = now;
    if (r->brought && level == r->kept) size = 0;
    *start = now;
    if (!h->over) {
        int64_t port = l->ports == 1 ? 0 : block % l->ports;
        *start = larger(now, l->free[port]);
        if (h->link) {
            const int32_t n = (int32_t)level, conflict = *start > now && l->user[port] != block;
            row(h, level)[0] = (Link){*start, n, 1, conflict && some_free(l, now)};
            row(h, level)[1] = (Link){*start + l->latency, n, 0, 0};
            h->links[level] = 2;
        }
        l->free[port] = *start + size * l->cost;
        l->user[port] = block;
        if (l->moved) add_to_bins(l->moved, *start / h->unit, size);
        if (!h->evicts) l->before[port] = l->busy[port];
        l->busy[port] += size * l->cost;
        done = *start + l->latency;
    }
    int64_t *counts = l->counts + r->tensor * COUNTED;
    counts[write ? WRITES : READS]++;
    counts[write ? BYTES_WRITTEN : BYTES_READ] += size;
    *ready = done;
    if (level == r->home) return 1;
    int64_t end = last - first == 1 ? first / per_line : (last - 1) / per_line;
    for (int64_t number = last - first == 1 ? end : first / per_line; number <= end; number++) {
        int64_t there;
        if (!look_up(h, level, block, region, number, write, done, &there)) return 0;
        if (h->link && there > *ready && !h->over) link_line(h, level);
        *ready = larger(*ready, there);
    }
    return 1;
}

/* Evicts the line that is first in the order of replacement. */
static int evict(Hierarchy *h, int64_t level, int64_t block, int64_t now) {
    Level *l = h->level + level;
    int32_t n = l->lines[0].newer;
    Line old = l->lines[n];
    unlink_line(l, n);
    l->lines[n].newer = l->spare;
    l->spare = n;
    l->where[old.region].at[old.number] = 0;
    hold(l, h->region[old.region].tensor, -old.size);
    if (!old.dirty) return 1;
    int64_t begin = old.number * l->per_line[old.region], start, ready;
    int64_t last = smaller(begin + l->per_line[old.region], h->region[old.region].length);
    return move(h, level - 1, block, old.region, begin, last, 1, now, &start, &ready);
}

/* Finds a line in a level, or brings it there. Gives when it is there. */
static int look_up(Hierarchy *h, int64_t level, int64_t block, int64_t region, int64_t number,
                   int write, int64_t now, int64_t *ready) {
    Level *l = h->level + level;
    Region *r = h->region + region;
    Index *index = l->where + region;
    int64_t *counts = l->counts + r->tensor * COUNTED;
    if (number >= index->room && !make_index(index, number)) return 0;
    int32_t found = index->at[number];
    if (found) {
        counts[HITS]++;
        if (l->by_use && l->lines[0].older != found) {
            unlink_line(l, found);
            link_newest(l, found);
        }
        l->lines[found].dirty |= write;
        *ready = write ? now : larger(now, l->lines[found].arrives);
        if (h->link) { /* a line on its way comes from the level outside of this */
            row(h, level - 1)[0] = (Link){*ready, (int32_t)level - 1, 0, 0};
            h->links[level - 1] = 1;
        }
        return 1;
    }
    counts[MISSES]++;
    int64_t begin = number * l->per_line[region], end = begin + l->per_line[region], start;
    *ready = now;
    if (!write &&
        !move(h, level - 1, block, region, begin, smaller(end, r->length), 0, now, &start, ready))
        return 0;
    int64_t size = bytes_of(r, begin, end);
    Link *const kept = h->link;
    const int64_t evicts = h->evicts;
    h->link = NULL; /* nothing waits for a write-back */
    h->evicts = 1;
    while (l->room >= 0 && l->held + size > l->room)
        if (!evict(h, level, block, now)) return 0;
    h->link = kept;
    h->evicts = evicts;
    int32_t n = free_line(l);
    if (!n) return 0;
    l->lines[n] = (Line){region, number, size, *ready, 0, 0, write};
    link_newest(l, n);
    index->at[number] = n;
    hold(l, r->tensor, size);
    return 1;
}

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
    Region *r = h->region + region;
    if (r->grows) r->length = larger(r->length, index + 1);
    int64_t start, ready;
    if (!move(h, r->kept, b->asker, region, index, index + 1, write, cycle * h->unit, &start,
              &ready))
        return 0;
    const int64_t taken = h->shift < 0 ? start / h->unit : start >> h->shift;
    const int64_t whole = ready + h->unit - 1;
    const int64_t served = h->shift < 0 ? whole / h->unit : whole >> h->shift;
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
