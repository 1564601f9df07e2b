"""The helper functions that generated C may call, as text; a kernel gets those that it uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from string import Template

_PLAIN = {
    "resized": r"""
#ifdef __linux__
#include <sys/mman.h>
#endif

// Room for `count` elements where `had` was; NULL, with the old array freed, if there is none.
static void *resized(void *had, int64_t count, size_t size)
{
    size_t bytes;
    void *array = NULL;
    if (count >= 0 && !__builtin_mul_overflow((size_t)count, size, &bytes))
        array = realloc(had, bytes ? bytes : 1);
    if (!array)
        free(had);
#ifdef MADV_HUGEPAGE
    const size_t page = 4096, large = (size_t)1 << 22;
    if (array && bytes >= large) // fewer page faults
        madvise((void *)((uintptr_t)array & -page), bytes, MADV_HUGEPAGE);
#endif
    return array;
}
""",
    "resized_zero": r"""
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
""",
    "grown": r"""
// A capacity for `need` elements: twice the old one, if that is enough; -1 beyond `most`.
static inline int64_t grown(int64_t capacity, int64_t need, int64_t least, int64_t most)
{
    int64_t twice = capacity < least ? least : capacity < most / 2 ? 2 * capacity : most;
    return need > most ? -1 : need > twice ? need : twice;
}
""",
    "times": r"""
// The product of two counts, or one that there is no memory for.
static inline int64_t times(int64_t a, int64_t b)
{
    const int64_t most = INT64_MAX / 2;
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > most ? most : product;
}
""",
    "lowest_bit": r"""
// The number of the lowest bit that is set.
static inline int64_t lowest_bit(uint64_t bits)
{
    return __builtin_ctzll(bits);
}
""",
    "mark_bit": r"""
// Sets bit n of the words, and the bit of its word in the tops; a top that was 0 is listed behind
// their number, which comes first. Most bits are set already, and those cost no store.
static inline void mark_bit(uint64_t *words, uint64_t *tops, int64_t *touched, int64_t n)
{
    const uint64_t had = words[n >> 6], bit = UINT64_C(1) << (n & 63);
    if (had & bit)
        return;
    words[n >> 6] = had | bit;
    if (!had) {
        const uint64_t top = tops[n >> 12];
        tops[n >> 12] = top | UINT64_C(1) << ((n >> 6) & 63);
        if (!top)
            touched[++touched[0]] = n >> 12;
    }
}
""",
    "take_bits": r"""
// Lists the bits that are set, in order, and clears them; returns how many. The tops that were
// touched are sorted; of many, all between the least and the largest are gone through.
static int64_t take_bits(uint64_t *words, uint64_t *tops, int64_t *touched, int64_t *list)
{
    const int64_t tops_in_use = touched[0];
    int64_t *const tops_of = touched + 1, count = 0, least = INT64_MAX, most = -1;
    touched[0] = 0;
    for (int64_t n = 0; n < tops_in_use; n++) {
        least = tops_of[n] < least ? tops_of[n] : least;
        most = tops_of[n] > most ? tops_of[n] : most;
    }
    const bool apart = tops_in_use < (most - least) / 8 && tops_in_use < 64;
    for (int64_t n = 1; apart && n < tops_in_use; n++) {
        int64_t top = tops_of[n], to = n;
        for (; to > 0 && tops_of[to - 1] > top; to--)
            tops_of[to] = tops_of[to - 1];
        tops_of[to] = top;
    }
    const int64_t rounds = apart ? tops_in_use : most - least + 1;
    for (int64_t n = 0; tops_in_use && n < rounds; n++) {
        const int64_t top = apart ? tops_of[n] : least + n;
        for (uint64_t left = tops[top]; left; left &= left - 1) {
            int64_t word = (top << 6) + __builtin_ctzll(left);
            for (uint64_t bits = words[word]; bits; bits &= bits - 1)
                list[count++] = (word << 6) + __builtin_ctzll(bits);
            words[word] = 0;
        }
        tops[top] = 0;
    }
    return count;
}
""",
}

_VECTORS = """
#ifdef __AVX512VL__
#include <immintrin.h>
#endif
"""

# Text for each type T of index arrays.
_INDEXED = {
    "run_end": r"""
