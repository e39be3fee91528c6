"""Array: a tensor whose operators promote as the array API standard has it.

PyTorch's tensors differ from the standard in their operators (those without axes do not widen the
others, wide unsigned integers meet nothing) and in a few names (`size` is a method). An Array is
the same memory with the same place on the tape, and follows the standard there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.array_api import FUNCTIONS
from staticgraph.compiler.core.dims import product
from staticgraph.compiler.core.errors import ShapeError
from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.capture.traced import Traced, class_of
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.tensors.devices import check_device
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor
from staticgraph.dynamic.xp.steps import filled, forwards

_NUMBERS = (bool, int, float, complex)
_set_class: Any = object.__dict__["__class__"].__set__  # Traced answers for numbers there


def _plain(other: Any) -> Any:
    """A number as Python's: those of NumPy, which libraries compute sizes and steps with, too."""
    return other.item() if isinstance(other, np.generic) else other


def _operator(name: str) -> Callable[..., Any]:
    function = FUNCTIONS[name]

    def method(self: Any, other: Any, /) -> Any:
        other = _plain(other)
        if isinstance(other, Tensor) or type(other) in _NUMBERS:
            return as_arrays(function(self, other))
        return NotImplemented

    return method


def _reflected(name: str) -> Callable[..., Any]:
    function = FUNCTIONS[name]

    def method(self: Any, other: Any, /) -> Any:
        other = _plain(other)
        if isinstance(other, Tensor) or type(other) in _NUMBERS:
            return as_arrays(function(other, self))
        return NotImplemented

    return method


def _in_place(name: str) -> Callable[..., Any]:
    function = FUNCTIONS[name]

    def method(self: Any, other: Any, /) -> Any:
        other = _plain(other)
        if not (isinstance(other, Tensor) or type(other) in _NUMBERS):
            return NotImplemented
        result = function(self, other)
        if np.dtype(result.dtype) != np.dtype(self.dtype):
            raise ArgumentError(
                f"{name}: {result.dtype} cannot be written into an array of {self.dtype}"
            )
        if tuple(result.shape) != tuple(self.shape):
            raise ShapeError(
                f"{name}: {list(result.shape)} cannot be written into {list(self.shape)}"
            )
        self.copy_(result)
        return self

    return method


def _of_one(name: str) -> Callable[..., Any]:
    function = FUNCTIONS[name]

    def method(self: Any, /) -> Any:
        return as_arrays(function(self), self)

    return method


def _base(x: object) -> type[Tensor]:
    """The class whose items an array's are: what stands for one in a capture has its own."""
    return Traced if issubclass(type(x), Traced) else Tensor


class Array(Tensor):
    """A tensor that keeps to the array API standard: what `dynamic.xp` makes.

    Everything that a tensor has besides, such as `backward()`, is there; tensors and arrays may
    meet, and give arrays. Methods of PyTorch's, such as `x.sum()`, give tensors.

    Example:
        >>> x = dynamic.xp.asarray([1.0, 2.0])
        >>> x.size
        2
    """

    __slots__ = ()
    __hash__ = Tensor.__hash__

    @property
    def size(self) -> Any:
        """The number of elements."""
        return product(self.shape)

    @property
    def T(self) -> Any:  # noqa: N802 - the standard's name
        """A matrix, its axes exchanged; ShapeError for any other number of axes."""
        if self.ndim != 2:
            raise ShapeError(f"T: a matrix has 2 axes, not {self.ndim}: take mT")
        return as_arrays(FUNCTIONS["matrix_transpose"](self), self)

    @property
    def mT(self) -> Any:  # noqa: N802 - the standard's name
        """Matrices, their axes exchanged; ShapeError without two axes."""
        if self.ndim < 2:
            raise ShapeError(f"mT: matrices have 2 axes or more, not {self.ndim}")
        return as_arrays(FUNCTIONS["matrix_transpose"](self), self)

    def to_device(self, device: object, /, *, stream: object = None) -> Any:
        """Itself: there is the CPU alone; RuntimeError for another one."""
        check_device(device)
        if stream is not None:
            raise ArgumentError(f"to_device: the CPU has no streams, and {stream!r} was given")
        return self

    def __getitem__(self, key: Any, /) -> Any:
        forward, turned = forwards(filled(key, self.shape), self.shape)
        found = _base(self).__getitem__(self, forward)
        return as_arrays(FUNCTIONS["flip"](found, axis=turned) if turned else found, self)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        forward, turned = forwards(filled(key, self.shape), self.shape)
        if turned:
            place = _base(self).__getitem__(self, forward)
            value = value if isinstance(value, Tensor) else place.new_tensor(value)
            value = FUNCTIONS["flip"](value.broadcast_to(place.shape), axis=turned)
        _base(self).__setitem__(self, forward, value)

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))

    __abs__ = _of_one("abs")
    __invert__ = _of_one("bitwise_invert")
    __neg__ = _of_one("negative")
    __pos__ = _of_one("positive")


_SIGNS = {
    "add": "add", "and": "bitwise_and", "floordiv": "floor_divide",
    "lshift": "bitwise_left_shift", "matmul": "matmul", "mod": "remainder", "mul": "multiply",
    "or": "bitwise_or", "pow": "pow", "rshift": "bitwise_right_shift", "sub": "subtract",
    "truediv": "divide", "xor": "bitwise_xor",
}  # fmt: skip
for _sign, _name in _SIGNS.items():
    setattr(Array, f"__{_sign}__", _operator(_name))
    setattr(Array, f"__r{_sign}__", _reflected(_name))
    setattr(Array, f"__i{_sign}__", _in_place(_name))
for _sign, _name in {
    "eq": "equal", "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lt": "less",
    "ne": "not_equal",
}.items():  # fmt: skip
    setattr(Array, f"__{_sign}__", _operator(_name))


_traced = class_of(Array)
for _name, _member in list(vars(Array).items()):
    # a tracer has a tensor's operators of its own, which would come first
    if callable(_member) or isinstance(_member, property):
        setattr(_traced, _name, _member)


def as_array(value: Tensor, *operands: object) -> Any:
    """A tensor as an array: itself if it is new, a view if it is one of the operands."""
    if isinstance(value, Array):
        return value
    if any(value is one for one in operands):
        value = value.view_as(value)
    kind = type(value)
    if kind is Traced or kind in PLAIN:
        _set_class(value, _traced if kind is Traced else Array)
    return value


def as_arrays(result: Any, *operands: object) -> Any:
    """What a function returns, with arrays instead of the tensors in it."""
    if isinstance(result, Tensor):
        return as_array(result, *operands)
    if isinstance(result, Operand):
        return result
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(as_arrays(one, *operands) for one in result))
    if isinstance(result, list | tuple):
        return type(result)(as_arrays(one, *operands) for one in result)
    return result
