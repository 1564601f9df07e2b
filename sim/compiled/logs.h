/* Writes what kernels cannot write at once into the logs of waits and requests: see waits.h.
 *
 * A log that has come to its limit goes on in a file, which nobody else sees. */
#include <pthread.h>

/* Where the pieces of some logs lie: large pages, used up one after the other, since to get pages
 * one by one takes longer than to fill them. Threads that share a run share them. */
typedef struct LogPage LogPage;
struct LogPage {
    LogPage *before;
    int64_t used, size; /* bytes */
};
struct LogPages {
    pthread_mutex_t lock;
    LogPage *page;
};

LogPages *open_pages(void) {
    LogPages *made = malloc(sizeof *made);
    if (made) *made = (LogPages){.lock = PTHREAD_MUTEX_INITIALIZER};
    return made;
}

void close_pages(LogPages *pages) {
    for (LogPage *page = pages->page; page;) {
        LogPage *before = page->before;
        free(page);
        page = before;
    }
    free(pages);
}

/* A new piece of a log, or NULL. */
static LogPiece *new_piece(LogPages *pages, int64_t words) {
    const int64_t bytes = (int64_t)sizeof(LogPiece) + 8 * (words / 4);
    LogPiece *made = NULL;
    pthread_mutex_lock(&pages->lock);
    LogPage *page = pages->page;
    if (!page || page->used + bytes > page->size) {
        const int64_t least = bytes + (int64_t)sizeof *page;
        const int64_t size = least > LARGE_PAGE ? least : LARGE_PAGE;
        page = reserve(size);
        if (page) {
            *page = (LogPage){pages->page, sizeof *page, size};
            pages->page = page;
        }
    }
    if (page) {
        made = (LogPiece *)((char *)page + page->used);
        made->next = NULL;
        made->length = 0;
        made->room = words / 4 * 4;
        page->used += bytes;
    }
    pthread_mutex_unlock(&pages->lock);
    return made;
}

/* Moves the words of a log to its file, and begins with its first piece again. */
static int move_to_file(Log *l) {
    if (!l->file && !(l->file = tmpfile())) return 0;
    for (LogPiece *piece = l->first;; piece = piece->next) {
        const size_t length = (size_t)piece->length;
        if (fwrite(piece->words, sizeof *piece->words, length, l->file) != length) return 0;
        l->in_file += piece->length;
        if (piece == l->last) break;
    }
    l->last = l->first;
    l->last->length = l->in_memory = 0;
    return 1;
}

/* Room in a log for some more words, in one piece; 0 where there is none. */
static int room_for(Log *l, int64_t words) {
    if (l->last) {
        if (l->last->room - l->last->length >= words) return 1;
        l->in_memory += l->last->length;
        if (l->limit && l->in_memory >= l->limit && !move_to_file(l)) return 0;
        if (l->last->room - l->last->length >= words) return 1;
    }
    LogPiece *next = l->last ? l->last->next : NULL;
    if (!next || next->room < words) {
        const int64_t room = l->last ? l->more_words : l->first_words;
        if (!(next = new_piece(l->pages, room > words + 3 ? room : words + 3))) return 0;
        *(l->last ? &l->last->next : &l->first) = next;
    }
    next->length = 0;
    l->last = next;
    return 1;
}

/* A part of an entry that is too large for it, as words. */
static uint16_t *wide(uint16_t *at, uint64_t part, int kind) {
    for (; part >= WIDE; part -= WIDE - 1) *at++ = (uint16_t)((WIDE - 1) << 4 | kind);
    *at++ = (uint16_t)(part << 4 | (uint64_t)kind);
    return at;
}

/* Keeps how far the log of a block's waits has come. */
void end_entries(Block *b) {
    if (b->log) b->waits_log->last->length = b->log - b->waits_log->last->words;
}

/* Makes an entry of a wait, of any length, or none of NOTHING, and room for more. */
static int write_wait(Block *b, uint64_t run, uint64_t wait, uint64_t cause) {
    Log *l = b->waits_log;
    const int none = cause == (uint64_t)NOTHING, above = 2 * PART_BITS;
    const uint64_t more = none ? 0 : ((run >> above) + (wait >> above) + cause) / (WIDE - 1);
    end_entries(b);
    if (!room_for(l, 5 + (int64_t)more + 2 * ENTRIES)) return 0;
    uint16_t *at = l->last->words + l->last->length;
    b->log_end = l->last->words + l->last->room;
    b->log = at;
    if (none) return 1;
    if (run >> above) at = wide(at, run >> above, RUN), run &= (1 << above) - 1;
    if (wait >> above) at = wide(at, wait >> above, WAIT), wait &= (1 << above) - 1;
    if (cause >= HIGHER) at = wide(at, cause, CAUSE), cause = 0;
    LOG_ENTRY(at, run, wait, cause)
    b->log = at;
    return 1;
}

/* Makes an entry of a request. */
static int note(Block *b, int64_t asked, int raises) {
    const Hierarchy *h = b->hierarchy;
    const int64_t words = (REQUEST_WORDS + 2 * h->levels) * 2;
    Log *l = b->requests_log;
    if (!room_for(l, words)) return 0;
    uint32_t *at = (uint32_t *)(l->last->words + l->last->length);
    l->last->length += words;
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

/* Gives back the file of a log. */
void close_log(Log *l) {
    if (l->file) fclose(l->file);
}

/* How many words a log has. */
int64_t count_words(const Log *l) {
    int64_t words = l->in_file;
    for (const LogPiece *piece = l->first; piece; piece = piece == l->last ? NULL : piece->next)
        words += piece->length;
    return words;
}

/* Copies a log, first what lies in its file; 0 where that cannot be read. */
int copy_log(Log *l, uint16_t *to) {
    if (l->file) {
        rewind(l->file);
        if (fread(to, sizeof *to, (size_t)l->in_file, l->file) != (size_t)l->in_file) return 0;
        to += l->in_file;
    }
    for (const LogPiece *piece = l->first; piece; piece = piece == l->last ? NULL : piece->next) {
        memcpy(to, piece->words, (size_t)piece->length * sizeof *to);
        to += piece->length;
    }
    return 1;
}
