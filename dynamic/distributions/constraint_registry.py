"""Functions from all numbers to what a constraint allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.dynamic.core.errors import MissingMethodError
from staticgraph.dynamic.distributions import constraints
from staticgraph.dynamic.distributions.transforms import (
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StickBreakingTransform,
    identity_transform,
)

__all__ = ["biject_to", "transform_to"]


class ConstraintRegistry:
    """Per class of constraints a function that makes a transform for one of them.

    Example:
        >>> of = dynamic.distributions
        >>> of.biject_to(of.constraints.positive)(dynamic.tensor(0.0))
        tensor(1.)
    """

    def __init__(self) -> None:
        self._factories: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Take a function, or decorate one."""
        if factory is None:
            return lambda found: self.register(constraint, found)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        self._factories[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform; NotImplementedError without one."""
        for kind in type(constraint).__mro__:
            if kind in self._factories:
                return self._factories[kind](constraint)
        raise MissingMethodError(f"Cannot transform {type(constraint).__name__} constraints")


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _above(constraint: Any) -> Any:
    if isinstance(constraint.lower_bound, float | int) and constraint.lower_bound == 0:
        return ExpTransform()
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.lower_bound, 1)])


def _below(constraint: Any) -> Any:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])


def _between(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, float | int) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


for _registry in (biject_to, transform_to):
    for _kind, _factory in {
        constraints.Real: lambda _: identity_transform,
        constraints.GreaterThan: _above,
        constraints.LessThan: _below,
        constraints.Interval: _between,
        constraints.LowerCholesky: lambda _: LowerCholeskyTransform(),
    }.items():
        _registry.register(_kind, _factory)
biject_to.register(constraints.Simplex, lambda _: StickBreakingTransform())
transform_to.register(constraints.Simplex, lambda _: SoftmaxTransform())
biject_to.register(
    constraints.Independent,
    lambda one: IndependentTransform(biject_to(one.base_constraint), one.reinterpreted_batch_ndims),
)
transform_to.register(
    constraints.Independent,
    lambda one: IndependentTransform(
        transform_to(one.base_constraint), one.reinterpreted_batch_ndims
    ),
)
