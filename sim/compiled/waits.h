/* The log of a block's waits, from which sim/attribution tells why each firing came when it did.
 *
 * A firing that has not waited has no entry: it came an initiation interval after the firing before.
 * The entry of a firing that has waited is a word:
 *
 *     bits 0 to 7    the cause: the number of the port that was last
 *     bits 8 to 19   the wait, in cycles
 *     bits 20 to 31  the run: the cycles from the entry before to the first cycle in which the block
 *                    might have fired
 *
 * A number that is too large for its bits comes ahead of the entry, in words that have RUN, WAIT or
 * CAUSE in bits 0 to 7 and a summand in the others. The cycle of an entry is the sum of all runs and
 * waits up to it.
 *
 * In that cycle, all but memory was there. The requests of a block to memory have a log of their own;
 * an entry has REQUEST_WORDS, and two more words for each level:
 *
 *     0 and 1   the cycle of asking
 *     2         the wait for a place among the block's requests
 *     3         the wait for ports after that, with CONFLICT where another port was free and the
 *               port that it waited for was another block's
 *     4         the cycles from then to the arrival of the data
 *     5         the region for which the ports were late
 *     6         the region that arrived last, with RAISES where it did so later than all before
 *     by level  from the outermost: the wait for a port, with CONFLICT as in word 3, and the rest of
 *               the time there
 *
 * The entries depend on time, unlike the codes of what firings take and give.
 *
 * Kernels that keep logs define LOGGED, as the number of their ports; the macros are nothing in
 * others.
 */
#include <stdint.h>

enum { RUN = 255, WAIT = 254, CAUSE = 253, PART_BITS = 12, PART = 1 << PART_BITS, WIDE = 1 << 24 };
enum { REQUEST_WORDS = 7, ENTRIES = 2048, NOTHING = -1 };
#define RAISES ((uint32_t)1 << 31)
#define CONFLICT ((uint32_t)1 << 31)

#ifdef LOGGED

#define LOG_LOCALS \
    uint32_t *log = b->log, *log_end = b->log_end; \
    int64_t logged = b->logged;
#define LOG_BACK b->log = log, b->logged = logged;

/* Lets no more firings follow, before this is asked again, than there is room for entries. */
#define LOG_MOST \
    if (fired + (log_end - log) - FEW < most) most = fired + (log_end - log) - FEW;

/* Makes room for the entries of the firings that follow. */
#define LOG_ROOM \
    if (log_end - log < ENTRIES) { \
        b->log = log; \
        if (!b->write(b, 0, 0, NOTHING)) goto no_memory; \
        log = b->log, log_end = b->log_end; \
    } \
    LOG_MOST

/* Makes an entry of the wait of a firing, as its port of that number was last. */
#define LOG_WAIT \
    { const uint64_t run_ = (uint64_t)(ready - logged), wait_ = (uint64_t)(now - ready); \
      logged = now; \
      if (RARE((run_ | wait_) >> PART_BITS) || (LOGGED > CAUSE && cause >= CAUSE)) { \
          b->log = log; \
          if (!b->write(b, run_, wait_, (uint64_t)cause)) goto no_memory; \
          log = b->log, log_end = b->log_end; \
          LOG_MOST \
      } else { \
          *log++ = (uint32_t)(run_ << (PART_BITS + 8) | wait_ << 8 | (uint64_t)cause); \
      } }

/* The same for a writer whose tokens the reader lets in. */
#define LOG_WRITER(writer, now) \
    { const uint64_t run_ = (uint64_t)((writer)->ready - (writer)->logged); \
      const uint64_t wait_ = (uint64_t)((now) - (writer)->ready), port_ = (uint64_t)(writer)->port; \
      (writer)->logged = (now); \
      if (RARE((run_ | wait_) >> PART_BITS || port_ >= CAUSE || (writer)->log == (writer)->log_end)) { \
          if (!(writer)->write(writer, run_, wait_, port_)) (writer)->status = NO_MEMORY; \
      } else { \
          *(writer)->log++ = (uint32_t)(run_ << (PART_BITS + 8) | wait_ << 8 | port_); \
      } }

/* The cycle from which a request has its place; and an entry of it, where it made anything wait. */
#define LOG_PLACE b->placed = now, b->links = 0, b->last_region = 0;
#define LOG_REQUEST \
    if (asks && (b->taken > now || b->served > (had > b->taken ? had : b->taken))) \
        if (!b->note(b, now, b->served > (had > b->taken ? had : b->taken))) goto no_memory;

#else
#define LOG_LOCALS
#define LOG_BACK
#define LOG_ROOM
#define LOG_WAIT
#define LOG_WRITER(writer, now)
#define LOG_PLACE
#define LOG_REQUEST
#endif
