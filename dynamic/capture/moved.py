"""`x.data = y` while a function is captured: a tensor gets the memory of another."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.refusals import refuse, user_place
from staticgraph.compiler.graph.expression import Expression
from staticgraph.dynamic.tape.grad_mode import mode, record_if


def move(x: Any, value: Any) -> None:
    """Give a traced tensor the memory of another, which was made inside.

    From here on neither views of `x` of before, nor `value`, which is `x` now, may be read.
    """
    if tuple(value.shape) != tuple(x.shape) or value.dtype != x.dtype:
        refuse("gives a tensor memory of another shape or dtype", "make a new tensor")
    root, whole = value, True
    while root._link is not None:
        whole = whole and root._link.op is ops.stop_gradient
        root = root._link.parent
    if root is x and whole:
        return  # it was changed in its own memory
    if root._outside or x._link is not None or root is x:
        refuse(
            "gives a tensor the memory of another one",
            "copy the values, x.data.copy_(y), or give it a new tensor, x.data = y.clone()",
        )
    new = value._current()
    if not isinstance(new, Expression):  # it may be on an array that others have
        refuse("gives a tensor the memory of one that is known", "copy the values, x.data.copy_(y)")
    if x._outside:
        mode.capture.moves(x)
    before = record_if(False)
    try:
        x._write(new)
    finally:
        record_if(before)
    x._moved = x._stamp
    root._lost = value._lost = user_place()
