"""What `benchmarks/eager.py` measures: the same code for `import dynamic as torch` and PyTorch."""
