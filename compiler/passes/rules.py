"""The rewrite rules. Each is a function of an op's operands and attrs, or returns None.

exact: the result is the same for every input, bit for bit (nan, inf and -0.0 included).
stable: the result is at least as accurate, and finite wherever the original is.
fast: the result may be rounded differently; only with `numerics="fast"`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.errors import LinAlgError, OutOfRangeError
from staticgraph.compiler.core.lowering import Pointwise, Scatter
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.record import Record, record
from staticgraph.compiler.core.types import TupleType
from staticgraph.compiler.graph.expression import Expression, constant, construct
from staticgraph.compiler.ops.programs.collectives import COLLECTIVES, STEPS
from staticgraph.compiler.transforms.logsumexp import logsumexp_by_hand, shifted_by_largest

FOLDED_SIZE = 4096  # larger constants stay as they are written: the graph must stay small


@record
class Rule(Record):
    """A rewrite of applications of `op`, of one of the three kinds.

    `composite` rules make composites, so they apply before composites are expanded.
    """

    op: str
    kind: str
    rewrite: Callable[..., Expression | None]
    composite: bool = False

    @property
    def name(self) -> str:
        """The name by which the rule is switched off."""
        return self.rewrite.__name__


RULES: list[Rule] = []


def rule(kind: str, *names: str, composite: bool = False) -> Callable[[Any], Any]:
    """Register a rewrite `(operands, attrs) -> expression or None` for ops of these names."""

    def register(rewrite: Callable[..., Expression | None]) -> Callable[..., Expression | None]:
        RULES.extend(Rule(name, kind, rewrite, composite) for name in names)
        return rewrite

    return register


def scalar_value(x: Expression) -> Any:
    """The value of a constant that is the same everywhere, else None."""
    while x.op.name in ("broadcast_to", "expand_dims", "reshape"):
        x = x.operands[0]
    if x.op.name == "constant" and x.attrs["value"].array.size == 1:
        return x.attrs["value"].array.reshape(())[()]
    return None


def _is(x: Expression, value: float) -> bool:
    found = scalar_value(x)
    return found is not None and bool(found == value)


def _unless_broadcast(x: Expression, *others: Expression) -> Expression | None:
    """`x` where dropping the other operands does not change the shape of the result."""
    for other in others:
        if other.ndim > x.ndim:
            return None
        for size, have in zip(reversed(other.shape), reversed(x.shape), strict=False):
            if size not in (1, have):
                return None
    return x


def fold_constants(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression | None:
    """f(constants) = constant."""
    if not operands or op.name == "broadcast_to" or op in (*COLLECTIVES, *STEPS):
        return None
    if any(operand.op.name != "constant" for operand in operands):
        return None
    if any(isinstance(size, Dim) for value in attrs.values() if isinstance(value, tuple)
           for size in value):  # fmt: skip
        return None
    type = op.infer_type(*(operand.type for operand in operands), **attrs)
    if isinstance(type, TupleType) or isinstance(type.size, Dim) or type.size > FOLDED_SIZE:
        return None
    try:
        with np.errstate(all="ignore"):
            value = op.value(*(operand.attrs["value"].array for operand in operands), **attrs)
    except (OutOfRangeError, LinAlgError):
        return None  # a call says so, with the user's line
    return constant(np.asarray(value, type.dtype))


def drop_broadcasts(op: Op, operands: tuple[Expression, ...], attrs: Attrs) -> Expression | None:
    """f(broadcast_to(x), y) = f(x, y) where y has the full shape: elementwise ops broadcast."""
    if not isinstance(op.lowering, Pointwise) or len(operands) < 2:
        return None
    for i, operand in enumerate(operands):
        if operand.op.name == "broadcast_to" and any(
            other.shape == operand.shape and other.op.name != "broadcast_to" for other in operands
        ):
            bare = (*operands[:i], operand.operands[0], *operands[i + 1 :])
            return construct(op, bare, attrs)
    return None


@rule("exact", "multiply")
def multiply_by_one(a: Expression, b: Expression) -> Expression | None:
    """x * 1 = x."""
    if _is(b, 1):
        return _unless_broadcast(a, b)
    return _unless_broadcast(b, a) if _is(a, 1) else None


@rule("exact", "add")
def add_minus_zero(a: Expression, b: Expression) -> Expression | None:
    """x + -0 = x (x + 0 is not: -0 + 0 = 0)."""
    for x, y in ((a, b), (b, a)):
        value = scalar_value(y)
        if value is not None and value == 0 and math.copysign(1, value) < 0:
            return _unless_broadcast(x, y)
    return None


@rule("exact", "add")
def add_zero_to_scattered(a: Expression, b: Expression) -> Expression | None:
    """x + 0 = x, of what a scatter adds up from 0: a sum that begins with 0 is never -0."""
    for x, y in ((a, b), (b, a)):
        how = x.op.lowering
        if isinstance(how, Scatter) and how.kind is None and _is(y, 0):
            return _unless_broadcast(x, y)
    return None


@rule("exact", "divide")
def divide_by_one(a: Expression, b: Expression) -> Expression | None:
    """x / 1 = x."""
    return _unless_broadcast(a, b) if _is(b, 1) else None


@rule("exact", "floor_divide")
def floor_divide_by_one(a: Expression, b: Expression) -> Expression | None:
    """x // 1 = x, of integers."""
    return _unless_broadcast(a, b) if _is(b, 1) and a.dtype.kind in "iu" else None


