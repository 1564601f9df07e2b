// Smith's method: divides by the larger part of the divisor.
static inline T divide_N(T a, T b)
{
    const R ar = (R)creal(a), ai = (R)cimag(a), br = (R)creal(b), bi = (R)cimag(b);
    const R real = (R)__builtin_fabs(br), imaginary = (R)__builtin_fabs(bi);
    if (real >= imaginary) {
        if (real == 0 && imaginary == 0)
            return CMPLX(ar / real, ai / real);
        const R ratio = bi / br, scale = 1 / (br + bi * ratio);
        return CMPLX((ar + apart(ai * ratio)) * scale, (ai - apart(ar * ratio)) * scale);
    }
    const R ratio = br / bi, scale = 1 / (bi + br * ratio);
    return CMPLX((apart(ar * ratio) + ai) * scale, (apart(ai * ratio) - ar) * scale);
}
