
// Adds the components of another workspace, which are sorted.
static bool W_merge(struct W *w, const struct W *other)
{
    for (int64_t p = 0; p < other->sorted; p++)
        if (!W_insert(w, other->keys[p], other->values[p]))
            return false;
    return true;
}
