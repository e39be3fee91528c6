"""What is measured: one module per workload, and one line for it here.

The peers' processes load these modules by path, in environments without this project: a workload
imports NumPy at most, and each version of its loss takes its framework as the first argument. The
peers' versions (`torch_loss`, `jax_loss`, `pytensor_loss`) may be left out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, cast

from staticgraph.compare.workloads import (
    attention,
    bundle_adjustment,
    cnn,
    elementwise,
    gaussian_process,
    gmm,
    gpt,
    hmc,
    layernorm_softmax,
    logreg,
    lstm_lm,
    mlp_large,
    mlp_small,
    resnet,
    rnn,
    seed,
    transformer_block,
)
from staticgraph.compiler.core.errors import OptionError


class Workload(Protocol):
    """What a workload's module has.

    One that has several sizes takes them as arguments of `data`, whose defaults are its own; its
    losses read them off the arrays, `needs` gives BYTES and FLOPS for them, and `SCALED` names the
    one that a scale multiplies.

    Attributes:
        TITLE: a line for the reader.
        PARAMETERS: the names of the arrays by which the loss is differentiated.
        OPTIMIZER: what updates the parameters, so that a call is a step and returns the loss: a
            class of `sg.optim` and PyTorch by "name", and its arguments. None: a call returns the
            loss and the gradients; or, without parameters, an array.
        BATCHED: the names of the arrays whose first axis may have any size.
        DTYPE: of the parameters.
        BYTES: what a call must read and write at least, if its inputs are not in the caches.
        FLOPS: the floating-point operations that a call needs at least.
        data: makes the arrays by name from a `numpy.random.Generator`.
        loss: the loss in our ops: `(package, **arrays)`, where the package is `staticgraph` with
            expressions, or `dynamic` with tensors unless the module has an `eager_loss`.
    """

    @property
    def TITLE(self) -> str: ...  # noqa: N802, D102
    @property
    def PARAMETERS(self) -> tuple[str, ...]: ...  # noqa: N802, D102
    @property
    def OPTIMIZER(self) -> Mapping[str, Any] | None: ...  # noqa: N802, D102
    @property
    def BATCHED(self) -> tuple[str, ...]: ...  # noqa: N802, D102
    @property
    def DTYPE(self) -> str: ...  # noqa: N802, D102
    @property
    def BYTES(self) -> int: ...  # noqa: N802, D102
    @property
    def FLOPS(self) -> int: ...  # noqa: N802, D102
    @property
    def data(self) -> Callable[[Any], dict[str, Any]]: ...  # noqa: D102
    @property
    def loss(self) -> Callable[..., Any]: ...  # noqa: D102


WORKLOADS: dict[str, Workload] = {
    "seed": seed,
    "elementwise": elementwise,
    "mlp_small": mlp_small,
    "mlp_large": mlp_large,
    "logreg": logreg,
    "cnn": cnn,
    "rnn": rnn,
    "transformer_block": transformer_block,
    "layernorm_softmax": layernorm_softmax,
    "gpt": gpt,
    "resnet": resnet,
    "lstm_lm": lstm_lm,
    "attention": attention,
    "gaussian_process": gaussian_process,
    "hmc": hmc,
    "gmm": gmm,
    "bundle_adjustment": bundle_adjustment,
}


def sized(workload: Workload, **sizes: int) -> Workload:
    """A workload with other sizes than its own."""
    module = vars(workload)
    moved, flops = module["needs"](**sizes)
    named = ", ".join(f"{size:,} {name}" for name, size in sizes.items())
    other = {
        "TITLE": f"{workload.TITLE}; here {named}",
        "BYTES": moved,
        "FLOPS": flops,
        "data": partial(workload.data, **sizes),
    }
    return cast(Workload, SimpleNamespace(**module | other))


def scaled(name: str, workload: Workload, scale: float) -> Workload:
    """A workload whose size that can grow is `scale` times its own, at least 1.

    Raises:
        OptionError: it has none.
    """
    if scale == 1:
        return workload
    grown = vars(workload).get("SCALED")
    if grown is None:
        raise OptionError(f"compare: {name} has no size to scale: {workload.TITLE}")
    standard = inspect.signature(workload.data).parameters[grown].default
    return sized(workload, **{grown: max(1, round(standard * scale))})


def path_of(workload: Workload) -> Path:
    """The file of a workload's module."""
    return Path(str(vars(workload)["__file__"]))
