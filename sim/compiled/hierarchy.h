/* The memory hierarchy of sim/memory/hierarchy.py, with the same integers. */
#pragma once
#include <stdint.h>

/* What happened over time: a number for each stretch of 2^shift cycles, which get longer as a run
 * goes on. */
enum { BINS = 256 };
typedef struct {
    int64_t shift;
    int64_t count[BINS];
} Bins;

static inline void add_to_bins(Bins *bins, int64_t cycle, int64_t amount) {
    while (cycle >> bins->shift >= BINS) {
        for (int n = 0; n < BINS / 2; n++)
            bins->count[n] = bins->count[2 * n] + bins->count[2 * n + 1];
        for (int n = BINS / 2; n < BINS; n++) bins->count[n] = 0;
        bins->shift++;
    }
    bins->count[cycle >> bins->shift] += amount;
}

/* What is counted for each level and tensor. */
enum { READS, WRITES, BYTES_READ, BYTES_WRITTEN, HITS, MISSES, COUNTED };

/* A line in a level; lines are linked from the least recently used to the latest. */
typedef struct {
    int64_t region, number, size, arrives;
    int32_t older, newer;
    int32_t dirty;
} Line;

/* Where the lines of a region are: by number, the place of each among the lines, or 0. */
typedef struct {
    int32_t *at;
    int64_t room;
} Index;

typedef struct {
    int64_t latency, cost, ports;
    int64_t prompt;     /* whether its ports are free whenever they are asked */
    int64_t room;       /* bytes for lines; -1 where unbounded */
    int64_t by_use;     /* whether a hit makes a line the last to be replaced */
    int64_t held, peak; /* bytes in lines */
    int64_t *per_line;  /* by region: the entries in a line */
    int64_t *line_shift; /* by region: the logarithm of that, or -1 where it is no power of 2 */
    int64_t *free;      /* by port: when it is free */
    int64_t *user;      /* by port: the block whose request it took last */
    int64_t *busy;      /* by port: how long it moved data */
    int64_t *before;    /* by port: how long it did so before the last transfer that was waited for */
    int64_t *counts;    /* by tensor: COUNTED numbers */
    int64_t *held_of, *peak_of; /* by tensor */
    Bins *moved;        /* the bytes that were moved, where waits are kept; else NULL */
    Index *where;       /* by region */
    Line *lines;        /* the first stands for none; its neighbours are the oldest and the newest */
    int32_t used, made, spare; /* lines in use up to now, lines that there is room for, a free one */
} Level;

typedef struct {
    int64_t home, kept, entry, tensor;
    int64_t length;
    int64_t grows;      /* whether the length grows with the entries touched */
    int64_t brought;    /* whether an access only brings an entry into the level that keeps it */
    int64_t *sizes;     /* the bytes of each entry, or NULL */
} Region;

/* A part of the time between the request for an entry and its arrival: its end, in units, and its
 * cause. The cause is a wait for a port of a level, with or without a conflict with another block
 * while another port was free, or the transfer from that level. */
typedef struct {
    int64_t end;
    int32_t level, waits, conflict;
} Link;

typedef struct {
    int64_t unit;       /* units of time in a cycle */
    int64_t shift;      /* its logarithm, or -1 where it is no power of 2 */
    int64_t levels, regions;
    int64_t over;       /* whether the run is over: nothing takes time any more */
    int64_t evicts;     /* whether lines are written back, which nothing waits for */
    Level *level;
    Region *region;
    /* If waits are kept: by level, the links of the last access, 2 for each level; and how many. */
    Link *link;
    int64_t *links;
    struct Order *order; /* in which requests are served, if that is noted or kept */
} Hierarchy;
