/* Writes what kernels cannot write at once into the logs of waits and requests: see waits.h.
 *
 * A log that has come to its limit goes on in a file, which nobody else sees. */
/* Room in a log for some more words; 0 where there is none. */
static int room_for(Log *l, int64_t words) {
    while (l->words.length + words > l->words.room) {
        if (l->limit && l->words.length >= l->limit) {
            if (!l->file && !(l->file = tmpfile())) return 0;
            const size_t length = (size_t)l->words.length;
            if (fwrite(l->words.items, 4, length, l->file) != length) return 0;
            l->in_file += l->words.length;
            l->words.length = 0;
        } else if (!grow(&l->words, 4)) {
            return 0;
        }
    }
    return 1;
}

/* Parts of an entry that are too large for it. */
static uint32_t *wide(uint32_t *at, uint64_t part, uint32_t kind) {
    for (; part >= WIDE; part -= WIDE - 1) *at++ = (uint32_t)(WIDE - 1) << 8 | kind;
    *at++ = (uint32_t)part << 8 | kind;
    return at;
}

/* Makes an entry of a wait, of any length, or none of NOTHING, and room for more. */
static int write_wait(Block *b, uint64_t run, uint64_t wait, uint64_t cause) {
    Log *l = &b->waits_log;
    const int none = cause == (uint64_t)NOTHING;
    if (b->log) l->words.length = b->log - (uint32_t *)l->words.items;
    const uint64_t more = none ? 0 : (run + wait + cause) / (WIDE - 1);
    if (!room_for(l, 4 + (int64_t)more + 2 * ENTRIES)) return 0;
    uint32_t *at = (uint32_t *)l->words.items + l->words.length;
    b->log_end = (uint32_t *)l->words.items + l->words.room;
    b->log = at;
    if (none) return 1;
    if (run >= PART) at = wide(at, run, RUN), run = 0;
    if (wait >= PART) at = wide(at, wait, WAIT), wait = 0;
    if (cause >= CAUSE) at = wide(at, cause, CAUSE), cause = 0;
    *at++ = (uint32_t)(run << (PART_BITS + 8) | wait << 8 | cause);
    b->log = at;
    return 1;
}

/* Makes an entry of a request. */
static int note(Block *b, int64_t asked, int raises) {
    const Hierarchy *h = b->hierarchy;
    const int64_t words = REQUEST_WORDS + 2 * h->levels;
    Log *l = &b->requests_log;
    if (!room_for(l, words)) return 0;
    uint32_t *at = (uint32_t *)l->words.items + l->words.length;
    l->words.length += words;
    *at++ = (uint32_t)asked;
    *at++ = (uint32_t)(asked >> 32);
    *at++ = (uint32_t)(b->placed - asked);
    *at++ = (uint32_t)(b->taken - b->placed) | (b->taken > b->placed && b->crowded ? CONFLICT : 0);
    *at++ = b->served > b->taken ? (uint32_t)(b->served - b->taken) : 0;
    *at++ = b->taken > b->placed ? (uint32_t)b->held_up : 0;
    *at++ = (uint32_t)b->last_region | (raises ? RAISES : 0);
    int64_t from = b->taken;
    memset(at, 0, (size_t)(2 * h->levels) * 4);
    for (int64_t n = 0; n < b->links && from < b->served; n++) {
        const Link *link = b->link + n;
        const int64_t end = n + 1 == b->links ? b->served : link->end / h->unit;
        if (end <= from) continue;
        at[2 * link->level + !link->waits] += (uint32_t)(end - from);
        if (link->waits && link->conflict) at[2 * link->level] |= CONFLICT;
        from = end;
    }
    return 1;
}

/* Gives back the memory of a block's logs. */
void close_logs(Block *b) {
    Log *logs[] = {&b->waits_log, &b->requests_log};
    for (int n = 0; n < 2; n++) {
        release_items(&logs[n]->words);
        if (logs[n]->file) fclose(logs[n]->file);
    }
}

/* Copies a log, first what lies in its file; 0 where that cannot be read. */
int copy_log(Log *l, uint32_t *to) {
    if (l->file) {
        rewind(l->file);
        if (fread(to, 4, (size_t)l->in_file, l->file) != (size_t)l->in_file) return 0;
    }
    if (l->words.length) memcpy(to + l->in_file, l->words.items, (size_t)l->words.length * 4);
    return 1;
}
