"""Invertible functions of tensors, with the logarithms of their slopes."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import MissingMethodError
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.parameters import summed

__all__ = [
    "AbsTransform", "AffineTransform", "ComposeTransform", "ExpTransform", "IndependentTransform",
    "LowerCholeskyTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform",
    "SoftmaxTransform", "SoftplusTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip


class Transform:
    """A function with an inverse, `inv`, and the logarithm of its slope; abstract.

    Attributes:
        domain: what it takes.
        codomain: what it gives.
        bijective: whether it is one to one.
        sign: that of the slope of a function of numbers.

    Example:
        >>> dynamic.distributions.ExpTransform().inv(dynamic.tensor(1.0))
        tensor(0.)
    """

    domain: Any = constraints.real
    codomain: Any = constraints.real
    bijective = True
    sign: Any = 1

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise OptionError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._kept: tuple[Any, Any] = (None, None)

    @property
    def event_dim(self) -> int:
        """How many last axes are one value."""
        return int(self.domain.event_dim)

    @property
    def inv(self) -> Any:
        """The inverse function."""
        return _Inverse(self)

    def __call__(self, x: Any) -> Any:
        """The value at x."""
        if not self._cache_size:
            return self._call(x)
        if x is not self._kept[0]:
            self._kept = x, self._call(x)
        return self._kept[1]

    def _inv_call(self, y: Any) -> Any:
        """Where the value is y."""
        if self._cache_size and y is self._kept[1]:
            return self._kept[0]
        return self._inverse(y)

    def _call(self, x: Any) -> Any:
        raise MissingMethodError(f"{type(self).__name__} has no _call")

    def _inverse(self, y: Any) -> Any:
        raise MissingMethodError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the slope at x, where the value is y."""
        raise MissingMethodError(f"{type(self).__name__} has no log_abs_det_jacobian")

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the value of a tensor of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of what gives a tensor of this shape."""
        return shape

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._inv = transform
        self.domain, self.codomain = transform.codomain, transform.domain
        self.bijective, self.sign = transform.bijective, transform.sign

    @property
    def inv(self) -> Any:
        """The transform that it is the inverse of."""
        return self._inv

    def _call(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def _inverse(self, y: Any) -> Any:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the slope at x, where the value is y."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the value of a tensor of this shape."""
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of what gives a tensor of this shape."""
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


class ComposeTransform(Transform):
    """Functions one after the other.

    Example:
        >>> affine = dynamic.distributions.AffineTransform(1.0, 2.0)
        >>> dynamic.distributions.ComposeTransform([affine, affine])(dynamic.tensor(1.0))
        tensor(7.)
    """

    def __init__(self, parts: Sequence[Any], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)
        if self.parts:
            self.domain, self.codomain = self.parts[0].domain, self.parts[-1].codomain
        self.bijective = all(one.bijective for one in self.parts)
        self.sign = math.prod(one.sign for one in self.parts)

    @property
    def event_dim(self) -> int:
        """How many last axes are one value."""
        return max((one.event_dim for one in self.parts), default=0)

    @property
    def inv(self) -> Any:
        """The inverse functions in reverse order."""
        return ComposeTransform([one.inv for one in reversed(self.parts)])

    def __call__(self, x: Any) -> Any:
        """The value at x."""
        return functools.reduce(lambda value, part: part(value), self.parts, x)

    def _inverse(self, y: Any) -> Any:
        return functools.reduce(lambda value, part: part.inv(value), reversed(self.parts), y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of the logarithms of the slopes."""
        total: Any = 0 * x if not self.parts else 0
        for part in self.parts:
            value = part(x)
            slope = part.log_abs_det_jacobian(x, value)
            total = total + summed(slope, self.event_dim - part.event_dim)
            x = value
        return total

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the value of a tensor of this shape."""
        return functools.reduce(lambda one, part: part.forward_shape(one), self.parts, shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of what gives a tensor of this shape."""
        return functools.reduce(
            lambda one, part: part.inverse_shape(one), reversed(self.parts), shape
        )

    def __repr__(self) -> str:
        inner = ",\n    ".join(repr(one) for one in self.parts)
        return f"ComposeTransform(\n    {inner}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A function of each value, of which some last axes are one value together.

    Example:
        >>> exp = dynamic.distributions.ExpTransform()
        >>> dynamic.distributions.IndependentTransform(exp, 1)(dynamic.zeros(2))
        tensor([1., 1.])
    """

    def __init__(
        self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform
        self.reinterpreted_batch_ndims = count = reinterpreted_batch_ndims
        self.domain = constraints.independent(base_transform.domain, count)
        self.codomain = constraints.independent(base_transform.codomain, count)
        self.bijective, self.sign = base_transform.bijective, base_transform.sign

    def _call(self, x: Any) -> Any:
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The sum of the logarithms of the slopes."""
        return summed(
            self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims
        )


