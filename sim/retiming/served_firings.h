/* The firings of a part of a machine whose parts ask memory: each as soon as its tokens, its room and
 * its data are there. */
#pragma once
#include "served_machine.h"

/* The shapes of most firings: how often they wait, need room, take and give. */
#define GIVING(w, t) SHAPE(w, 0, t, 0) SHAPE(w, 0, t, 1) SHAPE(w, 1, t, 1)
#define ASKING_SHAPES GIVING(0, 0) GIVING(1, 1)
#define SHAPES GIVING(1, 0) GIVING(1, 1) GIVING(2, 1) GIVING(2, 2)

/* Whether a part has to stop for want of a token or of room, which it notes. */
static inline __attribute__((always_inline)) int lacks(Part *p, const Operation *wait,
                                                       const int64_t waits, const Operation *give,
                                                       const int64_t gives) {
    for (int64_t k = 0; k < waits; k++) {
        Queue *q = wait[k].queue;
        if (RARE(q->tail == q->head)) {
            q->starves = 1;
            p->waits_for = q;
            p->status = STARVED;
            return 1;
        }
    }
    for (int64_t k = 0; k < gives; k++) {
        Queue *q = give[k].queue;
        if (RARE(q->tail - q->head >= q->limit)) {
            q->crowds = 1;
            p->waits_for = q;
            p->status = CROWDED;
            return 1;
        }
    }
    return 0;
}

/* When a firing has its tokens and room, and the port that it waits for last. */
static inline __attribute__((always_inline)) int64_t complete(const Operation *wait,
                                                              const int64_t waits,
                                                              const int64_t rooms, int64_t now,
                                                              int64_t *cause) {
    for (int64_t k = 0; k < waits; k++) {
        const Queue *q = wait[k].queue;
        const int64_t there = q->visible[q->head & (q->places - 1)];
        *cause = there > now ? wait[k].port : *cause;
        now = larger(there, now);
    }
    for (int64_t k = waits; k < waits + rooms; k++) {
        const int64_t there = room(wait[k].queue);
        *cause = there > now ? wait[k].port : *cause;
        now = larger(there, now);
    }
    return now;
}

/* Takes tokens from queues in a cycle. */
static inline __attribute__((always_inline)) void take_from(const Operation *take,
                                                            const int64_t takes, int64_t now) {
    for (int64_t k = 0; k < takes; k++) {
        Queue *q = take[k].queue;
        q->taken[q->head++ & (q->kept - 1)] = now;
    }
}

/* Whether the next firing, which is there, has the same shape as another. */
static inline __attribute__((always_inline)) int is_alike(const Part *p, const Code *c) {
    return c->shape >= 0 && p->codes[p->code].shape == c->shape;
}

/* Firings of a part that asks no memory, as long as they have the same shape. Gives 0 if it has to
 * stop. It is inlined where the numbers are known. */
static inline __attribute__((always_inline)) int firings(Part *p, const Code *c,
                                                         const int64_t waits, const int64_t rooms,
                                                         const int64_t takes, const int64_t gives) {
    int64_t ready = p->ready, left = p->left, fired = 0;
    const int64_t interval = p->interval;
    int goes_on;
    for (;;) {
        const Operation *wait = c->operations, *take = wait + waits + rooms, *give = take + takes;
        if (lacks(p, wait, waits, give, gives)) {
            goes_on = 0;
            break;
        }
        int64_t cause = 0;
        const int64_t now = complete(wait, waits, rooms, ready, &cause);
        p->waits[cause] += now - ready;
        take_from(take, takes, now);
        for (int64_t k = 0; k < gives; k++) {
            Queue *q = give[k].queue;
            q->visible[q->tail++ & (q->places - 1)] = now + q->latency;
        }
        ready = now + interval;
        fired++;
        if (--left) continue;
        goes_on = 1;
        if (!read_code(p)) break;
        left = p->left;
        if (!is_alike(p, c)) break;
        c = p->codes + p->code;
    }
    p->ready = ready;
    p->left = left;
    p->fired += fired;
    return goes_on;
}

/* Keeps when the latest request is there, in place of the oldest of those that may be under way. */
static inline void keep_place(Part *p, int64_t served) {
    if (!p->outstanding) return;
    p->places[p->place] = served;
    if (++p->place == p->outstanding) p->place = 0;
}

static inline int64_t touched_line(const Touch *t, int64_t index) {
    return t->shift < 0 ? index / t->per_line : index >> t->shift;
}

static inline Cycle *line_at(const Touch *t, int64_t index) {
    return t->there + touched_line(t, index);
}

/* Whether all that a quick firing reads has been read before; and if so, when it is there. */
static inline int is_there(Part *p, const Code *c, int64_t *served) {
    int64_t last = p->key;
    for (int64_t k = 0; k < c->touches; k++) {
        const Touch *t = c->touch + k;
        const int64_t there = *line_at(t, p->touched[k]);
        if (!there) return 0;
        last = larger(last, larger(there, p->key + t->latency));
    }
    for (int64_t k = 0; k < c->touches; k++) c->touch[k].hits++;
    p->touched += c->touches;
    *served = last;
    keep_place(p, last);
    return 1;
}

/* Whether no other part can notice in which order a request is served. */
static inline int needs_no_order(const Part *p, const Code *c) {
    const uint32_t *index = p->touched;
    for (int64_t k = 0; k < c->touches; k++) {
        const Touch *t = c->touch + k;
        for (int64_t many = t->many ? *index++ : 1; many > 0; many--, index++)
            if (!t->never && (!t->there || !*line_at(t, *index))) return 0;
    }
    return 1;
}

