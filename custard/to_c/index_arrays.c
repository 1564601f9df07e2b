/* Checks of index arrays, and the transposition of rows, each for indices of 32 and of 64 bits. */
#include <stdint.h>
#include <string.h>

typedef struct { uint64_t parts[2]; } uint128;

/* As numbers without a sign, coordinates below 0 are beyond every extent. */
#define BEYOND(UNSIGNED, extent)                                                                   \
    ((uint64_t)(extent) < (UNSIGNED)-1 / 2 ? (UNSIGNED)(extent) : (UNSIGNED)-1 / 2 + 1)

/* custard_rows: how many entries rows have, if the rows begin one behind the other, `most` places
   hold them all, and in each row coordinates increase and are below an extent; -1 otherwise.

   All steps to a coordinate that is not larger are counted in one go, without looking at rows; they
   must be those from one row to the next. */
#define ROWS(INDEX, UNSIGNED)                                                                      \
    int64_t custard_rows_##INDEX(const INDEX *segments, const INDEX *coordinates, int64_t rows,    \
                                 int64_t extent, int64_t most)                                     \
    {                                                                                              \
        const int64_t count = segments[rows];                                                      \
        const UNSIGNED beyond = BEYOND(UNSIGNED, extent);                                          \
        int wrong = segments[0] != 0 || count > most;                                              \
        for (int64_t row = 0; row < rows; row++)                                                   \
            wrong |= segments[row + 1] < segments[row];                                            \
        if (wrong || count == 0)                                                                   \
            return wrong ? -1 : 0;                                                                 \
        UNSIGNED outside = (UNSIGNED)coordinates[0] >= beyond, falls = 0, between = 0;             \
        for (int64_t n = 1; n < count; n++) {                                                      \
            outside += (UNSIGNED)coordinates[n] >= beyond;                                         \
            falls += coordinates[n] <= coordinates[n - 1];                                         \
        }                                                                                          \
        for (int64_t row = 1; row < rows; row++) {                                                 \
            const int64_t begin = segments[row];                                                   \
            if (begin > segments[row - 1] && begin < count)                                        \
                between += coordinates[begin] <= coordinates[begin - 1];                           \
        }                                                                                          \
        return outside || falls != between ? -1 : count;                                           \
    }

/* custard_list: whether the coordinates of each entry, in an array for each mode, are below the
   extents, and come after those of the entry before. */
#define LIST(INDEX, UNSIGNED)                                                                      \
    int custard_list_##INDEX(const INDEX *const *coordinates, const int64_t *extents,              \
                             int64_t modes, int64_t count)                                         \
    {                                                                                              \
        UNSIGNED outside = 0;                                                                      \
        for (int64_t mode = 0; mode < modes; mode++) {                                             \
            const UNSIGNED beyond = BEYOND(UNSIGNED, extents[mode]);                               \
            for (int64_t n = 0; n < count; n++)                                                    \
                outside += (UNSIGNED)coordinates[mode][n] >= beyond;                               \
        }                                                                                          \
        for (int64_t n = 1; n < count; n++) {                                                      \
            int64_t mode = 0;                                                                      \
            while (mode < modes - 1 && coordinates[mode][n] == coordinates[mode][n - 1])           \
                mode++;                                                                            \
            if (coordinates[mode][n] <= coordinates[mode][n - 1])                                  \
                return 0;                                                                          \
        }                                                                                          \
        return !outside;                                                                           \
    }

/* custard_turned: the columns of rows that custard_rows has found valid. While columns are filled,
   the begin of each is kept one place further on; there it ends as the begin of the next one. */
#define TURNED(INDEX, VALUE)                                                                       \
    void custard_turned_##INDEX##_##VALUE(                                                         \
        const INDEX *segments, const INDEX *coordinates, const VALUE *values, int64_t rows,        \
        int64_t columns, INDEX *begins, INDEX *turned, VALUE *moved)                               \
    {                                                                                              \
        INDEX *const places = begins + 1, before = 0;                                              \
        memset(begins, 0, (columns + 1) * sizeof(INDEX));                                          \
        for (INDEX n = 0; n < segments[rows]; n++)                                                 \
            places[coordinates[n]]++;                                                              \
        for (int64_t column = 0; column < columns; column++) {                                     \
            const INDEX here = places[column];                                                     \
            places[column] = before;                                                               \
            before += here;                                                                        \
        }                                                                                          \
        for (int64_t row = 0; row < rows; row++)                                                   \
            for (INDEX n = segments[row]; n < segments[row + 1]; n++) {                            \
                const INDEX place = places[coordinates[n]]++;                                      \
                turned[place] = (INDEX)row;                                                        \
                moved[place] = values[n];                                                          \
            }                                                                                      \
    }

#define ALL(INDEX, UNSIGNED)                                                                       \
    ROWS(INDEX, UNSIGNED)                                                                          \
    LIST(INDEX, UNSIGNED)                                                                          \
    TURNED(INDEX, uint8_t)                                                                         \
    TURNED(INDEX, uint32_t)                                                                        \
    TURNED(INDEX, uint64_t)                                                                        \
    TURNED(INDEX, uint128)

ALL(int32_t, uint32_t)
ALL(int64_t, uint64_t)
