/* Runs the blocks of a machine in turn, each as far as it comes, until none can go on. */
#include "runtime.h"

typedef int64_t (*Fire)(Block *);

typedef struct {
    int64_t count;
    Block **blocks;
    Fire *fire;
    int64_t failed; /* the block that failed */
} Machine;

/* Doubles the places of a queue. */
static int widen(Queue *q) {
    int64_t places = q->mask + 1, wide = 2 * places;
    char *made = malloc((size_t)(wide * q->size));
    if (!made) return 0;
    for (int64_t n = q->head; n < q->tail; n++) {
        int64_t from = n & (places - 1), to = n & (wide - 1);
        memcpy(made + to * q->size, q->places + from * q->size, (size_t)q->size);
    }
    free(q->places);
    q->places = made;
    q->mask = wide - 1;
    return 1;
}

int open_queue(Queue *q, int64_t places) {
    q->places = malloc((size_t)(places * q->size));
    q->taken = malloc((size_t)places * 4);
    q->mask = q->past = places - 1;
    return q->places && q->taken;
}

void close_queue(Queue *q) { free(q->places), free(q->taken); }

void release(void *memory) { free(memory); }

int append(Growing *g, int64_t value) {
    APPEND(g, int64_t, value);
    return 1;
no_memory:
    return 0;
}

/* Up to a number of rounds. Gives 0 where there is more to do, 1 where nothing can go on, and 2
 * where a block has failed. */
int64_t run(Machine *m, int64_t rounds) {
    while (rounds-- > 0) {
        int64_t moved = 0;
        for (int64_t n = 0; n < m->count; n++) {
            Block *b = m->blocks[n];
            if (!b->awake) continue;
            b->awake = 0;
            moved = 1;
            m->fire[n](b);
            if (b->status >= FAILED) {
                m->failed = n;
                return 2;
            }
        }
        if (moved) continue;
        for (int64_t n = 0; n < m->count; n++) {
            Block *b = m->blocks[n];
            if (b->status != CROWDED) continue;
            if (!widen(b->out[b->which])) {
                b->status = NO_MEMORY;
                m->failed = n;
                return 2;
            }
            b->awake = moved = 1;
        }
        if (!moved) return 1;
    }
    return 0;
}
