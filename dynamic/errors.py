"""Errors with PyTorch's classes, which scripts catch, under the project's root error."""

from __future__ import annotations

from compiler.errors import ShapeError, StaticGraphError


class AutogradError(StaticGraphError, RuntimeError):
    """The tape, a gradient or an in-place operation is not what the call needs."""


class ArgumentError(StaticGraphError, TypeError):
    """An argument has a type that the function does not take."""


class SizeError(ShapeError, RuntimeError):
    """The shapes of an op's operands do not fit; PyTorch raises RuntimeError."""
