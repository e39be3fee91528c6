"""Random bits of a key and a counter, and the numbers that are made of them one by one.

Nothing here has a state: the same key and counter give the same bits, in any order and number.
`staticgraph.random` counts, and makes distributions of these. All of it is kept from the eager
engine's own names, whose stream is that of `manual_seed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.core.errors import DTypeError, GraphError
from compiler.core.lowering import Pointwise
from compiler.core.op import Attrs, Op, Rule, register
from compiler.core.types import TensorType, broadcast_shapes, require_float
from compiler.ops.along import axis_or_flat, host_along
from compiler.ops.batching import aligned
from compiler.ops.declare import INT64, elementwise, undo_broadcasting
from compiler.reference import samplers
from compiler.reference.threefry import threefry as threefry_arrays

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


def _words(name: str, *types: TensorType) -> None:
    for type in types:
        if type.dtype != INT64:
            raise DTypeError(f"{name}: {type} is not int64, as keys and counters are")


threefry = elementwise(
    "threefry", threefry_arrays, "threefry({0}, {1})", arity=2, check=_words, cost="expensive",
    exact=True,
    doc="64 random bits for a key and a counter, all int64: Threefry 2x32-20 (Salmon et al., "
    "SC 2011), of which JAX's keys and numbers are made too.",
)  # fmt: skip
unit_float32 = elementwise(
    "unit_float32", samplers.unit_float32,
    "f32(i32((i32({0} ^ ({0} >> 32)) >> 9) & 8388607)) * f32(1.1920928955078125e-07)",
    arity=1, result=_FLOAT32, check=_words, exact=True,
    doc="float32 numbers in [0, 1), multiples of 2**-23, of 64 random bits.",
)  # fmt: skip
unit_float64 = elementwise(
    "unit_float64", samplers.unit_float64,
    "f64(({0} >> 12) & 4503599627370495) * 2.220446049250313e-16",
    arity=1, result=_FLOAT64, check=_words, exact=True,
    doc="float64 numbers in [0, 1), multiples of 2**-52, of 64 random bits.",
)  # fmt: skip
scaled_bits = elementwise(
    "scaled_bits", samplers.scaled_bits,
    "((({0} >> 32) & 4294967295) * ({1} & 4294967295)"
    " + ((({0} & 4294967295) * ({1} & 4294967295)) >> 32)) >> 32",
    arity=2, check=_words, exact=True,
    doc="Integers from 0 to before the second operand, at most 2**31, of 64 random bits.",
)  # fmt: skip


def _sampler(
    name: str, function: Any, *, result: np.dtype[Any] | None = None, vjp: Rule | None = None,
    is_float: bool = True, doc: str,
) -> Op:  # fmt: skip
    """Declare an op of a parameter, a key and a counter per element."""

    def infer_type(parameter: TensorType, key: TensorType, counter: TensorType) -> TensorType:
        _words(name, key, counter)
        if is_float:
            require_float(name, parameter)
        else:
            _words(name, parameter)
        shape = broadcast_shapes(name, parameter, key, counter)
        return TensorType(shape, result or parameter.dtype)

    # a function has the type of its first argument, and counts need more than float32 has
    given = "f64({0})" if is_float and result else "{0}"
    return register(
        Op(
            name=name,
            infer_type=infer_type,
            evaluate=function,
            vjp=(undo_broadcasting(vjp, 0), None, None),
            saves=("ao" if vjp else "", "", ""),
            elementwise=True,
            batching=aligned,
            linearity="diagonal",
            cost="expensive",
            smooth=False,
            lowering=Pointwise(f"{name}({given}, {{1}}, {{2}})"),
            doc=doc,
        )
    )


random_below = _sampler(
    "random_below", samplers.random_below, is_float=False, result=INT64,
    doc="Integers from 0 to before the first operand, of 2**63 equally likely ones those that are "
    "below its largest multiple; 0 where it is not positive.",
)  # fmt: skip
random_gamma = _sampler(
    "random_gamma", samplers.random_gamma,
    vjp=lambda g, o, a, key, counter: g * gamma_slope(a, o),
    doc="Gamma numbers of scale 1: Marsaglia and Tsang, A simple method for generating gamma "
    "variables, ACM TOMS 26(3), 2000; nan of negative parameters. The gradient is that of the "
    "number at a fixed quantile (Figurnov et al., Implicit reparameterization gradients, 2018).",
)  # fmt: skip
random_poisson = _sampler(
    "random_poisson", samplers.random_poisson, result=INT64,
    doc="Poisson numbers by inversion, and from 10 on by Hoermann, The transformed rejection "
    "method for generating Poisson random variables, 1993; -1 of rates that are negative, nan, "
    "or 1e18 and above.",
)  # fmt: skip


def _order_bind(x: Any, axis: int = -1) -> tuple[Sequence[Any], Attrs]:
    x, axis = axis_or_flat("random_order", x, axis, None)
    return (x,), {"axis": axis}


random_order: Op = host_along(
    "random_order", samplers.random_order, result=lambda dtype: INT64, bind=_order_bind,
    vjp=(None,), exact=True,
    doc="The positions along an axis in the order of 64 random bits, of which fewer are compared "
    "up to a length of 2**20: int64.",
)  # fmt: skip


def _no_second(g: object, o: object, a: object, x: object) -> Any:
    raise GraphError("random_gamma: there is no second derivative of gamma numbers")


gamma_slope: Op = elementwise(
    "gamma_slope", samplers.gamma_slope, "gamma_slope({0}, {1})", arity=2, floating=True,
    vjp=(_no_second, _no_second), saves=("", ""), cost="expensive", linearity="none", smooth=False,
    domain="positive",
    doc="How fast a quantile of the gamma distribution, the second operand, grows with the "
    "parameter: minus the slope of the distribution function by it, over the density.",
)  # fmt: skip
