// A sparse workspace: components with their coordinates in a key. The first `sorted` are in order
// and have distinct keys, those behind them were inserted since (Zhang et al., PLDI 2024).
struct W {
    K *keys, *other_keys;
    T *values, *other_values;
    int64_t sorted, count, capacity;
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

static bool W_grow(struct W *w)
{
    w->capacity = w->capacity ? 2 * w->capacity : 4096;
    w->keys = resized(w->keys, w->capacity, sizeof *w->keys);
    w->other_keys = resized(w->other_keys, w->capacity, sizeof *w->other_keys);
    w->values = resized(w->values, w->capacity, sizeof *w->values);
    w->other_values = resized(w->other_values, w->capacity, sizeof *w->other_values);
    return w->keys && w->other_keys && w->values && w->other_values;
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

static void W_empty(struct W *w)
{
    w->sorted = w->count = 0;
}

// Sorts what was inserted, eight bits of the keys at a time, from the lowest to the highest.
static void W_sort_inserted(struct W *w)
{
    int64_t n = w->count - w->sorted;
    K *keys = w->keys + w->sorted, *to_keys = w->other_keys, *swap_keys;
    T *values = w->values + w->sorted, *to_values = w->other_values, *swap_values;
    K used = 0;
    for (int64_t p = 0; p < n; p++)
        used |= keys[p] ^ keys[0];
    for (int shift = 0; shift < (int)sizeof(K) * 8 && used >> shift; shift += 8) {
        int64_t places[257] = {0};
        if (!((used >> shift) & 255))
            continue;
        for (int64_t p = 0; p < n; p++)
            places[((keys[p] >> shift) & 255) + 1]++;
        for (int digit = 0; digit < 256; digit++)
            places[digit + 1] += places[digit];
        for (int64_t p = 0; p < n; p++) {
            int64_t to = places[(keys[p] >> shift) & 255]++;
            to_keys[to] = keys[p];
            to_values[to] = values[p];
        }
        swap_keys = keys, keys = to_keys, to_keys = swap_keys;
        swap_values = values, values = to_values, to_values = swap_values;
    }
    if (keys == w->other_keys) {
        memcpy(w->keys + w->sorted, keys, (size_t)n * sizeof *keys);
        memcpy(w->values + w->sorted, values, (size_t)n * sizeof *values);
    }
}

// Brings all components in order, those with one key added up.
static void W_sort(struct W *w)
{
    int64_t a = 0, b = w->sorted, to = -1;
    if (w->sorted == w->count)
        return;
    W_sort_inserted(w);
    while (a < w->sorted || b < w->count) {
        bool first = b == w->count || (a < w->sorted && w->keys[a] <= w->keys[b]);
        int64_t from = first ? a++ : b++;
        if (to >= 0 && w->other_keys[to] == w->keys[from]) {
            w->other_values[to] += w->values[from];
        } else {
            w->other_keys[++to] = w->keys[from];
            w->other_values[to] = w->values[from];
        }
    }
    K *keys = w->keys;
    T *values = w->values;
    w->keys = w->other_keys, w->other_keys = keys;
    w->values = w->other_values, w->other_values = values;
    w->sorted = w->count = to + 1;
}

// The first position behind p with another key, when keys are divided by `stride`.
static inline int64_t W_run_end(const struct W *w, int64_t p, int64_t end, int64_t before,
                                K stride)
{
    const K last = w->keys[p] - w->keys[p] % stride + (stride - 1);
    if (p + before < end && w->keys[p + before - 1] <= last && w->keys[p + before] > last)
        return p + before;
    while (p < end && w->keys[p] <= last)
        p++;
    return p;
}

static inline bool W_insert(struct W *w, K key, T value)
{
    if (w->count == w->capacity) {
        W_sort(w);
        if (w->sorted > w->capacity / 2 && !W_grow(w))
            return false;
    }
    w->keys[w->count] = key;
    w->values[w->count++] = value;
    return true;
}
