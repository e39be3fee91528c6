"""Pulling cotangents back through the tape, from tracers to tracers.

The tape holds plain tensors. A batch is pulled back as a whole: no example depends on another,
so that the gradient of the sum holds the gradient of each. The gradient of a dual number
y + e y' by x + e x' is dy/dx + e dy'/dx, which is how forward mode differentiates gradients.
Cotangents may be tracers of further levels: the gradient rules are then run on them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.expression import Handle
from staticgraph.dynamic.core import provided
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func.tracer import Tracer, evaluated, innermost, zeros_of
from staticgraph.dynamic.tape.engine import run
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tape.gradients import refuse_complex_output
from staticgraph.dynamic.tensors.tensor import Tensor


def lifted(x: Any) -> Any:
    """`x` as a new variable on the tape, to differentiate by; RuntimeError unless floating.

    It keeps the history of x if recording is on; else it is a leaf.
    """
    if isinstance(x, Tracer):
        return x._variable() if isinstance(x, Handle) else x._with(lifted(x._held))
    if x._array.dtype.kind not in "fc":
        raise AutogradError("only Tensors of floating point dtype can require gradients")
    if x._node is None or not mode.enabled:
        leaf = x.detach()
        leaf.requires_grad = True
        return leaf
    return evaluated(ops.reshape, [x], {"shape": tuple(x.shape)})


def pull(
    outputs: Sequence[object],
    inputs: Sequence[object],
    cotangents: Sequence[object],
    record: bool | None = None,
) -> list[Any]:
    """Per input the sum of the cotangents times the derivatives of the outputs by it, or None.

    The inputs are what `lifted` made, the cotangents of the shapes of the outputs. Nothing is
    freed. Unless `record` says whether the pass is recorded, it is if what it computes depends on
    anything recorded but the inputs.
    """
    top = innermost([*outputs, *inputs])
    if top is None:
        return _pull_plain(outputs, inputs, cotangents, record)
    return top._pulled(outputs, inputs, cotangents, record)


def _pull_plain(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    cotangents: Sequence[Any],
    record: bool | None,
) -> list[Any]:
    roots = [
        (out._node, cotangent if cotangent.dtype == out.dtype else ops.astype(cotangent, out.dtype))
        for out, cotangent in zip(outputs, cotangents, strict=True)
        if out._node is not None
    ]
    if not roots:
        return [None] * len(inputs)
    nodes = [x._node for x in inputs]
    traced = any(isinstance(u, Tracer) for _, u in roots)
    keep = record
    if keep is None:
        keep = mode.enabled and (
            any(u._node is not None for _, u in roots) or depends_on_more(outputs, inputs)
        )
    memory = all(type(one._array) is np.ndarray for one in (*outputs, *cotangents))
    if keep or traced:
        found = run(roots, True, True, nodes)
    else:
        given = [(node, u._array) for node, u in roots] if memory else roots
        found = run(given, True, False, nodes)
    results = [found.get(node) for node in nodes]
    if keep:
        return results
    return [
        None if g is None else g.detach() if isinstance(g, Tensor) else inputs[0]._constant(g)
        for g in results
    ]


def gradients(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    cotangents: Any,
    create_graph: bool,
    allow_unused: bool | None,
    materialize: bool,
) -> tuple[Any, ...]:
    """`autograd.grad` where some tensors are tracers; the graph is always kept."""
    if cotangents is None or isinstance(cotangents, Tensor):
        cotangents = (cotangents,) * len(outputs)
    for i, (out, given) in enumerate(zip(outputs, cotangents, strict=True)):
        if not out.requires_grad:
            raise AutogradError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
        if given is None and out.numel() != 1:
            raise AutogradError("grad can be implicitly created only for scalar outputs")
        if given is None:
            refuse_complex_output(out._array.dtype)
    if not all(x.requires_grad for x in inputs):
        raise AutogradError("One of the differentiated Tensors does not require grad")
    ones = [
        out._constant(np.ones(out.shape, out.dtype.dtype)) if given is None else given
        for out, given in zip(outputs, cotangents, strict=True)
    ]
    found = pull(outputs, inputs, ones, create_graph)
    results: list[Any] = []
    for i, (x, g) in enumerate(zip(inputs, found, strict=True)):
        if g is None and materialize:
            g = zeros_of(x)
        if g is None and not allow_unused:
            raise AutogradError(
                f"The differentiated Tensor at index {i} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
        results.append(g)
    return tuple(results)


provided.traced_gradients.provide(gradients)


def depends_on_more(outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
    """Whether plain outputs depend on anything that requires grad but the inputs, or these do."""
    own: Collection[Any] = {x._node for x in inputs}
    if any(node.edges for node in own):
        return True
    oldest = min(node.serial for node in own)
    stack = [out._node for out in outputs if out._node is not None]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if node in own:
            continue
        if node.serial < oldest or not node.edges:
            return True
        for edge in node.edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                stack.append(edge)
    return False


def released(x: Any, inputs: Sequence[object]) -> Any:
    """A result without the history that only these inputs gave it."""
    if isinstance(x, Tracer):
        if isinstance(x, Handle):  # what it depends on beside the inputs is what they are made of
            return x
        return x._inside(lambda held: released(held, inputs))
    inputs = [_plain(one) for one in inputs]
    if x._node is None or (mode.enabled and depends_on_more([x], inputs)):
        return x
    return x.detach()


def _plain(x: object) -> Any:
    while isinstance(x, Tracer):
        x = x._held
    return x
