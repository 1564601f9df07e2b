// y(i) = A(i,j) * x(j) + z(i)
//
//     y:d:0
//     A:ds:0,1
//     x:d:0
//     z:d:0
//
// Compile it with
//
//     cc -std=gnu11 -shared -fPIC -fwrapv -fcx-fortran-rules -O3 -march=native -fno-math-errno
//         -fno-signed-zeros -fno-trapping-math -fassociative-math kernel.c -o kernel.so
//
// compute() takes the tensors as they are stored below; the caller owns all arrays. It sets all of
// y->values, which has room for every coordinate. It returns 0, or 1 if there is no memory for its
// own arrays; release() frees nothing.
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

// z(i), d:0
struct z {
    int64_t size0;
    const double *values;
};

#ifdef __AVX512VL__
#include <immintrin.h>
#endif

// The value if `here`, else 0, without a branch.
static inline double kept_double(bool here, double value)
{
    union { double value; uint64_t bits; } kept = {value};
    kept.bits &= -(uint64_t)here;
    return kept.value;
}

// The sum of the products of values with the elements of `others` at their coordinates.
// Increasing coordinates without a gap are known from the first and the last. Otherwise elements
// are loaded four at a time, one by one, which beats a gather instruction. The last few are added
// without a branch: the length of a loop over them would be hard to predict. Where it is not, since
// fibers are short and steady, nothing beats a plain loop, which gcc is kept from taking apart.
static inline double sparse_dot_double_int32_t(const double *values, const int32_t *coordinates,
        int64_t begin, int64_t end, const double *others, bool increasing, bool steady)
{
    const int lanes = 8, ahead = 256;
    int64_t p = begin;
    if (steady) {
        double sum = 0;
        for (; p < end; p++) {
            __asm__("" : "+r"(p));
            const int64_t a = coordinates[p];
            sum += values[p] * others[a];
        }
        return sum;
    }
    if (increasing && end - begin > 2 * lanes
        && coordinates[end - 1] - coordinates[begin] == end - 1 - begin) {
        const int64_t first = coordinates[begin] - begin;
#ifdef __AVX512VL__
        __m512d sums = _mm512_setzero_pd();
        // The coordinates are not needed again: they are kept out of the L2.
        __builtin_prefetch(coordinates + p + 8 * (end - begin), 0, 0);
        for (; p + lanes <= end; p += lanes) {
            sums = _mm512_fmadd_pd(_mm512_loadu_pd(values + p),
                    _mm512_loadu_pd(others + (first + p)), sums);
            __builtin_prefetch(values + p + ahead);
        }
        const __mmask8 here = (__mmask8)((1 << (end - p)) - 1);
        sums = _mm512_mask3_fmadd_pd(_mm512_maskz_loadu_pd(here, values + p),
                _mm512_maskz_loadu_pd(here, others + (first + p)), sums, here);
        return _mm512_reduce_add_pd(sums);
#else
        double sum = 0;
        for (; p < end; p++)
            sum += values[p] * others[first + p];
        return sum;
#endif
    }
    double sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    for (; p + 4 <= end; p += 4) {
        const int64_t a = coordinates[p], b = coordinates[p + 1];
        const int64_t c = coordinates[p + 2], d = coordinates[p + 3];
        sum0 += values[p] * others[a];
        sum1 += values[p + 1] * others[b];
        sum2 += values[p + 2] * others[c];
        sum3 += values[p + 3] * others[d];
        __builtin_prefetch(coordinates + p + ahead);
        __builtin_prefetch(values + p + ahead);
    }
    if (p < end) { // places beyond the end repeat the first, and are left out of the sum
        const bool two = p + 1 < end, three = p + 2 < end;
        const int64_t second = p + two, third = p + 2 * three;
        const int64_t a = coordinates[p], b = coordinates[second], c = coordinates[third];
        sum0 += values[p] * others[a];
        sum1 += kept_double(two, values[second] * others[b]);
        sum2 += kept_double(three, values[third] * others[c]);
    }
    return (sum0 + sum2) + (sum1 + sum3);
}

// Frees the arrays that compute() made.
void release(struct y *y)
{
    (void)y;
}

int compute(struct y *y, const struct A *A, const struct x *x, const struct z *z)
{
    const int64_t i_size = A->size0;
    const int32_t *restrict A_segments1 = A->segments1;
    double *restrict y_values = y->values;
    const int32_t *restrict A_coordinates1 = A->coordinates1;
    const double *restrict A_values = A->values;
    const double *restrict x_values = x->values;
    const double *restrict z_values = z->values;
    for (int64_t i = 0; i < i_size; i++) {
        double sum = 0.0;
        sum += sparse_dot_double_int32_t(A_values, A_coordinates1, A_segments1[i],
                A_segments1[i + 1], x_values, true, false);
        y_values[i] = sum + z_values[i];
    }
    return 0;
}
