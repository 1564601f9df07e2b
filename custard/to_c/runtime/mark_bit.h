// Sets bit n of the words, and the bit of that word in the tops. `touched` lists the tops that were
// 0, behind their number. Most bits are set already, and cost no store.
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
