/* Accesses to the memory hierarchy, step by step those of sim/memory/hierarchy.py. A function that
 * needs memory of the machine gives 0 where there is none. */
#include <stdlib.h>
#include <string.h>

#include "hierarchy.h"

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

/* Makes a line that is used the last to be replaced, if the level goes by use. */
static inline void use_line(Level *l, int32_t n) {
    if (!l->by_use || l->lines[0].older == n) return;
    unlink_line(l, n);
    link_newest(l, n);
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

/* The line that an entry is in. Most lines have a power of 2 of entries, and division takes long. */
static inline int64_t line_of(const Level *l, int64_t region, int64_t entry) {
    const int64_t shift = l->line_shift[region];
    return shift < 0 ? entry / l->per_line[region] : entry >> shift;
}

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
        int64_t port = block < l->ports ? block : l->ports == 1 ? 0 : block % l->ports;
        if (!l->prompt) *start = larger(now, l->free[port]);
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
    const int64_t end = line_of(l, region, last - 1);
    for (int64_t number = last - first == 1 ? end : line_of(l, region, first); number <= end;
         number++) {
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
        use_line(l, found);
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

/* Touches an entry, requested in a cycle. Gives the cycles in which a port takes the request, and in
 * which the data are there. */
static inline int access_entry(Hierarchy *h, int64_t block, int64_t region, int64_t index, int write,
                               int64_t cycle, int64_t *taken, int64_t *served) {
    Region *r = h->region + region;
    const int64_t now = cycle * h->unit;
    int64_t start, ready;
    if (r->grows) r->length = larger(r->length, index + 1);
    if (!move(h, r->kept, block, region, index, index + 1, write, now, &start, &ready)) return 0;
    *taken = h->shift < 0 ? start / h->unit : start >> h->shift;
    const int64_t whole = ready + h->unit - 1;
    *served = h->shift < 0 ? whole / h->unit : whole >> h->shift;
    return 1;
}
