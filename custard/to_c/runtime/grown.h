// A capacity for `need` elements: twice the old one, if that is enough; -1 beyond `most`.
static inline int64_t grown(int64_t capacity, int64_t need, int64_t least, int64_t most)
{
    int64_t twice = capacity < least ? least : capacity < most / 2 ? 2 * capacity : most;
    return need > most ? -1 : need > twice ? need : twice;
}
