"""Functions of layers and losses in PyTorch's names, for both paradigms, composed of shared ops."""
