// What a tile adds up: result[i * result_row + j] += left[i * left_row + k * left_round]
// * right[k * right_round + j] over the rounds k; = in place of += if it `stores`.
struct tile_N {
    int64_t rounds;
    const T *left;
    const R *right;
    int64_t left_row, left_round, right_round;
    T *result;
    int64_t result_row;
    bool stores;
};
