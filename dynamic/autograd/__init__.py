"""Gradients of recorded tensors: `backward` accumulates them, `grad` returns them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:  # what is imported when it is asked for
    from staticgraph.dynamic.autograd import profiler as profiler, profiler_util as profiler_util

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
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

_unsafe_preserve_version_counter = graph.preserved_versions


def __getattr__(name: str) -> Any:
    if name not in ("profiler", "profiler_util"):
        raise AttributeError(f"module 'dynamic.autograd' has no attribute {name!r}")
    return import_module(f"staticgraph.dynamic.autograd.{name}")
