#undef TILE_OF
#undef TILE_PART
#undef TILE_BY_ROWS

// Adds up, or stores, sums of products for all rows and columns, tile by tile. `right_tile` is the
// distance of the factors of a tile from those of the tile before.
static void tiles_N(int64_t rows, int64_t columns, int64_t rounds, const T *left, int64_t left_row,
        int64_t left_round, const R *right, int64_t right_round, int64_t right_tile, T *result,
        int64_t result_row, bool stores)
{
    const int64_t whole = TILE_BYTES / sizeof(T);
    const bool far = rounds * columns * (int64_t)sizeof(R) >= TILE_FAR_BYTES;
    if (far && right_tile == whole)
        for (int64_t k = 0; k < rounds; k++)
            for (int64_t j = 0; j < columns; j += 64 / sizeof(R))
                __builtin_prefetch(right + k * right_round + j);
    for (int64_t i = 0, height; i < rows; i += height) {
        height = TILE_ROWS;
        while (height > rows - i)
            height /= 2;
        for (int64_t j = 0, width; j < columns; j += width) {
            const struct tile_N tile = {rounds, left + i * left_row,
                right + j / whole * right_tile + j % whole, left_row, left_round, right_round,
                result + i * result_row + j, result_row, stores, far};
            width = whole;
            while (width > columns - j)
                width = width > whole / 16 ? width / 2 : 1;
            if (width == 1)
                tile_of_one_N(height, &tile);
            else if (width == whole)
                tile1_N(height, &tile);
            else if (width == whole / 2)
                tile2_N(height, &tile);
            else if (width == whole / 4)
                tile4_N(height, &tile);
            else if (width == whole / 8)
                tile8_N(height, &tile);
            else
                tile16_N(height, &tile);
        }
    }
}
