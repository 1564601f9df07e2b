// y(i) = A(i,j) * x(j)
//
//     y:d:0
//     A:uq:0,1
//     x:d:0
//
// Compile it with
//
//     cc -std=gnu11 -shared -fPIC -fwrapv -fcx-fortran-rules -O3 -march=native -fno-math-errno
//         -fno-signed-zeros -fno-trapping-math -fassociative-math kernel.c -o kernel.so
//
// compute() takes the tensors as they are stored below; the caller owns all arrays. It sets all of
// y->values, which has room for every coordinate. It returns 0, or 1 if there is no memory for its
// own arrays; release() frees nothing.
//
// u, compressed non-unique: as compressed, and a coordinate may come again.
// q, singleton: position p has the coordinate coordinates[p].
// d, dense: position p * size + i has the coordinate i, from 0 to size - 1.

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// y(i), d:0
struct y {
    int64_t size0;
    double *values;
};

// A(i,j), uq:0,1
struct A {
    int64_t size0;
    const int32_t *segments0;
    const int32_t *coordinates0;
    int64_t size1;
    const int32_t *coordinates1;
    const double *values;
};

// x(j), d:0
struct x {
    int64_t size0;
    const double *values;
};

// A value that is computed by itself, as far as compilers can be told so. Otherwise gcc
//     makes one sum of two, and finds no vectors for the terms of a few short ones;
//     makes -x of 0.0 - x where it knows that x was a whole number, though 0.0 - 0.0 is no -0.0;
//     rounds a product with one of its two uses, even if told not to.
#if defined __has_builtin
#if __has_builtin(__builtin_assoc_barrier)
#define apart(value) __builtin_assoc_barrier(value)
#endif
#endif
#ifndef apart
#define apart(value) (value)
#endif

// Frees the arrays that compute() made.
void release(struct y *y)
{
    (void)y;
}

int compute(struct y *y, const struct A *A, const struct x *x)
{
    const int32_t *restrict A_segments0 = A->segments0;
    double *restrict y_values = y->values;
    const int32_t *restrict A_coordinates0 = A->coordinates0;
    const int32_t *restrict A_coordinates1 = A->coordinates1;
    const double *restrict A_values = A->values;
    const double *restrict x_values = x->values;
    for (int64_t p = 0; p < y->size0; p++)
        y_values[p] = 0.0;
    if (A_segments0[0] < A_segments0[1] - 31) {
        const int64_t pA0_first = A_segments0[0] + ((A_segments0[1] - A_segments0[0]) & 31);
        for (int64_t pA0 = A_segments0[0]; pA0 < pA0_first; pA0++) {
            int64_t i = A_coordinates0[pA0];
            int64_t j = A_coordinates1[pA0];
            y_values[i] += A_values[pA0] * x_values[j];
        }
        for (int64_t pA0_32 = pA0_first; pA0_32 < A_segments0[1]; pA0_32 += 32) {
            if (A_coordinates0[pA0_32] == A_coordinates0[pA0_32 + 31]) {
                double total_3 = 0.0;
                for (int64_t pA0 = pA0_32; pA0 < pA0_32 + 32; pA0++) {
                    int64_t j = A_coordinates1[pA0];
                    total_3 += A_values[pA0] * x_values[j];
                }
                y_values[A_coordinates0[pA0_32]] += apart(total_3);
            } else {
                for (int64_t pA0_8 = pA0_32; pA0_8 < pA0_32 + 32; pA0_8 += 8) {
                    if (A_coordinates0[pA0_8] == A_coordinates0[pA0_8 + 7]) {
                        double total_2 = 0.0;
                        for (int64_t pA0 = pA0_8; pA0 < pA0_8 + 8; pA0++) {
                            int64_t j = A_coordinates1[pA0];
                            total_2 += A_values[pA0] * x_values[j];
                        }
                        y_values[A_coordinates0[pA0_8]] += apart(total_2);
                    } else {
                        for (int64_t pA0_4 = pA0_8; pA0_4 < pA0_8 + 8; pA0_4 += 4) {
                            if (A_coordinates0[pA0_4] == A_coordinates0[pA0_4 + 3]) {
                                double total = 0.0;
                                for (int64_t pA0 = pA0_4; pA0 < pA0_4 + 4; pA0++) {
                                    int64_t j = A_coordinates1[pA0];
                                    total += A_values[pA0] * x_values[j];
                                }
                                y_values[A_coordinates0[pA0_4]] += apart(total);
                            } else {
                                for (int64_t pA0 = pA0_4; pA0 < pA0_4 + 4; pA0++) {
                                    int64_t i = A_coordinates0[pA0];
                                    int64_t j = A_coordinates1[pA0];
                                    y_values[i] += A_values[pA0] * x_values[j];
                                }
                            }
                        }
                    }
                }
            }
        }
    } else {
        for (int64_t pA0 = A_segments0[0]; pA0 < A_segments0[1]; pA0++) {
            int64_t i = A_coordinates0[pA0];
            int64_t j = A_coordinates1[pA0];
            y_values[i] += A_values[pA0] * x_values[j];
        }
    }
    return 0;
}
