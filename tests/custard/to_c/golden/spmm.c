// X(i,k) = A(i,j) * B(j,k)
//
//     X:dd:0,1
//     A:ds:0,1
//     B:dd:0,1
//
// Compile it with
//
//     cc -std=gnu11 -shared -fPIC -fwrapv -fcx-fortran-rules -O3 -march=native -fno-math-errno
//         -fno-signed-zeros -fno-trapping-math -fassociative-math kernel.c -o kernel.so
//
// compute() takes the tensors as they are stored below; the caller owns all arrays. It sets all of
// X->values, which has room for every coordinate. It returns 0, or 1 if there is no memory for its
// own arrays; release() frees nothing.
//
// d, dense: position p * size + i has the coordinate i, from 0 to size - 1.
// s, compressed: positions segments[p] to segments[p + 1] - 1 have the coordinates[...], in order.

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// X(i,k), dd:0,1
struct X {
    int64_t size0;
    int64_t size1;
    double *values;
};

// A(i,j), ds:0,1
struct A {
    int64_t size0;
    int64_t size1;
    const int32_t *segments1;
    const int32_t *coordinates1;
    const double *values;
};

// B(j,k), dd:0,1
struct B {
    int64_t size0;
    int64_t size1;
    const double *values;
};

// Frees the arrays that compute() made.
void release(struct X *X)
{
    (void)X;
}

int compute(struct X *X, const struct A *A, const struct B *B)
{
    const int64_t k_size = B->size1;
    const int64_t i_size = A->size0;
    const int32_t *restrict A_segments1 = A->segments1;
    double *restrict X_values = X->values;
    const int32_t *restrict A_coordinates1 = A->coordinates1;
    const double *restrict A_values = A->values;
    const double *restrict B_values = B->values;
    for (int64_t p = 0; p < X->size0 * X->size1; p++)
        X_values[p] = 0.0;
    for (int64_t i = 0; i < i_size; i++) {
        if (A_segments1[i] < A_segments1[i + 1] - 3) {
            const int64_t pA1_first = A_segments1[i] + ((A_segments1[i + 1] - A_segments1[i]) & 3);
            for (int64_t pA1 = A_segments1[i]; pA1 < pA1_first; pA1++) {
                int64_t j = A_coordinates1[pA1];
                for (int64_t k = 0; k < k_size; k++)
                    X_values[i * X->size1 + k] += A_values[pA1] * B_values[j * B->size1 + k];
            }
            for (int64_t pA1 = pA1_first; pA1 < A_segments1[i + 1]; pA1 += 4) {
                int64_t j = A_coordinates1[pA1];
                int64_t j_2 = A_coordinates1[pA1 + 1];
                int64_t j_3 = A_coordinates1[pA1 + 2];
                int64_t j_4 = A_coordinates1[pA1 + 3];
                for (int64_t k = 0; k < k_size; k++)
                    X_values[i * X->size1 + k] = X_values[i * X->size1 + k]
                            + A_values[pA1] * B_values[j * B->size1 + k]
                            + A_values[pA1 + 1] * B_values[j_2 * B->size1 + k]
                            + A_values[pA1 + 2] * B_values[j_3 * B->size1 + k]
                            + A_values[pA1 + 3] * B_values[j_4 * B->size1 + k];
            }
        } else {
            for (int64_t pA1 = A_segments1[i]; pA1 < A_segments1[i + 1]; pA1++) {
                int64_t j = A_coordinates1[pA1];
                for (int64_t k = 0; k < k_size; k++)
                    X_values[i * X->size1 + k] += A_values[pA1] * B_values[j * B->size1 + k];
            }
        }
    }
    return 0;
}
