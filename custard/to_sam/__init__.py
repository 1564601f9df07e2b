"""Target sam: concrete index notation to SAM graphs."""
