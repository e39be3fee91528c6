"""Tensors as text, in PyTorch's format: 4 digits, 80 columns, at most 1000 elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.core.dtypes import complex_dtype, is_float
from staticgraph.compiler.core.record import frozen, mutable
from staticgraph.dynamic.core.dtypes import BOOL, DTYPES, INT64, get_default_dtype
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tensors.values import values_of


@mutable
class _Options:
    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _Options()


_PROFILES: dict[str, dict[str, object]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(*, profile: str | None = None, **options: object) -> None:
    """Set `precision`, `threshold`, `edgeitems`, `linewidth` or `sci_mode` of printed tensors.

    The `profile` "default", "short" or "full" sets the first four, before the others.

    Raises:
        ArgumentError: there is no such option, or it is no number; nothing is set then.

    Example:
        >>> dynamic.set_printoptions(precision=2)
        >>> dynamic.tensor([1 / 3])
        tensor([0.33])
        >>> dynamic.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ArgumentError(
                f"set_printoptions: a profile is one of {', '.join(_PROFILES)}, not {profile!r}"
            )
        options = {**_PROFILES[profile], **options}
    for name, value in options.items():
        if not hasattr(_options, name):
            raise ArgumentError(f"set_printoptions() got an unexpected keyword argument {name!r}")
        if not (isinstance(value, int | float) or (name == "sci_mode" and value is None)):
            raise ArgumentError(f"set_printoptions: {name} is a number, not {value!r}")
    for name, value in options.items():
        setattr(_options, name, value)


def tensor_text(tensor: Any) -> str:
    """The text that `print(tensor)` shows."""
    array = values_of(tensor)
    notes = []
    if not array.size and array.ndim != 1:
        notes.append(f"size={tuple(array.shape)}")
    default = get_default_dtype().dtype
    shown = (BOOL, INT64, default, complex_dtype(default))
    if array.dtype not in shown or (not array.size and array.dtype != shown[2]):
        notes.append(f"dtype={DTYPES[array.dtype]}")
    try:
        is_leaf = tensor.is_leaf
    except AutogradError:  # a view of what was overwritten since
        notes.append("grad_fn=<Invalid>")
        is_leaf = None
    if is_leaf is False:
        notes.append(f"grad_fn=<{tensor._node.name().rsplit('::', 1)[-1]}>")
    elif is_leaf and tensor.requires_grad:
        notes.append("requires_grad=True")
    return _with_notes("tensor(" + _body(array, len("tensor(")), notes, len("tensor("))


def _body(array: Any, indent: int) -> str:
    if not array.size:
        return "[]"
    cut = array.size > _options.threshold
    form = _formatter((_edges(array) if cut else array).reshape(-1))
    return _rows(array, form, indent, cut)


def _with_notes(text: str, notes: list[str], indent: int) -> str:
    """Text and notes, each note on a new line where the line would get too long."""
    parts = [text]
    length = len(text) - text.rfind("\n") + 1
    for note in notes:
        if length + len(note) + 2 > _options.linewidth:
            parts.append(",\n" + " " * indent + note)
            length = indent + len(note)
        else:
            parts.append(", " + note)
            length += len(note) + 2
    return "".join(parts) + ")"


def _edges(array: Any) -> Any:
    """The elements that are shown when the middle of every axis is left out."""
    edge = _options.edgeitems
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            kept = np.r_[0:edge, size - edge : size]
            array = np.take(array, kept, axis)
    return array


@frozen
class _Format:
    """How the numbers of a tensor are written: all in one style, and in one width."""

    style: str
    width: int

    def write(self, value: Any) -> str:
        """One element, at the width of all."""
        return _written(float(value) if self.style else value.item(), self.style).rjust(self.width)


@frozen
class _ComplexFormat:
    """How complex numbers are written: their parts each in a format of their own."""

    re: _Format
    im: _Format

    @property
    def width(self) -> int:
        """The width of a number."""
        return self.re.width + self.im.width + 1

    def write(self, value: Any) -> str:
        """One element; of the imaginary part, the sign takes the place of the padding."""
        imaginary = self.im.write(value.imag).lstrip() + "j"
        sign = "" if imaginary[0] in "+-" else "+"
        return f"{self.re.write(value.real)}{sign}{imaginary}"


def _written(value: Any, style: str) -> str:
    if style == "integer":
        return f"{value:.0f}" + ("." if math.isfinite(value) else "")
    return f"{value:.{_options.precision}{style}}" if style else str(value)


def _formatter(values: Any) -> _Format | _ComplexFormat:
    """The format of these numbers: whole, fixed-point or scientific, by their magnitudes."""
    if values.dtype.kind == "c":
        return _ComplexFormat(_format_of(values.real), _format_of(values.imag))
    return _format_of(values)


def _format_of(values: Any) -> _Format:
    if not is_float(values.dtype):
        return _Format("", max(len(str(value)) for value in values.tolist()))
    values = values.astype(np.float64)
    ordinary = values[np.isfinite(values) & (values != 0)]
    if not ordinary.size:
        return _Format("integer", 1)
    largest, smallest = np.abs(ordinary).max(), np.abs(ordinary).min()
    whole = bool(np.all(ordinary == np.ceil(ordinary)))
    far_apart = largest / smallest > 1000.0 or largest > 1.0e8
    scientific = far_apart or (not whole and smallest < 1.0e-4)
    if _options.sci_mode is not None:
        scientific = _options.sci_mode
    style = "e" if scientific else "integer" if whole else "f"
    return _Format(style, max(len(_written(value, style)) for value in ordinary.tolist()))


def _rows(array: Any, form: _Format | _ComplexFormat, indent: int, cut: bool) -> str:
    """The nested brackets of an array; the middle of long axes left out if `cut`."""
    if not array.ndim:
        return form.write(array)
    edge = _options.edgeitems
    shorten = cut and len(array) > 2 * edge
    shown = [*array[:edge], *array[-edge:]] if shorten and edge else [] if shorten else [*array]
    if array.ndim == 1:
        parts = [form.write(value) for value in shown]
        if shorten:
            parts.insert(edge, " ..." if edge else "...")
        per_line = max(1, (_options.linewidth - indent) // (form.width + 2))
        lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_rows(row, form, indent + 1, cut) for row in shown]
    if shorten:
        parts.insert(edge, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
