"""What is measured: one module per workload, and one line for it here.

The peers' processes load these modules by path, in environments without this project: a workload
imports NumPy at most, and each version of its loss takes its framework as the first argument. The
peers' versions (`torch_loss`, `jax_loss`, `pytensor_loss`) may be left out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from staticgraph.compare.workloads import (
    cnn,
    elementwise,
    layernorm_softmax,
    logreg,
    mlp_large,
    mlp_small,
    rnn,
    seed,
    transformer_block,
)


class Workload(Protocol):
    """What a workload's module has.

    Attributes:
        TITLE: a line for the reader.
        PARAMETERS: the names of the arrays by which the loss is differentiated.
        UPDATED: whether a call is a step of gradient descent on the parameters, which returns the
            loss; else it returns the loss and the gradients.
        BATCHED: the names of the arrays whose first axis may have any size.
        DTYPE: of the parameters.
        BYTES: what a call must read and write at least, if its inputs are not in the caches.
        FLOPS: the floating-point operations that a call needs at least.
        data: makes the arrays by name from a `numpy.random.Generator`.
        loss: the loss in our ops: `(package, **arrays)`, where the package is `staticgraph` with
            expressions, or `dynamic` with tensors.
    """

    @property
    def TITLE(self) -> str: ...  # noqa: N802, D102
    @property
    def PARAMETERS(self) -> tuple[str, ...]: ...  # noqa: N802, D102
    @property
    def UPDATED(self) -> bool: ...  # noqa: N802, D102
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
}


def path_of(workload: Workload) -> Path:
    """The file of a workload's module."""
    return Path(str(vars(workload)["__file__"]))
