#ifdef __AVX512VL__
#include <immintrin.h>
#endif
