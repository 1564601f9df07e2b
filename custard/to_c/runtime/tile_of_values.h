// Defines the function for a tile of some rows that is `vectors` values of a type wide. All loops
// are unrolled but that over the rounds, so that the C compiler keeps the sums in registers.
#define TILE_OF(name, type, vectors) \
    static inline __attribute__((always_inline)) void name##_rows( \
            const int64_t rows, const struct tile_N *tile) \
    { \
        typedef type in_memory __attribute__((aligned(sizeof(T)), may_alias)); \
        const struct tile_N t = *tile; \
        if (t.far) \
            _Pragma("GCC unroll 8") for (int64_t i = 0; i < rows; i++) \
                _Pragma("GCC unroll 2") for (int64_t v = 0; v < vectors; v++) \
                    __builtin_prefetch((const in_memory *)(t.result + i * t.result_row) + v, 1); \
        type sums[TILE_ROWS][vectors]; \
        _Pragma("GCC unroll 8") for (int64_t i = 0; i < rows; i++) \
            _Pragma("GCC unroll 2") for (int64_t v = 0; v < vectors; v++) \
                sums[i][v] = (type){0}; \
        for (int64_t k = 0; k < t.rounds; k++) { \
            const T *left = t.left + k * t.left_round; \
            const in_memory *right = (const in_memory *)(t.right + k * t.right_round); \
            _Pragma("GCC unroll 8") for (int64_t i = 0; i < rows; i++) \
                _Pragma("GCC unroll 2") for (int64_t v = 0; v < vectors; v++) \
                    sums[i][v] += (E)left[i * t.left_row] * (type)right[v]; \
        } \
        _Pragma("GCC unroll 8") for (int64_t i = 0; i < rows; i++) \
        { \
            in_memory *result = (in_memory *)(t.result + i * t.result_row); \
            _Pragma("GCC unroll 2") for (int64_t v = 0; v < vectors; v++) \
                result[v] = t.stores ? sums[i][v] : (type)result[v] + sums[i][v]; \
        } \
    } \
    TILE_BY_ROWS(name)

// A vector of a part of a tile's bytes, or of one value if that is more.
#define TILE_PART(part) \
    __attribute__((vector_size( \
            TILE_BYTES / part > sizeof(T) ? TILE_BYTES / part : sizeof(T))))
typedef E vector2_N TILE_PART(2), vector4_N TILE_PART(4);
typedef E vector8_N TILE_PART(8), vector16_N TILE_PART(16);

TILE_OF(tile1_N, vector2_N, 2)
TILE_OF(tile2_N, vector2_N, 1)
TILE_OF(tile4_N, vector4_N, 1)
TILE_OF(tile8_N, vector8_N, 1)
TILE_OF(tile16_N, vector16_N, 1)
TILE_OF(tile_of_one_N, E, 1)
