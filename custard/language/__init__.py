"""The words of a user, read: index notation, formats, scheduling commands."""
