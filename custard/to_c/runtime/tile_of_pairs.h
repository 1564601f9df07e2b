// Defines the function for a tile of some rows that is `lanes` complex values wide, whose real and
// imaginary parts are apart. All loops are unrolled but that over the rounds.
#define TILE_OF(name, lanes) \
    static inline __attribute__((always_inline)) void name##_rows( \
            const int64_t rows, const struct tile_N *tile) \
    { \
        const struct tile_N t = *tile; \
        R reals[TILE_ROWS][lanes], imags[TILE_ROWS][lanes]; \
        _Pragma("GCC unroll 8") for (int64_t i = 0; i < rows; i++) \
            for (int64_t c = 0; c < lanes; c++) \
                reals[i][c] = imags[i][c] = 0; \
        for (int64_t k = 0; k < t.rounds; k++) { \
            const T *left = t.left + k * t.left_round; \
            const R *right = t.right + k * t.right_round; \
            for (int64_t c = 0; c < lanes; c++) { \
                const R re = right[c], im = right[c + TILE_BYTES / sizeof(T)]; \
                _Pragma("GCC unroll 8") for (int64_t i = 0; i < rows; i++) \
                { \
                    const T product = multiply_N(left[i * t.left_row], CMPLX(re, im)); \
                    reals[i][c] += (R)creal(product); \
                    imags[i][c] += (R)cimag(product); \
                } \
            } \
        } \
        _Pragma("GCC unroll 8") for (int64_t i = 0; i < rows; i++) \
        { \
            T *result = t.result + i * t.result_row; \
            for (int64_t c = 0; c < lanes; c++) { \
                const T sum = CMPLX(reals[i][c], imags[i][c]); \
                result[c] = t.stores ? sum : result[c] + sum; \
            } \
        } \
    } \
    TILE_BY_ROWS(name)

// How many values a part of a tile's bytes holds, or one.
#define TILE_PART(part) \
    (TILE_BYTES / part > sizeof(T) ? TILE_BYTES / part / sizeof(T) : 1)
TILE_OF(tile1_N, TILE_PART(1))
TILE_OF(tile2_N, TILE_PART(2))
TILE_OF(tile4_N, TILE_PART(4))
TILE_OF(tile8_N, TILE_PART(8))
TILE_OF(tile16_N, TILE_PART(16))
TILE_OF(tile_of_one_N, 1)
