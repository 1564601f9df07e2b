// A tile is a part of a dense result that stays in vector registers while a loop adds to it:
// TILE_ROWS rows of TILE_BYTES bytes, two vectors. TILE_DEPTH rounds of that loop are done at a time,
// for TILE_BLOCK tiles side by side, so that the factors that their rows share stay in the cache.
// Tiles pay from TILE_LEAST_ROWS rows and TILE_LEAST_DEPTH rounds. Up to TILE_NEAR_ROWS rows read these
// factors where they are, and so do more rows where the factors fill at most TILE_NEAR_BYTES. From
// TILE_FAR_BYTES of factors on, memory is asked for them, and for the result, before it is read.
#if defined __AVX512F__
enum { TILE_ROWS = 8, TILE_BYTES = 128, TILE_BLOCK = 16 };
#elif defined __AVX__
enum { TILE_ROWS = 4, TILE_BYTES = 64, TILE_BLOCK = 32 };
#else
enum { TILE_ROWS = 4, TILE_BYTES = 32, TILE_BLOCK = 64 };
#endif
enum { TILE_DEPTH = 256, TILE_LEAST_ROWS = 4, TILE_LEAST_DEPTH = 2 };
enum { TILE_NEAR_ROWS = 3 * TILE_ROWS, TILE_NEAR_BYTES = 1 << 18, TILE_FAR_BYTES = 1 << 14 };
