/* Bits in the place of flags; runtime.h stands before. */
#ifdef __AVX512F__
#include <immintrin.h>
#endif

static inline uint64_t mask_of(const int64_t flags[AT_ONCE]) {
#ifdef __AVX512F__
    const __m512i all = _mm512_loadu_si512(flags);
    return _mm512_test_epi64_mask(all, all);
#else
    uint64_t mask = 0;
    for (int k = 0; k < AT_ONCE; k++) mask |= (uint64_t)(flags[k] != 0) << k;
    return mask;
#endif
}
