// X(i,j) = A(i,j) + B(i,j) + C(i,j)
//
//     X:ds:0,1
//     A:ds:0,1
//     B:ds:0,1
//     C:ds:0,1
//
// Compile it with
//
//     cc -std=gnu11 -shared -fPIC -fwrapv -fcx-fortran-rules -O3 -march=native -fno-math-errno
//         -fno-trapping-math -ffp-contract=off kernel.c -o kernel.so
//
// compute() takes the tensors as they are stored below; the caller owns the arrays of the inputs,
// and sets the sizes of X. compute() makes the arrays of X, which release() frees. It returns 0,
// or 1 if the result is too large for memory, or for its 32-bit indices; there is nothing to
// release then.
//
// d, dense: position p * size + i has the coordinate i, from 0 to size - 1.
// s, compressed: positions segments[p] to segments[p + 1] - 1 have the coordinates[...], in order.

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// X(i,j), ds:0,1
struct X {
    int64_t size0;
    int64_t size1;
    int32_t *segments1;
    int32_t *coordinates1;
    int64_t capacity1;
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

// B(i,j), ds:0,1
struct B {
    int64_t size0;
    int64_t size1;
    const int32_t *segments1;
    const int32_t *coordinates1;
    const double *values;
};

// C(i,j), ds:0,1
struct C {
    int64_t size0;
    int64_t size1;
    const int32_t *segments1;
    const int32_t *coordinates1;
    const double *values;
};

// A condition that may well hold; C compilers expect that two numbers differ.
static inline bool as_often_as_not(bool holds)
{
    return __builtin_expect_with_probability(holds, true, 0.5);
}

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

// A capacity for `need` elements: twice the old one, if that is enough; -1 beyond `most`.
static inline int64_t grown(int64_t capacity, int64_t need, int64_t least, int64_t most)
{
    int64_t twice = capacity < least ? least : capacity < most / 2 ? 2 * capacity : most;
    return need > most ? -1 : need > twice ? need : twice;
}

// The value if `here`, else 0, without a branch.
static inline double kept_double(bool here, double value)
{
    union { double value; uint64_t bits; } kept = {value};
    kept.bits &= -(uint64_t)here;
    return kept.value;
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
    free(X->segments1);
    free(X->coordinates1);
    free(X->values);
    X->segments1 = NULL;
    X->coordinates1 = NULL;
    X->values = NULL;
}

int compute(struct X *X, const struct A *A, const struct B *B, const struct C *C)
{
    int status = 1;
    const int64_t i_size = A->size0;
    const int32_t *restrict A_segments1 = A->segments1;
    const int32_t *restrict B_segments1 = B->segments1;
    const int32_t *restrict C_segments1 = C->segments1;
    const int32_t *restrict A_coordinates1 = A->coordinates1;
    const int32_t *restrict B_coordinates1 = B->coordinates1;
    const int32_t *restrict C_coordinates1 = C->coordinates1;
    const double *restrict A_values = A->values;
    const double *restrict B_values = B->values;
    const double *restrict C_values = C->values;
    X->segments1 = NULL;
    X->coordinates1 = NULL;
    X->values = NULL;
    int64_t X_count1 = 0;
    X->capacity1 = 0;
    X->segments1 = resized(X->segments1, X->size0 + 1, sizeof *X->segments1);
    if (!X->segments1
            || !grow_X1(X,
            (int64_t)A_segments1[A->size0] + B_segments1[B->size0] + C_segments1[C->size0]))
        goto failed;
    for (int64_t i = 0; i < i_size; i++) {
        const int64_t X_need = X_count1
                + ((int64_t)(A_segments1[i + 1] - A_segments1[i])
                + (B_segments1[i + 1] - B_segments1[i]) + (C_segments1[i + 1] - C_segments1[i]));
        if (X_need > X->capacity1 && !grow_X1(X, X_need))
            goto failed;
        int64_t pA1 = A_segments1[i];
        const int64_t pA1_end = A_segments1[i + 1];
        int64_t pB1 = B_segments1[i];
        const int64_t pB1_end = B_segments1[i + 1];
        int64_t pC1 = C_segments1[i];
        const int64_t pC1_end = C_segments1[i + 1];
        while (pA1 < pA1_end && pB1 < pB1_end && pC1 < pC1_end) {
            const int64_t jA = A_coordinates1[pA1];
            const int64_t jB = B_coordinates1[pB1];
            const int64_t jC = C_coordinates1[pC1];
            if (as_often_as_not(jA == jB && jA == jC)) {
                const int64_t j = jA;
                X->values[X_count1] = A_values[pA1] + B_values[pB1] + C_values[pC1];
                X->coordinates1[X_count1] = (int32_t)j;
                X_count1++;
                pA1++;
                pB1++;
                pC1++;
            } else {
                int64_t j = jA;
                if (jB < j)
                    j = jB;
                if (jC < j)
                    j = jC;
                const double A_value = A_values[pA1];
                const double B_value = B_values[pB1];
                const double C_value = C_values[pC1];
                X->values[X_count1] = kept_double(jA == j, A_value) + kept_double(jB == j, B_value)
                        + kept_double(jC == j, C_value);
                X->coordinates1[X_count1] = (int32_t)j;
                X_count1++;
                pA1 += jA == j;
                pB1 += jB == j;
                pC1 += jC == j;
            }
        }
        while (pA1 < pA1_end && pB1 < pB1_end) {
            const int64_t jA = A_coordinates1[pA1];
            const int64_t jB = B_coordinates1[pB1];
            if (as_often_as_not(jA == jB)) {
                const int64_t j = jA;
                X->values[X_count1] = A_values[pA1] + B_values[pB1];
                X->coordinates1[X_count1] = (int32_t)j;
                X_count1++;
                pA1++;
                pB1++;
            } else {
                const int64_t j = jA < jB ? jA : jB;
                const double A_value = A_values[pA1];
                const double B_value = B_values[pB1];
                X->values[X_count1] = kept_double(jA == j, A_value) + kept_double(jB == j, B_value);
                X->coordinates1[X_count1] = (int32_t)j;
                X_count1++;
                pA1 += jA == j;
                pB1 += jB == j;
            }
        }
        while (pA1 < pA1_end && pC1 < pC1_end) {
            const int64_t jA = A_coordinates1[pA1];
            const int64_t jC = C_coordinates1[pC1];
            if (as_often_as_not(jA == jC)) {
                const int64_t j = jA;
                X->values[X_count1] = A_values[pA1] + C_values[pC1];
                X->coordinates1[X_count1] = (int32_t)j;
                X_count1++;
                pA1++;
                pC1++;
            } else {
                const int64_t j = jA < jC ? jA : jC;
                const double A_value = A_values[pA1];
                const double C_value = C_values[pC1];
                X->values[X_count1] = kept_double(jA == j, A_value) + kept_double(jC == j, C_value);
                X->coordinates1[X_count1] = (int32_t)j;
                X_count1++;
                pA1 += jA == j;
                pC1 += jC == j;
            }
        }
        while (pB1 < pB1_end && pC1 < pC1_end) {
            const int64_t jB = B_coordinates1[pB1];
            const int64_t jC = C_coordinates1[pC1];
            if (as_often_as_not(jB == jC)) {
                const int64_t j = jB;
                X->values[X_count1] = B_values[pB1] + C_values[pC1];
                X->coordinates1[X_count1] = (int32_t)j;
                X_count1++;
                pB1++;
                pC1++;
            } else {
                const int64_t j = jB < jC ? jB : jC;
                const double B_value = B_values[pB1];
                const double C_value = C_values[pC1];
                X->values[X_count1] = kept_double(jB == j, B_value) + kept_double(jC == j, C_value);
                X->coordinates1[X_count1] = (int32_t)j;
                X_count1++;
                pB1 += jB == j;
                pC1 += jC == j;
            }
        }
        while (pA1 < pA1_end) {
            const int64_t j = A_coordinates1[pA1];
            X->values[X_count1] = A_values[pA1];
            X->coordinates1[X_count1] = (int32_t)j;
            X_count1++;
            pA1++;
        }
        while (pB1 < pB1_end) {
            const int64_t j = B_coordinates1[pB1];
            X->values[X_count1] = B_values[pB1];
            X->coordinates1[X_count1] = (int32_t)j;
            X_count1++;
            pB1++;
        }
        while (pC1 < pC1_end) {
            const int64_t j = C_coordinates1[pC1];
            X->values[X_count1] = C_values[pC1];
            X->coordinates1[X_count1] = (int32_t)j;
            X_count1++;
            pC1++;
        }
        X->segments1[i + 1] = (int32_t)X_count1;
    }
    X->segments1[0] = 0;
    status = 0;
failed:
    if (status)
        release(X);
    return status;
}
