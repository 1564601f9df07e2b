// A workspace that adds up in a hash table first. A full table grows as long as adding up saves
// components; otherwise its components move to the list behind it. `keys`, `values` and `sorted`
// belong to the list, once it is sorted.
struct H_entry {
    K key;
    T value;
};

struct H {
    struct W *list;
    struct H_entry *table;
    int64_t *used;
    int64_t count, inserted;
    int bits;
    K *keys;
    T *values;
    int64_t sorted;
};

// No component has this key.
#define H_NONE ((K)-1)

static void H_free(struct H *w)
{
    if (w) {
        W_free(w->list);
        free(w->table);
        free(w->used);
        free(w);
    }
}

static bool H_make_table(struct H *w, int bits)
{
    const int64_t places = (int64_t)1 << bits;
    w->bits = bits;
    w->table = resized(NULL, places, sizeof *w->table);
    w->used = resized(w->used, places / 2, sizeof *w->used);
    if (w->table)
        for (int64_t place = 0; place < places; place++)
            w->table[place].key = H_NONE;
    return w->table && w->used;
}

static struct H *H_new(void)
{
    struct H *w = calloc(1, sizeof *w);
    if (w) {
        w->list = W_new();
        if (!w->list || !H_make_table(w, 11)) {
            H_free(w);
            w = NULL;
        }
    }
    return w;
}

// The place of a key in the table, or where it would be.
static inline int64_t H_place(const struct H *w, K key)
{
    const int64_t mask = ((int64_t)1 << w->bits) - 1;
    const uint64_t mixed = ((uint64_t)key ^ (uint64_t)(key >> (sizeof(K) * 4))) *
                           UINT64_C(0x9e3779b97f4a7c15);
    int64_t place = (int64_t)(mixed >> (64 - w->bits));
    while (w->table[place].key != key && w->table[place].key != H_NONE)
        place = (place + 1) & mask;
    return place;
}

static inline void H_empty_table(struct H *w)
{
    for (int64_t n = 0; n < w->count; n++)
        w->table[w->used[n]].key = H_NONE;
    w->count = w->inserted = 0;
}

static inline void H_empty(struct H *w)
{
    H_empty_table(w);
    W_empty(w->list);
}

// Moves the components of the table to the list.
static bool H_flush(struct H *w)
{
    for (int64_t n = 0; n < w->count; n++) {
        const struct H_entry *one = &w->table[w->used[n]];
        if (!W_insert(w->list, one->key, one->value))
            return false;
    }
    H_empty_table(w);
    return true;
}

// Makes room in a table that is half full.
static bool H_make_room(struct H *w)
{
    if (w->bits >= 16 && w->inserted < 4 * w->count)
        return H_flush(w);
    struct H_entry *const had = w->table;
    if (!H_make_table(w, w->bits + 1)) {
        free(w->table);
        w->table = had;
        return false;
    }
    for (int64_t n = 0; n < w->count; n++) {
        const struct H_entry one = had[w->used[n]];
        w->used[n] = H_place(w, one.key);
        w->table[w->used[n]] = one;
    }
    free(had);
    return true;
}

static inline bool H_insert(struct H *w, K key, T value)
{
    int64_t place = H_place(w, key);
    w->inserted++;
    if (w->table[place].key == key) {
        w->table[place].value += value;
        return true;
    }
    if (w->count >> (w->bits - 1)) {
        if (!H_make_room(w))
            return false;
        place = H_place(w, key);
    }
    w->table[place].key = key;
    w->table[place].value = value;
    w->used[w->count++] = place;
    return true;
}

static bool H_sort(struct H *w)
{
    if (!H_flush(w) || !W_sort(w->list))
        return false;
    w->keys = w->list->keys;
    w->values = w->list->values;
    w->sorted = w->list->sorted;
    return true;
}
