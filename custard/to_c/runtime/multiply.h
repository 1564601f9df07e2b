// As numpy: with a fused multiply-add where the machine has one.
static inline T multiply_N(T a, T b)
{
    const R ar = (R)creal(a), ai = (R)cimag(a), br = (R)creal(b), bi = (R)cimag(b);
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return CMPLX(FMA(ar, br, -(ai * bi)), FMA(ar, bi, ai * br));
#else
    return CMPLX(ar * br - ai * bi, ar * bi + ai * br);
#endif
}
