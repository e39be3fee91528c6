"""Gradients of recorded tensors: `backward` accumulates them, `grad` returns them."""

from __future__ import annotations

from typing import Any

from dynamic.anomaly import detect_anomaly, set_detect_anomaly
from dynamic.autograd import forward_ad, functional, graph
from dynamic.autograd.function import Function
from dynamic.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from dynamic.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from dynamic.gradients import backward, grad
from dynamic.tensor import Tensor

__all__ = [
    "Function",
    "GradcheckError",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


def Variable(data: Any, requires_grad: bool = False) -> Tensor:  # noqa: N802 - PyTorch's name
    """The old way to ask for gradients: a tensor on the memory of `data`, a leaf."""
    result: Tensor = data.detach()
    return result.requires_grad_() if requires_grad else result