/* When an entry is there that is read quickly; -1 if its line is not in the cache. */
static inline int64_t hit(Hierarchy *h, Touch *t, int64_t index, int64_t cycle) {
    Level *l = h->level + t->kept;
    const Index *where = l->where + t->region;
    const int64_t number = touched_line(t, index);
    const int32_t n = number < where->room ? where->at[number] : 0;
    if (!n) return -1;
    t->hits++;
    use_line(l, n);
    const int64_t arrives = l->lines[n].arrives;
    if (arrives <= cycle * h->unit + l->latency) return cycle + t->latency;
    return h->shift < 0 ? (arrives + h->unit - 1) / h->unit : (arrives + h->unit - 1) >> h->shift;
}

/* Asks memory for an entry that a firing touches next. Gives 0 where there is no memory left. */
static inline int ask_for_one(Machine *m, Part *p, Touch *t, int64_t *taken, int64_t *served) {
    const int64_t index = *p->touched++;
    int64_t one_taken = p->key, one_served = t->quick ? hit(m->hierarchy, t, index, p->key) : -1;
    if (one_served < 0 && !access_entry(m->hierarchy, p->asker, t->region, index, (int)t->write,
                                        p->key, &one_taken, &one_served))
        return 0;
    if (t->there && !t->write) {
        Cycle *there = line_at(t, index);
        if (!*there) *there = one_served;
    }
    *taken = larger(*taken, one_taken);
    *served = larger(*served, one_served);
    return 1;
}

/* Asks memory for all that a firing touches. Gives 0 where there is no memory left. */
static inline int ask(Machine *m, Part *p, const Code *c, int64_t *taken, int64_t *served) {
    *taken = *served = p->key;
    for (int64_t k = 0; k < c->touches; k++) {
        Touch *t = c->touch + k;
        for (int64_t many = t->many ? *p->touched++ : 1; many > 0; many--)
            if (!ask_for_one(m, p, t, taken, served)) return 0;
    }
    keep_place(p, *served);
    return 1;
}

/* The same of a part that asks memory: up to a cycle, and for the next firing it may have stopped to
 * ask before. Gives -1 where there is no memory left. */
static inline __attribute__((always_inline)) int asking(Machine *m, Part *p, const Code *c,
                                                        int64_t until, const int64_t waits,
                                                        const int64_t rooms, const int64_t takes,
                                                        const int64_t gives) {
    for (;;) {
        const Operation *wait = c->operations, *take = wait + waits + rooms, *give = take + takes;
        if (p->status != ORDERED) {
            if (lacks(p, wait, waits, give, gives)) return 0;
            p->cause = 0;
            p->asked = p->key = complete(wait, waits, rooms, p->ready, &p->cause);
            if (c->touches && p->outstanding) p->key = larger(p->key, p->places[p->place]);
        }
        const int64_t asked = p->asked, ready = p->ready, had = p->made;
        int64_t taken = asked, served = asked;
        if (c->touches && !(c->quick && p->status != ORDERED && is_there(p, c, &served))) {
            if (p->key > until && (p->status == ORDERED || !needs_no_order(p, c))) {
                p->status = ORDERED;
                return 0;
            }
            p->status = STARVED;
            if (!ask(m, p, c, &taken, &served)) return -1;
        } else if (c->touches) {
            taken = p->key;
        }
        const int64_t late = had <= ready ? 0 : smaller(had, asked) - ready;
        p->waited += taken - asked + late;
        p->waits[p->cause] += asked - ready - late;
        const int64_t made = larger(larger(had, served), taken);
        p->made = made;
        take_from(take, takes, taken);
        for (int64_t k = 0; k < gives; k++) {
            Queue *q = give[k].queue;
            q->given[q->tail & (q->places - 1)] = taken;
            q->visible[q->tail++ & (q->places - 1)] = made + q->latency;
        }
        p->ready = taken + p->interval;
        p->fired++;
        if (--p->left) continue;
        if (!read_code(p) || !is_alike(p, c)) return 1;
        c = p->codes + p->code;
    }
}

/* Lets a part go on as far as it comes; it may ask memory up to a cycle. Gives 0 where there is no
 * memory left. */
static int fire(Machine *m, Part *p, int64_t until) {
    int more = 1;
    while (more > 0) {
        if (!p->left && !read_code(p)) {
            p->status = AT_END;
            break;
        }
        const Code *c = p->codes + p->code;
        if (p->asker < 0)
            switch (c->shape) {
#define SHAPE(w, r, t, g) case SHAPE_OF(w, r, t, g): more = firings(p, c, w, r, t, g); break;
                SHAPES
#undef SHAPE
                default: more = firings(p, c, c->waits, c->rooms, c->takes, c->gives);
            }
        else
            switch (c->shape) {
#define SHAPE(w, r, t, g) case SHAPE_OF(w, r, t, g): more = asking(m, p, c, until, w, r, t, g); break;
                ASKING_SHAPES
#undef SHAPE
                default: more = asking(m, p, c, until, c->waits, c->rooms, c->takes, c->gives);
            }
    }
    if (more < 0) return 0;
    for (Queue **in = p->in; *in; in++) {
        Queue *q = *in;
        if (q->head - q->seen >= q->batch && !account(q)) return 0;
        if (q->crowds && q->tail - q->head < q->limit) q->crowds = 0, wake(q->writer);
    }
    for (Queue **out = p->out; *out; out++) {
        Queue *q = *out;
        if (q->starves && q->tail != q->head) q->starves = 0, wake(q->reader);
    }
    if (p->asker >= 0)
        m->when[p->asker] = p->status == AT_END ? NEVER : p->status == ORDERED ? p->key : p->ready;
    return 1;
}
