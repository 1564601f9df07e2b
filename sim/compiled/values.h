/* Arithmetic on complex values as numpy does it, where C's own differs. Values of both types are
 * kept as double complex; those of complex64 are computed with in floats. Where the machine has a
 * fused multiplication and addition, numpy's product has it. They are not inlined: gcc would fuse
 * others in vectors, whatever -ffp-contract says. */
#include <complex.h>
#include <math.h>

#ifndef CMPLX /* clang with glibc */
#define CMPLX(REAL_PART, IMAGINARY) __builtin_complex((double)(REAL_PART), (double)(IMAGINARY))
#endif

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define FUSED(FMA, A, B, C) FMA(A, B, C)
#else
#define FUSED(FMA, A, B, C) ((A) * (B) + (C))
#endif

#define COMPLEX_ARITHMETIC(TYPE, REAL, FMA)                                                       \
    __attribute__((noinline, unused))                                                             \
    static double complex TYPE##_multiply(double complex a, double complex b)                     \
    {                                                                                             \
        const REAL ar = (REAL)creal(a), ai = (REAL)cimag(a);                                      \
        const REAL br = (REAL)creal(b), bi = (REAL)cimag(b);                                      \
        return CMPLX(FUSED(FMA, ar, br, -(ai * bi)), FUSED(FMA, ar, bi, ai * br));                \
    }                                                                                             \
    /* Smith's method: the larger part of the divisor is divided by. */                           \
    __attribute__((noinline, unused))                                                             \
    static double complex TYPE##_divide(double complex a, double complex b)                       \
    {                                                                                             \
        const REAL ar = (REAL)creal(a), ai = (REAL)cimag(a);                                      \
        const REAL br = (REAL)creal(b), bi = (REAL)cimag(b);                                      \
        const REAL real = (REAL)fabs(br), imaginary = (REAL)fabs(bi);                             \
        if (real >= imaginary) {                                                                  \
            if (real == 0 && imaginary == 0)                                                      \
                return CMPLX(ar / real, ai / real);                                               \
            const REAL ratio = bi / br, scale = 1 / (br + bi * ratio);                            \
            return CMPLX((ar + ai * ratio) * scale, (ai - ar * ratio) * scale);                   \
        }                                                                                         \
        const REAL ratio = br / bi, scale = 1 / (bi + br * ratio);                                \
        return CMPLX((ar * ratio + ai) * scale, (ai * ratio - ar) * scale);                       \
    }

COMPLEX_ARITHMETIC(complex64, float, fmaf)
COMPLEX_ARITHMETIC(complex128, double, fma)
