// A real number that was a whole one. gcc makes -x of 0.0 - x where it knows that x is such a number;
// but 0.0 - 0.0 is no -0.0.
#if defined __has_builtin
#if __has_builtin(__builtin_assoc_barrier)
#define of_whole(number) __builtin_assoc_barrier(number)
#endif
#endif
#ifndef of_whole
#define of_whole(number) (number)
#endif
