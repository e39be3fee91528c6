"""What the type rule of an op says of its operands, in PyTorch's classes of errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from staticgraph.compiler.core.errors import DTypeError, ShapeError, StaticGraphError
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.types import type_of
from staticgraph.dynamic.core.errors import SizeError, in_pytorchs_class
from staticgraph.dynamic.core.pytorch import size_error


def explain(op: Op, arrays: Sequence[object], attrs: Attrs, error: Exception) -> NoReturn:
    """Raise what the op's type rule says of the operands, or else NumPy's error."""
    if not isinstance(error, StaticGraphError):
        _infer(op, arrays, attrs)
    if isinstance(error, ShapeError) and not isinstance(error, SizeError):
        raise size_error(op, arrays, error) from None
    raise in_pytorchs_class(error)


def _infer(op: Op, arrays: Sequence[object], attrs: Attrs) -> None:
    try:
        op.infer_type(*(type_of(array) for array in arrays), **attrs)
    except ShapeError as error:
        raise size_error(op, arrays, error) from None
    except DTypeError as error:
        raise in_pytorchs_class(error) from None


_valid: set[Any] = set()


def validate(op: Op, arrays: Sequence[Any], attrs: Attrs) -> None:
    """Check the operands of a composite, which NumPy would not; each kind of call once."""
    call = (op, *[(array.shape, array.dtype.char) for array in arrays], *attrs.items())
    if call not in _valid:
        _infer(op, arrays, attrs)
        if len(_valid) >= 4096:
            _valid.clear()
        _valid.add(call)
