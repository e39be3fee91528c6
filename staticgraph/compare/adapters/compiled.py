"""Ours, compiled: `staticgraph`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any


def load(_task: Mapping[str, object]) -> tuple[Any, str]:
    """The package and its version."""
    import staticgraph as sg

    return sg, sg.__version__


def prepare(
    sg: Any, _task: Mapping[str, object], model: Any, arrays: Mapping[str, Any], timed: Any
) -> tuple[Callable[[], Any], Callable[[], list[Any]]]:
    """Define the graph and compile it; the first axis of what is batched may have any size."""
    import numpy as np

    with timed("build"):
        leaves, inputs = {}, []
        for name, array in arrays.items():
            if model.OPTIMIZER and name in model.PARAMETERS:
                leaves[name] = sg.variable(array.copy(), name=name)
                continue
            shape = (None, *array.shape[1:]) if name in model.BATCHED else array.shape
            leaves[name] = sg.placeholder(name, shape, array.dtype.name)
            inputs.append(name)
        loss = model.loss(sg, **leaves)
        parameters = [leaves[name] for name in model.PARAMETERS]
        if model.OPTIMIZER:
            options = dict(model.OPTIMIZER)
            optimizer = getattr(sg.optim, options.pop("name"))(**options)
            outputs, updates = loss, optimizer.minimize(loss, parameters)
        else:
            gradients = sg.grad(loss, parameters) if parameters else []
            outputs, updates = [loss, *gradients], None
    with timed("compile"):
        executable = sg.compile([leaves[name] for name in inputs], outputs, updates=updates)
    run = partial(executable, *(arrays[name] for name in inputs))

    def results() -> list[Any]:
        if model.OPTIMIZER:
            return [run(), *(np.array(parameter.value) for parameter in parameters)]
        return list(run())

    return run, results


def profile(run: Callable[[], object]) -> list[tuple[tuple[str, ...], float]]:
    """The ops and the seconds of each step of a call."""
    found = run.func.profile(*run.args)  # type: ignore[attr-defined]
    return [(step.ops, step.seconds) for step in found.steps]


def passes(run: Callable[[], object]) -> float:
    """The seconds of rewriting the graph and writing the kernel's source, which are run again."""
    from staticgraph.compiler.runtime.cache.loader import counts

    if counts["launch_plans"]:
        return 0.0  # a start from the kernel cache runs none
    from staticgraph.compiler.driver import Options, lower

    definition = run.func.definition  # type: ignore[attr-defined]
    start = time.perf_counter()
    lower(definition, Options())
    return time.perf_counter() - start
