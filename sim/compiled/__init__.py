"""The compiled engine: the steps of blocks translated to C."""
