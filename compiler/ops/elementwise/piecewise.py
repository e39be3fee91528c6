"""Activations of pieces that are linear, with PyTorch's gradients where these meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Attrs
from staticgraph.compiler.ops.declare import as_operand, composite
from staticgraph.compiler.ops.elementwise.comparison import (
    greater,
    greater_equal,
    isnan,
    less,
    less_equal,
    logical_and,
    where,
)

__all__ = ["hardshrink", "hardsigmoid", "hardtanh", "prelu", "softshrink", "threshold"]


def _inside(x: object, low: float, high: float) -> Any:
    return logical_and(greater(x, low), less(x, high))


def _limited(x: object, low: float, high: float) -> Any:
    return where(less_equal(x, low), low, where(greater_equal(x, high), high, x))


def _limited_numpy(x: Any, low: float, high: float) -> Any:
    return np.where(x <= low, low, np.where(x >= high, high, x))


def _hardtanh_bind(
    x: Any, min_val: float = -1.0, max_val: float = 1.0
) -> tuple[Sequence[Any], Attrs]:
    if min_val > max_val:
        raise OptionError(f"hardtanh: min_val={min_val} is greater than max_val={max_val}")
    return (as_operand(x),), {"min_val": float(min_val), "max_val": float(max_val)}


hardtanh = composite(
    "hardtanh", lambda x, *, min_val, max_val: _limited(x, min_val, max_val),
    bind=_hardtanh_bind, floating=True, saves=("a",), elementwise=True,
    evaluate=lambda x, min_val, max_val: _limited_numpy(x, min_val, max_val),
    choices={"min_val": (-1.5, -0.5), "max_val": (0.25, 1.0)},
    vjp=(lambda g, o, a, *, min_val, max_val: where(_inside(a, min_val, max_val), g, 0.0),),
    smooth=False,
    exact=True,
    doc="x limited to [min_val, max_val]; OptionError if min_val is the greater one. The gradient "
    "passes where min_val < x < max_val, edges excluded: that of `clip` passes there.",
    example=">>> sg.hardtanh(np.array([-3.0, 0.5, 2.0]))\narray([-1. ,  0.5,  1. ])",
)  # fmt: skip


def _threshold_bind(x: Any, threshold: float, value: float) -> tuple[Sequence[Any], Attrs]:
    return (as_operand(x),), {"threshold": float(threshold), "value": float(value)}


threshold = composite(
    "threshold", lambda x, *, threshold, value: where(less_equal(x, threshold), value, x),
    bind=_threshold_bind, floating=True, saves=("a",), elementwise=True,
    evaluate=lambda x, threshold, value: np.where(x <= threshold, value, x),
    choices={"threshold": (-0.5, 0.25), "value": (0.0, -2.0)},
    vjp=(lambda g, o, a, *, threshold, value: where(less_equal(a, threshold), 0.0, g),),
    smooth=False,
    exact=True,
    doc="x where it is above `threshold`, `value` elsewhere, where the gradient is 0.",
    example=">>> sg.threshold(np.array([-1.0, 0.5, 2.0]), 0.5, 9.0)\narray([9., 9., 2.])",
)  # fmt: skip


def _softshrink_bind(x: Any, lambd: float = 0.5) -> tuple[Sequence[Any], Attrs]:
    if lambd < 0:
        raise OptionError(f"softshrink: lambd={lambd} is less than 0")
    return (as_operand(x),), {"lambd": float(lambd)}


def _hardshrink_bind(x: Any, lambd: float = 0.5) -> tuple[Sequence[Any], Attrs]:
    return (as_operand(x),), {"lambd": float(lambd)}


def _within(x: object, lambd: float) -> Any:
    return logical_and(greater_equal(x, -lambd), less_equal(x, lambd))


def _shrink_vjp(g: object, o: object, a: object, *, lambd: float) -> Any:
    return where(_within(a, lambd), 0.0, g)


def _softshrink(x: Any, *, lambd: float) -> Any:
    within = where(isnan(x), x, 0.0)
    above = where(greater(x, lambd), x - lambd, within)
    return where(less(x, -lambd), x + lambd, above)


def _softshrink_numpy(x: Any, lambd: float) -> Any:
    within = np.where(np.isnan(x), x, 0.0)
    return np.where(x < -lambd, x + lambd, np.where(x > lambd, x - lambd, within))


softshrink = composite(
    "softshrink", _softshrink, bind=_softshrink_bind, floating=True, saves=("a",),
    elementwise=True, evaluate=_softshrink_numpy, choices={"lambd": (0.25, 1.0)},
    vjp=(_shrink_vjp,),
    smooth=False,
    doc="x moved towards 0 by `lambd`, 0 where it is not farther than that; OptionError if lambd "
    "is negative.",
    example=">>> sg.softshrink(np.array([-2.0, 0.25, 1.0]))\narray([-1.5,  0. ,  0.5])",
)  # fmt: skip
hardshrink = composite(
    "hardshrink", lambda x, *, lambd: where(_within(x, lambd), 0.0, x),
    bind=_hardshrink_bind, floating=True, saves=("a",), elementwise=True,
    evaluate=lambda x, lambd: np.where((x >= -lambd) & (x <= lambd), 0.0, x),
    choices={"lambd": (0.25, 1.0)},
    vjp=(_shrink_vjp,),
    smooth=False,
    exact=True,
    doc="x where abs(x) is above `lambd`, 0 elsewhere.",
    example=">>> sg.hardshrink(np.array([-2.0, 0.25, 1.0]))\narray([-2.,  0.,  1.])",
)  # fmt: skip
hardsigmoid = composite(
    "hardsigmoid", lambda x: _limited(x + 3.0, 0.0, 6.0) / 6.0,
    floating=True, saves=("a",), elementwise=True,
    evaluate=lambda x: _limited_numpy(x + 3.0, 0.0, 6.0) / 6.0,
    vjp=(lambda g, o, a: where(_inside(a, -3.0, 3.0), g / 6.0, 0.0),),
    smooth=False,
    doc="(x + 3) / 6 limited to [0, 1] (Howard et al. 2019); the gradient is 0 from there on.",
    example=">>> sg.hardsigmoid(np.array([-4.0, 0.0, 4.0]))\narray([0. , 0.5, 1. ])",
)  # fmt: skip
prelu = composite(
    "prelu", lambda x, slope: where(greater(x, 0), x, slope * x),
    promotes=slice(None), floating=True, saves=("ab", "a"), elementwise=True,
    evaluate=lambda x, slope: np.where(x > 0, x, slope * x),
    vjp=(
        lambda g, o, a, b: where(greater(a, 0), g, g * b),
        lambda g, o, a, b: where(greater(a, 0), 0.0, g * a),
    ),
    smooth=False,
    doc="x above 0, slope * x elsewhere (He et al. 2015); the two broadcast.",
    example=">>> sg.prelu(np.array([-4.0, 2.0]), 0.25)\narray([-1.,  2.])",
)  # fmt: skip
