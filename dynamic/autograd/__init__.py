"""Gradients of recorded tensors: `backward` accumulates them, `grad` returns them."""

from __future__ import annotations

from dynamic.autograd import custom as custom, forward_ad, functional, graph
from dynamic.autograd.function import Function
from dynamic.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from dynamic.tape.anomaly import detect_anomaly, set_detect_anomaly
from dynamic.tape.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from dynamic.tape.gradients import backward, grad
from dynamic.tensors.variables import Variable

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
