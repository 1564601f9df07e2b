// X(i,j) = A(i,k) * B(k,j)
//
//     X:ss:0,1
//     A:ds:1,0
//     B:ds:0,1
//     reorder(k,i,j)
//
// Note: X(i,j) goes through a bucket workspace over i, j: sparse scattering.
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

// A(i,k), ds:1,0
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

// How many bits the whole numbers below n need.
static inline int64_t bits_of(int64_t n)
{
    return n > 1 ? 64 - __builtin_clzll((uint64_t)n - 1) : 0;
}

// The first position behind p whose key is not less than `beyond`; keys do not decrease. A run is
// often as long as the one before it.
static inline int64_t key_run_end_uint64_t(const uint64_t *keys, int64_t p, int64_t end,
        int64_t before, uint64_t beyond)
{
    if (p + before < end && keys[p + before - 1] < beyond && keys[p + before] >= beyond)
        return p + before;
    while (p < end && keys[p] < beyond)
        p++;
    return p;
}

// A workspace: components with their coordinates in a key. The first `sorted` are in order and have
// distinct keys, those behind them were inserted since (Zhang et al., PLDI 2024). A full workspace
// adds up components with equal keys if there are `enough` components, and grows otherwise. The
// other arrays are scratch space for `other_capacity` components.
struct bucket_workspace_double {
    uint64_t *keys, *other_keys;
    double *values, *other_values;
    int64_t sorted, count, capacity, other_capacity, enough;
};

static void bucket_workspace_double_free(struct bucket_workspace_double *w)
{
    if (w) {
        free(w->keys);
        free(w->other_keys);
        free(w->values);
        free(w->other_values);
        free(w);
    }
}

// Doubles the capacity, with new arrays: an array that grows in place gets small pages.
static bool bucket_workspace_double_grow(struct bucket_workspace_double *w)
{
    uint64_t *const keys = w->keys;
    double *const values = w->values;
    w->capacity = w->capacity ? 2 * w->capacity : 4096;
    w->keys = resized(NULL, w->capacity, sizeof *keys);
    w->values = resized(NULL, w->capacity, sizeof *values);
    if (w->keys && w->values && w->count) {
        memcpy(w->keys, keys, (size_t)w->count * sizeof *keys);
        memcpy(w->values, values, (size_t)w->count * sizeof *values);
    }
    free(keys);
    free(values);
    return w->keys && w->values;
}

// Makes the other arrays large enough for `count` components.
static bool bucket_workspace_double_make_others(struct bucket_workspace_double *w, int64_t count)
{
    if (w->other_capacity < count) {
        free(w->other_keys);
        free(w->other_values);
        w->other_capacity = count;
        w->other_keys = resized(NULL, count, sizeof *w->other_keys);
        w->other_values = resized(NULL, count, sizeof *w->other_values);
    }
    return w->other_keys && w->other_values;
}

static struct bucket_workspace_double *bucket_workspace_double_new(void)
{
    struct bucket_workspace_double *w = calloc(1, sizeof *w);
    if (w && !bucket_workspace_double_grow(w)) {
        bucket_workspace_double_free(w);
        w = NULL;
    }
    return w;
}

static inline void bucket_workspace_double_empty(struct bucket_workspace_double *w)
{
    w->sorted = w->count = w->enough = 0;
}

// Moves components to other arrays in the order of some bits of their keys. Components with equal
// bits keep their order. Returns false, and moves nothing, if all bits are equal.
static bool bucket_workspace_double_deal(const uint64_t *keys, const double *values, int64_t n,
        uint64_t *to_keys, double *to_values, int shift,
                   int bits, int64_t *places)
{
    const int64_t mask = ((int64_t)1 << bits) - 1;
    memset(places, 0, (size_t)(mask + 2) * sizeof *places);
    for (int64_t p = 0; p < n; p++)
        places[((int64_t)(keys[p] >> shift) & mask) + 1]++;
    if (places[((int64_t)(keys[0] >> shift) & mask) + 1] == n)
        return false;
    for (int64_t digit = 0; digit < mask; digit++)
        places[digit + 1] += places[digit];
    for (int64_t p = 0; p < n; p++) {
        const int64_t to = places[(int64_t)(keys[p] >> shift) & mask]++;
        to_keys[to] = keys[p];
        to_values[to] = values[p];
    }
    return true;
}

