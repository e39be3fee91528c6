"""The emitted language as machine code, by LLVM alone or by Numba."""
