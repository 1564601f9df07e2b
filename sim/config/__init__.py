"""Hardware configs, read and validated."""
