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
            sum += $product_a;
        }
        return sum;
    }
    if (increasing && end - begin > 2 * lanes
        && coordinates[end - 1] - coordinates[begin] == end - 1 - begin) {
        const int64_t first = coordinates[begin] - begin;
#ifdef __AVX512VL__
        $vector sums = _mm512_setzero_$s();
        // The coordinates are not needed again: they are kept out of the L2.
        __builtin_prefetch(coordinates + p + 8 * (end - begin), 0, 0);
        for (; p + lanes <= end; p += lanes) {
            sums = _mm512_fmadd_$s($left, $right, sums);
            __builtin_prefetch(values + p + ahead);
        }
        const $mask here = ($mask)((1 << (end - p)) - 1);
        sums = _mm512_mask3_fmadd_$s($masked_left, $masked_right, sums, here);
        return _mm512_reduce_add_$s(sums);
#else
        $T sum = 0;
        for (; p < end; p++)
            sum += $product_first;
        return sum;
#endif
    }
    $T sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    for (; p + 4 <= end; p += 4) {
        const int64_t a = coordinates[p], b = coordinates[p + 1];
        const int64_t c = coordinates[p + 2], d = coordinates[p + 3];
        sum0 += $product_a;
        sum1 += $product_b;
        sum2 += $product_c;
        sum3 += $product_d;
        __builtin_prefetch(coordinates + p + ahead);
        __builtin_prefetch(values + p + ahead);
    }
    if (p < end) { // places beyond the end repeat the first, and are left out of the sum
        const bool two = p + 1 < end, three = p + 2 < end;
        const int64_t second = p + two, third = p + 2 * three;
        const int64_t a = coordinates[p], b = coordinates[second], c = coordinates[third];
        sum0 += $product_a;
        sum1 += kept_$T(two, $product_second);
        sum2 += kept_$T(three, $product_third);
    }
    return (sum0 + sum2) + (sum1 + sum3);
}