@rule("exact", "subtract")
def subtract_zero(a: Expression, b: Expression) -> Expression | None:
    """x - 0 = x (x - -0 is not: -0 - -0 = 0)."""
    value = scalar_value(b)
    if value is None or value != 0 or math.copysign(1, value) < 0:
        return None
    return _unless_broadcast(a, b)


@rule("exact", "multiply")
def multiply_by_minus_one(a: Expression, b: Expression) -> Expression | None:
    """x * -1 = -x."""
    if _is(b, -1) and _unless_broadcast(a, b) is not None and a.dtype.kind in "if":
        return -a
    return None


@rule("exact", "negative")
def negate_twice(a: Expression) -> Expression | None:
    """-(-x) = x."""
    return a.operands[0] if a.op.name == "negative" else None


@rule("exact", "divide")
def divide_by_power_of_two(a: Expression, b: Expression) -> Expression | None:
    """x / 2**k = x * 2**-k."""
    value = scalar_value(b)
    if value is None or not math.isfinite(value) or value == 0:
        return None
    if _unless_broadcast(a, b) is None:
        return None
    if abs(math.frexp(value)[0]) != 0.5 or not 2.0**-100 < abs(value) < 2.0**100:
        return None
    return a * constant(np.array(1 / value, a.dtype))


@rule("exact", "power")
def power_of_constant_exponent(a: Expression, b: Expression) -> Expression | None:
    """x**1 = x, x**2 = x*x, as NumPy computes them."""
    value = scalar_value(b)
    if value is None or _unless_broadcast(a, b) is None:
        return None
    if value == 1:
        return a
    return ops.square(a) if value == 2 else None


@rule("stable", "power")
def power_of_half_or_minus_one(a: Expression, b: Expression) -> Expression | None:
    """x**0.5 = sqrt(x), x**-1 = 1/x, as NumPy's ** computes them."""
    if _unless_broadcast(a, b) is None or not is_float(a.dtype):
        return None
    if _is(b, -1):
        return ops.reciprocal(a)
    return ops.sqrt(a) if _is(b, 0.5) else None


@rule("exact", "astype")
def cast_to_same(a: Expression, *, dtype: object) -> Expression | None:
    """astype(x, x.dtype) = x."""
    return a if a.dtype == dtype else None


