// y(i) = A(i,j) * x(j)
//
//     y:d:0
//     A:ds:0,1
//     x:d:0
//
// Compile it with
//
//     cc -std=gnu11 -shared -fPIC -fwrapv -fcx-fortran-rules -O3 -march=native -fno-math-errno
//         -fno-signed-zeros -fno-trapping-math -fassociative-math kernel.c -o kernel.so
//
// compute() takes the tensors as they are stored below; the caller owns all arrays. It sets all of
// y->values, which has room for every coordinate. It returns 0, or 1 if there is no memory for
// what it needs itself; release() frees nothing.
//
// d, dense: position p * size + i has the coordinate i, from 0 to size - 1.
// s, compressed: positions segments[p] to segments[p + 1] - 1 have the coordinates[...], in order.

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// y(i), d:0
struct y {
    int64_t size0;
    double *values;
};

// A(i,j), ds:0,1
struct A {
    int64_t size0;
    int64_t size1;
    const int32_t *segments1;
    const int32_t *coordinates1;
    const double *values;
};

// x(j), d:0
struct x {
    int64_t size0;
    const double *values;
};

#ifdef __AVX512VL__
#include <immintrin.h>
#endif

// The sum of the products of values with those that their coordinates pick from `others`.
// Where coordinates that increase have no gap, the first and the last tell them all.
static inline double sparse_dot_double_int32_t(const double *values, const int32_t *coordinates,
        int64_t begin, int64_t end, const double *others, bool increasing)
{
    const int lanes = 8;
    const bool gapless = increasing && end - begin > 2 * lanes
        && coordinates[end - 1] - coordinates[begin] == end - 1 - begin;
    const double *beside = gapless ? others + coordinates[begin] : others;
    int64_t p = begin;
#ifdef __AVX512VL__
    const int ahead = 32 * lanes;
    const __m512d zero = _mm512_setzero_pd();
    const __m256i steps = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m512d sums = zero, picked;
    if (gapless) // what is read of the coordinates is not needed again: it is kept from the L2
        __builtin_prefetch(coordinates + p + 8 * (end - begin), 0, 0);
    for (; gapless && p + lanes <= end; p += lanes) {
        picked = _mm512_loadu_pd(beside + (p - begin));
        sums = _mm512_fmadd_pd(_mm512_loadu_pd(values + p), picked, sums);
        __builtin_prefetch(values + p + ahead);
    }
    for (; p + lanes <= end; p += lanes) {
        const __m256i places = _mm256_maskz_loadu_epi32(-1, coordinates + p);
        const __m256i following = _mm256_add_epi32(_mm256_set1_epi32(coordinates[p]), steps);
        if (_mm256_cmpneq_epi32_mask(places, following) == 0)
            picked = _mm512_loadu_pd(others + coordinates[p]);
        else
            picked = _mm512_i32gather_pd(places, others, sizeof *others);
        sums = _mm512_fmadd_pd(_mm512_loadu_pd(values + p), picked, sums);
        __builtin_prefetch(coordinates + p + ahead);
        __builtin_prefetch(values + p + ahead);
    }
    if (p < end) { // the last few at once, not in a loop whose length is hard to foresee
        const __mmask8 here = (__mmask8)((1 << (end - p)) - 1);
        const __m256i places = _mm256_maskz_loadu_epi32(here, coordinates + p);
        picked = gapless ? _mm512_maskz_loadu_pd(here, beside + (p - begin))
            : _mm512_mask_i32gather_pd(zero, here, places, others, sizeof *others);
        sums = _mm512_mask3_fmadd_pd(_mm512_maskz_loadu_pd(here, values + p), picked, sums, here);
    }
    return _mm512_reduce_add_pd(sums);
#else
    double sum = 0;
    for (; gapless && p < end; p++)
        sum += values[p] * beside[p - begin];
    for (; p < end; p++)
        sum += values[p] * others[coordinates[p]];
    return sum;
#endif
}

// Frees the arrays that compute() made.
void release(struct y *y)
{
    (void)y;
}

int compute(struct y *y, const struct A *A, const struct x *x)
{
    const int64_t i_size = A->size0;
    const int32_t *restrict A_segments1 = A->segments1;
    double *restrict y_values = y->values;
    const int32_t *restrict A_coordinates1 = A->coordinates1;
    const double *restrict A_values = A->values;
    const double *restrict x_values = x->values;
    for (int64_t i = 0; i < i_size; i++) {
        double sum = 0.0;
        sum += sparse_dot_double_int32_t(A_values, A_coordinates1, A_segments1[i],
                A_segments1[i + 1], x_values, true);
        y_values[i] = sum;
    }
    return 0;
}
