/* Rows of times, one in each lane, and what is done to all lanes at once.
 *
 * TIME is int32_t or int64_t, and LANES a multiple of 16. A row lies in vectors of 64 bytes, which
 * compilers split where the CPU has shorter ones.
 */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

enum { WIDTH = 64 / sizeof(TIME), VECTORS = LANES / WIDTH };

typedef TIME Vector __attribute__((vector_size(64)));

/* A truth for each lane of a vector. */
#ifdef __AVX512F__
typedef __mmask16 Mask;

static inline Mask later(Vector a, Vector b) {
    return sizeof(TIME) == 4 ? _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b)
                             : _mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b);
}
static inline Vector latest(Vector a, Vector b) {
    return sizeof(TIME) == 4 ? (Vector)_mm512_max_epi32((__m512i)a, (__m512i)b)
                             : (Vector)_mm512_max_epi64((__m512i)a, (__m512i)b);
}
static inline Vector pick(Mask test, Vector yes, Vector no) {
    return sizeof(TIME) == 4
               ? (Vector)_mm512_mask_mov_epi32((__m512i)no, test, (__m512i)yes)
               : (Vector)_mm512_mask_mov_epi64((__m512i)no, (__mmask8)test, (__m512i)yes);
}
static inline Vector added_where(Mask test, Vector to, Vector what) {
    return sizeof(TIME) == 4
               ? (Vector)_mm512_mask_add_epi32((__m512i)to, test, (__m512i)to, (__m512i)what)
               : (Vector)_mm512_mask_add_epi64((__m512i)to, (__mmask8)test, (__m512i)to,
                                               (__m512i)what);
}
static inline int in_lane(Mask test, int lane) { return test >> lane & 1; }
static inline Mask mask_of(const int8_t *flags) {
    Mask found = 0;
    for (int k = 0; k < WIDTH; k++) found |= (Mask)((flags[k] != 0) << k);
    return found;
}
static inline int any(Mask test) { return test != 0; }
#else
typedef Vector Mask;

static inline Mask later(Vector a, Vector b) { return (Mask)(a > b); }
static inline Vector pick(Mask test, Vector yes, Vector no) { return (yes & test) | (no & ~test); }
static inline Vector latest(Vector a, Vector b) { return pick(later(a, b), a, b); }
static inline Vector added_where(Mask test, Vector to, Vector what) { return to + (what & test); }
static inline int in_lane(Mask test, int lane) { return test[lane] != 0; }
static inline Mask mask_of(const int8_t *flags) {
    Mask found;
    for (int k = 0; k < WIDTH; k++) found[k] = flags[k] ? -1 : 0;
    return found;
}
static inline int any(Mask test) {
    TIME found = 0;
    for (int k = 0; k < WIDTH; k++) found |= test[k];
    return found != 0;
}
#endif

static inline Mask nowhere(void) {
    Mask none;
    memset(&none, 0, sizeof none);
    return none;
}

typedef struct {
    Vector of[VECTORS];
} Row;

typedef struct {
    Mask of[VECTORS];
} Test;

static inline Row all(TIME value) {
    Row row;
    for (int v = 0; v < VECTORS; v++) row.of[v] = (Vector){0} + value;
    return row;
}

/* Gathering takes longer on AMD's Zen than one look for each depth (measured on Zen 4). */
#if defined __AVX512F__ && !(defined __tune_znver3__ || defined __tune_znver4__)
#define GATHERS

/* The times of the lanes of a vector, each in a row of its own, where a test holds. */
static inline Vector gathered(Mask test, const Row *rows, int v, Vector row_of, Vector otherwise) {
    const TIME *const from = (const TIME *)rows + v * WIDTH;
    Vector at;
    for (int k = 0; k < WIDTH; k++) at[k] = k;
    at += row_of * LANES;
    return sizeof(TIME) == 4
               ? (Vector)_mm512_mask_i32gather_epi32((__m512i)otherwise, test, (__m512i)at, from, 4)
               : (Vector)_mm512_mask_i64gather_epi64((__m512i)otherwise, (__mmask8)test, (__m512i)at,
                                                     from, 8);
}
#endif

static inline TIME lane_of(const Row *row, int lane) { return ((const TIME *)row)[lane]; }
