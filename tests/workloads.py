"""The workloads of `staticgraph compare`, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

import staticgraph as sg
from staticgraph.compare.workloads import WORKLOADS


def compiled(name: str, **options: Any) -> tuple[sg.Executable, list[Any]]:
    """The executable of a workload, with variables of its own, and what it is called on."""
    workload = WORKLOADS[name]
    leaves: dict[str, Any] = {}
    inputs = []
    for key, array in workload.data(np.random.default_rng(0)).items():
        if workload.UPDATED and key in workload.PARAMETERS:
            leaves[key] = sg.variable(array, name=key)
            continue
        shape = (None, *array.shape[1:]) if key in workload.BATCHED else array.shape
        leaves[key] = sg.placeholder(key, shape, array.dtype.name)
        inputs.append((leaves[key], array))
    loss = workload.loss(sg, **leaves)
    parameters = [leaves[key] for key in workload.PARAMETERS]
    placeholders = [leaf for leaf, _ in inputs]
    if workload.UPDATED:
        updates = sg.optim.SGD(lr=0.1).minimize(loss, parameters)
        executable = sg.compile(placeholders, [loss], updates=updates, **options)
    else:
        executable = sg.compile(placeholders, [loss, *sg.grad(loss, parameters)], **options)
    return executable, [array for _, array in inputs]
