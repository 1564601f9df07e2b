#include <pthread.h>

// The shares of a loop, `count` of them, which threads take in turn: `taken` are taken. Where each
// makes a part of a result, `counted` tells those whose entries are counted. The first `known` ones
// know their places in the result, the first `placed` ones are copied there, and `copying` threads
// are at it. All this is read and written by one thread at a time, but for `taken`.
struct turns {
    int64_t count, taken, known, placed, copying;
    pthread_mutex_t lock;
    bool counted[];
};

static void turns_free(struct turns *turns)
{
    if (turns)
        pthread_mutex_destroy(&turns->lock);
    free(turns);
}

// New shares in place of those that there were; NULL if there is no memory.
static struct turns *turns_new(struct turns *had, int64_t count)
{
    turns_free(had);
    struct turns *turns = calloc(1, sizeof *turns + (size_t)count);
    if (turns) {
        turns->count = count;
        pthread_mutex_init(&turns->lock, NULL);
    }
    return turns;
}

// The number of the share to work on next; at least their count if all are taken.
static inline int64_t next_turn(struct turns *turns)
{
    return __atomic_fetch_add(&turns->taken, 1, __ATOMIC_RELAXED);
}

static inline void lock_turns(struct turns *turns)
{
    pthread_mutex_lock(&turns->lock);
}

static inline void unlock_turns(struct turns *turns)
{
    pthread_mutex_unlock(&turns->lock);
}

// Nobody works on another share, or copies a part, as there is no memory for the result.
static inline void end_turns(struct turns *turns)
{
    __atomic_store_n(&turns->taken, turns->count, __ATOMIC_RELAXED);
    turns->placed = turns->count;
}
