#ifdef __linux__
#include <sys/mman.h>
#endif

// Puts an array into large pages if it is large: large pages cause fewer page faults.
static void *in_large_pages(void *array, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const size_t page = 4096, large = (size_t)1 << 22;
    if (array && bytes >= large)
        madvise((void *)((uintptr_t)array & -page), bytes, MADV_HUGEPAGE);
#endif
    return array;
}

// Resizes the array `had` to `count` elements; NULL, with `had` freed, if there is no memory.
static void *resized(void *had, int64_t count, size_t size)
{
    size_t bytes;
    void *array = NULL;
    if (count >= 0 && !__builtin_mul_overflow((size_t)count, size, &bytes))
        array = realloc(had, bytes ? bytes : 1);
    if (!array)
        free(had);
    return array ? in_large_pages(array, bytes) : NULL;
}
