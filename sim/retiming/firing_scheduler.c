/* Runs blocks without time, in turn, until none can go on, and packs the codes of their firings.
 *
 * Packed codes are bytes: sim/retiming/codes.py tells how.
 */
#include "codes.h"
#include "firing.h"

typedef struct {
    int64_t count;
    Block **blocks;
    uint64_t *awake;
    int64_t failed; /* the block that failed */
    int64_t packed; /* bytes of codes, and of indices of entries, that are not read yet */
    int64_t most;   /* how many of these may be */
} Scheduled;

/* The code of a path, which is new or not among those that are found at once. */
static uint64_t find(Block *b, uint64_t low, uint64_t high) {
    int64_t code = 0;
    Path *known = b->known.items;
    while (code < b->known.length && (known[code].low != low || known[code].high != high)) code++;
    if (code == b->known.length) {
        if (code > UINT16_MAX) {
            b->overflows = 1;
            return 0;
        }
        if (b->known.length == b->known.room && !grow(&b->known, sizeof(Path))) abort();
        known = b->known.items;
        known[b->known.length++] = (Path){low, high, (uint64_t)code};
    }
    b->paths[place_of_path(low, high)] = known[code];
    return (uint64_t)code;
}

static int reserve_codes(Block *b, int64_t bytes) {
    while (b->codes.room < b->codes.length + bytes)
        if (!grow(&b->codes, 1)) return 0;
    return 1;
}

/* Makes room for the indices of the firings of a call, beside those up to some place. Gives that, or
 * NULL where there is no memory. */
static uint32_t *reserve_touched(Block *b, uint32_t *touched) {
    Growing *g = &b->touched;
    const int64_t length = touched - (uint32_t *)g->items;
    while (g->room < length + b->touches * (MOST_RECENT + 1))
        if (!grow(g, sizeof(uint32_t))) return NULL;
    return (uint32_t *)g->items + length;
}

/* Writes down how often the last code is repeated. There is room for that. */
static void flush(Block *b) {
    uint8_t *to = (uint8_t *)b->codes.items + b->codes.length;
    while (b->run) {
        int power = 63 - __builtin_clzll((uint64_t)b->run);
        if (power > 30) power = 30;
        *to++ = (uint8_t)(REPEAT + power);
        b->run -= (int64_t)1 << power;
    }
    b->codes.length = to - (uint8_t *)b->codes.items;
}

/* Packs the codes of a call. */
static int pack(Block *b, int64_t count) {
    const uint16_t *codes = b->recent;
    if (!reserve_codes(b, 3 * count + 128)) return 0;
    for (int64_t n = 0; n < count;) {
        const int64_t length = count - n < GROUP ? count - n : GROUP;
        if (length == GROUP) {
            uint16_t differ = 0;
            for (int k = 0; k < GROUP; k++) differ |= codes[n + k] ^ (uint16_t)b->last;
            if (!differ && b->last >= 0) {
                b->run++;
                n += GROUP;
                continue;
            }
        }
        if (b->run) flush(b);
        uint8_t *to = (uint8_t *)b->codes.items + b->codes.length;
        for (int64_t k = 0; k < length; k++) {
            const uint16_t code = codes[n + k];
            if (RARE(code >= WIDE)) {
                *to++ = WIDE;
                *to++ = (uint8_t)code;
                *to++ = (uint8_t)(code >> 8);
            } else {
                *to++ = (uint8_t)code;
            }
        }
        b->codes.length = to - (uint8_t *)b->codes.items;
        b->last = codes[n + length - 1];
        n += length;
    }
    return 1;
}

/* Doubles the places of a queue. */
static int widen_queue(Queue *q) {
    const int64_t old = q->places, made = 2 * old;
    for (int64_t column = -1; column < q->column_count; column++) {
        const int64_t size = column < 0 ? 1 : q->sizes[column];
        char *from = column < 0 ? (char *)q->kinds : q->columns[column];
        char *to = reserve(made * size);
        if (!to) return 0;
        for (int64_t token = q->head; token < q->tail;) {
            int64_t end = (token | (old - 1)) + 1;
            if (end > q->tail) end = q->tail;
            memcpy(to + (token & (made - 1)) * size, from + (token & (old - 1)) * size,
                   (size_t)((end - token) * size));
            token = end;
        }
        free(from);
        if (column < 0)
            q->kinds = (uint8_t *)to;
        else
            q->columns[column] = to;
    }
    q->places = made;
    return 1;
}

