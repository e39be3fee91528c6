"""Neural networks."""

from dynamic.nn import functional

__all__ = ["functional"]
