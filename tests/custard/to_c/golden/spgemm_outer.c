// X(i,j) = A(i,k) * B(k,j)
//
//     X:ss:0,1
//     A:ds:1,0
//     B:ds:0,1
//     reorder(k,i,j)
//
// Note: X(i,j) goes through a sparse workspace over i, j.
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
// d, dense: position p * size + i has the coordinate i, from 0 to size - 1.
// s, compressed: positions segments[p] to segments[p + 1] - 1 have the coordinates[...], in order.

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

// A(k,i), ds:1,0
struct A {
    int64_t size0;
    int64_t size1;
    const int32_t *segments1;
    const int32_t *coordinates1;
    const double *values;
};

// B(k,j), ds:0,1
struct B {
    int64_t size0;
    int64_t size1;
    const int32_t *segments1;
    const int32_t *coordinates1;
    const double *values;
};

#ifdef __linux__
#include <sys/mman.h>
#endif

// The array, in large pages if it is large: there are fewer page faults.
static void *in_large_pages(void *array, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const size_t page = 4096, large = (size_t)1 << 22;
    if (array && bytes >= large)
        madvise((void *)((uintptr_t)array & -page), bytes, MADV_HUGEPAGE);
#endif
    return array;
}

// Room for `count` elements where `had` was; NULL, with the old array freed, if there is none.
static void *resized(void *had, int64_t count, size_t size)
{
    size_t bytes;
    void *array = NULL;
    if (count >= 0 && !__builtin_mul_overflow((size_t)count, size, &bytes))
        array = realloc(had, bytes ? bytes : 1);
    if (!array)
        free(had);
    return array ? in_large_pages(array, bytes) : NULL;
}

// The same, with all elements from number `old` on zero. Of a very large array, few elements may
// ever be used, and a large page of it would take memory for one.
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

// A sparse workspace: components with their coordinates in a key. The first `sorted` are in order
// and have distinct keys, those behind them were inserted since (Zhang et al., PLDI 2024).
struct workspace_double {
    uint64_t *keys, *other_keys;
    double *values, *other_values;
    int64_t sorted, count, capacity;
};

static void workspace_double_free(struct workspace_double *w)
{
    if (w) {
        free(w->keys);
        free(w->other_keys);
        free(w->values);
        free(w->other_values);
        free(w);
    }
}

static bool workspace_double_grow(struct workspace_double *w)
{
    w->capacity = w->capacity ? 2 * w->capacity : 4096;
    w->keys = resized(w->keys, w->capacity, sizeof *w->keys);
    w->other_keys = resized(w->other_keys, w->capacity, sizeof *w->other_keys);
    w->values = resized(w->values, w->capacity, sizeof *w->values);
    w->other_values = resized(w->other_values, w->capacity, sizeof *w->other_values);
    return w->keys && w->other_keys && w->values && w->other_values;
}

static struct workspace_double *workspace_double_new(void)
{
    struct workspace_double *w = calloc(1, sizeof *w);
    if (w && !workspace_double_grow(w)) {
        workspace_double_free(w);
        w = NULL;
    }
    return w;
}

static void workspace_double_empty(struct workspace_double *w)
{
    w->sorted = w->count = 0;
}

// Sorts what was inserted, eight bits of the keys at a time, from the lowest to the highest.
static void workspace_double_sort_inserted(struct workspace_double *w)
{
    int64_t n = w->count - w->sorted;
    uint64_t *keys = w->keys + w->sorted, *to_keys = w->other_keys, *swap_keys;
    double *values = w->values + w->sorted, *to_values = w->other_values, *swap_values;
    uint64_t used = 0;
    for (int64_t p = 0; p < n; p++)
        used |= keys[p] ^ keys[0];
    for (int shift = 0; shift < (int)sizeof(uint64_t) * 8 && used >> shift; shift += 8) {
        int64_t places[257] = {0};
        if (!((used >> shift) & 255))
            continue;
        for (int64_t p = 0; p < n; p++)
            places[((keys[p] >> shift) & 255) + 1]++;
        for (int digit = 0; digit < 256; digit++)
            places[digit + 1] += places[digit];
        for (int64_t p = 0; p < n; p++) {
            int64_t to = places[(keys[p] >> shift) & 255]++;
            to_keys[to] = keys[p];
            to_values[to] = values[p];
        }
        swap_keys = keys, keys = to_keys, to_keys = swap_keys;
        swap_values = values, values = to_values, to_values = swap_values;
    }
    if (keys == w->other_keys) {
        memcpy(w->keys + w->sorted, keys, (size_t)n * sizeof *keys);
        memcpy(w->values + w->sorted, values, (size_t)n * sizeof *values);
    }
}