// The first position behind p whose coordinate is another; coordinates do not decrease. A long run
// is often as long as the one before it.
static inline int64_t run_end_T(const T *coordinates, int64_t p, int64_t end, int64_t before)
{
    const T coordinate = coordinates[p];
    const bool after_long = before > 16;
    __builtin_prefetch(coordinates + p + 16 * (after_long ? before : 16));
    if (after_long && p + before < end && coordinates[p + before - 1] == coordinate
        && coordinates[p + before] != coordinate)
        return p + before;
#ifdef __AVX512VL__
    const int lanes = 64 / (int)sizeof(T);
    for (; p + lanes <= end; p += lanes) { // comparing many at once does not branch
        const __m512i here = _mm512_loadu_si512(coordinates + p);
        const unsigned others = sizeof(T) == 4
            ? _mm512_cmpneq_epi32_mask(here, _mm512_set1_epi32((int32_t)coordinate))
            : _mm512_cmpneq_epi64_mask(here, _mm512_set1_epi64((int64_t)coordinate));
        if (others)
            return p + __builtin_ctz(others);
    }
#endif
    while (p < end && coordinates[p] == coordinate)
        p++;
    return p;
}
""",
    "sought": r"""
// The first position from p on whose coordinate is not below another, in steps that double.
static inline int64_t sought_T(const T *coordinates, int64_t p, int64_t end, int64_t coordinate)
{
    int64_t step = 1;
    for (; p + step < end && coordinates[p + step] < coordinate; step *= 2)
        p += step;
    int64_t last = p + step < end ? p + step : end;
    while (p < last) {
        const int64_t middle = p + (last - p) / 2;
        if (coordinates[middle] < coordinate)
            p = middle + 1;
        else
            last = middle;
    }
    return p;
}
""",
    "locate_hashed": r"""
// The bucket of a coordinate in the table of a parent, or -1.
static inline int64_t locate_hashed_T(const T *buckets, int64_t width, int64_t parent,
                                      int64_t coordinate)
{
    const T *table = buckets + parent * width;
    int64_t at = coordinate % width;
    for (int64_t n = 0; n < width && table[at] != -1; n++) {
        if (table[at] == coordinate)
            return parent * width + at;
        at = at + 1 < width ? at + 1 : 0;
    }
    return -1;
}
""",
    "sort_buckets": r"""
// Lists the buckets of a table that are in use, by coordinate; returns how many.
static int64_t sort_buckets_T(const T *buckets, int64_t first, int64_t width, int64_t *list)
{
    int64_t count = 0;
    for (int64_t at = first; at < first + width; at++)
        if (buckets[at] != -1)
            list[count++] = at;
    for (int64_t gap = count / 2; gap > 0; gap /= 2) {
        for (int64_t n = gap; n < count; n++) {
            int64_t bucket = list[n], to = n;
            for (; to >= gap && buckets[list[to - gap]] > buckets[bucket]; to -= gap)
                list[to] = list[to - gap];
            list[to] = bucket;
        }
    }
    return count;
}
""",
}

# Text for each type T of values, with an unsigned type B of its size.
_VALUED = {
    "kept": r"""
// The value where it is here, else 0, without a branch.
static inline T kept_N(bool here, T value)
{
    union { T value; B bits; } kept = {value};
    kept.bits &= -(B)here;
    return kept.value;
}
""",
    "kept_pair": r"""
// The value where it is here, else 0, without a branch.
static inline T kept_N(bool here, T value)
{
    union { T value; B bits[2]; } kept = {value};
    kept.bits[0] &= -(B)here;
    kept.bits[1] &= -(B)here;
    return kept.value;
}
""",
}
# Text for each complex type T, of parts of a type R: numpy's arithmetic, where C's own differs.
_COMPLEX = {
    "multiply": r"""
static inline T multiply_N(T a, T b)
{
    const R ar = (R)creal(a), ai = (R)cimag(a), br = (R)creal(b), bi = (R)cimag(b);
    return CMPLX(ar * br - ai * bi, ar * bi + ai * br);
}
""",
    "divide": r"""
