"""Gradients that are too large, parameters as one vector, and packed sequences."""

from __future__ import annotations

from staticgraph.dynamic.nn.utils import parametrizations, parametrize, prune, rnn, stateless
from staticgraph.dynamic.nn.utils.clip_grad import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from staticgraph.dynamic.nn.utils.convert_parameters import (
    parameters_to_vector,
    vector_to_parameters,
)
from staticgraph.dynamic.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from staticgraph.dynamic.nn.utils.weight_norm import remove_weight_norm, weight_norm

clip_grad_norm = clip_grad_norm_

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize", "prune",
    "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "stateless",
    "vector_to_parameters",
    "weight_norm",
]  # fmt: skip