// Brings all components in order, those with one key added up.
static void workspace_double_sort(struct workspace_double *w)
{
    int64_t a = 0, b = w->sorted, to = -1;
    if (w->sorted == w->count)
        return;
    workspace_double_sort_inserted(w);
    while (a < w->sorted || b < w->count) {
        bool first = b == w->count || (a < w->sorted && w->keys[a] <= w->keys[b]);
        int64_t from = first ? a++ : b++;
        if (to >= 0 && w->other_keys[to] == w->keys[from]) {
            w->other_values[to] += w->values[from];
        } else {
            w->other_keys[++to] = w->keys[from];
            w->other_values[to] = w->values[from];
        }
    }
    uint64_t *keys = w->keys;
    double *values = w->values;
    w->keys = w->other_keys, w->other_keys = keys;
    w->values = w->other_values, w->other_values = values;
    w->sorted = w->count = to + 1;
}

// The first position behind p with another key, when keys are divided by `stride`.
static inline int64_t workspace_double_run_end(const struct workspace_double *w, int64_t p,
        int64_t end, int64_t before,
                                uint64_t stride)
{
    const uint64_t last = w->keys[p] - w->keys[p] % stride + (stride - 1);
    if (p + before < end && w->keys[p + before - 1] <= last && w->keys[p + before] > last)
        return p + before;
    while (p < end && w->keys[p] <= last)
        p++;
    return p;
}

static inline bool workspace_double_insert(struct workspace_double *w, uint64_t key, double value)
{
    if (w->count == w->capacity) {
        workspace_double_sort(w);
        if (w->sorted > w->capacity / 2 && !workspace_double_grow(w))
            return false;
    }
    w->keys[w->count] = key;
    w->values[w->count++] = value;
    return true;
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

int compute(struct X *X, const struct A *A, const struct B *B)
{
    int status = 1;
    struct workspace_double *w = NULL;
    const int64_t j_size = B->size1;
    const int64_t k_size = A->size0;
    const int32_t *restrict A_segments1 = A->segments1;
    const int32_t *restrict A_coordinates1 = A->coordinates1;
    const int32_t *restrict B_segments1 = B->segments1;
    const int32_t *restrict B_coordinates1 = B->coordinates1;
    const double *restrict A_values = A->values;
    const double *restrict B_values = B->values;
    X->segments0 = NULL;
    X->coordinates0 = NULL;
    X->segments1 = NULL;
    X->coordinates1 = NULL;
    X->values = NULL;
    int64_t X_count0 = 0;
    X->capacity0 = 0;
    int64_t X_count1 = 0;
    X->capacity1 = 0;
    w = workspace_double_new();
    X->segments0 = resized_zero(X->segments0, 0, 2, sizeof *X->segments0);
    if (!X->segments0 || !grow_X0(X, 1) || !grow_X1(X, A_segments1[A->size0]) || !w)
        goto failed;
    // w(i,j)
    for (int64_t k = 0; k < k_size; k++) {
        for (int64_t pA1 = A_segments1[k]; pA1 < A_segments1[k + 1]; pA1++) {
            int64_t i = A_coordinates1[pA1];
            for (int64_t pB1 = B_segments1[k]; pB1 < B_segments1[k + 1]; pB1++) {
                int64_t j = B_coordinates1[pB1];
                const uint64_t key = (uint64_t)i * (uint64_t)j_size + (uint64_t)j;
                if (!workspace_double_insert(w, key, A_values[pA1] * B_values[pB1]))
                    goto failed;
            }
        }
    }
    workspace_double_sort(w);
    const int64_t pw0_end = w->sorted;
    int64_t pw0_run = 1;
    for (int64_t pw0 = 0, pw0_next; pw0 < pw0_end; pw0 = pw0_next) {
        int64_t i = (int64_t)(w->keys[pw0] / (uint64_t)j_size);
        pw0_next = workspace_double_run_end(w, pw0, pw0_end, pw0_run, (uint64_t)j_size);
        pw0_run = pw0_next - pw0;
        if (X_count0 >= X->capacity0 && !grow_X0(X, X_count0 + 1))
            goto failed;
        const int64_t X_count1_before = X_count1;
        const int64_t X_need = X_count1 + (pw0_next - pw0);
        if (X_need > X->capacity1 && !grow_X1(X, X_need))
            goto failed;
        for (int64_t pw1 = pw0; pw1 < pw0_next; pw1++) {
            int64_t j = (int64_t)(w->keys[pw1] % (uint64_t)j_size);
            X->values[X_count1] = w->values[pw1];
            X->coordinates1[X_count1] = (int32_t)j;
            X_count1++;
        }
        X->segments1[X_count0 + 1] = (int32_t)X_count1;
        if (X_count1 > X_count1_before) {
            X->coordinates0[X_count0] = (int32_t)i;
            X_count0++;
        }
    }
    X->segments0[1] = (int32_t)X_count0;
    workspace_double_empty(w);
    status = 0;
failed:
    if (status)
        release(X);
    workspace_double_free(w);
    return status;
}
