"""PyTensor with its Numba backend."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any


def load(_task: Mapping[str, object]) -> tuple[Any, str]:
    """The package, with float32 as its default type, and its version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that its C backend finds no BLAS; Numba's has one
        import pytensor
        import pytensor.tensor.special  # the losses call it

    pytensor.config.floatX = "float32"
    return pytensor, pytensor.__version__


def prepare(
    pytensor: Any, _task: Mapping[str, object], model: Any, arrays: Mapping[str, Any], timed: Any
) -> tuple[Callable[[], Any], Callable[[], list[Any]]]:
    """Define and compile; Numba compiles what is not in its cache at the first call."""
    import numpy as np

    with timed("build"):
        leaves, inputs = {}, []
        for name, array in arrays.items():
            if model.OPTIMIZER and name in model.PARAMETERS:
                leaves[name] = pytensor.shared(array.copy(), name=name)
                continue
            shape = (None, *array.shape[1:]) if name in model.BATCHED else array.shape
            leaves[name] = pytensor.tensor.tensor(name, dtype=array.dtype.name, shape=shape)
            inputs.append(name)
        loss = model.pytensor_loss(pytensor, **leaves)
        parameters = [leaves[name] for name in model.PARAMETERS]
        gradients = pytensor.grad(loss, parameters) if parameters else []
        outputs, updates = [loss, *gradients], []
        if model.OPTIMIZER:
            rate = np.dtype(model.DTYPE).type(model.OPTIMIZER["lr"])
            updates = [(p, p - rate * g) for p, g in zip(parameters, gradients, strict=True)]
            outputs = loss
    with timed("compile"):
        function = pytensor.function(
            [leaves[name] for name in inputs], outputs, updates=updates, mode="NUMBA"
        )
        function.trust_input = True
    run = partial(function, *(arrays[name] for name in inputs))

    def results() -> list[Any]:
        if model.OPTIMIZER:
            return [run(), *(parameter.get_value() for parameter in parameters)]
        return list(run())

    return run, results
