// The bucket of a coordinate in the table of a parent, or -1.
static inline int64_t locate_hashed_T(const T *buckets, int64_t width, int64_t parent,
                                      int64_t coordinate)
{
    const T *table = buckets + parent * width;
    int64_t at = coordinate % width;
    for (int64_t n = 0; n < width && table[at] != -1; n++) {
        if (table[at] == coordinate)
            return parent * width + at;
        at = at + 1 < width ? at + 1 : 0;
    }
    return -1;
}
