/* Runs a machine on several threads, each with some of the blocks.
 *
 * Blocks that talk through queues alone form a Kahn network: tokens and cycles do not depend on who
 * runs when. So each thread has a scheduler of its own, and no block or queue is seen by two. A queue
 * between two threads is a bridge: a near copy, which its writer gives to, a far copy, which its
 * reader takes from, and between them a ring of tokens. A sender on the thread of the writer takes
 * from the near copy, as a block would, and a receiver on that of the reader gives to the far one.
 * Where the queue is finite, the cycles in which its places were freed go back by a second ring, and
 * the writer sees the near copy as full as its reader's firings make it.
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

/* The bytes of a cache line; counters of different threads lie in different lines. */
enum { APART = 128 };

typedef struct Worker Worker;

typedef struct {
    Queue *near, *far;
    Worker *giver, *taker; /* the threads of the sender and of the receiver */
    Block *sender, *receiver;
    int64_t room;       /* tokens of the ring, a power of 2 that is at least the depth */
    int64_t columns;    /* arrays that a token lies in: control, and the columns of values */
    int64_t *offsets;   /* bytes from a stretch to each of them */
    int64_t *widths;    /* bytes of an item */
    char **rings;       /* the ring of each of them */
    uint32_t *cycles;   /* the ring of cycles in which places were freed */
    char before_sender[APART];
    int64_t sent;       /* tokens that the sender has read from the near copy */
    int64_t given;      /* tokens put into the ring so far */
    char before_receiver[APART];
    int64_t taken;      /* tokens taken from the ring so far */
    int64_t freed;      /* places whose freeing the receiver has told so far */
    char after_receiver[APART];
} Bridge;

typedef struct Crew Crew;

/* A thread: the machine that it runs, and the bridges that begin and that end on it. */
struct Worker {
    Machine machine;
    int64_t sender_count, receiver_count;
    Bridge **senders, **receivers;
    Crew *crew;
    uint64_t random; /* for tests: if not 0, it passes on few tokens, and waits now and then */
    int64_t moved;   /* whether it has passed something on since the others were told */
};

