// The sum of the products of values with those that their coordinates pick from `others`$of_each.
// Where coordinates that increase have no gap, the first and the last tell them all.
static inline $T $name(const $T *values, const $C *coordinates,
        int64_t begin, int64_t end, const $T *others, bool increasing$scale)
{
    const int lanes = $lanes;
    const bool gapless = increasing && end - begin > 2 * lanes
        && coordinates[end - 1] - coordinates[begin] == end - 1 - begin;
    const $T *beside = gapless ? others + coordinates[begin] : others;
    int64_t p = begin;
#ifdef __AVX512VL__
    const int ahead = 32 * lanes;
    const $vector zero = _mm512_setzero_$s();
    const $places steps = ${i}_setr_$e($steps);
    $vector sums = zero, picked;$scales
    if (gapless) // what is read of the coordinates is not needed again: it is kept from the L2
        __builtin_prefetch(coordinates + p + 8 * (end - begin), 0, 0);
    for (; gapless && p + lanes <= end; p += lanes) {
        picked = _mm512_loadu_$s(beside + (p - begin));
        sums = _mm512_fmadd_$s(_mm512_loadu_$s(values + p)$by, picked, sums);
        __builtin_prefetch(values + p + ahead);
    }
    for (; p + lanes <= end; p += lanes) {
        const $places places = ${i}_maskz_loadu_$e(-1, coordinates + p);
        const $places following = ${i}_add_$e(${i}_set1_$e(coordinates[p]), steps);
        if (${i}_cmpneq_${e}_mask(places, following) == 0)
            picked = _mm512_loadu_$s(others + coordinates[p]);
        else
            picked = _mm512_${g}gather_$s(places, others, sizeof *others);
        sums = _mm512_fmadd_$s(_mm512_loadu_$s(values + p)$by, picked, sums);
        __builtin_prefetch(coordinates + p + ahead);
        __builtin_prefetch(values + p + ahead);
    }
    if (p < end) { // the last few at once, not in a loop whose length is hard to foresee
        const $mask here = ($mask)((1 << (end - p)) - 1);
        const $places places = ${i}_maskz_loadu_$e(here, coordinates + p);
        picked = gapless ? _mm512_maskz_loadu_$s(here, beside + (p - begin))
            : _mm512_mask_${g}gather_$s(zero, here, places, others, sizeof *others);
        sums = _mm512_mask3_fmadd_$s(_mm512_maskz_loadu_$s(here, values + p)$by, picked, sums, here);
    }
    return _mm512_reduce_add_$s(sums);
#else
    $T sum = 0;
    for (; gapless && p < end; p++)
        sum += ${times}values[p] * beside[p - begin];
    for (; p < end; p++)
        sum += ${times}values[p] * others[coordinates[p]];
    return sum;
#endif
}