// Smith's method: the larger part of the divisor is divided by.
static inline T divide_N(T a, T b)
{
    const R ar = (R)creal(a), ai = (R)cimag(a), br = (R)creal(b), bi = (R)cimag(b);
    const R real = (R)__builtin_fabs(br), imaginary = (R)__builtin_fabs(bi);
    if (real >= imaginary) {
        if (real == 0 && imaginary == 0)
            return CMPLX(ar / real, ai / real);
        const R ratio = bi / br, scale = 1 / (br + bi * ratio);
        return CMPLX((ar + ai * ratio) * scale, (ai - ar * ratio) * scale);
    }
    const R ratio = br / bi, scale = 1 / (bi + br * ratio);
    return CMPLX((ar * ratio + ai) * scale, (ai * ratio - ar) * scale);
}
""",
}
_PARTS = {"float complex": "float", "double complex": "double"}
_BITS = {
    "bool": "uint8_t",
    "int32_t": "uint32_t",
    "int64_t": "uint64_t",
    "float": "uint32_t",
    "double": "uint64_t",
    "float complex": "uint32_t",
    "double complex": "uint64_t",
}

# Text for each type $T of values and $C of coordinates; what else stands in it is in ``GATHERED``.
_GATHERED = Template(r"""
// The sum of the products of values with those that their coordinates pick from `others`. Where
// coordinates that increase have no gap, the first and the last tell them all.
static inline $T $name(const $T *values, const $C *coordinates,
        int64_t begin, int64_t end, const $T *others, bool increasing)
{
    const int lanes = $lanes;
    const bool gapless = increasing && end - begin > 2 * lanes
        && coordinates[end - 1] - coordinates[begin] == end - 1 - begin;
    const $T *beside = gapless ? others + coordinates[begin] : others;
    int64_t p = begin;
#ifdef __AVX512VL__
    const int ahead = 32 * lanes;
    const $vector zero = _mm512_setzero_$s();
    const $places steps = ${i}_setr_$e($steps);
    $vector sums = zero, picked;
    if (gapless) // what is read of the coordinates is not needed again: it is kept from the L2
        __builtin_prefetch(coordinates + p + 8 * (end - begin), 0, 0);
    for (; gapless && p + lanes <= end; p += lanes) {
        picked = _mm512_loadu_$s(beside + (p - begin));
        sums = _mm512_fmadd_$s(_mm512_loadu_$s(values + p), picked, sums);
        __builtin_prefetch(values + p + ahead);
    }
    for (; p + lanes <= end; p += lanes) {
        const $places places = ${i}_maskz_loadu_$e(-1, coordinates + p);
        const $places following = ${i}_add_$e(${i}_set1_$e(coordinates[p]), steps);
        if (${i}_cmpneq_${e}_mask(places, following) == 0)
            picked = _mm512_loadu_$s(others + coordinates[p]);
        else
            picked = _mm512_${g}gather_$s(places, others, sizeof *others);
        sums = _mm512_fmadd_$s(_mm512_loadu_$s(values + p), picked, sums);
        __builtin_prefetch(coordinates + p + ahead);
        __builtin_prefetch(values + p + ahead);
    }
    if (p < end) { // the last few at once, not in a loop whose length is hard to foresee
        const $mask here = ($mask)((1 << (end - p)) - 1);
        const $places places = ${i}_maskz_loadu_$e(here, coordinates + p);
        picked = gapless ? _mm512_maskz_loadu_$s(here, beside + (p - begin))
            : _mm512_mask_${g}gather_$s(zero, here, places, others, sizeof *others);
        sums = _mm512_fmadd_$s(_mm512_maskz_loadu_$s(here, values + p), picked, sums);
    }
    return _mm512_reduce_add_$s(sums);
#else
    $T sum = 0;
    for (; gapless && p < end; p++)
        sum += values[p] * beside[p - begin];
    for (; p < end; p++)
        sum += values[p] * others[coordinates[p]];
    return sum;
#endif
}
""")
_EIGHT = {"lanes": 8, "steps": "0, 1, 2, 3, 4, 5, 6, 7", "mask": "__mmask8"}
_SIXTEEN = {
    "lanes": 16,
    "steps": "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "mask": "__mmask16",
}
_DOUBLE = {"T": "double", "vector": "__m512d", "s": "pd", **_EIGHT}
_FLOAT = {"T": "float", "vector": "__m512", "s": "ps", **_SIXTEEN}
_BY_INT32 = {"C": "int32_t", "places": "__m512i", "i": "_mm512", "e": "epi32", "g": "i32"}
_BY_INT64 = {"C": "int64_t", "places": "__m512i", "i": "_mm512", "e": "epi64", "g": "i64"}
GATHERED: Mapping[str, Mapping[str, object]] = {
    "sparse_dot_double_int32_t": {**_DOUBLE, **_BY_INT32, "places": "__m256i", "i": "_mm256"},
    "sparse_dot_double_int64_t": {**_DOUBLE, **_BY_INT64},
    "sparse_dot_float_int32_t": {**_FLOAT, **_BY_INT32},
}
"""What stands in the text of each sum of products one factor of which is gathered."""

# Text for each type T of values, which `+=` adds, and K of keys; W is the name of the struct.
_WORKSPACE = r"""
// A sparse workspace: components with their coordinates in a key. The first `sorted` are in order
// and have distinct keys, those behind them were inserted since (Zhang et al., PLDI 2024).
struct W {
    K *keys, *other_keys;
    T *values, *other_values;
    int64_t sorted, count, capacity;
};

