// X(i,j) = B(i,j,k) * c(k)
//
//     X:ss:0,1
//     B:sss:0,1,2
//     c:d:0
//
// Compile it with
//
//     cc -std=gnu11 -shared -fPIC -fwrapv -fcx-fortran-rules -O3 -march=native -fno-math-errno
//         -fno-signed-zeros -fno-trapping-math -fassociative-math kernel.c -o kernel.so
//
// compute() takes the tensors as they are stored below; the caller owns the arrays of the inputs,
// and sets the sizes of X. compute() makes the arrays of X, which release() frees. It returns 0,
// or 1 if the result is too large for memory, or for its 32-bit indices; there is nothing to
// release then.
//
// s, compressed: positions segments[p] to segments[p + 1] - 1 have the coordinates[...], in order.
// d, dense: position p * size + i has the coordinate i, from 0 to size - 1.

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// X(i,j), ss:0,1
struct X {
    int64_t size0;
    int64_t size1;
    int32_t *segments0;
    int32_t *coordinates0;
    int64_t capacity0;
    int32_t *segments1;
    int32_t *coordinates1;
    int64_t capacity1;
    double *values;
};

// B(i,j,k), sss:0,1,2
struct B {
    int64_t size0;
    const int32_t *segments0;
    const int32_t *coordinates0;
    int64_t size1;
    const int32_t *segments1;
    const int32_t *coordinates1;
    int64_t size2;
    const int32_t *segments2;
    const int32_t *coordinates2;
    const double *values;
};

// c(k), d:0
struct c {
    int64_t size0;
    const double *values;
};

#ifdef __linux__
#include <sys/mman.h>
size_t malloc_usable_size(void *array); // of malloc.h, which defines names such as EOF
#endif

// Puts an array into large pages if it is large: large pages cause fewer page faults. All pages of
// the array are advised, from the first to the last: Linux moves no array that is advised in part,
// so realloc() would copy it.
static void *in_large_pages(void *array, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const size_t large = (size_t)1 << 22, before = (uintptr_t)array % 4096;
    if (array && bytes >= large)
        madvise((char *)array - before, before + bytes, MADV_HUGEPAGE);
#endif
    return array;
}

// Resizes the array `had` to `count` elements; NULL, with `had` freed, if there is no memory.
static void *resized(void *had, int64_t count, size_t size)
{
    size_t bytes;
    void *array = NULL;
    if (count >= 0 && !__builtin_mul_overflow((size_t)count, size, &bytes)) {
#ifdef MADV_HUGEPAGE
        // glibc moves larger arrays by their page tables. It copies others into pages that are not
        // advised yet, which makes most page faults of a result that grows.
        const size_t moved = (size_t)1 << 25, kept = malloc_usable_size(had);
        if (kept && kept < moved && kept < bytes && bytes >= (size_t)1 << 22) {
            array = in_large_pages(malloc(bytes), bytes);
            if (array)
                memcpy(array, had, kept);
            free(had);
            return array;
        }
#endif
        array = realloc(had, bytes ? bytes : 1);
    }
    if (!array)
        free(had);
    return array ? in_large_pages(array, bytes) : NULL;
}

// The same, with zeros from element `old` on. A very large array has no large pages, as few of its
// elements may ever be used, each of which would fill a large page.
static void *resized_zero(void *had, int64_t old, int64_t count, size_t size)
{
    size_t bytes;
    if (!had && count > 0 && !__builtin_mul_overflow((size_t)count, size, &bytes)) {
        void *array = calloc((size_t)count, size);
        return bytes >> 28 ? array : in_large_pages(array, bytes);
    }
    char *array = resized(had, count, size);
    if (array && count > old)
        memset(array + (size_t)old * size, 0, (size_t)(count - old) * size);
    return array;
}

// A capacity for `need` elements: twice the old one, if that is enough; -1 beyond `most`.
static inline int64_t grown(int64_t capacity, int64_t need, int64_t least, int64_t most)
{
    int64_t twice = capacity < least ? least : capacity < most / 2 ? 2 * capacity : most;
    return need > most ? -1 : need > twice ? need : twice;
}

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

