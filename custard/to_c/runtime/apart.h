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
