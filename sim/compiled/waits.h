/* The log of a block's waits, from which sim/attribution tells why each firing came when it did.
 *
 * A firing that has not waited has no entry: it came an initiation interval after the firing before.
 * The entry of a firing that has waited ends with a word of 16 bits:
 *
 *     bits 0 to 3    the cause: the number of the port that was last
 *     bits 4 to 9    the wait, in cycles
 *     bits 10 to 15  the run: the cycles from the entry before to the first cycle in which the block
 *                    might have fired
 *
 * What is too large for its bits comes ahead, in words that are told by bits 0 to 3; these are summed:
 *
 *     HIGHER         the next 6 bits of wait and run, in the same bits
 *     RUN, WAIT      bits 12 and up
 *     CAUSE          a summand of the cause
 *
 * The cycle of an entry is the sum of all runs and waits up to it.
 *
 * In that cycle, all but memory was there. The requests of a block to memory have a log of their own;
 * an entry has REQUEST_WORDS, of 32 bits, and two more for each level:
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

enum { HIGHER = 12, RUN, WAIT, CAUSE }; /* causes from HIGHER on are too large for an entry */
enum { PART_BITS = 6, PART = 1 << PART_BITS, WIDE = 1 << 12, AT_WAIT = 4, AT_RUN = AT_WAIT + PART_BITS };
enum { REQUEST_WORDS = 7, ENTRIES = 2048, NOTHING = -1 };
#define RAISES ((uint32_t)1 << 31)
#define CONFLICT ((uint32_t)1 << 31)

/* Whether an entry is too large for two words; and the words. */
#define LOG_LARGE(run, wait, cause) RARE(((run) | (wait)) >> 2 * PART_BITS || (cause) >= HIGHER)
#define LOG_WORD(run, wait, last) (uint16_t)((run) << AT_RUN | (wait) << AT_WAIT | (last))
#define LOG_ENTRY(log, run, wait, cause) \
    if (((run) | (wait)) >> PART_BITS) \
        *(log)++ = LOG_WORD((run) >> PART_BITS, (wait) >> PART_BITS, HIGHER); \
    *(log)++ = LOG_WORD((run) & (PART - 1), (wait) & (PART - 1), cause);

#ifdef LOGGED

/* Makes room for the entries of the firings of a call, of up to two words each, and bounds their
 * number. */
#define LOG_ROOM \
    if (most > ENTRIES) most = ENTRIES; \
    if (b->log_end - b->log < 2 * ENTRIES && !b->write(b, 0, 0, NOTHING)) goto no_memory;

/* Makes an entry of the wait of a firing, as its port of that number was last. The ends of a log stay
 * in memory: most calls have few firings. */
#define LOG_WAIT \
    { const uint64_t run_ = (uint64_t)(ready - b->logged), wait_ = (uint64_t)(now - ready); \
      b->logged = now; \
      if (LOG_LARGE(run_, wait_, LOGGED > HIGHER ? cause : 0)) { \
          if (!b->write(b, run_, wait_, (uint64_t)cause)) goto no_memory; \
      } else { \
          uint16_t *log_ = b->log; \
          LOG_ENTRY(log_, run_, wait_, (uint64_t)cause) \
          b->log = log_; \
      } }

/* The same for a writer whose tokens the reader lets in. */
#define LOG_WRITER(writer, now) \
    { const uint64_t run_ = (uint64_t)((writer)->ready - (writer)->logged); \
      const uint64_t wait_ = (uint64_t)((now) - (writer)->ready), port_ = (uint64_t)(writer)->port; \
      (writer)->logged = (now); \
      if (LOG_LARGE(run_, wait_, port_) || RARE((writer)->log_end - (writer)->log < 2)) { \
          if (!(writer)->write(writer, run_, wait_, port_)) (writer)->status = NO_MEMORY; \
      } else { \
          LOG_ENTRY((writer)->log, run_, wait_, port_) \
      } }

/* The cycle from which a request has its place; and an entry of it, where it made anything wait. */
#define LOG_PLACE b->placed = now, b->links = 0, b->last_region = 0;
#define LOG_REQUEST \
    if (asks && (b->taken > now || b->served > (had > b->taken ? had : b->taken))) \
        if (!b->note(b, now, b->served > (had > b->taken ? had : b->taken))) goto no_memory;

/* Notes that the firing has read a message on a wire. */
#define NOTE_READ(wire) \
    if (!note_read(b->reads + wire, b->fired + fired)) goto no_memory;

#else
#define LOG_ROOM
#define LOG_WAIT
#define LOG_WRITER(writer, now)
#define LOG_PLACE
#define LOG_REQUEST
#define NOTE_READ(wire)
#endif