// Sorts components whose keys differ below a bit: a few by insertion, many some bits at a time,
// from the lowest to the highest. The other arrays have room for as many.
static void bucket_workspace_double_sort_some(uint64_t *keys, double *values, int64_t n,
        uint64_t *other_keys, double *other_values, int bits)
{
    uint64_t *const to_keys = keys;
    double *const to_values = values;
    int64_t places[(1 << 10) + 1];
    for (int64_t p = 1; n <= 24 && p < n; p++) {
        const uint64_t key = keys[p];
        const double value = values[p];
        int64_t to = p;
        for (; to > 0 && keys[to - 1] > key; to--) {
            keys[to] = keys[to - 1];
            values[to] = values[to - 1];
        }
        keys[to] = key;
        values[to] = value;
    }
    if (n <= 24)
        return;
    const int most = n < 512 ? 6 : n < 4096 ? 8 : 10, rounds = (bits + most - 1) / most;
    for (int round = 0; round < rounds; round++) {
        const int from = bits * round / rounds, below = bits * (round + 1) / rounds;
        if (!bucket_workspace_double_deal(keys, values, n, other_keys, other_values, from,
                below - from, places))
            continue;
        uint64_t *const had_keys = keys;
        double *const had_values = values;
        keys = other_keys, other_keys = had_keys;
        values = other_values, other_values = had_values;
    }
    if (keys != to_keys) {
        memcpy(to_keys, keys, (size_t)n * sizeof *keys);
        memcpy(to_values, values, (size_t)n * sizeof *values);
    }
}

// Puts the inserted components into buckets by the highest bits of their keys, and sorts each
// bucket, which mostly fits into a cache.
static bool bucket_workspace_double_sort_inserted(struct bucket_workspace_double *w, int bits)
{
    int64_t places[(1 << 11) + 1];
    const int64_t first = w->sorted, n = w->count - first;
    uint64_t *const keys = w->keys + first;
    double *const values = w->values + first;
    int buckets = 0;
    if (!bucket_workspace_double_make_others(w, n))
        return false;
    while (buckets < 11 && buckets < bits && n >> buckets > 2048)
        buckets++;
    if (!buckets) {
        bucket_workspace_double_sort_some(keys, values, n, w->other_keys, w->other_values, bits);
        return true;
    }
    // The highest bit differs, so the components are moved.
    bits -= buckets;
    bucket_workspace_double_deal(keys, values, n, w->other_keys, w->other_values, bits, buckets,
            places);
    for (int64_t bucket = 0, begin = 0; bucket >> buckets == 0; bucket++) {
        const int64_t end = places[bucket];
        memcpy(keys + begin, w->other_keys + begin, (size_t)(end - begin) * sizeof *keys);
        memcpy(values + begin, w->other_values + begin, (size_t)(end - begin) * sizeof *values);
        bucket_workspace_double_sort_some(keys + begin, values + begin, end - begin,
                w->other_keys + begin,
                    w->other_values + begin, bits);
        begin = end;
    }
    return true;
}

// Adds up neighbours with equal keys; returns how many components are left.
static int64_t bucket_workspace_double_add_up(uint64_t *keys, double *values, int64_t n)
{
    int64_t to = 0;
    for (int64_t p = 1; p < n; p++) {
        if (keys[to] == keys[p]) {
            values[to] += values[p];
        } else {
            keys[++to] = keys[p];
            values[to] = values[p];
        }
    }
    return to + 1;
}