struct Crew {
    int64_t count;
    Worker *workers;
    int64_t rounds; /* the most sweeps of a worker in one call */
    int64_t failed; /* the worker whose block has failed */
    int64_t asleep; /* how many workers wait for others */
    int64_t status; /* RUNNING_CREW, or the result of the call */
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/* Results of a call, the first three as those of run; and how often a worker looks for something to
 * do before it goes to sleep. */
enum { RUNNING_CREW = -1, MORE, QUIET, FAILED_CREW, NO_THREAD, PATIENCE = 100 };

#define LOAD(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define STORE(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static uint64_t drawn(Worker *w) {
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

/* Copies tokens between a stretch and the ring, as many as lie together in both. */
static int64_t pass(const Bridge *bridge, Stretch *s, int64_t places, int64_t token, int64_t end,
                    int to_ring) {
    const int64_t at = token & (places - 1), slot = token & (bridge->room - 1);
    const int64_t n = least(end - token, least(places - at, bridge->room - slot));
    for (int64_t c = 0; c < bridge->columns; c++) {
        const int64_t width = bridge->widths[c];
        char *here = (char *)s + bridge->offsets[c] + at * width;
        char *there = bridge->rings[c] + slot * width;
        memcpy(to_ring ? there : here, to_ring ? here : there, (size_t)(n * width));
    }
    return n;
}

/* The firing of a sender: frees the places that the reader has freed, and passes tokens on. */
static int64_t send(Block *b) {
    Bridge *bridge = b->state;
    Worker *w = bridge->giver;
    Queue *q = bridge->near;
    const int64_t first = bridge->sent, freed = q->depth ? LOAD(bridge->freed) : 0;
    if (q->depth && freed != q->head) {
        uint32_t *taken = taken_of(q, q->from);
        for (int64_t n = q->head; n < freed; n++)
            taken[n & (q->places - 1)] = bridge->cycles[n & (bridge->room - 1)];
        q->head = q->seen = freed;
        if (q->crowds) q->crowds = 0, wake(q->writer);
    }
    int64_t end = least(q->tail, LOAD(bridge->taken) + bridge->room);
    if (w->random && end > first) end = first + 1 + (int64_t)(drawn(w) % (uint64_t)(end - first));
    while (bridge->sent < end) {
        const int64_t last = q->depth ? end : least(end, end_of(q));
        bridge->sent += pass(bridge, q->from, q->places, bridge->sent, last, 1);
        if (!q->depth) {
            q->head = q->seen = bridge->sent;
            account(q);
        }
    }
    if (bridge->sent != first) {
        STORE(bridge->given, bridge->sent);
        w->moved = 1;
    }
    q->starves = 1;
    b->status = STARVED;
    return bridge->sent - first;
}

/* The firing of a receiver: gives what has come, and tells which places have been freed. */
static int64_t receive(Block *b) {
    Bridge *bridge = b->state;
    Worker *w = bridge->taker;
    Queue *q = bridge->far;
    const int64_t first = q->tail, given = LOAD(bridge->given);
    const int64_t end = q->depth ? given : least(given, q->base + q->places);
    while (q->tail < end) q->tail += pass(bridge, q->to, q->places, q->tail, end, 0);
    if (q->tail != first) {
        STORE(bridge->taken, q->tail);
        w->moved = 1;
        if (q->starves) q->starves = 0, wake(q->reader);
    }
    if (q->depth && bridge->freed != q->head) {
        const uint32_t *taken = taken_of(q, q->from);
        for (int64_t n = bridge->freed; n < q->head; n++)
            bridge->cycles[n & (bridge->room - 1)] = taken[n & (q->places - 1)];
        STORE(bridge->freed, q->head);
        w->moved = 1;
    }
    const int crowded = q->tail < given;
    q->crowds = crowded || q->depth;
    b->which = 0;
    b->status = crowded ? CROWDED : STARVED;
    return q->tail - first;
}

/* Wakes the senders and receivers that can go on. Gives whether the worker has anything to do. */
static int has_work(Worker *w) {
    for (int64_t n = 0; n < w->sender_count; n++) {
        const Bridge *bridge = w->senders[n];
        const Queue *q = bridge->near;
        const int more = bridge->sent < least(q->tail, LOAD(bridge->taken) + bridge->room);
        if (more || (q->depth && LOAD(bridge->freed) != q->head)) wake(bridge->sender);
    }
    for (int64_t n = 0; n < w->receiver_count; n++) {
        const Bridge *bridge = w->receivers[n];
        const Queue *q = bridge->far;
        const int more = LOAD(bridge->given) != q->tail && bridge->receiver->status != CROWDED;
        if (more || (q->depth && bridge->freed != q->head)) wake(bridge->receiver);
    }
    return !quiet(&w->machine);
}

/* Ends the call with a result, if it has none yet. The lock is held. */
static void end_call(Crew *crew, int64_t status) {
    if (crew->status == RUNNING_CREW) STORE(crew->status, status);
    pthread_cond_broadcast(&crew->changed);
}

/* The same by a worker, with the one whose block has failed. */
static void end_call_of(Worker *w, int64_t status) {
    Crew *crew = w->crew;
    pthread_mutex_lock(&crew->lock);
    if (crew->status == RUNNING_CREW) crew->failed = w - crew->workers;
    end_call(crew, status);
    pthread_mutex_unlock(&crew->lock);
}

/* Makes room for crowded blocks when all workers are quiet, as relieve does, and ends the call if
 * there are none. */
static void relieve_crew(Crew *crew) {
    int64_t found = 0;
    for (int64_t n = 0; n < crew->count; n++) {
        const int64_t here = relieve(&crew->workers[n].machine);
        if (here < 0) {
            crew->failed = n;
            end_call(crew, FAILED_CREW);
            return;
        }
        found += here;
    }
    if (!found) end_call(crew, QUIET);
    pthread_cond_broadcast(&crew->changed);
}

/* Whether some worker has anything to do; all are asleep. */
static int any_has_work(Crew *crew) {
    int found = 0;
    for (int64_t n = 0; n < crew->count; n++) found |= has_work(crew->workers + n);
    return found;
}

/* Waits until a worker has something to do. Gives 0 when the call is to end. */
static int rest(Worker *w) {
    Crew *crew = w->crew;
    for (int n = 0; n < PATIENCE && LOAD(crew->status) == RUNNING_CREW; n++) {
        sched_yield();
        if (has_work(w)) return 1;
    }
    pthread_mutex_lock(&crew->lock);
    __atomic_fetch_add(&crew->asleep, 1, __ATOMIC_SEQ_CST);
    while (crew->status == RUNNING_CREW && !has_work(w)) {
        if (crew->asleep == crew->count && !any_has_work(crew))
            relieve_crew(crew);
        else
            pthread_cond_wait(&crew->changed, &crew->lock);
    }
    __atomic_fetch_sub(&crew->asleep, 1, __ATOMIC_SEQ_CST);
    const int goes_on = crew->status == RUNNING_CREW;
    pthread_mutex_unlock(&crew->lock);
    return goes_on;
}

/* Lets those who sleep look whether what has been passed on is for them. */
static void tell(Worker *w) {
    Crew *crew = w->crew;
    w->moved = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!LOAD(crew->asleep)) return;
    pthread_mutex_lock(&crew->lock);
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
}

