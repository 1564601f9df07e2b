// Changes the sign bits. Otherwise gcc would round a product, a quotient or their zeros anew, as it
// makes one instruction of a multiplication, an addition and a change of sign.
static inline T negate_N(T a)
{
    union { T value; B bits[2]; } negated = {a};
    negated.bits[0] ^= (B)1 << (8 * sizeof(B) - 1);
    negated.bits[1] ^= (B)1 << (8 * sizeof(B) - 1);
    return negated.value;
}
