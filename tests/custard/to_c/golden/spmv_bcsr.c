// y(i,k) = A(i,j,k,l) * x(j,l)
//
//     y:dd:0,1
//     A:dsdd:0,1,2,3
//     x:dd:0,1
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
// d, dense: position p * size + i has the coordinate i, from 0 to size - 1.
// s, compressed: positions segments[p] to segments[p + 1] - 1 have the coordinates[...], in order.

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// y(i,k), dd:0,1
struct y {
    int64_t size0;
    int64_t size1;
    double *values;
};

// A(i,j,k,l), dsdd:0,1,2,3
struct A {
    int64_t size0;
    int64_t size1;
    const int32_t *segments1;
    const int32_t *coordinates1;
    int64_t size2;
    int64_t size3;
    const double *values;
};

// x(j,l), dd:0,1
struct x {
    int64_t size0;
    int64_t size1;
    const double *values;
};

// Frees the arrays that compute() made.
void release(struct y *y)
{
    (void)y;
}

int compute(struct y *y, const struct A *A, const struct x *x)
{
    const int64_t k_size = A->size2;
    const int64_t l_size = A->size3;
    const int64_t i_size = A->size0;
    const int32_t *restrict A_segments1 = A->segments1;
    double *restrict y_values = y->values;
    const int32_t *restrict A_coordinates1 = A->coordinates1;
    const double *restrict A_values = A->values;
    const double *restrict x_values = x->values;
    for (int64_t p = 0; p < y->size0 * y->size1; p++)
        y_values[p] = 0.0;
    for (int64_t i = 0; i < i_size; i++) {
        for (int64_t pA1 = A_segments1[i]; pA1 < A_segments1[i + 1]; pA1++) {
            int64_t j = A_coordinates1[pA1];
            for (int64_t k = 0; k < k_size; k++) {
                double sum = y_values[i * y->size1 + k];
                for (int64_t l = 0; l < l_size; l++)
                    sum += A_values[(pA1 * A->size2 + k) * A->size3 + l]
                            * x_values[j * x->size1 + l];
                y_values[i * y->size1 + k] = sum;
            }
        }
    }
    return 0;
}
