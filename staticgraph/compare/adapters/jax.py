"""JAX, compiled by `jax.jit`; what is updated is donated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def load(_task: Mapping[str, object]) -> tuple[Any, str]:
    """The package, with float64 and int64 switched on, and its version."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax, jax.__version__


def prepare(
    jax: Any, _task: Mapping[str, Any], model: Any, arrays: Mapping[str, object], timed: Any
) -> tuple[Callable[[], Any], Callable[[], list[Any]]]:
    """Make the arrays; the first call traces and compiles."""
    import numpy as np

    def loss_of(parameters: Any, inputs: Any) -> Any:
        return model.jax_loss(jax, **parameters, **inputs)

    def step(carried: Any, inputs: object) -> Any:
        if not model.PARAMETERS:
            return loss_of({}, inputs), carried
        loss, gradients = jax.value_and_grad(loss_of)(carried["parameters"], inputs)
        if not model.OPTIMIZER:
            return loss, {"parameters": gradients}
        return loss, _updated(jax, model.OPTIMIZER, carried, gradients)

    with timed("build"):
        given = {name: jax.numpy.array(array) for name, array in arrays.items()}
        parameters = {name: given.pop(name) for name in model.PARAMETERS}
        carried = {"parameters": parameters, **_state(jax, model.OPTIMIZER, parameters)}
        compiled = jax.jit(step, donate_argnums=(0,) if model.OPTIMIZER else ())

    def train() -> Any:
        nonlocal carried
        loss, carried = jax.block_until_ready(compiled(carried, given))
        return loss

    def values() -> Any:
        return jax.block_until_ready(compiled(carried, given))

    def results() -> list[Any]:
        if model.OPTIMIZER:
            loss, compared = train(), carried
        else:
            loss, compared = values()
        found = (compared["parameters"][name] for name in model.PARAMETERS)
        return [np.asarray(loss), *map(np.array, found)]

    return train if model.OPTIMIZER else values, results


def _state(jax: Any, optimizer: Mapping[str, Any] | None, parameters: Any) -> dict[str, Any]:
    """What the optimizer keeps, to begin with."""
    if not optimizer:
        return {}

    def zeros() -> Any:
        return jax.tree.map(jax.numpy.zeros_like, parameters)

    if optimizer["name"] == "AdamW":
        return {"exp_avg": zeros(), "exp_avg_sq": zeros(), "steps": jax.numpy.array(0)}
    return {"moved": zeros()} if "momentum" in optimizer else {}


def _updated(jax: Any, optimizer: Mapping[str, Any], carried: Any, gradients: Any) -> Any:
    """Parameters and state after a step, as PyTorch's optimizers define it."""
    each, parameters, rate = jax.tree.map, carried["parameters"], optimizer["lr"]
    if optimizer["name"] == "SGD":
        if "momentum" not in optimizer:
            return {"parameters": each(lambda p, g: p - rate * g, parameters, gradients)}
        kept = optimizer["momentum"]
        moved = each(lambda m, g: kept * m + g, carried["moved"], gradients)
        return {"parameters": each(lambda p, m: p - rate * m, parameters, moved), "moved": moved}
    (first, second), tiny = (0.9, 0.999), 1e-8
    decayed = 1 - rate * optimizer["weight_decay"]
    steps = carried["steps"] + 1
    mean = each(lambda m, g: first * m + (1 - first) * g, carried["exp_avg"], gradients)
    square = each(lambda s, g: second * s + (1 - second) * g * g, carried["exp_avg_sq"], gradients)

    def moved_by(p: Any, m: Any, s: Any) -> Any:
        scale = (1 / jax.numpy.sqrt(1 - second**steps)).astype(p.dtype)
        by = (rate / (1 - first**steps)).astype(p.dtype)
        return p * decayed - by * m / (jax.numpy.sqrt(s) * scale + tiny)

    updated = each(moved_by, parameters, mean, square)
    return {"parameters": updated, "exp_avg": mean, "exp_avg_sq": square, "steps": steps}
