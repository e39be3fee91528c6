"""Errors with PyTorch's classes, which scripts catch, under the project's root error."""

from __future__ import annotations

from staticgraph.compiler.core.errors import (
    DifferingError,
    DTypeError,
    OptionError,
    OutOfRangeError,
    ShapeError,
    StaticGraphError,
)


class AutogradError(StaticGraphError, RuntimeError):
    """The tape, a gradient or an in-place operation is not what the call needs."""


class ArgumentError(StaticGraphError, TypeError):
    """An argument has a type that the function does not take."""


class ComplexArgumentError(ArgumentError, RuntimeError):
    """A complex number is given for a real one.

    PyTorch raises TypeError of what it takes as a float, and RuntimeError of what it casts.
    """


class MissingAttributeError(StaticGraphError, AttributeError):
    """A node of the tape has no such attribute."""


class MissingMethodError(StaticGraphError, NotImplementedError):
    """A Function lacks the method that the call needs."""


class MissingKernelError(StaticGraphError, NotImplementedError):
    """A function is not there for tensors of this dtype."""


class MutationContextError(StaticGraphError, AssertionError):
    """A pass is outside of the context that its graph was recorded in; PyTorch asserts it."""


class ControlError(AutogradError, DifferingError):
    """The truth of a tensor that stands for one example of a batch is asked for."""

    def __init__(self, message: str, any: bool | None) -> None:
        super().__init__(message)
        self.any = any


class MixedError(AutogradError):
    """An op that takes one dtype got tensors of several."""


class DeferredError(Exception):
    """An error, the cause, of whoever differentiates a part of a graph, not of who makes it."""


class SizeError(ShapeError, RuntimeError):
    """The shapes of an op's operands do not fit; PyTorch raises RuntimeError."""


class IndexValueError(OutOfRangeError, RuntimeError):
    """An index tensor points outside; PyTorch raises RuntimeError, NumPy IndexError."""


class NoKernelError(DTypeError, NotImplementedError):
    """An op is not there for tensors of this dtype."""


class RefusedError(OptionError, RuntimeError):
    """An argument has a value that an op cannot have; PyTorch raises RuntimeError."""


class NothingError(SizeError, IndexError):
    """There is no largest or smallest of no elements; PyTorch raises either class."""


class LoadError(StaticGraphError, RuntimeError):
    """A file is damaged, or holds something else than what `save` writes."""


class NoDeviceError(StaticGraphError, AssertionError):
    """A device that is not here is asked for; PyTorch raises AssertionError without a GPU."""


class DeviceMemoryError(StaticGraphError, RuntimeError):
    """What PyTorch raises when a GPU has no memory left: never raised here, but caught."""


_PYTORCHS: dict[type[Exception], type[StaticGraphError]] = {
    DTypeError: NoKernelError, ShapeError: SizeError, OptionError: RefusedError,
}  # fmt: skip


def has_pytorchs_class(error: Exception) -> bool:
    """Whether `in_pytorchs_class` makes another of an error."""
    return type(error) in _PYTORCHS


def in_pytorchs_class(error: Exception) -> Exception:
    """What the shared library says of operands and options, in PyTorch's class as well.

    PyTorch has one for whatever does not fit, RuntimeError, where the library tells shapes, dtypes
    and options apart.
    """
    theirs = _PYTORCHS.get(type(error))
    return error if theirs is None else theirs(str(error))
