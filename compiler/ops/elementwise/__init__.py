"""Ops element by element: arithmetic, comparisons, exponentials, special functions."""
