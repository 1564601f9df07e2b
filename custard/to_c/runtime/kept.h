// The value if `here`, else 0, without a branch.
static inline T kept_N(bool here, T value)
{
    union { T value; B bits; } kept = {value};
    kept.bits &= -(B)here;
    return kept.value;
}
