"""`staticgraph ops`: every op, and the names of NumPy, JAX and PyTorch beside ours."""
