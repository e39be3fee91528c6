"""Compiled graphs as files of Python that need NumPy and Numba only."""
