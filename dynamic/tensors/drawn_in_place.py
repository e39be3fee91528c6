"""PyTorch's methods that fill a tensor with random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler.core.annotated import as_float, is_real
from staticgraph.compiler.core.dtypes import is_float, limits
from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.tensors.random_numbers import source_of


class DrawnInPlace(Operand):
    """What fills a tensor with random numbers."""

    __slots__ = ()

    _array: Any

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the methods of a tensor

    def normal_(self, mean: float = 0.0, std: float = 1.0, *, generator: object = None) -> Any:
        """Fill with normal numbers."""
        return self._draw(generator, "normal", mean, std)

    def uniform_(self, a: float = 0.0, b: float = 1.0, *, generator: object = None) -> Any:
        """Fill with uniform numbers in [a, b).

        Example:
            >>> x = dynamic.zeros(100).uniform_(2.0, 3.0)
            >>> bool(((x >= 2) & (x < 3)).all())
            True
        """
        if not any(isinstance(one, complex | np.complexfloating) for one in (a, b)) and a > b:
            raise AutogradError(
                f"uniform_ expects to return a [from, to) range, but found from={a} > to={b}"
            )
        return self._draw(generator, "uniform", a, b)

    def exponential_(self, lambd: float = 1.0, *, generator: object = None) -> Any:
        """Fill with exponential numbers of mean 1 / lambd.

        Example:
            >>> bool((dynamic.zeros(100).exponential_() > 0).all())
            True
        """
        return self._draw(generator, "exponential", 1 / lambd)

    def cauchy_(self, median: float = 0, sigma: float = 1, *, generator: object = None) -> Any:
        """Fill with numbers of a Cauchy distribution."""
        median, sigma = as_float("cauchy_", "median", median), as_float("cauchy_", "sigma", sigma)
        if sigma <= 0:
            raise AutogradError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
        drawn = source_of(generator).standard_cauchy(size=self._array.shape)
        return self._filled(drawn * sigma + median)

    def log_normal_(self, mean: float = 1, std: float = 2, *, generator: object = None) -> Any:
        """Fill with numbers whose logarithms have this mean and standard deviation."""
        return self._draw(generator, "lognormal", mean, std)

    def geometric_(self, p: float, *, generator: object = None) -> Any:
        """Fill with the numbers of trials up to the first success."""
        return self._draw(generator, "geometric", p)

    def bernoulli_(self, p: float = 0.5, *, generator: object = None) -> Any:
        """Fill with ones, of probability p, and zeros."""
        return self._draw(generator, "binomial", 1, p)

    def random_(self, low: int = 0, high: int | None = None, *, generator: object = None) -> Any:
        """Fill with integers in [low, high); in [0, low) if there is one argument.

        Example:
            >>> x = dynamic.zeros(100).random_(2, 4)
            >>> sorted(set(x.tolist()))
            [2.0, 3.0]
        """
        require_int("random_", "from", 1, low)
        if high is None:
            if not low:
                kind = self._array.dtype
                low = 2 ** (limits(kind).nmant + 1) if is_float(kind) else np.iinfo(kind).max
            low, high = 0, low
        require_int("random_", "to", 2, high)
        return self._draw(generator, "integers", low, high)

    def _draw(self, generator: object, name: str, *args: object) -> Any:
        source = source_of(generator)
        for one in args:
            if not is_real(one):
                raise TypeError(f"{name}_(): its numbers must be real, not {type(one).__name__}")
        return self._filled(getattr(source, name)(*args, self._array.shape))

    def _filled(self, drawn: Any) -> Any:
        return self.copy_(drawn if isinstance(drawn, Operand) else self._constant(drawn))
