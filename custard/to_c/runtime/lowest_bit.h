// The number of the lowest bit that is set.
static inline int64_t lowest_bit(uint64_t bits)
{
    return __builtin_ctzll(bits);
}
