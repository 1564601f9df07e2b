#ifdef __linux__
#include <sys/mman.h>
size_t malloc_usable_size(void *array); // of malloc.h, which defines names such as EOF
#endif

// Puts an array into large pages if it is large: large pages cause fewer page faults. All pages of
// the array are advised, from the first to the last: Linux moves no array that is advised in part,
// so realloc() would copy it.
static void *in_large_pages(void *array, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const size_t large = (size_t)1 << 22, before = (uintptr_t)array % 4096;
    if (array && bytes >= large)
        madvise((char *)array - before, before + bytes, MADV_HUGEPAGE);
#endif
    return array;
}

// Resizes the array `had` to `count` elements; NULL, with `had` freed, if there is no memory.
static void *resized(void *had, int64_t count, size_t size)
{
    size_t bytes;
    void *array = NULL;
    if (count >= 0 && !__builtin_mul_overflow((size_t)count, size, &bytes)) {
#ifdef MADV_HUGEPAGE
        // glibc moves larger arrays by their page tables. It copies others into pages that are not
        // advised yet, which makes most page faults of a result that grows.
        const size_t moved = (size_t)1 << 25, kept = malloc_usable_size(had);
        if (kept && kept < moved && kept < bytes && bytes >= (size_t)1 << 22) {
            array = in_large_pages(malloc(bytes), bytes);
            if (array)
                memcpy(array, had, kept);
            free(had);
            return array;
        }
#endif
        array = realloc(had, bytes ? bytes : 1);
    }
    if (!array)
        free(had);
    return array ? in_large_pages(array, bytes) : NULL;
}
