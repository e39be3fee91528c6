"""Gradients of recorded tensors: `backward` accumulates them, `grad` returns them."""

from __future__ import annotations

from staticgraph.dynamic.autograd import (
    custom as custom,
    forward_ad,
    functional,
    graph,
    variable as variable,
    wrappers as wrappers,
)
from staticgraph.dynamic.autograd.function import Function
from staticgraph.dynamic.autograd.gradcheck import gradcheck, gradgradcheck
from staticgraph.dynamic.autograd.gradcheck_errors import GradcheckError
from staticgraph.dynamic.autograd.threading_mode import (
    is_multithreading_enabled,
    set_multithreading_enabled,
)
from staticgraph.dynamic.tape import grad_mode as grad_mode
from staticgraph.dynamic.tape.anomaly import detect_anomaly, set_detect_anomaly
from staticgraph.dynamic.tape.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from staticgraph.dynamic.tape.gradients import backward, grad
from staticgraph.dynamic.tape.saved_tensors import SavedTensor
from staticgraph.dynamic.tensors.variables import Variable

__all__ = [
    "Function",
    "GradcheckError",
    "SavedTensor",
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
    "is_multithreading_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

_unsafe_preserve_version_counter = graph.preserved_versions
