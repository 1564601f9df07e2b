// Lists the bits that are set, in order, and clears them; returns how many. A few touched tops are
// sorted; if many are touched, all tops between the least and the largest are visited instead.
static int64_t take_some_bits(uint64_t *words, uint64_t *tops, int64_t *touched, int64_t *list)
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

// The same, fast where no bit is set, which is the usual case.
static inline int64_t take_bits(uint64_t *words, uint64_t *tops, int64_t *touched, int64_t *list)
{
    return touched[0] ? take_some_bits(words, tops, touched, list) : 0;
}
