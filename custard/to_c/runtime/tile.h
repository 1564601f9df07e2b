// What a tile adds up: result[i * result_row + j] += left[i * left_row + k * left_round]
// * right[k * right_round + j] over the rounds k; = in place of += if it `stores`. Memory is asked
// early for a result that may be `far`.
struct tile_N {
    int64_t rounds;
    const T *left;
    const R *right;
    int64_t left_row, left_round, right_round;
    T *result;
    int64_t result_row;
    bool stores, far;
};

// Defines the function for a tile of 8, 4, 2 or 1 rows, by those for a number that is known.
#define TILE_BY_ROWS(name) \
    static void name(int64_t rows, const struct tile_N *tile) \
    { \
        if (rows == 8) \
            name##_rows(8, tile); \
        else if (rows == 4) \
            name##_rows(4, tile); \
        else if (rows == 2) \
            name##_rows(2, tile); \
        else \
            name##_rows(1, tile); \
    }
