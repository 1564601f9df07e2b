// Sorts the inserted components as one list.
static bool W_sort_inserted(struct W *w, int bits)
{
    const int64_t first = w->sorted, n = w->count - first;
    if (!W_make_others(w, n))
        return false;
    W_sort_some(w->keys + first, w->values + first, n, w->other_keys, w->other_values, bits);
    return true;
}