@rule("exact", "where")
def choose_by_constant(condition: Expression, a: Expression, b: Expression) -> Expression | None:
    """where(true, a, b) = a, where(c, a, a) = a."""
    value = scalar_value(condition)
    if value is not None:
        return _unless_broadcast(*((a, b) if value else (b, a)), condition)
    return _unless_broadcast(a, condition) if a is b else None


@rule("exact", "reshape")
def simplify_reshape(a: Expression, *, shape: Any) -> Expression | None:
    """reshape(reshape(x)) = reshape(x); to its own shape = x; only axes of size 1 = expand_dims.

    Of integers in order it is those of the shape, which no memory holds.
    """
    if a.shape == shape:
        return a
    if a.op is ops.iota:
        return construct(ops.iota, (), {"size": a.attrs["size"], "shape": shape})
    if a.op.name == "reshape":
        return ops.reshape(a.operands[0], shape)
    kept = tuple(size for size in shape if size != 1)
    if kept != tuple(size for size in a.shape if size != 1):
        return None
    core = ops.squeeze(a, tuple(i for i, size in enumerate(a.shape) if size == 1))
    return ops.expand_dims(core, tuple(i for i, size in enumerate(shape) if size == 1))


@rule("exact", "transpose")
def simplify_transpose(a: Expression, *, axes: Any) -> Expression | None:
    """transpose(transpose(x)) is one; in the axes' own order = x."""
    if axes == tuple(range(len(axes))):
        return a
    if a.op.name == "transpose":
        inner = a.attrs["axes"]
        return ops.transpose(a.operands[0], tuple(inner[axis] for axis in axes))
    return None


@rule("exact", "broadcast_to")
def simplify_broadcast(a: Expression, *, shape: object) -> Expression | None:
    """broadcast_to its own shape = x; twice = once."""
    if a.shape == shape:
        return a
    if a.op.name == "broadcast_to":
        return ops.broadcast_to(a.operands[0], shape)
    return None


@rule("exact", "expand_dims")
def expand_squeezed(a: Expression, *, axes: object) -> Expression | None:
    """expand_dims(squeeze(x, axes), axes) = x; over no axes = x."""
    if not axes:
        return a
    return a.operands[0] if a.op.name == "squeeze" and a.attrs["axes"] == axes else None


@rule("exact", "squeeze")
def squeeze_expanded(a: Expression, *, axes: object) -> Expression | None:
    """squeeze(expand_dims(x, axes), axes) = x; over no axes = x."""
    if not axes:
        return a
    return a.operands[0] if a.op.name == "expand_dims" and a.attrs["axes"] == axes else None


@rule("exact", "flip")
def flip_twice(a: Expression, *, axes: object) -> Expression | None:
    """flip(flip(x)) = x; over no axes = x."""
    if not axes:
        return a
    return a.operands[0] if a.op.name == "flip" and a.attrs["axes"] == axes else None


@rule("exact", "embed")
def embed_everywhere(a: Expression, *, shape: object, **attrs: object) -> Expression | None:
    """embed(x) in its own shape = x."""
    return a if a.shape == shape else None


@rule("exact", "concatenate")
def concatenate_once(*parts: Expression, axis: int) -> Expression | None:
    """concatenate(concatenate(x, y), z) = concatenate(x, y, z)."""
    inner = [part.op.name == "concatenate" and part.attrs["axis"] == axis for part in parts]
    if not any(inner):
        return None
    joined: list[Expression] = []
    for part, is_joined in zip(parts, inner, strict=True):
        joined += part.operands if is_joined else [part]
    return ops.concatenate(joined, axis)


@rule("exact", "max", "min")
def reduce_no_axes(a: Expression, *, axes: object, **attrs: object) -> Expression | None:
    """max over no axes = x."""
    return a if not axes else None


