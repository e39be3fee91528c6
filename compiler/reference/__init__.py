"""Functions on plain arrays that evaluate ops with NumPy."""