static void W_free(struct W *w)
{
    if (w) {
        free(w->keys);
        free(w->other_keys);
        free(w->values);
        free(w->other_values);
        free(w);
    }
}

static bool W_grow(struct W *w)
{
    w->capacity = w->capacity ? 2 * w->capacity : 4096;
    w->keys = resized(w->keys, w->capacity, sizeof *w->keys);
    w->other_keys = resized(w->other_keys, w->capacity, sizeof *w->other_keys);
    w->values = resized(w->values, w->capacity, sizeof *w->values);
    w->other_values = resized(w->other_values, w->capacity, sizeof *w->other_values);
    return w->keys && w->other_keys && w->values && w->other_values;
}

static struct W *W_new(void)
{
    struct W *w = calloc(1, sizeof *w);
    if (w && !W_grow(w)) {
        W_free(w);
        w = NULL;
    }
    return w;
}

static void W_empty(struct W *w)
{
    w->sorted = w->count = 0;
}

// Sorts what was inserted, eight bits of the keys at a time, from the lowest to the highest.
static void W_sort_inserted(struct W *w)
{
    int64_t n = w->count - w->sorted;
    K *keys = w->keys + w->sorted, *to_keys = w->other_keys, *swap_keys;
    T *values = w->values + w->sorted, *to_values = w->other_values, *swap_values;
    K used = 0;
    for (int64_t p = 0; p < n; p++)
        used |= keys[p] ^ keys[0];
    for (int shift = 0; shift < (int)sizeof(K) * 8 && used >> shift; shift += 8) {
        int64_t places[257] = {0};
        if (!((used >> shift) & 255))
            continue;
        for (int64_t p = 0; p < n; p++)
            places[((keys[p] >> shift) & 255) + 1]++;
        for (int digit = 0; digit < 256; digit++)
            places[digit + 1] += places[digit];
        for (int64_t p = 0; p < n; p++) {
            int64_t to = places[(keys[p] >> shift) & 255]++;
            to_keys[to] = keys[p];
            to_values[to] = values[p];
        }
        swap_keys = keys, keys = to_keys, to_keys = swap_keys;
        swap_values = values, values = to_values, to_values = swap_values;
    }
    if (keys == w->other_keys) {
        memcpy(w->keys + w->sorted, keys, (size_t)n * sizeof *keys);
        memcpy(w->values + w->sorted, values, (size_t)n * sizeof *values);
    }
}

