"""Transforms of functions: grad, value_and_grad, vjp, jvp, jacobian, hessian, hvp, vmap, ...

Each takes a function of arrays and returns one, compiled by `function`; on expressions it
composes them, so transforms nest in any order. Semantics and arguments are those of `jax`.
"""
