"""Transforms of functions: grad, value_and_grad, vjp, jvp, jacobian, hessian, hvp, vmap, ...

Each takes a function of arrays and returns one, compiled by `function`; on expressions it
composes them, so transforms nest in any order. Semantics and arguments are those of `jax`.
"""

from __future__ import annotations

from staticgraph.transforms.derivatives import grad, hessian, jacobian, jvp, value_and_grad, vjp
from staticgraph.transforms.forward import hvp, jacfwd, linearize
from staticgraph.transforms.mapping import vmap

__all__ = [
    "grad", "hessian", "hvp", "jacfwd", "jacobian", "jvp", "linearize", "value_and_grad", "vjp",
    "vmap",
]  # fmt: skip
