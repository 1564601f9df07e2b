// The first position behind p whose coordinate is another; coordinates do not decrease. A long run
// is often as long as the one before it.
static inline int64_t run_end_T(const T *coordinates, int64_t p, int64_t end, int64_t before)
{
    const T coordinate = coordinates[p];
    const bool after_long = before > 16;
    __builtin_prefetch(coordinates + p + 16 * (after_long ? before : 16));
    if (after_long && p + before < end && coordinates[p + before - 1] == coordinate
        && coordinates[p + before] != coordinate)
        return p + before;
#ifdef __AVX512VL__
    const int lanes = 64 / (int)sizeof(T);
    for (; p + lanes <= end; p += lanes) { // comparing many at once does not branch
        const __m512i here = _mm512_loadu_si512(coordinates + p);
        const unsigned others = sizeof(T) == 4
            ? _mm512_cmpneq_epi32_mask(here, _mm512_set1_epi32((int32_t)coordinate))
            : _mm512_cmpneq_epi64_mask(here, _mm512_set1_epi64((int64_t)coordinate));
        if (others)
            return p + __builtin_ctz(others);
    }
#endif
    while (p < end && coordinates[p] == coordinate)
        p++;
    return p;
}