@rule("exact", "prod")
def prod_no_axes(a: Expression, *, axes: object, keepdims: object) -> Expression | None:
    """prod over no axes = x, of floats."""
    return a if not axes and is_float(a.dtype) else None


@rule("exact", "sum")
def sum_no_axes(a: Expression, *, axes: object, keepdims: object) -> Expression | None:
    """sum over no axes = x + 0, of floats (0 is what the sum of -0 is)."""
    if axes or not is_float(a.dtype):
        return None
    return a + 0.0


@rule("stable", "log", composite=True)
def log_of_softmax(a: Expression) -> Expression | None:
    """log(softmax(x)) = log_softmax(x), log(sigmoid(x)) = -softplus(-x)."""
    if a.op.name == "softmax":
        return ops.log_softmax(a.operands[0], a.attrs["axis"])
    if a.op.name == "sigmoid":
        return -ops.softplus(-a.operands[0])
    return None


@rule("stable", "log")
def log_of_one_plus(a: Expression) -> Expression | None:
    """log(1 + x) = log1p(x)."""
    if a.op.name != "add":
        return None
    x, y = a.operands
    for one, other in ((x, y), (y, x)):
        if _is(one, 1) and _unless_broadcast(other, one) is not None:
            return ops.log1p(other)
    return None


@rule("stable", "log1p")
def log1p_of_exp(a: Expression) -> Expression | None:
    """log1p(exp(x)) = softplus(x)."""
    return ops.softplus(a.operands[0]) if a.op.name == "exp" else None


@rule("stable", "log", composite=True)
def log_of_sum_of_exp(a: Expression) -> Expression | None:
    """log(sum(exp(x))) = logsumexp(x)."""
    if a.op.name != "sum" or a.operands[0].op.name != "exp" or not a.attrs["axes"]:
        return None
    x = a.operands[0].operands[0]
    if any(x.shape[axis] == 0 for axis in a.attrs["axes"]):
        return None
    if shifted_by_largest(a) is not None:
        return None  # it cannot overflow, and would look for the largest element again
    return ops.logsumexp(x, axis=a.attrs["axes"], keepdims=a.attrs["keepdims"])


@rule("stable", "add", composite=True)
def log_of_shifted_sum(a: Expression, b: Expression) -> Expression | None:
    """log(sum(exp(x - m))) + m = logsumexp(x), where m is max(x)."""
    found = logsumexp_by_hand(a, b)
    if found is None:
        return None
    return ops.logsumexp(found.x, axis=found.axes, keepdims=found.keepdims)


@rule("stable", "subtract")
def exp_minus_one(a: Expression, b: Expression) -> Expression | None:
    """exp(x) - 1 = expm1(x)."""
    if a.op.name == "exp" and _is(b, 1) and _unless_broadcast(a, b) is not None:
        return ops.expm1(a.operands[0])
    return None


@rule("stable", "reciprocal")
def reciprocal_of_sqrt(a: Expression) -> Expression | None:
    """1 / sqrt(x) = rsqrt(x)."""
    return ops.rsqrt(a.operands[0]) if a.op.name == "sqrt" else None


@rule("fast", "divide")
def divide_by_constant(a: Expression, b: Expression) -> Expression | None:
    """x / c = x * (1 / c), unless 1 / c is infinite."""
    value = scalar_value(b)
    if value is None or value == 0 or not math.isfinite(value):
        return None
    if _unless_broadcast(a, b) is None:
        return None
    with np.errstate(over="ignore"):
        reciprocal = np.array(1 / value, a.dtype)
    return a * constant(reciprocal) if np.isfinite(reciprocal) else None


@rule("fast", "divide")
def divide_by_broadcast(a: Expression, b: Expression) -> Expression | None:
    """x / broadcast(y) = x * broadcast(1 / y): one division per row instead of one per element."""
    if a.ndim and b.ndim <= a.ndim and b.type.size != a.type.size and scalar_value(b) is None:
        return a * ops.reciprocal(b)
    return None
