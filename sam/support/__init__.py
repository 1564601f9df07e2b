"""Errors, files, the C compiler, caches, YAML and JSON: what every package may import."""
