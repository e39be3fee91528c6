"""The workloads of `staticgraph compare`, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compare.workloads import WORKLOADS, Workload, sized

SMALL: dict[str, dict[str, int]] = {
    "gpt": {"batch": 2, "tokens": 16, "width": 32},
    "resnet": {"batch": 4, "side": 16, "width": 8},
    "lstm_lm": {"batch": 3, "steps": 5, "width": 16, "words": 20},
    "attention": {"tokens": 32, "heads": 2, "width": 8},
    "gaussian_process": {"samples": 40},
    "hmc": {"samples": 30, "features": 5},
    "gmm": {"samples": 50, "side": 4, "components": 3},
    "bundle_adjustment": {"observations": 60, "points": 20, "cameras": 4},
}
"""Sizes at which those that have several take no time."""
KERNELS = [name for name in WORKLOADS if name not in SMALL]
"""Those whose kernels Numba compiles within seconds."""


def small(name: str) -> Workload:
    """A workload at the sizes of the tests."""
    return sized(WORKLOADS[name], **SMALL[name]) if name in SMALL else WORKLOADS[name]


def compiled(name: str, **options: Any) -> tuple[sg.Executable, list[Any]]:
    """The executable of a workload, with variables of its own, and what it is called on."""
    workload = WORKLOADS[name]
    leaves: dict[str, Any] = {}
    inputs = []
    for key, array in workload.data(np.random.default_rng(0)).items():
        if workload.OPTIMIZER and key in workload.PARAMETERS:
            leaves[key] = sg.variable(array, name=key)
            continue
        shape = (None, *array.shape[1:]) if key in workload.BATCHED else array.shape
        leaves[key] = sg.placeholder(key, shape, array.dtype.name)
        inputs.append((leaves[key], array))
    loss = workload.loss(sg, **leaves)
    parameters = [leaves[key] for key in workload.PARAMETERS]
    placeholders = [leaf for leaf, _ in inputs]
    if workload.OPTIMIZER:
        updates = sg.optim.SGD(lr=0.1).minimize(loss, parameters)
        executable = sg.compile(placeholders, [loss], updates=updates, **options)
    else:
        executable = sg.compile(placeholders, [loss, *sg.grad(loss, parameters)], **options)
    return executable, [array for _, array in inputs]
