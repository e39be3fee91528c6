"""PyTorch's own autograd tests, run with `dynamic` in the place of `torch`."""
