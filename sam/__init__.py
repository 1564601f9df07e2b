"""The Sparse Abstract Machine: tensors, streams, blocks and graphs."""
