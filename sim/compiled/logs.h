/* Writes what kernels cannot write at once into the logs of waits and requests: see waits.h.
 *
 * A log that has come to its limit goes on in a file, which nobody else sees. */
#include <pthread.h>

enum { FIRST_WORDS = 5 << 10, MORE_WORDS = 1 << 16 };

/* Where the pieces of all logs lie: large pages, used up one after the other, since to get pages one
 * by one takes longer than to fill them. All are given back when no log is left. */
typedef struct LogPage LogPage;
struct LogPage {
    LogPage *before;
    int64_t used, size; /* bytes */
};
static struct {
    pthread_mutex_t lock;
    LogPage *page;
    int64_t logs;
} log_pages = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A new piece of a log, or NULL. */
static LogPiece *new_piece(Log *l, int64_t words) {
    const int64_t bytes = (int64_t)sizeof(LogPiece) + 8 * (words / 2);
    LogPiece *made = NULL;
    pthread_mutex_lock(&log_pages.lock);
    LogPage *page = log_pages.page;
    if (!page || page->used + bytes > page->size) {
        const int64_t least = bytes + (int64_t)sizeof *page;
        const int64_t size = least > LARGE_PAGE ? least : LARGE_PAGE;
        page = reserve(size);
        if (page) {
            *page = (LogPage){log_pages.page, sizeof *page, size};
            log_pages.page = page;
        }
    }
    if (page) {
        made = (LogPiece *)((char *)page + page->used);
        made->next = NULL;
        made->length = 0;
        made->room = words / 2 * 2;
        page->used += bytes;
        log_pages.logs += !l->first;
    }
    pthread_mutex_unlock(&log_pages.lock);
    return made;
}

/* Moves the words of a log to its file, and begins with its first piece again. */
static int move_to_file(Log *l) {
    if (!l->file && !(l->file = tmpfile())) return 0;
    for (LogPiece *piece = l->first;; piece = piece->next) {
        const size_t length = (size_t)piece->length;
        if (fwrite(piece->words, 4, length, l->file) != length) return 0;
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
        const int64_t room = l->last ? MORE_WORDS : FIRST_WORDS;
        if (!(next = new_piece(l, room > words ? room : words + 1))) return 0;
        *(l->last ? &l->last->next : &l->first) = next;
    }
    next->length = 0;
    l->last = next;
    return 1;
}

/* Parts of an entry that are too large for it. */
static uint32_t *wide(uint32_t *at, uint64_t part, uint32_t kind) {
    for (; part >= WIDE; part -= WIDE - 1) *at++ = (uint32_t)(WIDE - 1) << 8 | kind;
    *at++ = (uint32_t)part << 8 | kind;
    return at;
}

/* Keeps how far the log of a block's waits has come. */
void end_entries(Block *b) {
    if (b->log) b->waits_log.last->length = b->log - b->waits_log.last->words;
}

/* Makes an entry of a wait, of any length, or none of NOTHING, and room for more. */
static int write_wait(Block *b, uint64_t run, uint64_t wait, uint64_t cause) {
    Log *l = &b->waits_log;
    const int none = cause == (uint64_t)NOTHING;
    const uint64_t more = none ? 0 : (run + wait + cause) / (WIDE - 1);
    end_entries(b);
    if (!room_for(l, 4 + (int64_t)more + ENTRIES)) return 0;
    uint32_t *at = l->last->words + l->last->length;
    b->log_end = l->last->words + l->last->room;
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
    uint32_t *at = l->last->words + l->last->length;
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

/* Gives back the memory of a block's logs. */
void close_logs(Block *b) {
    Log *logs[] = {&b->waits_log, &b->requests_log};
    pthread_mutex_lock(&log_pages.lock);
    for (int n = 0; n < 2; n++) {
        if (logs[n]->file) fclose(logs[n]->file);
        if (logs[n]->first) log_pages.logs--;
    }
    while (!log_pages.logs && log_pages.page) {
        LogPage *before = log_pages.page->before;
        free(log_pages.page);
        log_pages.page = before;
    }
    pthread_mutex_unlock(&log_pages.lock);
}

/* How many words a log has. */
int64_t count_words(const Log *l) {
    int64_t words = l->in_file;
    for (const LogPiece *piece = l->first; piece; piece = piece == l->last ? NULL : piece->next)
        words += piece->length;
    return words;
}

/* Copies a log, first what lies in its file; 0 where that cannot be read. */
int copy_log(Log *l, uint32_t *to) {
    if (l->file) {
        rewind(l->file);
        if (fread(to, 4, (size_t)l->in_file, l->file) != (size_t)l->in_file) return 0;
        to += l->in_file;
    }
    for (const LogPiece *piece = l->first; piece; piece = piece == l->last ? NULL : piece->next) {
        memcpy(to, piece->words, (size_t)piece->length * 4);
        to += piece->length;
    }
    return 1;
}
