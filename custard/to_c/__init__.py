"""Target c: concrete index notation to loops, and those to C."""
