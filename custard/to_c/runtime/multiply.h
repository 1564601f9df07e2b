static inline T multiply_N(T a, T b)
{
    const R ar = (R)creal(a), ai = (R)cimag(a), br = (R)creal(b), bi = (R)cimag(b);
    return CMPLX(ar * br - ai * bi, ar * bi + ai * br);
}
