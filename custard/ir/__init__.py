"""Concrete index notation, the one IR that every target starts from."""
