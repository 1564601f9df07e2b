/* Sorts keys digit by digit, the lowest first. Each pass reads the keys once, and writes them to the
   places that the counts of its digit tell. */
#include <stdint.h>
#include <string.h>

enum { DIGIT = 10, MOST_DIGITS = 7, VALUES = 1 << DIGIT };

/* Sorts `count` keys of at most `high` bits, 63 at most, by their bits from `low` on, equal ones as
   they come; `other` has room for as many keys. Returns whether the sorted keys are in `other`. */
int sam_radix_sort(uint64_t *keys, uint64_t *other, int64_t count, int low, int high)
{
    int64_t counts[MOST_DIGITS][VALUES];
    const int digits = (high - low + DIGIT - 1) / DIGIT;
    memset(counts, 0, sizeof counts);
    for (int64_t n = 0; n < count; n++) {
        uint64_t left = keys[n] >> low;
        for (int d = 0; d < digits; d++, left >>= DIGIT)
            counts[d][left % VALUES]++;
    }
    for (int d = 0; d < digits; d++) {
        const int shift = low + d * DIGIT;
        int64_t *const places = counts[d];
        int64_t before = 0;
        for (int v = 0; v < VALUES; v++) {
            const int64_t here = places[v];
            places[v] = before;
            before += here;
        }
        for (int64_t n = 0; n < count; n++)
            other[places[(keys[n] >> shift) % VALUES]++] = keys[n];
        uint64_t *const sorted = other;
        other = keys;
        keys = sorted;
    }
    return digits % 2;
}
