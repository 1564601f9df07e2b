// y(i) = A(k,i,j) * x(j)
//
//     y:d:0
//     A:ddq:0,1,2
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
// d, dense: position p * size + i has the coordinate i, from 0 to size - 1.
// q, singleton: position p has the coordinate coordinates[p].

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// y(i), d:0
struct y {
    int64_t size0;
    double *values;
};

// A(k,i,j), ddq:0,1,2
struct A {
    int64_t size0;
    int64_t size1;
    int64_t size2;
    const int32_t *coordinates2;
    const double *values;
};

// x(j), d:0
struct x {
    int64_t size0;
    const double *values;
};

// Frees the arrays that compute() made.
void release(struct y *y)
{
    (void)y;
}

int compute(struct y *y, const struct A *A, const struct x *x)
{
    const int64_t i_size = A->size1;
    const int64_t k_size = A->size0;
    double *restrict y_values = y->values;
    const int32_t *restrict A_coordinates2 = A->coordinates2;
    const double *restrict A_values = A->values;
    const double *restrict x_values = x->values;
    for (int64_t p = 0; p < y->size0; p++)
        y_values[p] = 0.0;
    for (int64_t k = 0; k < k_size; k++) {
        for (int64_t i = 0; i < i_size; i++) {
            double sum = 0.0;
            int64_t pA2 = k * A->size1 + i;
            int64_t j = A_coordinates2[pA2];
            sum += A_values[pA2] * x_values[j];
            y_values[i] += sum;
        }
    }
    return 0;
}
