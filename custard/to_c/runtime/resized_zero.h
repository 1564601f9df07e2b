// The same, with all elements from number `old` on zero.
static void *resized_zero(void *had, int64_t old, int64_t count, size_t size)
{
    size_t bytes;
    if (!had && count > 0 && !__builtin_mul_overflow((size_t)count, size, &bytes))
        return calloc((size_t)count, size);
    char *array = resized(had, count, size);
    if (array && count > old)
        memset(array + (size_t)old * size, 0, (size_t)(count - old) * size);
    return array;
}
