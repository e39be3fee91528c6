"""What `Executable.scipy` gives, as those see it who call it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

Vector = NDArray[Any]


class ForScipy(Protocol):
    """Values and derivatives at vectors: `transforms.for_scipy.ScipyFunctions`, which says more."""

    x0: Vector

    def pack(self, values: Mapping[Any, object]) -> Vector:
        """The vector of values of all parameters, by what they are called."""

    def unpack(self, x: object) -> dict[Any, NDArray[Any]]:
        """The parameters of a vector, by what they are called."""

    def assign(self, x: object) -> None:
        """Give the parameters that are Variables their values in a vector."""

    def fun(self, x: object) -> Any:
        """The value at x: a float, or a vector."""

    def __call__(self, x: object) -> Any:
        """The same."""

    def jac(self, x: object) -> Vector:
        """The gradient at x, (n,), or the Jacobian, (m, n)."""

    def value_and_grad(self, x: object) -> tuple[float, Vector]:
        """Both at x."""

    def hess(self, x: object) -> Vector:
        """The Hessian at x, (n, n)."""

    def hessp(self, x: object, direction: object) -> Vector:
        """The product of the Hessian at x and a direction."""

    def operator(self, x: object) -> Any:
        """The derivative at x as a `scipy.sparse.linalg.LinearOperator`."""

    def low_level(self, kind: str = "numbers") -> Any:
        """The value as a `scipy.LowLevelCallable`."""