static void *work(void *worker) {
    Worker *w = worker;
    for (int64_t left = w->crew->rounds; LOAD(w->crew->status) == RUNNING_CREW; left--) {
        if (left == 0) {
            end_call_of(w, MORE);
            break;
        }
        if (w->random && drawn(w) % 4 == 0) usleep((useconds_t)(drawn(w) % 50));
        if (!sweep(&w->machine)) {
            end_call_of(w, FAILED_CREW);
            break;
        }
        if (w->moved) tell(w);
        if (!has_work(w) && !rest(w)) break;
    }
    return NULL;
}

/* Makes a bridge of a queue: what is in it stays in the far copy. */
int open_bridge(Bridge *bridge) {
    Queue *near = bridge->near, *far = bridge->far;
    *near = *far;
    near->oldest = near->newest = near->spare = NULL;
    near->given = near->taken = NULL;
    near->to = NULL;
    near->peak = 0;
    near->head = near->seen = far->depth ? far->head : far->tail;
    if (!open_queue(near)) return 0;
    if (far->depth)
        memcpy(taken_of(near, near->to), taken_of(far, far->to), (size_t)near->places * 4);
    bridge->sent = bridge->given = bridge->taken = far->tail;
    bridge->freed = far->head;
    near->reader = bridge->sender;
    far->writer = bridge->receiver;
    for (int64_t n = 0; n < near->writer->outs; n++)
        if (near->writer->out[n] == far) near->writer->out[n] = near;
    bridge->sender->fire = send;
    bridge->receiver->fire = receive;
    return 1;
}

/* Up to a number of sweeps of each worker. Gives a result as run does, or NO_THREAD. */
int64_t run_crew(Crew *crew, int64_t rounds) {
    pthread_t threads[crew->count];
    int64_t begun = 1;
    crew->rounds = rounds;
    crew->asleep = 0;
    crew->status = RUNNING_CREW;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->changed, NULL);
    while (begun < crew->count &&
           !pthread_create(threads + begun, NULL, work, crew->workers + begun))
        begun++;
    if (begun < crew->count) end_call_of(crew->workers, NO_THREAD);
    work(crew->workers);
    for (int64_t n = 1; n < begun; n++) pthread_join(threads[n], NULL);
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
    return crew->status;
}

int64_t size_of_crew(void) { return sizeof(Crew); }
