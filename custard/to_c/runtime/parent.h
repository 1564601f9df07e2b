
// The position, from `first` to below `end`, in whose segment position p lies.
static inline int64_t parent_T(const T *segments, int64_t first, int64_t end, int64_t p)
{
    while (end - first > 1) {
        const int64_t middle = first + (end - first) / 2;
        if (segments[middle] <= p)
            first = middle;
        else
            end = middle;
    }
    return first;
}
