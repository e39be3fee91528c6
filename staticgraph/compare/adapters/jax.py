"""JAX, compiled by `jax.jit`; parameters that are updated are donated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def load(_task: Mapping[str, object]) -> tuple[Any, str]:
    """The package, with float64 and int64 switched on, and its version."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax, jax.__version__


def prepare(
    jax: Any, task: Mapping[str, Any], model: Any, arrays: Mapping[str, object], timed: Any
) -> tuple[Callable[[], Any], Callable[[], list[Any]]]:
    """Make the arrays; the first call traces and compiles."""
    import numpy as np

    def loss_of(parameters: Any, inputs: Any) -> Any:
        return model.jax_loss(jax, **parameters, **inputs)

    def step(parameters: Any, inputs: object) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(parameters, inputs)
        if not model.UPDATED:
            return loss, gradients
        return loss, {name: p - task["rate"] * gradients[name] for name, p in parameters.items()}

    with timed("build"):
        given = {name: jax.numpy.array(array) for name, array in arrays.items()}
        parameters = {name: given.pop(name) for name in model.PARAMETERS}
        compiled = jax.jit(step, donate_argnums=(0,) if model.UPDATED else ())

    def train() -> Any:
        nonlocal parameters
        loss, parameters = jax.block_until_ready(compiled(parameters, given))
        return loss

    def gradients() -> Any:
        return jax.block_until_ready(compiled(parameters, given))

    def results() -> list[Any]:
        if model.UPDATED:
            loss, compared = train(), parameters
        else:
            loss, compared = gradients()
        return [np.asarray(loss), *(np.array(compared[name]) for name in model.PARAMETERS)]

    return train if model.UPDATED else gradients, results
