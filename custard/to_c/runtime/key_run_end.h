// The first position behind p whose key is not less than `beyond`; keys do not decrease. A run is
// often as long as the one before it.
static inline int64_t key_run_end_K(const K *keys, int64_t p, int64_t end, int64_t before, K beyond)
{
    if (p + before < end && keys[p + before - 1] < beyond && keys[p + before] >= beyond)
        return p + before;
    while (p < end && keys[p] < beyond)
        p++;
    return p;
}
