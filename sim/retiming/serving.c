/* The times of firings in one machine whose parts ask memory.
 *
 * The codes of all firings are known, and the entries of memory that they touch. Parts go on as far
 * as tokens and room let them. A part that comes to a request stops, with the cycle of the request as
 * its key: requests are served in the order of their keys, and then of the parts.
 *
 * ``when`` has a cycle for each part that asks: the key of the request at which it has stopped, or a
 * cycle before which it makes none, if it waits for a token or for room. So the request with the
 * smallest key may be served if no other number is smaller. If the smallest belongs to a part that
 * waits, the others go on first; if it still waits then, the part that it waits for, the part that
 * waits for, and so on, up to one that has stopped at a request, tell a later cycle.
 *
 * Many requests need no order: those of a part with a port of its own, in a cache that holds all
 * tensors, for a line that the part itself has touched before. It is there, and nobody notices.
 */
#include "served_firings.h"

int open_machine(Machine *m) {
    for (int64_t n = 0; n < m->queue_count; n++) {
        Queue *q = m->queues[n];
        q->limit = smaller(FEW, q->depth);
        q->batch = BATCH;
        q->next_given = q->next_taken = -1;
        if (!make_room(q)) return 0;
    }
    for (int64_t n = 0; n < m->count; n++) {
        Part *p = m->parts[n];
        p->awake = m->awake + n / 64;
        p->bit = (uint64_t)1 << n % 64;
        p->status = STARVED;
        p->made = p->next_asked = -1;
        wake(p);
    }
    return 1;
}

/* Lets all parts go on that are awake, up to their requests. Gives 1 if there were any, 0 if not, and
 * -1 where there is no memory left. */
static int sweep(Machine *m) {
    int moved = 0;
    for (int64_t word = 0; 64 * word < m->count; word++) {
        uint64_t left = ~(uint64_t)0;
        while (m->awake[word] & left) {
            const int bit = __builtin_ctzll(m->awake[word] & left);
            left = ~(uint64_t)1 << bit;
            m->awake[word] &= ~((uint64_t)1 << bit);
            if (!fire(m, m->parts[64 * word + bit], -1)) return -1;
            moved = 1;
        }
    }
    return moved;
}

/* Lets more tokens into a queue whose limit its writer has come to. Gives 0 if that is its depth, and
 * -1 where there is no memory left. */
static int widen(Queue *q) {
    if (q->limit == q->depth) return 0;
    q->limit = smaller(2 * q->limit, q->depth);
    if (!make_room(q)) return -1;
    wake(q->writer);
    return 1;
}

/* A cycle before which a part that waits makes no request, while no part is awake. Gives -1 if it may
 * go on now, as a queue has been widened, and -2 where there is no memory left. */
static int64_t bound(Machine *m, Part *p) {
    int64_t length = 0, found;
    for (;;) {
        if (p->status == ORDERED) {
            found = p->key;
            break;
        }
        if (p->status == AT_END || length == m->count) return NEVER;
        if (p->status == CROWDED) {
            const int wider = widen(p->waits_for);
            if (wider) return wider < 0 ? -2 : -1;
        }
        m->path[length++] = p;
        p = p->status == STARVED ? p->waits_for->writer : p->waits_for->reader;
    }
    int64_t delay = p->delay;
    while (length--) {
        const Part *from = p;
        p = m->path[length];
        Queue *q = p->waits_for;
        if (p->status == STARVED)
            found += firings_before(from, q->given_bit, &q->next_given) * from->interval + delay +
                     q->latency;
        else
            found += firings_before(from, q->taken_bit, &q->next_taken) * from->interval + 1;
        found = larger(found, p->ready);
        delay = 0;
    }
    return found + firings_before(p, TOUCHES, &p->next_asked) * p->interval;
}

/* Lets all parts go on as far as they come, or for a number of requests or of tries to make one. Gives
 * 0 where there is no memory left, 1 where none can go on, and 2 otherwise. */
int64_t run(Machine *m, int64_t rounds) {
    while (rounds-- > 0) {
        int64_t next = 0, first = NEVER, second = NEVER, after = 0;
        for (int64_t n = 0; n < m->asker_count; n++) {
            const int64_t here = m->when[n];
            if (here < first) {
                second = first, after = next;
                first = here, next = n;
            } else if (here < second) {
                second = here, after = n;
            }
        }
        if (first < NEVER && m->askers[next]->status == ORDERED) {
            if (!fire(m, m->askers[next], second - (after < next))) return 0;
            continue;
        }
        const int moved = sweep(m);
        if (moved < 0) return 0;
        if (moved) continue;
        if (first < NEVER) {
            const int64_t later = bound(m, m->askers[next]);
            if (later == -2) return 0;
            if (later >= 0) m->when[next] = later;
            continue;
        }
        int wider = 0;
        for (int64_t n = 0; n < m->count; n++) {
            if (m->parts[n]->status != CROWDED) continue;
            const int one = widen(m->parts[n]->waits_for);
            if (one < 0) return 0;
            wider |= one;
        }
        if (!wider) return 1;
    }
    return 2;
}

/* Accounts for all takings. */
int settle(Machine *m) {
    for (int64_t n = 0; n < m->queue_count; n++) {
        Queue *q = m->queues[n];
        if (q->batch == BATCH && q->seen != q->head && !account(q)) return 0;
    }
    return 1;
}

/* Hands its rings over to another machine with the same queues, which has not been opened yet. */
void hand_over(Machine *from, Machine *to) {
    for (int64_t n = 0; n < from->queue_count; n++) {
        Queue *old = from->queues[n], *new = to->queues[n];
        new->visible = old->visible, new->given = old->given, new->taken = old->taken;
        new->places = old->places, new->kept = old->kept;
        old->visible = old->given = old->taken = NULL;
    }
}

void close_machine(Machine *m) {
    for (int64_t n = 0; n < m->queue_count; n++) {
        free(m->queues[n]->visible);
        free(m->queues[n]->given);
        free(m->queues[n]->taken);
    }
}
