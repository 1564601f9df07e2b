// How many bits the whole numbers below n need.
static inline int64_t bits_of(int64_t n)
{
    return n > 1 ? 64 - __builtin_clzll((uint64_t)n - 1) : 0;
}
