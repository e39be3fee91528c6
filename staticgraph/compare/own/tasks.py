"""From what a user says to what is compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from staticgraph.compare.own.contest import LOSS, Task
from staticgraph.compare.own.specs import Input, Inputs, check_names, read_sweep
from staticgraph.compare.own.subject import Subject, check_arguments, read_subject
from staticgraph.compare.race import DATA_SEED
from staticgraph.compare.records import Settings
from staticgraph.compare.workloads import WORKLOADS, path_of
from staticgraph.compiler.core.errors import OptionError

BATCH = "n"
"""What the size of a workload's batch is called."""


def task_of(
    subject: Subject,
    inputs: Inputs,
    sweep: Sequence[str],
    gradient: Sequence[str] | None,
    settings: Settings,
) -> Task:
    """The task, if function, inputs, sizes and names fit; `gradient` None: by all that can be.

    Raises:
        OptionError: they do not.
    """
    check_arguments(subject, [one.name for one in inputs.arrays] + list(inputs.constants))
    if gradient is None:
        gradient = [one.name for one in inputs.arrays if one.floating]
    return Task(
        subject=subject,
        inputs=inputs,
        sweep=tuple(read_sweep(sweep, inputs)),
        gradient=check_names(gradient, inputs),
        make=inputs.make,
        settings=settings,
    )


def task_of_workload(name: str, sweep: Sequence[str], settings: Settings) -> Task:
    """The value and gradients of a workload over batch sizes, which are called n.

    The arrays of a batch are those of the workload, again and again, or as many of them.

    Raises:
        OptionError: there is no such workload, it has no batch, or the sizes are not for it.
    """
    if name not in WORKLOADS:
        raise OptionError(f"compare: unknown workload {name!r}: known are {', '.join(WORKLOADS)}")
    workload = WORKLOADS[name]
    if not workload.BATCHED:
        raise OptionError(f"compare: {name} has no sizes to sweep: {workload.TITLE}")
    arrays = workload.data(np.random.default_rng(DATA_SEED))

    def make(sizes: Mapping[str, int]) -> dict[str, Any]:
        rows = np.arange(sizes[BATCH])
        return {
            key: array[rows % len(array)] if key in workload.BATCHED else array
            for key, array in arrays.items()
        }

    described = Inputs(
        tuple(
            Input(
                key,
                array.dtype.name,
                (BATCH, *array.shape[1:]) if key in workload.BATCHED else tuple(array.shape),
            )
            for key, array in arrays.items()
        ),
        {},
    )
    subject = replace(read_subject(f"{path_of(workload)}:{LOSS}"), name=name)
    return Task(
        subject=subject,
        inputs=described,
        sweep=tuple(read_sweep(sweep, described)),
        gradient=workload.PARAMETERS,
        make=make,
        settings=settings,
        workload=True,
    )
