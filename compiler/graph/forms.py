"""Forms: sizes, dtypes and attributes of nodes as what JSON has, the same wherever they are kept.

Saved graphs (`serialise.py`), entries of the kernel cache
(`compiler/runtime/cache/launch_plans.py`) and its keys (`canonical.py`) share them. They differ in
how an unknown size is named, and in which further values they have: that is what classes derived
from `Encoder` and `Decoder` say. Whatever a decoder gets is checked; FormatError if it is no form.
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler.core import dims
from staticgraph.compiler.core.dims import Dim, Size, Unknown
from staticgraph.compiler.core.errors import FormatError
from staticgraph.compiler.core.types import DType, TensorType, TupleType, as_dtype
from staticgraph.compiler.core.user_text import UserText

Form: TypeAlias = Any
"""What JSON has: None, bool, int, str, list, dict."""


@functools.cache  # NumPy makes the text anew each time
def _name(dtype: DType) -> str:
    return dtype.name


class Encoder:
    """Writes values: None, bools, ints and texts as they are, all else as `{kind: ...}`."""

    def unknown(self, atom: Unknown) -> Form:
        """The form of an unknown size."""
        raise NotImplementedError

    def text(self, value: str) -> Form:
        """The form of a text."""
        return value

    def scalar(self, value: Any) -> Form:
        """The form of a number of NumPy: that of Python's."""
        return value.item()

    def other(self, value: object) -> Form:
        """The form of a value of a kind that only some files have."""
        raise FormatError(f"a value of type {type(value).__name__} cannot be saved: {value!r}")

    def value(self, value: Any) -> Form:
        """The form of an attribute or a type; FormatError if it has none."""
        kind = type(value)  # the most frequent first: a start from the kernel cache waits for this
        if kind is TensorType:
            return {"tensor": self._tensor(value)}
        if kind is int or kind is bool or value is None:
            return value
        if isinstance(value, tuple):
            return {"tuple": [self.value(part) for part in value]}
        if kind is Dim:
            return {"size": self.size(value)}
        if kind is str:
            return self.text(value)
        if isinstance(value, float):
            return {"float": value.hex()}
        if isinstance(value, np.dtype):
            return {"dtype": _name(value)}
        if isinstance(value, np.integer | np.bool_):
            return self.scalar(value)
        if kind is UserText:
            return {"text": value.text}
        if kind is TupleType:
            return {"tensors": [self._tensor(one) for one in value.items]}
        return self.other(value)

    def _tensor(self, type: TensorType) -> Form:
        return {"dtype": _name(type.dtype), "shape": [self.size(size) for size in type.shape]}

    def size(self, size: Size) -> Form:
        """The form of a size: an int, or its terms, each a factor and what it multiplies."""
        if not isinstance(size, Dim):
            return int(size)
        write = self.unknown
        return [
            [factor, *[write(one) if type(one) is Unknown else self._opaque(one) for one in atoms]]
            for atoms, factor in size.terms
        ]

    def _opaque(self, atom: Any) -> Form:
        left, right = map(self.size, atom.arguments)
        return {"function": atom.function, "left": left, "right": right}


class Decoder:
    """Reads what an `Encoder` wrote."""

    def unknown(self, form: Form) -> Size:
        """The unknown size of a form."""
        raise NotImplementedError

    def text(self, form: str) -> str:
        """The text of a form."""
        return form

    def other(self, kind: str, content: Form) -> Any:
        """A value of a kind that only some files have."""
        raise FormatError(f"no value is of kind {kind!r:.80}")

    def value(self, form: Form) -> Any:
        """The attribute or type of a form."""
        if form is None or type(form) in (bool, int):
            return form
        if isinstance(form, str):
            return self.text(form)
        if not isinstance(form, dict) or len(form) != 1:
            raise FormatError(f"{form!r:.80} is no value")
        ((kind, content),) = form.items()
        if kind == "float":
            return float.fromhex(str_of(content))
        if kind == "tuple":
            return tuple([self.value(part) for part in list_of(content)])
        if kind == "size":
            return self.size(content)
        if kind == "dtype":
            return dtype_of(content)
        if kind == "tensor":
            return self._tensor(content)
        if kind == "text":
            return UserText(str_of(content))
        if kind == "tensors":
            return TupleType(tuple([self._tensor(one) for one in list_of(content)]))
        return self.other(kind, content)

    def _tensor(self, form: Form) -> TensorType:
        require_entries(form, {"dtype", "shape"})
        shape = tuple([self.size(size) for size in list_of(form["shape"])])
        return TensorType(shape, dtype_of(form["dtype"]))

    def size(self, form: Form) -> Size:
        """The size of a form, made by arithmetic so that it has its normal form."""
        if type(form) is int:
            return form
        if not list_of(form):
            raise FormatError("a size has no terms")
        total: Size = 0
        for term in form:
            factor, *atoms = list_of(term)
            size: Size = int_of(factor)
            for atom in atoms:
                size = size * self._atom(atom)
            total = total + size
        return total

    def _atom(self, form: Form) -> Size:
        if not isinstance(form, dict) or "function" not in form:
            return self.unknown(form)
        require_entries(form, {"function", "left", "right"})
        left, right = self.size(form["left"]), self.size(form["right"])
        if form["function"] == "floordiv":
            return dims.floor_divide(left, right)
        if form["function"] == "max":
            return dims.maximum(left, right)
        raise FormatError(f"{form!r:.80} is no size")


def require_entries(form: Form, names: set[str]) -> None:
    """FormatError unless the form is an object with these entries."""
    if not isinstance(form, dict) or set(form) != names:
        raise FormatError(f"{form!r:.80} has not the entries {sorted(names)}")


def list_of(form: Form) -> list[Any]:
    """The form, if it is a list."""
    if not isinstance(form, list):
        raise FormatError(f"{form!r:.80} is no list")
    return form


def int_of(form: Form) -> int:
    """The form, if it is a whole number."""
    if type(form) is not int:
        raise FormatError(f"{form!r:.80} is no whole number")
    return form


def str_of(form: Form) -> str:
    """The form, if it is a text."""
    if not isinstance(form, str):
        raise FormatError(f"{form!r:.80} is no text")
    return form


def dtype_of(form: Form) -> DType:
    """The dtype of this name, which is one of those that the op library has."""
    return as_dtype(str_of(form))
