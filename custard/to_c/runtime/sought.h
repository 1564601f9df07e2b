// The first position from p on whose coordinate is not below another, in steps that double.
static inline int64_t sought_T(const T *coordinates, int64_t p, int64_t end, int64_t coordinate)
{
    int64_t step = 1;
    for (; p + step < end && coordinates[p + step] < coordinate; step *= 2)
        p += step;
    int64_t last = p + step < end ? p + step : end;
    while (p < last) {
        const int64_t middle = p + (last - p) / 2;
        if (coordinates[middle] < coordinate)
            p = middle + 1;
        else
            last = middle;
    }
    return p;
}
