"""Where in memory the tensors are that tracers stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.dynamic.func.tracer import Tracer
from staticgraph.dynamic.tensors.strided import Layout, layout, owner, strided
from staticgraph.dynamic.tensors.tensor import fresh


def layout_of(x: Any) -> Layout:
    """The layout of a tensor, of a primal, or of the first example of a batch."""
    if not isinstance(x, Tracer):
        return layout(x._array)
    whole = layout_of(x._held)
    if x._level.size is None:
        return whole
    return Layout(whole.shape[1:], whole.steps[1:], whole.start)


def last_step(shape: Sequence[int], steps: Sequence[int]) -> int:
    """How far from the first element the last one is."""
    return sum([(n - 1) * step for n, step in zip(shape, steps, strict=True)])


def laid_out(tangent: Any, primal: Any) -> Any:
    """The tangent, or a copy of it that is laid out as its primal, so that views of both are alike.

    Of a batch of tangents the steps of one example count, not how much memory there is beside it.
    """
    own = layout(primal._array)
    if not primal._array.size:
        return tangent
    given = layout_of(tangent)
    alike = all(
        step == other
        for n, step, other in zip(own.shape, own.steps, given.steps, strict=True)
        if n > 1
    )
    if isinstance(tangent, Tracer):
        return tangent if alike else tangent.clone()
    size = owner(primal._array).size
    if alike and own.start == given.start and size == owner(tangent._array).size:
        return tangent
    memory = np.zeros(size, tangent._array.dtype)
    copied = fresh(strided(memory, own.shape, own.steps, own.start))
    return copied.copy_(tangent)
