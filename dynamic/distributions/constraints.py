"""What parameters and values of distributions have to be: `check` says so element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.dynamic.tensors.tensor import wrap
from staticgraph.dynamic.tensors.values import values_of

__all__ = [
    "Constraint", "boolean", "dependent", "greater_than", "greater_than_eq", "half_open_interval",
    "independent", "integer_interval", "interval", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot",
    "positive", "positive_definite", "positive_integer", "real", "real_vector", "simplex",
    "square", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A set of values.

    Attributes:
        is_discrete: whether it is one of separate values.
        event_dim: how many last axes are one value.

    Example:
        >>> dynamic.distributions.constraints.positive.check(dynamic.tensor([-1.0, 0.0, 0.5, 1.0]))
        tensor([False, False,  True,  True])
    """

    is_discrete = False
    event_dim = 0

    def holds(self, value: Any) -> Any:
        """Per value of an array whether it is in the set."""
        return np.ones(value.shape[: value.ndim - self.event_dim], np.bool_)

    def check(self, value: Any) -> Any:
        """Per value of a tensor whether it is in the set."""
        return wrap(np.asarray(self.holds(values_of(value))))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.__dict__.items())
        return f"{type(self).__name__.lstrip('_')}({shown})"


class Dependent(Constraint):
    """A set that depends on the other parameters: nothing is checked."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __repr__(self) -> str:
        return "Dependent()"


class Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def holds(self, value: Any) -> Any:
        """Per element whether it is 0 or 1."""
        return (value == 0) | (value == 1)


class OneHot(Constraint):
    """Vectors with one 1, and 0 elsewhere."""

    is_discrete, event_dim = True, 1

    def holds(self, value: Any) -> Any:
        """Per vector whether it is one of them."""
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class Real(Constraint):
    """All numbers but nan."""

    def holds(self, value: Any) -> Any:
        """Per element whether it is a number."""
        return value == value


class GreaterThan(Constraint):
    """The numbers above a bound.

    Example:
        >>> within = dynamic.distributions.constraints.greater_than(0.0)
        >>> within.check(dynamic.tensor([-1.0, 0.0, 0.5, 1.0]))
        tensor([False, False,  True,  True])
    """

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def holds(self, value: Any) -> Any:
        """Per element whether it is above."""
        return _bound(self.lower_bound) < value


class GreaterThanEq(GreaterThan):
    """A bound, and the numbers above it.

    Example:
        >>> within = dynamic.distributions.constraints.greater_than_eq(0.0)
        >>> within.check(dynamic.tensor([-1.0, 0.0, 0.5, 1.0]))
        tensor([False,  True,  True,  True])
    """

    def holds(self, value: Any) -> Any:
        """Per element whether it is at least the bound."""
        return _bound(self.lower_bound) <= value


class LessThan(Constraint):
    """The numbers below a bound.

    Example:
        >>> within = dynamic.distributions.constraints.less_than(0.5)
        >>> within.check(dynamic.tensor([-1.0, 0.0, 0.5, 1.0]))
        tensor([ True,  True, False, False])
    """

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def holds(self, value: Any) -> Any:
        """Per element whether it is below."""
        return value < _bound(self.upper_bound)


class Interval(Constraint):
    """The numbers from one bound to another, both included.

    Example:
        >>> within = dynamic.distributions.constraints.interval(0.0, 1.0)
        >>> within.check(dynamic.tensor([-1.0, 0.0, 0.5, 1.0]))
        tensor([False,  True,  True,  True])
    """

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def holds(self, value: Any) -> Any:
        """Per element whether it is within."""
        return (_bound(self.lower_bound) <= value) & (value <= _bound(self.upper_bound))


class HalfOpenInterval(Interval):
    """The numbers from one bound to another, without the latter.

    Example:
        >>> within = dynamic.distributions.constraints.half_open_interval(0.0, 1.0)
        >>> within.check(dynamic.tensor([-1.0, 0.0, 0.5, 1.0]))
        tensor([False,  True,  True, False])
    """

    def holds(self, value: Any) -> Any:
        """Per element whether it is within."""
        return (_bound(self.lower_bound) <= value) & (value < _bound(self.upper_bound))


class IntegerInterval(Interval):
    """The whole numbers from one bound to another, both included.

    Example:
        >>> within = dynamic.distributions.constraints.integer_interval(0, 1)
        >>> within.check(dynamic.tensor([-1.0, 0.0, 0.5, 1.0]))
        tensor([False,  True, False,  True])
    """

    is_discrete = True

    def holds(self, value: Any) -> Any:
        """Per element whether it is one of them."""
        return super().holds(value) & (value % 1 == 0)


class IntegerGreaterThan(GreaterThanEq):
    """The whole numbers from a bound on."""

    is_discrete = True

    def holds(self, value: Any) -> Any:
        """Per element whether it is one of them."""
        return super().holds(value) & (value % 1 == 0)


class Simplex(Constraint):
    """Vectors of numbers that are not negative, of sum 1."""

    event_dim = 1

    def holds(self, value: Any) -> Any:
        """Per vector whether it is one of them, up to 1e-6."""
        return (value >= 0).all(-1) & (np.abs(value.sum(-1) - 1) < 1e-6)


class Multinomial(Constraint):
    """Vectors of counts.

    Example:
        >>> counts = dynamic.distributions.constraints.multinomial(3)
        >>> counts.check(dynamic.tensor([[1.0, 2.0], [2.0, 2.0]]))
        tensor([ True, False])
    """

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def holds(self, value: Any) -> Any:
        """Per vector whether its counts sum up to at most the bound."""
        return (value >= 0).all(-1) & (value.sum(-1) <= _bound(self.upper_bound))


class Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def holds(self, value: Any) -> Any:
        """Per matrix whether it is square."""
        return np.full(value.shape[:-2], value.shape[-1] == value.shape[-2])


class LowerTriangular(Square):
    """Matrices with zeros above the diagonal."""

    def holds(self, value: Any) -> Any:
        """Per matrix whether it is one of them."""
        return (np.tril(value) == value).all((-1, -2))


class LowerCholesky(LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def holds(self, value: Any) -> Any:
        """Per matrix whether it is one of them."""
        return super().holds(value) & (value.diagonal(0, -2, -1) > 0).all(-1)


class CorrCholesky(LowerTriangular):
    """Cholesky factors of correlations: rows of length 1, a positive diagonal."""

    def holds(self, value: Any) -> Any:
        """Per matrix whether it is one of them."""
        tolerance = np.finfo(value.dtype).eps * value.shape[-1] * 10
        unit = (np.abs(np.linalg.norm(value, axis=-1) - 1) < tolerance).all(-1)
        return super().holds(value) & (value.diagonal(0, -2, -1) > 0).all(-1) & unit


class Symmetric(Square):
    """Symmetric matrices."""

    def holds(self, value: Any) -> Any:
        """Per matrix whether it is one of them, up to 1e-6."""
        if value.shape[-1] != value.shape[-2]:
            return super().holds(value)
        return np.isclose(value, value.swapaxes(-1, -2), atol=1e-6).all((-1, -2))


class PositiveDefinite(Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def holds(self, value: Any) -> Any:
        """Per matrix whether it is one of them."""
        symmetric = super().holds(value)
        if not symmetric.all():
            return symmetric
        return (np.linalg.eigvalsh(value) > 0).all(-1)


class Independent(Constraint):
    """Tensors of values that are each in a set.

    Example:
        >>> each = dynamic.distributions.constraints.positive
        >>> vectors = dynamic.distributions.constraints.independent(each, 1)
        >>> vectors.check(dynamic.tensor([[1.0, 2.0], [1.0, -1.0]]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def holds(self, value: Any) -> Any:
        """Per tensor whether all its values are."""
        inner = self.base_constraint.holds(value)
        axes = tuple(range(inner.ndim - self.reinterpreted_batch_ndims, inner.ndim))
        return inner.all(axes)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


def _bound(bound: Any) -> Any:
    return values_of(bound) if hasattr(bound, "_array") else bound


dependent, boolean, one_hot, real = Dependent(), Boolean(), OneHot(), Real()
positive, nonnegative = GreaterThan(0.0), GreaterThanEq(0.0)
nonnegative_integer, positive_integer = IntegerGreaterThan(0), IntegerGreaterThan(1)
unit_interval, simplex = Interval(0.0, 1.0), Simplex()
real_vector = Independent(real, 1)
square, symmetric, positive_definite = Square(), Symmetric(), PositiveDefinite()
lower_triangular, lower_cholesky = LowerTriangular(), LowerCholesky()
corr_cholesky = CorrCholesky()
greater_than, greater_than_eq, less_than = GreaterThan, GreaterThanEq, LessThan
interval, half_open_interval, integer_interval = Interval, HalfOpenInterval, IntegerInterval
independent, multinomial = Independent, Multinomial


def is_dependent(constraint: object) -> bool:
    """Whether a set depends on other parameters."""
    return isinstance(constraint, Dependent)
