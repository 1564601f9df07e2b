// The value if `here`, else 0, without a branch.
static inline T kept_N(bool here, T value)
{
    union { T value; B bits[2]; } kept = {value};
    kept.bits[0] &= -(B)here;
    kept.bits[1] &= -(B)here;
    return kept.value;
}
