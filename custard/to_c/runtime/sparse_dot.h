// The sum of the products of values with the elements of `others` at their coordinates$of_each.
// Increasing coordinates without a gap are known from the first and the last. Otherwise elements
// are loaded four at a time, one by one, which beats a gather instruction. The last few are loaded
// together: the length of a loop over them would be hard to predict. Where it is not, since fibers
// are short and steady, nothing beats a plain loop, which gcc is kept from taking apart.
static inline $T $name(const $T *values, const $C *coordinates,
        int64_t begin, int64_t end, const $T *others$more, bool increasing, bool steady$scale)
{
    typedef $T four __attribute__((vector_size(4 * sizeof($T))));
    typedef $whole mask __attribute__((vector_size(4 * sizeof($T))));
    const int lanes = $lanes, ahead = 256;
    int64_t p = begin;
    if (steady) {
        $T sum = 0;
        for (; p < end; p++) {
            __asm__("" : "+r"(p));
            const int64_t a = coordinates[p];
            sum += values[p]$by * others[a]$and_a;
        }
        return sum;
    }
    if (increasing && end - begin > 2 * lanes
        && coordinates[end - 1] - coordinates[begin] == end - 1 - begin) {
        const int64_t first = coordinates[begin] - begin;
#ifdef __AVX512VL__
        $vector sums = _mm512_setzero_$s(), picked;
        // The coordinates are not needed again: they are kept out of the L2.
        __builtin_prefetch(coordinates + p + 8 * (end - begin), 0, 0);
        for (; p + lanes <= end; p += lanes) {
            picked = _mm512_loadu_$s(others + (first + p))$and_loaded;
            sums = _mm512_fmadd_$s(_mm512_loadu_$s(values + p)$by, picked, sums);
            __builtin_prefetch(values + p + ahead);
        }
        const $mask here = ($mask)((1 << (end - p)) - 1);
        picked = _mm512_maskz_loadu_$s(here, others + (first + p))$and_masked;
        sums = _mm512_mask3_fmadd_$s(_mm512_maskz_loadu_$s(here, values + p)$by, picked, sums, here);
        return _mm512_reduce_add_$s(sums);
#else
        $T sum = 0;
        for (; p < end; p++)
            sum += values[p]$by * others[first + p]$and_first;
        return sum;
#endif
    }
    four sums = {0}, factors;
    for (; p + 4 <= end; p += 4) {
        const int64_t a = coordinates[p], b = coordinates[p + 1];
        const int64_t c = coordinates[p + 2], d = coordinates[p + 3];
        const four picked = {others[a]$and_a, others[b]$and_b, others[c]$and_c, others[d]$and_d};
        memcpy(&factors, values + p, sizeof factors);
        sums += factors$by * picked;
        __builtin_prefetch(coordinates + p + ahead);
        __builtin_prefetch(values + p + ahead);
    }
    if (p < end) { // places beyond the end repeat the first, and are left out of the sum
        // -1 if at least two (three) are left, else 0. Of a bool, gcc may spill one byte and load
        // eight, which stalls.
        const int64_t two = (p + 1 - end) >> 63, three = (p + 2 - end) >> 63;
        const int64_t second = p - two, third = p - 2 * three;
        const int64_t a = coordinates[p], b = coordinates[second], c = coordinates[third];
        const four picked = {others[a]$and_a, others[b]$and_b, others[c]$and_c};
        factors = (four){values[p], values[second], values[third]};
        sums += (four)((mask)(factors$by * picked) & (mask){-1, two, three});
    }
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}
