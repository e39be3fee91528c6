"""Transforms of functions: grad, vjp, jvp, jacrev, jacfwd, hessian, vmap (PyTorch's torch.func).

They nest in any order and with the tape: what they return is recorded if it depends on tensors
that require grad.
"""

from __future__ import annotations

from staticgraph.dynamic.func.forward import hessian, jacfwd, jvp, linearize
from staticgraph.dynamic.func.reverse import grad, grad_and_value, jacrev, vjp
from staticgraph.dynamic.func.stateless import functional_call, stack_module_state
from staticgraph.dynamic.func.vectorize import vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
