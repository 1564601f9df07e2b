// X(i,j) = A(i,k) * B(k,j)
//
//     X:ds:0,1
//     A:ds:0,1
//     B:ds:0,1
//
// Note: X(i,j) goes through a dense workspace over j: dense scattering.
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

// X(i,j), ds:0,1
struct X {
    int64_t size0;
    int64_t size1;
    int32_t *segments1;
    int32_t *coordinates1;
    int64_t capacity1;
    double *values;
};

// A(i,k), ds:0,1
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

// Sets bit n of the words, and the bit of that word in the tops. `touched` lists the tops that were
// 0, behind their number. Most bits are set already, and cost no store.
static inline void mark_bit(uint64_t *words, uint64_t *tops, int64_t *touched, int64_t n)
{
    const uint64_t had = words[n >> 6], bit = UINT64_C(1) << (n & 63);
    if (had & bit)
        return;
    words[n >> 6] = had | bit;
    if (!had) {
        const uint64_t top = tops[n >> 12];
        tops[n >> 12] = top | UINT64_C(1) << ((n >> 6) & 63);
        if (!top)
            touched[++touched[0]] = n >> 12;
    }
}

// Lists the bits that are set, in order, and clears them; returns how many. A few touched tops are
// sorted; if many are touched, all tops between the least and the largest are visited instead.
static int64_t take_some_bits(uint64_t *words, uint64_t *tops, int64_t *touched, int64_t *list)
{
    const int64_t tops_in_use = touched[0];
    int64_t *const tops_of = touched + 1, count = 0, least = INT64_MAX, most = -1;
    touched[0] = 0;
    for (int64_t n = 0; n < tops_in_use; n++) {
        least = tops_of[n] < least ? tops_of[n] : least;
        most = tops_of[n] > most ? tops_of[n] : most;
    }
    const bool apart = tops_in_use < (most - least) / 8 && tops_in_use < 64;
    for (int64_t n = 1; apart && n < tops_in_use; n++) {
        int64_t top = tops_of[n], to = n;
        for (; to > 0 && tops_of[to - 1] > top; to--)
            tops_of[to] = tops_of[to - 1];
        tops_of[to] = top;
    }
    const int64_t rounds = apart ? tops_in_use : most - least + 1;
    for (int64_t n = 0; tops_in_use && n < rounds; n++) {
        const int64_t top = apart ? tops_of[n] : least + n;
        for (uint64_t left = tops[top]; left; left &= left - 1) {
            int64_t word = (top << 6) + __builtin_ctzll(left);
            for (uint64_t bits = words[word]; bits; bits &= bits - 1)
                list[count++] = (word << 6) + __builtin_ctzll(bits);
            words[word] = 0;
        }
        tops[top] = 0;
    }
    return count;
}

// The same, fast where no bit is set, which is the usual case.
static inline int64_t take_bits(uint64_t *words, uint64_t *tops, int64_t *touched, int64_t *list)
{
    return touched[0] ? take_some_bits(words, tops, touched, list) : 0;
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

int compute(struct X *X, const struct A *A, const struct B *B)
{
    int status = 1;
    double *restrict w_values = NULL;
    uint64_t *restrict w_words = NULL;
    uint64_t *restrict w_tops = NULL;
    int64_t *restrict w_touched = NULL;
    int64_t *restrict w_list = NULL;
    const int64_t j_size = B->size1;
    const int64_t i_size = A->size0;
    const int32_t *restrict A_segments1 = A->segments1;
    const int32_t *restrict A_coordinates1 = A->coordinates1;
    const int32_t *restrict B_segments1 = B->segments1;
    const int32_t *restrict B_coordinates1 = B->coordinates1;
    const double *restrict A_values = A->values;
    const double *restrict B_values = B->values;
    X->segments1 = NULL;
    X->coordinates1 = NULL;
    X->values = NULL;
    int64_t X_count1 = 0;
    X->capacity1 = 0;
    w_values = resized_zero(w_values, 0, j_size, sizeof *w_values);
    w_words = resized_zero(w_words, 0, j_size / 64 + 1, sizeof *w_words);
    w_tops = resized_zero(w_tops, 0, (j_size / 64 + 1) / 64 + 1, sizeof *w_tops);
    w_touched = resized_zero(w_touched, 0, (j_size / 64 + 1) / 64 + 1 + 1, sizeof *w_touched);
    w_list = resized(w_list, j_size, sizeof *w_list);
    X->segments1 = resized(X->segments1, X->size0 + 1, sizeof *X->segments1);
    if (!X->segments1 || !grow_X1(X, A_segments1[A->size0]) || !w_values || !w_words || !w_tops
            || !w_touched || !w_list)
        goto failed;
    for (int64_t i = 0; i < i_size; i++) {
        // w(j)
        if (A_segments1[i] < A_segments1[i + 1]) {
            for (int64_t pA1 = A_segments1[i]; pA1 < A_segments1[i + 1]; pA1++) {
                int64_t k = A_coordinates1[pA1];
                for (int64_t pB1 = B_segments1[k]; pB1 < B_segments1[k + 1]; pB1++) {
                    int64_t j = B_coordinates1[pB1];
                    w_values[j] += A_values[pA1] * B_values[pB1];
                    mark_bit(w_words, w_tops, w_touched, j);
                }
            }
            const int64_t w_count = take_bits(w_words, w_tops, w_touched, w_list);
            const int64_t X_need = X_count1 + w_count;
            if (X_need > X->capacity1 && !grow_X1(X, X_need))
                goto failed;
            for (int64_t p_w = 0; p_w < w_count; p_w++) {
                int64_t j = w_list[p_w];
                X->values[X_count1] = w_values[j];
                X->coordinates1[X_count1] = (int32_t)j;
                X_count1++;
            }
            X->segments1[i + 1] = (int32_t)X_count1;
            for (int64_t p = 0; p < w_count; p++)
                w_values[w_list[p]] = 0.0;
        } else {
            X->segments1[i + 1] = (int32_t)X_count1;
        }
    }
    X->segments1[0] = 0;
    status = 0;
failed:
    if (status)
        release(X);
    free(w_values);
    free(w_words);
    free(w_tops);
    free(w_touched);
    free(w_list);
    return status;
}
