"""Loops, branches and vmap in plain Python over arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.core.pytree import leaves, mapped, rebuilt

DERIVATIVES = frozenset({"grad", "hessian", "jacobian", "jvp"})


def _scan(step: Any, init: object, xs: object, length: Any = None, reverse: bool = False) -> Any:
    count = len(leaves(xs)[0]) if leaves(xs) else length
    order = range(count)[::-1] if reverse else range(count)
    carry, ys = init, []
    for i in order:
        carry, y = step(carry, mapped(operator.itemgetter(i), xs))
        ys.append(y)
    if not ys:
        nothing = mapped(lambda x: np.zeros(x.shape[1:], x.dtype), xs)
        _, y = step(init, nothing)
        return init, mapped(lambda one: np.zeros((0, *np.shape(one)), one.dtype), y)
    ys = ys[::-1] if reverse else ys
    stacked = [np.stack(parts) for parts in zip(*map(leaves, ys), strict=True)]
    return carry, rebuilt(ys[0], stacked)


def _repeated(limit: Any, body: Any, init: Any) -> Any:
    carry = init
    for _ in range(min(int(limit), 4)):
        carry = body(*carry)
    return carry


def _cond(predicate: object, true: Any, false: Any, *operands: object) -> Any:
    return true(*operands) if bool(predicate) else false(*operands)


def _vmap(f: Any, *xs: Any) -> Any:
    if not len(xs[0]):
        one = f(*(np.zeros(x.shape[1:], x.dtype) for x in xs))
        return mapped(lambda part: np.zeros((0, *np.shape(part)), part.dtype), one)
    found = [f(*(x[i] for x in xs)) for i in range(len(xs[0]))]
    stacked = [np.stack(parts) for parts in zip(*map(leaves, found), strict=True)]
    return rebuilt(found[0], stacked)


CONTROL: dict[str, Callable[..., Any]] = {
    "scan": _scan, "repeated": _repeated, "cond": _cond, "vmap": _vmap,
    "checkpoint": lambda f, *xs: f(*xs),
}  # fmt: skip
