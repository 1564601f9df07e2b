// The quotient, rounded down; C rounds towards zero.
static inline int64_t floored(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