// Brings all components in order, those with one key added up.
static void W_sort(struct W *w)
{
    int64_t a = 0, b = w->sorted, to = -1;
    if (w->sorted == w->count)
        return;
    W_sort_inserted(w);
    while (a < w->sorted || b < w->count) {
        bool first = b == w->count || (a < w->sorted && w->keys[a] <= w->keys[b]);
        int64_t from = first ? a++ : b++;
        if (to >= 0 && w->other_keys[to] == w->keys[from]) {
            w->other_values[to] += w->values[from];
        } else {
            w->other_keys[++to] = w->keys[from];
            w->other_values[to] = w->values[from];
        }
    }
    K *keys = w->keys;
    T *values = w->values;
    w->keys = w->other_keys, w->other_keys = keys;
    w->values = w->other_values, w->other_values = values;
    w->sorted = w->count = to + 1;
}

// The first position behind p with another key, when keys are divided by `stride`.
static inline int64_t W_run_end(const struct W *w, int64_t p, int64_t end, int64_t before,
                                K stride)
{
    const K last = w->keys[p] - w->keys[p] % stride + (stride - 1);
    if (p + before < end && w->keys[p + before - 1] <= last && w->keys[p + before] > last)
        return p + before;
    while (p < end && w->keys[p] <= last)
        p++;
    return p;
}

static inline bool W_insert(struct W *w, K key, T value)
{
    if (w->count == w->capacity) {
        W_sort(w);
        if (w->sorted > w->capacity / 2 && !W_grow(w))
            return false;
    }
    w->keys[w->count] = key;
    w->values[w->count++] = value;
    return true;
}
"""

_NEEDS = {"resized_zero": ("resized",)}
INDEX_TYPES = ("int32_t", "int64_t")

# All names that the text may declare, but for those of sparse workspaces.
NAMES = frozenset(
    (
        "wide_t",
        *_PLAIN,
        *(f"{name}_{T}" for name in _INDEXED for T in INDEX_TYPES),
        *(f"{name}_{T.replace(' ', '_')}" for name in _VALUED for T in _BITS),
        *(f"{name}_{T.replace(' ', '_')}" for name in _COMPLEX for T in _PARTS),
        *GATHERED,
    )
)


def helpers(used: Iterable[str]) -> Iterator[str]:
    """The text of the helpers of these names, and of those that they need, each once."""
    names = list(dict.fromkeys(used))
    workspaces = list(
        dict.fromkeys(n.removesuffix("_new") for n in names if re.search("workspace_.*_new$", n))
    )
    plain = {n for n in names if n in _PLAIN} | ({"resized"} if workspaces else set())
    plain |= {need for name in plain for need in _NEEDS.get(name, ())}
    yield from (text for name, text in _PLAIN.items() if name in plain)
    if any(name in GATHERED or name.startswith("run_end_") for name in names):
        yield _VECTORS
    for name, text in _INDEXED.items():
        for index in INDEX_TYPES:
            if f"{name}_{index}" in names:
                yield re.sub(r"\bT\b|(?<=_)T\b", index, text)
    for value, bits in _BITS.items():
        named = value.replace(" ", "_")
        if f"kept_{named}" in names:
            text = _VALUED["kept_pair" if "complex" in value else "kept"]
            text = text.replace("kept_N", f"kept_{named}")
            yield re.sub(r"\bT\b", value, re.sub(r"\bB\b", bits, text))
    for value, part in _PARTS.items():
        named = value.replace(" ", "_")
        for name, text in _COMPLEX.items():
            if f"{name}_{named}" in names:
                text = text.replace(f"{name}_N", f"{name}_{named}")
                text = re.sub(r"\bT\b", value, re.sub(r"\bR\b", part, text))
                yield text.replace("CMPLX", "CMPLXF") if part == "float" else text
    yield from (
        _GATHERED.substitute(words, name=name) for name, words in GATHERED.items() if name in names
    )
    if any(name.startswith("wide_") for name in workspaces):
        yield "\ntypedef unsigned __int128 wide_t;\n"
    for name in workspaces:
        value = (
            name.removeprefix("wide_").removeprefix("workspace_").replace("_complex", " complex")
        )
        text = re.sub(r"\bW(?=\b|_)", name, _WORKSPACE)
        text = re.sub(r"\bK\b", "wide_t" if name.startswith("wide_") else "uint64_t", text)
        text = re.sub(r"\bT\b", value, text)
        yield text.replace("[to] += ", "[to] |= ") if value == "bool" else text
