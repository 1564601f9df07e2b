/* How the codes of firings are packed: see codes.py. */
#pragma once
#include <stdint.h>

enum { WIDE = 223, REPEAT = 224, GROUP = 16 };

/* The numbers of a code's operations in one. */
#define SHAPE_OF(w, r, t, g) ((((int64_t)(w) * 256 + (r)) * 256 + (t)) * 256 + (g))

/* Reads the next code from some bytes, with how often it comes. Gives 0 where there is none. */
static inline int next_code(const uint8_t **from, const uint8_t *end, int64_t *code, int64_t *left) {
    const uint8_t *at = *from;
    if (at == end) return 0;
    if (*at < REPEAT) {
        *code = *at++;
        *left = 1;
        if (__builtin_expect(*code == WIDE, 0)) {
            *code = at[0] | at[1] << 8;
            at += 2;
        }
    }
    while (at != end && *at >= REPEAT) *left += (int64_t)GROUP << (*at++ - REPEAT);
    *from = at;
    return 1;
}
