// The sum of the products of values with the elements of `others` at their coordinates$of_each.
// Increasing coordinates without a gap are known from the first and the last. Otherwise elements
// are loaded four at a time, one by one, which beats a gather instruction. The last few are added
// without a branch: the length of a loop over them would be hard to predict. Where it is not, since
// fibers are short and steady, nothing beats a plain loop, which gcc is kept from taking apart.
static inline $T $name(const $T *values, const $C *coordinates,
        int64_t begin, int64_t end, const $T *others$more, bool increasing, bool steady$scale)
{
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
    $T sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    for (; p + 4 <= end; p += 4) {
        const int64_t a = coordinates[p], b = coordinates[p + 1];
        const int64_t c = coordinates[p + 2], d = coordinates[p + 3];
        sum0 += values[p]$by * others[a]$and_a;
        sum1 += values[p + 1]$by * others[b]$and_b;
        sum2 += values[p + 2]$by * others[c]$and_c;
        sum3 += values[p + 3]$by * others[d]$and_d;
        __builtin_prefetch(coordinates + p + ahead);
        __builtin_prefetch(values + p + ahead);
    }
    if (p < end) { // places beyond the end repeat the first, and are left out of the sum
        const bool two = p + 1 < end, three = p + 2 < end;
        const int64_t second = p + two, third = p + 2 * three;
        const int64_t a = coordinates[p], b = coordinates[second], c = coordinates[third];
        sum0 += values[p]$by * others[a]$and_a;
        sum1 += kept_$T(two, values[second]$by * others[b]$and_b);
        sum2 += kept_$T(three, values[third]$by * others[c]$and_c);
    }
    return (sum0 + sum2) + (sum1 + sum3);
}
