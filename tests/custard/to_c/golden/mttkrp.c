// X(i,j) = B(i,k,l) * C(k,j) * D(l,j)
//
//     X:dd:0,1
//     B:sss:0,1,2
//     C:dd:0,1
//     D:dd:0,1
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
// s, compressed: positions segments[p] to segments[p + 1] - 1 have the coordinates[...], in order.
// d, dense: position p * size + i has the coordinate i, from 0 to size - 1.

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// X(i,j), dd:0,1
struct X {
    int64_t size0;
    int64_t size1;
    double *values;
};

// B(i,k,l), sss:0,1,2
struct B {
    int64_t size0;
    const int32_t *segments0;
    const int32_t *coordinates0;
    int64_t size1;
    const int32_t *segments1;
    const int32_t *coordinates1;
    int64_t size2;
    const int32_t *segments2;
    const int32_t *coordinates2;
    const double *values;
};

// C(k,j), dd:0,1
struct C {
    int64_t size0;
    int64_t size1;
    const double *values;
};

// D(l,j), dd:0,1
struct D {
    int64_t size0;
    int64_t size1;
    const double *values;
};

// Frees the arrays that compute() made.
void release(struct X *X)
{
    (void)X;
}

int compute(struct X *X, const struct B *B, const struct C *C, const struct D *D)
{
    const int64_t j_size = C->size1;
    const int32_t *restrict B_segments0 = B->segments0;
    const int32_t *restrict B_segments1 = B->segments1;
    const int32_t *restrict B_segments2 = B->segments2;
    double *restrict X_values = X->values;
    const int32_t *restrict B_coordinates0 = B->coordinates0;
    const int32_t *restrict B_coordinates1 = B->coordinates1;
    const int32_t *restrict B_coordinates2 = B->coordinates2;
    const double *restrict B_values = B->values;
    const double *restrict C_values = C->values;
    const double *restrict D_values = D->values;
    for (int64_t p = 0; p < X->size0 * X->size1; p++)
        X_values[p] = 0.0;
    for (int64_t pB0 = B_segments0[0]; pB0 < B_segments0[1]; pB0++) {
        int64_t i = B_coordinates0[pB0];
        for (int64_t pB1 = B_segments1[pB0]; pB1 < B_segments1[pB0 + 1]; pB1++) {
            int64_t k = B_coordinates1[pB1];
            if (B_segments2[pB1] < B_segments2[pB1 + 1] - 3) {
                const int64_t pB2_first = B_segments2[pB1]
                        + ((B_segments2[pB1 + 1] - B_segments2[pB1]) & 3);
                for (int64_t pB2 = B_segments2[pB1]; pB2 < pB2_first; pB2++) {
                    int64_t l = B_coordinates2[pB2];
                    for (int64_t j = 0; j < j_size; j++)
                        X_values[i * X->size1 + j] += B_values[pB2] * C_values[k * C->size1 + j]
                                * D_values[l * D->size1 + j];
                }
                for (int64_t pB2 = pB2_first; pB2 < B_segments2[pB1 + 1]; pB2 += 4) {
                    int64_t l = B_coordinates2[pB2];
                    int64_t l_2 = B_coordinates2[pB2 + 1];
                    int64_t l_3 = B_coordinates2[pB2 + 2];
                    int64_t l_4 = B_coordinates2[pB2 + 3];
                    for (int64_t j = 0; j < j_size; j++)
                        X_values[i * X->size1 + j] = X_values[i * X->size1 + j]
                                + B_values[pB2] * C_values[k * C->size1 + j]
                                * D_values[l * D->size1 + j]
                                + B_values[pB2 + 1] * C_values[k * C->size1 + j]
                                * D_values[l_2 * D->size1 + j]
                                + B_values[pB2 + 2] * C_values[k * C->size1 + j]
                                * D_values[l_3 * D->size1 + j]
                                + B_values[pB2 + 3] * C_values[k * C->size1 + j]
                                * D_values[l_4 * D->size1 + j];
                }
            } else {
                for (int64_t pB2 = B_segments2[pB1]; pB2 < B_segments2[pB1 + 1]; pB2++) {
                    int64_t l = B_coordinates2[pB2];
                    for (int64_t j = 0; j < j_size; j++)
                        X_values[i * X->size1 + j] += B_values[pB2] * C_values[k * C->size1 + j]
                                * D_values[l * D->size1 + j];
                }
            }
        }
    }
    return 0;
}
