// What gcc makes of the kernels' OpenMP, on POSIX threads. ThreadSanitizer follows those, and takes
// libgomp's own barriers and locks for none.

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

// Nothing of what calls these is known to them, as if they were in a library.
#define APART __attribute__((noipa))

struct team {
    void (*body)(void *);
    void *data;
    unsigned threads;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    long turn;  // the iteration whose ordered part is next
};

struct member {
    struct team *team;
    unsigned number;
    long end, here;
};

static __thread struct member *self;

APART int omp_get_num_threads(void) { return self ? (int)self->team->threads : 1; }

APART int omp_get_thread_num(void) { return self ? (int)self->number : 0; }

static void *work(void *member)
{
    struct member *outer = self;
    self = member;
    self->team->body(self->team->data);
    self = outer;
    return NULL;
}

APART void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags)
{
    (void)flags;
    struct team team = {.body = body, .data = data, .threads = threads};
    pthread_mutex_init(&team.lock, NULL);
    pthread_cond_init(&team.changed, NULL);
    struct member *members = calloc(threads, sizeof *members);
    pthread_t *handles = calloc(threads, sizeof *handles);
    for (unsigned n = 0; n < threads; n++)
        members[n] = (struct member){.team = &team, .number = n};
    for (unsigned n = 1; n < threads; n++)
        if (pthread_create(&handles[n], NULL, work, &members[n]))
            abort();
    work(&members[0]);
    for (unsigned n = 1; n < threads; n++)
        pthread_join(handles[n], NULL);
    free(members);
    free(handles);
    pthread_cond_destroy(&team.changed);
    pthread_mutex_destroy(&team.lock);
}

// What one thread at a time runs.

static pthread_mutex_t exclusive = PTHREAD_MUTEX_INITIALIZER;

APART void GOMP_critical_name_start(void **name)
{
    (void)name;
    pthread_mutex_lock(&exclusive);
}

APART void GOMP_critical_name_end(void **name)
{
    (void)name;
    pthread_mutex_unlock(&exclusive);
}

// Loops of schedule(static, 1) from 0 in steps of 1: each thread has every threads-th iteration.

APART bool GOMP_loop_ordered_static_next(long *first, long *end)
{
    if (self->here >= self->end)
        return false;
    *first = self->here;
    *end = self->here + 1;
    self->here += self->team->threads;
    return true;
}

APART bool GOMP_loop_ordered_static_start(
        long begin, long end, long step, long chunk, long *first, long *past)
{
    if (begin != 0 || step != 1 || chunk != 1)
        abort();
    self->here = self->number;
    self->end = end;
    return GOMP_loop_ordered_static_next(first, past);
}

APART void GOMP_loop_end_nowait(void) { }

APART void GOMP_ordered_start(void)
{
    struct team *team = self->team;
    pthread_mutex_lock(&team->lock);
    while (team->turn != self->here - team->threads)
        pthread_cond_wait(&team->changed, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

APART void GOMP_ordered_end(void)
{
    struct team *team = self->team;
    pthread_mutex_lock(&team->lock);
    team->turn++;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
}
