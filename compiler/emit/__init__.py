"""Fused groups become Python source that Numba compiles."""