// Sorts all components, and adds up those with equal keys.
static bool bucket_workspace_double_sort(struct bucket_workspace_double *w)
{
    uint64_t *const keys = w->keys;
    uint64_t differ = 0;
    double *const values = w->values;
    int64_t a = 0, b = w->sorted, to = 0;
    int bits = 0;
    if (w->sorted == w->count)
        return true;
    if (w->sorted < w->count / 3) // sorting all takes less memory than merging
        w->sorted = b = 0;
    for (int64_t p = w->sorted; p < w->count; p++)
        differ |= keys[p] ^ keys[w->sorted];
    for (; differ; differ >>= 1)
        bits++;
    if (!bucket_workspace_double_sort_inserted(w, bits))
        return false;
    w->count = b + bucket_workspace_double_add_up(keys + b, values + b, w->count - b);
    if (w->sorted) {
        if (!bucket_workspace_double_make_others(w, w->capacity))
            return false;
        while (a < w->sorted && b < w->count) {
            const bool same = keys[a] == keys[b], first = keys[a] <= keys[b];
            w->other_keys[to] = first ? keys[a] : keys[b];
            w->other_values[to] = first ? values[a] : values[b];
            if (same)
                w->other_values[to] += values[b];
            to++;
            a += first;
            b += same || !first;
        }
        const int64_t from = a < w->sorted ? a : b, rest = w->sorted - a + w->count - b;
        memcpy(w->other_keys + to, keys + from, (size_t)rest * sizeof *keys);
        memcpy(w->other_values + to, values + from, (size_t)rest * sizeof *values);
        w->keys = w->other_keys, w->other_keys = keys;
        w->values = w->other_values, w->other_values = values;
        w->count = to + rest;
    }
    w->sorted = w->count;
    return true;
}

static inline bool bucket_workspace_double_insert(struct bucket_workspace_double *w, uint64_t key,
        double value)
{
    if (w->count == w->capacity) {
        if (w->count >= w->enough) {
            if (!bucket_workspace_double_sort(w))
                return false;
            w->enough = 4 * w->sorted;
        }
        if (w->count > w->capacity / 2 && !bucket_workspace_double_grow(w))
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
    struct bucket_workspace_double *w = NULL;
    const int64_t j_size = B->size1;
    const int64_t j_bits = bits_of(j_size);
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
    w = bucket_workspace_double_new();
    X->segments0 = resized_zero(X->segments0, 0, 2, sizeof *X->segments0);
    if (!X->segments0 || !grow_X0(X, 1) || !grow_X1(X, A_segments1[A->size0]) || !w)
        goto failed;
    // w(i,j)
    for (int64_t k = 0; k < k_size; k++) {
        for (int64_t pA1 = A_segments1[k]; pA1 < A_segments1[k + 1]; pA1++) {
            int64_t i = A_coordinates1[pA1];
            for (int64_t pB1 = B_segments1[k]; pB1 < B_segments1[k + 1]; pB1++) {
                int64_t j = B_coordinates1[pB1];
                const uint64_t key = (uint64_t)i << j_bits | (uint64_t)j;
                if (!bucket_workspace_double_insert(w, key, A_values[pA1] * B_values[pB1]))
                    goto failed;
            }
        }
    }
    if (!bucket_workspace_double_sort(w))
        goto failed;
    const int64_t pw0_end = w->sorted;
    int64_t pw0_run = 1;
    for (int64_t pw0 = 0, pw0_next; pw0 < pw0_end; pw0 = pw0_next) {
        int64_t i = (int64_t)(w->keys[pw0] >> j_bits);
        pw0_next = key_run_end_uint64_t(w->keys, pw0, pw0_end, pw0_run,
                ((w->keys[pw0] >> j_bits) + 1) << j_bits);
        pw0_run = pw0_next - pw0;
        if (X_count0 >= X->capacity0 && !grow_X0(X, X_count0 + 1))
            goto failed;
        const int64_t X_count1_before = X_count1;
        const int64_t X_need = X_count1 + (pw0_next - pw0);
        if (X_need > X->capacity1 && !grow_X1(X, X_need))
            goto failed;
        for (int64_t pw1 = pw0; pw1 < pw0_next; pw1++) {
            int64_t j = (int64_t)(w->keys[pw1] - ((uint64_t)i << j_bits));
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
    bucket_workspace_double_empty(w);
    status = 0;
failed:
    if (status)
        release(X);
    bucket_workspace_double_free(w);
    return status;
}
