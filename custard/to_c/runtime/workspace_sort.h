// Adds up neighbours with equal keys; returns how many components are left.
static int64_t W_add_up(K *keys, T *values, int64_t n)
{
    int64_t to = 0;
    for (int64_t p = 1; p < n; p++) {
        if (keys[to] == keys[p]) {
            values[to] += values[p];
        } else {
            keys[++to] = keys[p];
            values[to] = values[p];
        }
    }
    return to + 1;
}

// Sorts all components, and adds up those with equal keys.
static bool W_sort(struct W *w)
{
    K *const keys = w->keys;
    K differ = 0;
    T *const values = w->values;
    int64_t a = 0, b = w->sorted, to = 0;
    int bits = 0;
    if (w->sorted == w->count)
        return true;
    if (w->sorted < w->count / 3) // sorting all takes less memory than merging
        w->sorted = b = 0;
    for (int64_t p = w->sorted; p < w->count; p++)
        differ |= keys[p] ^ keys[w->sorted];
    for (; differ; differ >>= 1)
        bits++;
    if (!W_sort_inserted(w, bits))
        return false;
    w->count = b + W_add_up(keys + b, values + b, w->count - b);
    if (w->sorted) {
        if (!W_make_others(w, w->capacity))
            return false;
        while (a < w->sorted && b < w->count) {
            const bool same = keys[a] == keys[b], first = keys[a] <= keys[b];
            w->other_keys[to] = first ? keys[a] : keys[b];
            w->other_values[to] = first ? values[a] : values[b];
            if (same)
                w->other_values[to] += values[b];
            to++;
            a += first;
            b += same || !first;
        }
        const int64_t from = a < w->sorted ? a : b, rest = w->sorted - a + w->count - b;
        memcpy(w->other_keys + to, keys + from, (size_t)rest * sizeof *keys);
        memcpy(w->other_values + to, values + from, (size_t)rest * sizeof *values);
        w->keys = w->other_keys, w->other_keys = keys;
        w->values = w->other_values, w->other_values = values;
        w->count = to + rest;
    }
    w->sorted = w->count;
    return true;
}

static inline bool W_insert(struct W *w, K key, T value)
{
    if (w->count == w->capacity) {
        if (w->count >= w->enough) {
            if (!W_sort(w))
                return false;
            w->enough = 4 * w->sorted;
        }
        if (w->count > w->capacity / 2 && !W_grow(w))
            return false;
    }
    w->keys[w->count] = key;
    w->values[w->count++] = value;
    return true;
}
