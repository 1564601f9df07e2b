// The same, with zeros from element `old` on. A very large array has no large pages, as few of its
// elements may ever be used, each of which would fill a large page.
static void *resized_zero(void *had, int64_t old, int64_t count, size_t size)
{
    size_t bytes;
    if (!had && count > 0 && !__builtin_mul_overflow((size_t)count, size, &bytes)) {
        void *array = calloc((size_t)count, size);
        return bytes >> 28 ? array : in_large_pages(array, bytes);
    }
    char *array = resized(had, count, size);
    if (array && count > old)
        memset(array + (size_t)old * size, 0, (size_t)(count - old) * size);
    return array;
}
