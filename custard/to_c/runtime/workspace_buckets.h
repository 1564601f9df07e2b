// Puts the inserted components into buckets by the highest bits of their keys, and sorts each
// bucket, which mostly fits into a cache.
static bool W_sort_inserted(struct W *w, int bits)
{
    int64_t places[(1 << 11) + 1];
    const int64_t first = w->sorted, n = w->count - first;
    K *const keys = w->keys + first;
    T *const values = w->values + first;
    int buckets = 0;
    if (!W_make_others(w, n))
        return false;
    while (buckets < 11 && buckets < bits && n >> buckets > 2048)
        buckets++;
    if (!buckets) {
        W_sort_some(keys, values, n, w->other_keys, w->other_values, bits);
        return true;
    }
    // The highest bit differs, so the components are moved.
    bits -= buckets;
    W_deal(keys, values, n, w->other_keys, w->other_values, bits, buckets, places);
    for (int64_t bucket = 0, begin = 0; bucket >> buckets == 0; bucket++) {
        const int64_t end = places[bucket];
        memcpy(keys + begin, w->other_keys + begin, (size_t)(end - begin) * sizeof *keys);
        memcpy(values + begin, w->other_values + begin, (size_t)(end - begin) * sizeof *values);
        W_sort_some(keys + begin, values + begin, end - begin, w->other_keys + begin,
                    w->other_values + begin, bits);
        begin = end;
    }
    return true;
}
