// The product of two counts; a count too large for any memory where it overflows.
static inline int64_t times(int64_t a, int64_t b)
{
    const int64_t most = INT64_MAX / 2;
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > most ? most : product;
}
