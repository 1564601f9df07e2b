// The smaller of two numbers.
static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
