"""JAX: values and gradients compiled together by `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


class Way:
    """The user's function on JAX's arrays."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        self.framework = self.jax = jax
        self.version = str(jax.__version__)
        self.compiled: Any = None
        self.substitutes = task["load"](task["substitutes"], "substitutes")

    def module(self, name: str) -> Any:
        """What stands for a module of ours."""
        return self.substitutes.for_jax(name, self.jax)

    def begin(
        self, call: Callable[..., list[Any]], arrays: Sequence[Any], by: Sequence[int], timed: Any
    ) -> None:
        """Make the arrays; the first call traces and compiles."""
        jax = self.jax

        def total(*operands: Any) -> Any:
            values = call(*operands)
            kind = jax.numpy.floating
            floating = [one for one in values if jax.numpy.issubdtype(one.dtype, kind)]
            return sum(one.sum() for one in floating), values

        def step(*operands: Any) -> list[Any]:
            if not by:
                return call(*operands)
            differentiated = jax.value_and_grad(total, argnums=tuple(by), has_aux=True)
            (_, values), gradients = differentiated(*operands)
            return [*values, *gradients]

        with timed("build"):
            self.arrays = [jax.numpy.array(array) for array in arrays]
            if self.compiled is None:
                self.compiled = jax.jit(step)

    def run(self) -> Any:
        """One call, until its results are there."""
        return self.jax.block_until_ready(self.compiled(*self.arrays))

    def results(self) -> list[Any]:
        """Of a call, as arrays."""
        import numpy as np

        return [np.asarray(one) for one in self.run()]

    def look(self, _file: str) -> dict[str, Any]:
        """Nothing: other tools look into JAX."""
        return {}
