"""Parsers of the user's texts: index notation, formats, scheduling commands."""
