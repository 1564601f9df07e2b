// A sum whose terms are added up before it is added to anything else, as far as compilers can be told
// so. They take the terms of a few such sums by vectors then.
#if defined __has_builtin
#if __has_builtin(__builtin_assoc_barrier)
#define summed_first(sum) __builtin_assoc_barrier(sum)
#endif
#endif
#ifndef summed_first
#define summed_first(sum) (sum)
#endif
