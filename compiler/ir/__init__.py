"""The loop IR: what kernels are, as records; their text, and how text is read."""