class ReshapeTransform(Transform):
    """The elements in another shape.

    Example:
        >>> dynamic.distributions.ReshapeTransform((4,), (2, 2))(dynamic.ones(3, 4)).shape
        torch.Size([3, 2, 2])
    """

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise OptionError("in_shape, out_shape have different numbers of elements")
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Any) -> Any:
        return x.reshape(*self.forward_shape(tuple(x.shape)))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(*self.inverse_shape(tuple(y.shape)))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Zeros."""
        return x.new_zeros(tuple(x.shape)[: x.ndim - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the value of a tensor of this shape."""
        return (*shape[: len(shape) - len(self.in_shape)], *self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of what gives a tensor of this shape."""
        return (*shape[: len(shape) - len(self.out_shape)], *self.in_shape)


class ExpTransform(Transform):
    """exp(x).

    Example:
        >>> dynamic.distributions.ExpTransform()(dynamic.tensor(0.0))
        tensor(1.)
    """

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return ops.exp(x)

    def _inverse(self, y: Any) -> Any:
        return ops.log(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the slope."""
        return x


class PowerTransform(Transform):
    """x to a power, of positive numbers.

    Example:
        >>> dynamic.distributions.PowerTransform(2.0)(dynamic.tensor(3.0))
        tensor(9.)
    """

    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    def _call(self, x: Any) -> Any:
        return x**self.exponent

    def _inverse(self, y: Any) -> Any:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the slope."""
        return ops.log(ops.absolute(self.exponent * y / x))


class SigmoidTransform(Transform):
    """1 / (1 + exp(-x)).

    Example:
        >>> dynamic.distributions.SigmoidTransform()(dynamic.tensor(0.0))
        tensor(0.5000)
    """

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        known = np.finfo(x._array.dtype)
        return ops.sigmoid(x).clamp(float(known.tiny), 1 - float(known.eps))

    def _inverse(self, y: Any) -> Any:
        known = np.finfo(y._array.dtype)
        y = y.clamp(float(known.tiny), 1 - float(known.eps))
        return ops.log(y) - ops.log1p(-y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the slope."""
        return -ops.softplus(-x) - ops.softplus(x)


class SoftplusTransform(Transform):
    """log(1 + exp(x)).

    Example:
        >>> dynamic.distributions.SoftplusTransform()(dynamic.tensor(0.0))
        tensor(0.6931)
    """

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return ops.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return ops.log(-ops.expm1(-y)) + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the slope."""
        return -ops.softplus(-x)


class TanhTransform(Transform):
    """tanh(x).

    Example:
        >>> dynamic.distributions.TanhTransform()(dynamic.tensor(0.0))
        tensor(0.)
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return ops.tanh(x)

    def _inverse(self, y: Any) -> Any:
        return ops.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the slope."""
        return 2.0 * (math.log(2.0) - x - ops.softplus(-2.0 * x))


class AbsTransform(Transform):
    """|x|, of which the inverse takes the positive value.

    Example:
        >>> dynamic.distributions.AbsTransform()(dynamic.tensor([-2.0]))
        tensor([2.])
    """

    codomain = constraints.positive
    bijective = False

    def _call(self, x: Any) -> Any:
        return ops.absolute(x)

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """loc + scale x.

    Example:
        >>> dynamic.distributions.AffineTransform(1.0, 2.0)(dynamic.tensor([3.0]))
        tensor([7.])
    """

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        if event_dim:
            self.domain = self.codomain = constraints.independent(constraints.real, event_dim)
        self.sign = ops.sign(scale) if hasattr(scale, "_array") else (scale > 0) - (scale < 0)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the slope."""
        if hasattr(self.scale, "_array"):
            slope = (ops.log(ops.absolute(self.scale)) + 0 * x).expand(x.shape)
        else:
            slope = 0 * x + math.log(abs(self.scale))
        return summed(slope, self.event_dim)


class SoftmaxTransform(Transform):
    """softmax over the last axis, of which the inverse is one of many.

    Example:
        >>> dynamic.distributions.SoftmaxTransform()(dynamic.zeros(2))
        tensor([0.5000, 0.5000])
    """

    domain, codomain, bijective = constraints.real_vector, constraints.simplex, False

    def _call(self, x: Any) -> Any:
        return ops.softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return ops.log(y)


class StickBreakingTransform(Transform):
    """Vectors to shares: each takes a part of what is left of 1.

    Example:
        >>> dynamic.distributions.StickBreakingTransform()(dynamic.zeros(2)).shape
        torch.Size([3])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x: Any) -> Any:
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        z = ops.sigmoid(x - ops.log(offset))
        left = (1 - z).cumprod(-1)
        return ops.pad(z, [(0, 0)] * (x.ndim - 1) + [(0, 1)], 1.0) * ops.pad(
            left, [(0, 0)] * (x.ndim - 1) + [(1, 0)], 1.0
        )

    def _inverse(self, y: Any) -> Any:
        first = y[..., :-1]
        offset = y.shape[-1] - first.new_ones(first.shape[-1]).cumsum(-1)
        left = (1 - first.cumsum(-1)).clamp(min=float(np.finfo(y._array.dtype).tiny))
        return ops.log(first) - ops.log(left) + ops.log(offset)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of the slope."""
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        x = x - ops.log(offset)
        return (-x + ops.negative(ops.softplus(-x)) + ops.log(y[..., :-1])).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        """One element more."""
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        """One element less."""
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal.

    Example:
        >>> dynamic.distributions.LowerCholeskyTransform()(dynamic.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + ops.exp(x.diagonal(0, -2, -1)).diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + ops.log(y.diagonal(0, -2, -1)).diag_embed()