// Makes room for `need` positions in level 0 of X.
static bool grow_X0(struct X *X, int64_t need)
{
    const int64_t had = X->capacity0;
    X->capacity0 = grown(had, need, 1024, INT32_MAX);
    X->coordinates0 = resized(X->coordinates0, X->capacity0, sizeof *X->coordinates0);
    X->segments1 = resized_zero(X->segments1, had + 1, X->capacity0 + 1, sizeof *X->segments1);
    return X->coordinates0 != NULL && X->segments1 != NULL;
}

// Makes room for `need` positions in level 1 of X.
static bool grow_X1(struct X *X, int64_t need)
{
    const int64_t had = X->capacity1;
    X->capacity1 = grown(had, need, 1024, INT32_MAX);
    X->coordinates1 = resized(X->coordinates1, X->capacity1, sizeof *X->coordinates1);
    X->values = resized(X->values, X->capacity1, sizeof *X->values);
    return X->coordinates1 != NULL && X->values != NULL;
}

// Frees the arrays that compute() made.
void release(struct X *X)
{
    free(X->segments0);
    free(X->coordinates0);
    free(X->segments1);
    free(X->coordinates1);
    free(X->values);
    X->segments0 = NULL;
    X->coordinates0 = NULL;
    X->segments1 = NULL;
    X->coordinates1 = NULL;
    X->values = NULL;
}

int compute(struct X *X, const struct B *B, const struct c *c)
{
    int status = 1;
    const int32_t *restrict B_segments0 = B->segments0;
    const int32_t *restrict B_segments1 = B->segments1;
    const int32_t *restrict B_segments2 = B->segments2;
    const int32_t *restrict B_coordinates0 = B->coordinates0;
    const int32_t *restrict B_coordinates1 = B->coordinates1;
    const int32_t *restrict B_coordinates2 = B->coordinates2;
    const double *restrict B_values = B->values;
    const double *restrict c_values = c->values;
    X->segments0 = NULL;
    X->coordinates0 = NULL;
    X->segments1 = NULL;
    X->coordinates1 = NULL;
    X->values = NULL;
    int64_t X_count0 = 0;
    X->capacity0 = 0;
    int64_t X_count1 = 0;
    X->capacity1 = 0;
    X->segments0 = resized_zero(X->segments0, 0, 2, sizeof *X->segments0);
    if (!X->segments0 || !grow_X0(X, B_segments0[1]) || !grow_X1(X, B_segments1[B_segments0[1]]))
        goto failed;
    for (int64_t pB0 = B_segments0[0]; pB0 < B_segments0[1]; pB0++) {
        int64_t i = B_coordinates0[pB0];
        if (X_count0 >= X->capacity0 && !grow_X0(X, X_count0 + 1))
            goto failed;
        const int64_t X_count1_before = X_count1;
        const int64_t X_need = X_count1 + (B_segments1[pB0 + 1] - B_segments1[pB0]);
        if (X_need > X->capacity1 && !grow_X1(X, X_need))
            goto failed;
        for (int64_t pB1 = B_segments1[pB0]; pB1 < B_segments1[pB0 + 1]; pB1++) {
            int64_t j = B_coordinates1[pB1];
            double sum = 0.0;
            bool sum_found = false;
            sum += sparse_dot_double_int32_t(B_values, B_coordinates2, B_segments2[pB1],
                    B_segments2[pB1 + 1], c_values, true, false);
            if (B_segments2[pB1] < B_segments2[pB1 + 1])
                sum_found = true;
            if (sum_found) {
                X->values[X_count1] = sum;
                X->coordinates1[X_count1] = (int32_t)j;
                X_count1++;
            }
        }
        X->segments1[X_count0 + 1] = (int32_t)X_count1;
        if (X_count1 > X_count1_before) {
            X->coordinates0[X_count0] = (int32_t)i;
            X_count0++;
        }
    }
    X->segments0[1] = (int32_t)X_count0;
    status = 0;
failed:
    if (status)
        release(X);
    return status;
}
