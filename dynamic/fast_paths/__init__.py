"""The short ways: ops on plain tensors, straight to NumPy, each family from one function.

`Tensor._apply` provides for all that an op may meet: tracers, casts, numbers, several operands,
memory that is shared or not. What is made here looks at the operand that a call usually gets, and
leaves every other to the op. So a call is one Python function, NumPy's own, and `new_value`,
`new_value_of_two` or `new_view`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import BOOL, F32, F64, as_element, require_mask
from staticgraph.dynamic.core.operands import explain
from staticgraph.dynamic.core.pytorch import PYTORCH
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.fast_paths import inplace, pairs, single, views
from staticgraph.dynamic.fast_paths.loops import WAYS, Way, watch_methods, watch_op
from staticgraph.dynamic.kernels.dispatch import LARGE
from staticgraph.dynamic.tensors.dims import along
from staticgraph.dynamic.tensors.recorders import new_value_of_several, recording_by
from staticgraph.dynamic.tensors.short_ways import small_arrays
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor


def _where(condition: object, *operands: object, **options: object) -> Any:
    """`where(condition, a, b)`, or the places where a condition alone is not 0, per axis."""
    if options:
        given = [options.pop(name) for name in ("input", "other") if name in options]
        operands = (*operands, *given)
    if isinstance(condition, Tensor):
        if not operands and not options:
            return condition.nonzero(as_tuple=True)
        mask = condition._array
        if mask.dtype is not BOOL:
            _check_condition(condition)
        elif not options and type(condition) in PLAIN and mask.size < LARGE:
            arrays = small_arrays(operands)
            if arrays is not None and len(arrays) == 2:
                try:
                    value = np.where(mask, *arrays)
                except ValueError as error:
                    explain(ops.where, (mask, *arrays), {}, error)
                if value.size < LARGE:
                    return new_value_of_several(ops.where, (condition, *operands), value, {})
    return ops.where.general(condition, *operands, **options)


def _finished_where(array: object, *operands: object) -> Any:
    return new_value_of_several(ops.where, operands, array, {})


_recorded = recording_by(ops.where, 3, _finished_where)
WAYS[_where] = Way(np.where, _finished_where, "ttt", recorded=_recorded)


def _check_condition(condition: Any) -> None:
    if condition._array.dtype == np.uint8:
        warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead."
        )
    else:
        text = "where expected condition to be a boolean tensor, but got a tensor with dtype {0}"
        require_mask(condition, text)


_general_masked_fill: Any = Tensor.masked_fill


def _masked_fill(self: Any, mask: Any, value: Any) -> Any:
    """`x.masked_fill(mask, number)` of a mask of x's shape."""
    if type(value) is float and type(mask) in PLAIN and type(self) in PLAIN:
        x, chosen = self._array, mask._array
        same = chosen.dtype is BOOL and chosen.shape == x.shape and 0 < x.size < LARGE
        if same and (x.dtype is F32 or x.dtype is F64):
            number = as_element(value, self)
            if type(number) is float:  # one that float32 holds
                number = self._constant(np.array(number, x.dtype))
            array = np.where(chosen, number._array, x)
            operands = mask, number, self
            return new_value_of_several(eager_ops.masked_fill, operands, array, _NO_ATTRS)
    return _general_masked_fill(self, mask, value)


_masked_fill.__doc__ = _general_masked_fill.__doc__
_NO_ATTRS: Attrs = {}

SHORT: dict[Op, Any] = {
    **pairs.PAIRS, **single.UNARY, **single.WITH_OPTIONS, **single.ALONG_AXIS,
    **{op: along(op.general, op.name) for op, row in PYTORCH.items() if row.of_numbers},
}  # fmt: skip
"""The way of an op as a function, for the ops that have a short one, or numbers of their own."""

_METHODS = pairs.METHODS | single.METHODS | views.METHODS | inplace.METHODS
_METHODS |= {"masked_fill": _masked_fill}

for _name, _method in _METHODS.items():
    _own = getattr(_method, "__qualname__", "")
    if "<locals>" in _own or _own.startswith("_"):
        _method.__name__ = _method.__qualname__ = _name

METHODS = watch_methods(_METHODS)
"""What Tensor inherits in a general form as well, which tracers take."""

for _op, _function in SHORT.items():
    _op.shorten(watch_op(_op, _function))
ops.where.shorten(watch_op(ops.where, _where))
