#ifdef __SSE2__
#include <emmintrin.h>
#endif

// Copies a part of a result to its place; past the caches if they do not hold the whole result.
static inline void placed(void *place, const void *part, int64_t size, int64_t whole)
{
    char *to = place;
    const char *from = part;
#ifdef __SSE2__
    const int64_t large = 8 << 20, line = 64;
    if (whole > large && size > 2 * line) {
        const int64_t first = -(intptr_t)to & (line - 1);
        memcpy(to, from, first);
        int64_t p = first;
        for (; p + line <= size; p += line)
            for (int64_t q = p; q < p + line; q += sizeof(__m128i)) {
                const __m128i some = _mm_loadu_si128((const __m128i *)(from + q));
                _mm_stream_si128((__m128i *)(to + q), some);
            }
        _mm_sfence();
        to += p;
        from += p;
        size -= p;
    }
#else
    (void)whole;
#endif
    memcpy(to, from, size);
}
