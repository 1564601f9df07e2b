/* The order of service, as sim/order_of_service.py has it: noted by runs whose waits are kept, and
 * kept by runs of changed machines. */
#include <stdint.h>

/* A run of requests of one block, one after the other, is a word: the number of the block among those
 * that ask memory, and in the lowest bits how many. */
enum { RUN_BITS = 8, MOST_IN_RUN = (1 << RUN_BITS) - 1 };

typedef struct Order {
    Growing runs;         /* uint32_t each */
    int64_t asker, cycle; /* of the latest request: its block, and the cycle in which that asked */
    /* Where the order is kept: the next run, the requests left in this one, and the cycle in which
     * the latest request was served, before which no other is. */
    int64_t next, left, now;
    struct Block **askers;
} Order;

/* The firings in which a block read the messages of a wire: for each message a byte, the firings
 * since the message before was read; MOST_OF_A_BYTE where more bytes are to be added. */
enum { MOST_OF_A_BYTE = 255 };
typedef struct {
    Growing bytes;
    int64_t firing; /* noted: in which the latest message was read; kept: in which the next is */
    int64_t next;   /* kept: the next byte */
    int64_t seen;   /* kept: the cycle in which the latest message became visible */
} Reads;

/* Notes that a firing has read a message. */
static inline int note_read(Reads *r, int64_t firing) {
    int64_t since = firing - r->firing;
    for (; since >= MOST_OF_A_BYTE; since -= MOST_OF_A_BYTE)
        APPEND(&r->bytes, uint8_t, MOST_OF_A_BYTE);
    APPEND(&r->bytes, uint8_t, (uint8_t)since);
    r->firing = firing;
    return 1;
no_memory:
    return 0;
}

/* Goes on to the next message; no firing reads one that is not in the order. */
static inline void next_read(Reads *r) {
    const uint8_t *bytes = r->bytes.items;
    int64_t more = MOST_OF_A_BYTE;
    while (more == MOST_OF_A_BYTE && r->next < r->bytes.length) r->firing += more = bytes[r->next++];
    if (more == MOST_OF_A_BYTE) r->firing = INT64_MAX;
}
