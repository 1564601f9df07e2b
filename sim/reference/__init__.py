"""The reference engine, on SimPy."""
