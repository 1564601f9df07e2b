// Lists the buckets of a table that are in use, by coordinate; returns how many.
static int64_t sort_buckets_T(const T *buckets, int64_t first, int64_t width, int64_t *list)
{
    int64_t count = 0;
    for (int64_t at = first; at < first + width; at++)
        if (buckets[at] != -1)
            list[count++] = at;
    for (int64_t gap = count / 2; gap > 0; gap /= 2) {
        for (int64_t n = gap; n < count; n++) {
            int64_t bucket = list[n], to = n;
            for (; to >= gap && buckets[list[to - gap]] > buckets[bucket]; to -= gap)
                list[to] = list[to - gap];
            list[to] = bucket;
        }
    }
    return count;
}
