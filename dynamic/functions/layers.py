"""Functions of networks in the main package: their arguments differ from `nn.functional`'s."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name

_REDUCTIONS = ("none", "mean", "sum")


def dropout(input: Any, p: float, train: bool) -> Any:
    """See `nn.functional.dropout`.

    Example:
        >>> dynamic.dropout(dynamic.ones(2), 0.5, False)
        tensor([1., 1.])
    """
    return F.dropout(input, p, train)


def alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """See `nn.functional.alpha_dropout`.

    Example:
        >>> dynamic.alpha_dropout(dynamic.ones(2), 0.5, False)
        tensor([1., 1.])
    """
    return F.alpha_dropout(input, p, train)


def feature_alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """See `nn.functional.feature_alpha_dropout`.

    Example:
        >>> dynamic.feature_alpha_dropout(dynamic.ones(2, 2), 0.0, True)
        tensor([[1., 1.],
                [1., 1.]])
    """
    return F.feature_alpha_dropout(input, p, train)


def embedding(
    weight: Any,
    indices: Any,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of the weight at the indices; those at `padding_idx` get no gradient.

    Example:
        >>> dynamic.embedding(dynamic.tensor([[1.0, 2.0], [3.0, 4.0]]), dynamic.tensor([1, 0]))
        tensor([[3., 4.],
                [1., 2.]])
    """
    padding = None if padding_idx < 0 else padding_idx
    return F.embedding(
        indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


def batch_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """See `nn.functional.batch_norm`; `cudnn_enabled` chooses nothing.

    Example:
        >>> x, none = dynamic.tensor([[1.0], [3.0]]), None
        >>> dynamic.batch_norm(x, none, none, none, none, True, 0.1, 1e-5, False)
        tensor([[-1.0000],
                [ 1.0000]])
    """
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """See `nn.functional.instance_norm`; `cudnn_enabled` chooses nothing.

    Example:
        >>> x, none = dynamic.tensor([[[1.0, 3.0]]]), None
        >>> dynamic.instance_norm(x, none, none, none, none, True, 0.1, 1e-5, False)
        tensor([[[-1.0000,  1.0000]]])
    """
    return F.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def kl_div(input: Any, target: Any, reduction: int = 1, *, log_target: bool = False) -> Any:
    """See `nn.functional.kl_div`; `reduction` is 0 for none, 1 for the mean, 2 for the sum.

    Example:
        >>> x = dynamic.tensor([0.5, 0.5])
        >>> dynamic.kl_div(x.log(), dynamic.tensor([1.0, 0.0]), reduction=2)
        tensor(0.6931)
    """
    if reduction not in (0, 1, 2):
        raise OptionError(f"kl_div: reduction is 0, 1 or 2, not {reduction!r}")
    return F.kl_div(input, target, reduction=_REDUCTIONS[reduction], log_target=log_target)
