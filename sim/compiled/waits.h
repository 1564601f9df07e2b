/* The log of a block's waits, from which sim/attribution tells why each firing came when it did.
 *
 * A firing that has not waited needs no entry: it came an initiation interval after the one before.
 * One that has is a word of three parts: in the low 8 bits the cause, which is the number of the port
 * that was last; in the next 12 the wait, in cycles; in the upper 12 the run, the cycles from the
 * entry before up to the first cycle in which the block might have fired. What is too large for its
 * part comes ahead of that in words that have RUN, WAIT or CAUSE for a cause, and 24 bits to be added
 * to that part. So an entry costs four bytes, and its cycle is the sum of all runs and waits up to it.
 *
 * The cycle of an entry is the one in which all was there but memory. What a block asks memory for
 * is in entries of another log, of REQUEST_WORDS and two more for each level:
 *
 *     the cycle of asking, in two words; how long it waited for a place among its requests, and then
 *     for ports; how long after that its data came; the region that kept the ports waiting, and
 *     the one that came last, with RAISES where these data came later than all before; then by
 *     level, from the outermost, how long these waited for a port, with CONFLICT where another port
 *     of the level was free and theirs was another block's, and how long they took
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
