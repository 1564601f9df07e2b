// gcc rounds a product with what it is added to where it does not with another, even if told not to.
#ifndef APART
#if __GNUC__ >= 12 && !defined(__clang__)
#define APART(product) __builtin_assoc_barrier(product)
#else
#define APART(product) (product)
#endif
#endif

// Smith's method: divides by the larger part of the divisor.
static inline T divide_N(T a, T b)
{
    const R ar = (R)creal(a), ai = (R)cimag(a), br = (R)creal(b), bi = (R)cimag(b);
    const R real = (R)__builtin_fabs(br), imaginary = (R)__builtin_fabs(bi);
    if (real >= imaginary) {
        if (real == 0 && imaginary == 0)
            return CMPLX(ar / real, ai / real);
        const R ratio = bi / br, scale = 1 / (br + bi * ratio);
        return CMPLX((ar + APART(ai * ratio)) * scale, (ai - APART(ar * ratio)) * scale);
    }
    const R ratio = br / bi, scale = 1 / (bi + br * ratio);
    return CMPLX((APART(ar * ratio) + ai) * scale, (APART(ai * ratio) - ar) * scale);
}