int open_queue(Queue *q) {
    q->kinds = malloc((size_t)q->places);
    for (int64_t column = 0; column < q->column_count; column++)
        if (!(q->columns[column] = malloc((size_t)(q->places * q->sizes[column])))) return 0;
    return q->kinds != NULL;
}

void close_queue(Queue *q) {
    free(q->kinds);
    for (int64_t column = 0; column < q->column_count; column++) free(q->columns[column]);
}

void release(Growing *g) { release_items(g); }

int64_t give_up(Growing *g, int64_t size) { return give_up_items(g, size); }

void unmap(void *items, int64_t bytes) { release_items(&(Growing){.items = items, .mapped = bytes}); }

int append(Growing *g, int64_t value) {
    APPEND(g, int64_t, value);
    return 1;
no_memory:
    return 0;
}

void prepare(Scheduled *s) {
    for (int64_t n = 0; n < s->count; n++) {
        Block *b = s->blocks[n];
        b->find = find;
        b->reserve = reserve_touched;
        b->awake = s->awake + n / 64;
        b->bit = (uint64_t)1 << n % 64;
        b->last = -1;
        /* No path is empty where others are looked for: this one is never found. */
        for (int k = 0; k < PATHS; k++) b->paths[k] = (Path){~(uint64_t)0, ~(uint64_t)0, 0};
        wake(b);
    }
}

/* Lets each block whose bit is set go on, and the blocks behind it that it wakes. Gives 0 if a block
 * has failed. */
static int sweep(Scheduled *s) {
    for (int64_t word = 0; 64 * word < s->count; word++) {
        uint64_t left = ~(uint64_t)0;
        while (s->awake[word] & left) {
            const int bit = __builtin_ctzll(s->awake[word] & left);
            const int64_t n = 64 * word + bit;
            left = ~(uint64_t)1 << bit;
            s->awake[word] &= ~((uint64_t)1 << bit);
            Block *b = s->blocks[n];
            if (b->status >= FINISHED_BLOCK) continue;
            const int64_t before = b->codes.length, touched = b->touched.length;
            s->failed = n;
            if (b->touches && !reserve_touched(b, (uint32_t *)b->touched.items + touched)) {
                b->status = NO_MEMORY;
                return 0;
            }
            const int64_t fired = b->fire(b);
            if (b->overflows) b->status = TOO_MANY_PATHS;
            if (b->status >= FAILED) return 0;
            if (!pack(b, fired)) {
                b->status = NO_MEMORY;
                return 0;
            }
            s->packed += b->codes.length - before;
            s->packed += (b->touched.length - touched) * (int64_t)sizeof(uint32_t);
        }
    }
    return 1;
}

static int quiet(const Scheduled *s) {
    uint64_t any = 0;
    for (int64_t word = 0; 64 * word < s->count; word++) any |= s->awake[word];
    return !any;
}

/* Runs up to a number of rounds, and of bytes of codes. Gives 0 if there is more to do, 1 if no block
 * can go on, and 2 if a block has failed. */
int64_t run(Scheduled *s, int64_t rounds) {
    int64_t status = 0;
    while (!status && rounds-- > 0 && s->packed < s->most) {
        if (!sweep(s)) {
            status = 2;
        } else if (quiet(s)) {
            status = 1;
            for (int64_t n = 0; n < s->count; n++) {
                Block *b = s->blocks[n];
                if (b->status != CROWDED || b->out[b->which]->places == 1) continue;
                if (!widen_queue(b->out[b->which])) return 2;
                wake(b);
                status = 0;
            }
        }
    }
    for (int64_t n = 0; n < s->count; n++)
        if (s->blocks[n]->run) {
            if (!reserve_codes(s->blocks[n], 128)) return 2;
            flush(s->blocks[n]);
        }
    return status;
}
