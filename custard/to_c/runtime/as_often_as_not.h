// A condition that may well hold; C compilers expect that two numbers differ.
static inline bool as_often_as_not(bool holds)
{
    return __builtin_expect_with_probability(holds, true, 0.5);
}
