// A workspace: components with their coordinates in a key. The first `sorted` are in order and have
// distinct keys, those behind them were inserted since (Zhang et al., PLDI 2024). A full workspace
// adds up components with equal keys if there are `enough` components, and grows otherwise. The
// other arrays are scratch space for `other_capacity` components.
struct W {
    K *keys, *other_keys;
    T *values, *other_values;
    int64_t sorted, count, capacity, other_capacity, enough;
};

static void W_free(struct W *w)
{
    if (w) {
        free(w->keys);
        free(w->other_keys);
        free(w->values);
        free(w->other_values);
        free(w);
    }
}

// Doubles the capacity, with new arrays: an array that grows in place gets small pages.
static bool W_grow(struct W *w)
{
    K *const keys = w->keys;
    T *const values = w->values;
    w->capacity = w->capacity ? 2 * w->capacity : 4096;
    w->keys = resized(NULL, w->capacity, sizeof *keys);
    w->values = resized(NULL, w->capacity, sizeof *values);
    if (w->keys && w->values && w->count) {
        memcpy(w->keys, keys, (size_t)w->count * sizeof *keys);
        memcpy(w->values, values, (size_t)w->count * sizeof *values);
    }
    free(keys);
    free(values);
    return w->keys && w->values;
}

// Makes the other arrays large enough for `count` components.
static bool W_make_others(struct W *w, int64_t count)
{
    if (w->other_capacity < count) {
        free(w->other_keys);
        free(w->other_values);
        w->other_capacity = count;
        w->other_keys = resized(NULL, count, sizeof *w->other_keys);
        w->other_values = resized(NULL, count, sizeof *w->other_values);
    }
    return w->other_keys && w->other_values;
}

static struct W *W_new(void)
{
    struct W *w = calloc(1, sizeof *w);
    if (w && !W_grow(w)) {
        W_free(w);
        w = NULL;
    }
    return w;
}

static inline void W_empty(struct W *w)
{
    w->sorted = w->count = w->enough = 0;
}

// Moves components to other arrays in the order of some bits of their keys. Components with equal
// bits keep their order. Returns false, and moves nothing, if all bits are equal.
static bool W_deal(const K *keys, const T *values, int64_t n, K *to_keys, T *to_values, int shift,
                   int bits, int64_t *places)
{
    const int64_t mask = ((int64_t)1 << bits) - 1;
    memset(places, 0, (size_t)(mask + 2) * sizeof *places);
    for (int64_t p = 0; p < n; p++)
        places[((int64_t)(keys[p] >> shift) & mask) + 1]++;
    if (places[((int64_t)(keys[0] >> shift) & mask) + 1] == n)
        return false;
    for (int64_t digit = 0; digit < mask; digit++)
        places[digit + 1] += places[digit];
    for (int64_t p = 0; p < n; p++) {
        const int64_t to = places[(int64_t)(keys[p] >> shift) & mask]++;
        to_keys[to] = keys[p];
        to_values[to] = values[p];
    }
    return true;
}

// Sorts components whose keys differ below a bit: a few by insertion, many some bits at a time,
// from the lowest to the highest. The other arrays have room for as many.
static void W_sort_some(K *keys, T *values, int64_t n, K *other_keys, T *other_values, int bits)
{
    K *const to_keys = keys;
    T *const to_values = values;
    int64_t places[(1 << 10) + 1];
    for (int64_t p = 1; n <= 24 && p < n; p++) {
        const K key = keys[p];
        const T value = values[p];
        int64_t to = p;
        for (; to > 0 && keys[to - 1] > key; to--) {
            keys[to] = keys[to - 1];
            values[to] = values[to - 1];
        }
        keys[to] = key;
        values[to] = value;
    }
    if (n <= 24)
        return;
    const int most = n < 512 ? 6 : n < 4096 ? 8 : 10, rounds = (bits + most - 1) / most;
    for (int round = 0; round < rounds; round++) {
        const int from = bits * round / rounds, below = bits * (round + 1) / rounds;
        if (!W_deal(keys, values, n, other_keys, other_values, from, below - from, places))
            continue;
        K *const had_keys = keys;
        T *const had_values = values;
        keys = other_keys, other_keys = had_keys;
        values = other_values, other_values = had_values;
    }
    if (keys != to_keys) {
        memcpy(to_keys, keys, (size_t)n * sizeof *keys);
        memcpy(to_values, values, (size_t)n * sizeof *values);
    }
}
