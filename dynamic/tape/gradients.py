"""`backward` and `grad`: what a reverse pass starts from, and where its results go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.op import Operand
from staticgraph.compiler.core.watching import changing
from staticgraph.compiler.ops import astype
from staticgraph.dynamic.core import provided
from staticgraph.dynamic.core.dtypes import DTYPES, F32
from staticgraph.dynamic.core.eager_ops import stack
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.core.lint_level import lost
from staticgraph.dynamic.core.results import Size
from staticgraph.dynamic.core.user_warnings import warn
from staticgraph.dynamic.tape.engine import run
from staticgraph.dynamic.tape.gradient_edge import GradientEdge
from staticgraph.dynamic.tape.hooks import as_tensor
from staticgraph.dynamic.tape.noted import waiting


@changing("accumulates gradients")
def backward(
    tensors: object,
    grad_tensors: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    *,
    inputs: object = None,
    retain_variables: bool | None = None,
) -> None:
    """Add the derivatives of `tensors` to the `grad` of the leaves that they depend on.

    Args:
        tensors: one or several recorded tensors; each of one element unless it has a cotangent.
        grad_tensors: their cotangents, of their shapes; None where it is 1.
        retain_graph: keep the graph for another pass; `create_graph` unless given.
        create_graph: record the pass, so that the gradients can be differentiated.
        inputs: the tensors to accumulate into, instead of all leaves.
        retain_variables: the old name of `retain_graph`, with a warning.

    Raises:
        RuntimeError: a tensor was not recorded or has no cotangent, the graph was freed by an
            earlier pass, or a saved tensor was modified in place.

    Example:
        >>> x = dynamic.ones(2, requires_grad=True)
        >>> dynamic.autograd.backward([(3 * x).sum()])
        >>> x.grad
        tensor([3., 3.])
    """
    if retain_variables is not None:
        warn("the option retain_variables of backward() is deprecated: use retain_graph instead")
        retain_graph = retain_variables
    retain = create_graph if retain_graph is None else retain_graph
    tensors = _listed(tensors)
    if inputs is not None:
        inputs = _listed(inputs)
        if not inputs:
            raise AutogradError("`inputs` argument to `backward()` cannot be empty.")
    if create_graph:
        _warn_of_cycle()
    if inputs is None:
        if len(tensors) == 1 and grad_tensors is None and not create_graph:
            node = tensors[0]._node
            array = getattr(tensors[0], "_array", node)
            if node is not None and not array.ndim:  # the usual case, the short way
                dtype = array.dtype
                if dtype is not F32:
                    refuse_complex_output(dtype)
                value = array.item()
                if waiting or lost or value - value:  # inf or nan
                    look(node, value)
                run(((node, np.array(1, dtype)),), retain, False)
                return
        roots = _roots(tensors, grad_tensors, create_graph)
        if (waiting or lost) and len(roots) == 1:
            array = tensors[0]._array
            look(roots[0][0], array.item() if array.size == 1 else 0.0)
        run(roots, retain, create_graph)
        return
    roots = _roots(tensors, grad_tensors, create_graph)
    nodes = []
    for tensor in inputs:
        nodes.append(tensor._node)
        if not isinstance(tensor, GradientEdge):
            tensor.retain_grad()
    run(roots, retain, create_graph, nodes, True)


def look(root: object, value: float) -> None:
    """Have the lint look at a reverse pass before it begins."""
    from staticgraph.dynamic.tape import lint

    lint.look(root, value)


def look_at_step(
    operands: Sequence[object], reached: Sequence[int], biases: Mapping[int, Sequence[int]]
) -> None:
    """Have the lint look at a captured reverse pass before its gradients are accumulated."""
    from staticgraph.dynamic.tape import lint

    lint.look_at_step(operands, reached, biases)


def grad(
    outputs: object,
    inputs: object,
    grad_outputs: object = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    *,
    only_inputs: bool = True,
) -> tuple[Any, ...]:
    """The derivatives of the sum of `outputs` with respect to `inputs`, not accumulated anywhere.

    `grad_outputs`, `retain_graph` and `create_graph` are as for `backward`. Where the outputs do
    not depend on an input: RuntimeError, unless `allow_unused` (None) or `materialize_grads`
    (zeros); `only_inputs` is ignored, as in PyTorch. With `is_grads_batched` the cotangents
    have one more axis in front, and so has the
    result: one pass for each index of it.

    Example:
        >>> x = dynamic.tensor(3.0, requires_grad=True)
        >>> dynamic.autograd.grad(x**2, x)
        (tensor(6.),)
    """
    if is_grads_batched:
        options = (create_graph, allow_unused, False, materialize_grads)
        keep = create_graph if retain_graph is None else retain_graph
        return _batched(_listed(outputs), _listed(inputs), _listed(grad_outputs), keep, options)
    if materialize_grads:
        if allow_unused is False:
            raise OptionError(
                "Expected allow_unused to be True or not passed when materialize_grads=True, "
                "but got: allow_unused=False."
            )
        allow_unused = True
    retain = create_graph if retain_graph is None else retain_graph
    inputs = _listed(inputs)
    if not inputs:
        raise AutogradError("`inputs` argument to `grad()` cannot be empty.")
    outputs = _listed(outputs)
    for one in (*inputs, *outputs):
        if getattr(one, "_overwritten", None) is not None:
            settings = create_graph, allow_unused, materialize_grads
            return provided.traced_gradients(outputs, inputs, grad_outputs, *settings)
    roots = _roots(outputs, grad_outputs, create_graph)
    nodes = _nodes(inputs)
    found = run(roots, retain, create_graph, nodes)
    results: list[Any] = []
    for i, (tensor, node) in enumerate(zip(inputs, nodes, strict=True)):
        g = found.get(node)
        if g is not None:
            results.append(as_tensor(g))
        elif materialize_grads:
            if isinstance(tensor, GradientEdge):
                raise AutogradError(
                    "materialize_grads cannot be used when the given input is a GradientEdge"
                )
            zeros = tensor._constant(np.zeros_like(tensor._array))
            results.append(zeros.requires_grad_(create_graph))
        elif allow_unused:
            results.append(None)
        else:
            raise AutogradError(
                f"The differentiated Tensor at index {i} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
    return tuple(results)


def _batched(
    outputs: Sequence[Any], inputs: Sequence[object], cotangents: Sequence[Any], keep: bool,
    options: Any,
) -> tuple[Any, ...]:  # fmt: skip
    for i, (one, out) in enumerate(zip(cotangents, outputs, strict=True)):
        if one is not None and tuple(one.shape[1:]) != tuple(out.shape):
            raise AutogradError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                f"match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {one.shape} and output[{i}] has a shape of "
                f"{out.shape}. If you only want some tensors in `grad_output` to be considered "
                "batched, consider using vmap."
            )
    count = next(len(one) for one in cotangents if one is not None)
    rows = []
    for i in range(count):
        row = [one if one is None else one[i] for one in cotangents]
        rows.append(grad(outputs, inputs, row, keep or i + 1 < count, *options))
    return tuple(
        None if column[0] is None else column[0]._apply(stack, column, {"axis": 0})
        for column in zip(*rows, strict=True)
    )


def _warn_of_cycle() -> None:
    warn(
        "Using backward() with create_graph=True will create a reference cycle between the "
        "parameter and its gradient which can cause a memory leak. We recommend using "
        "autograd.grad when creating the graph to avoid this. If you have to use this function, "
        "make sure to reset the .grad fields of your parameters to None after use to break the "
        "cycle and avoid the leak."
    )


def _listed(tensors: Any) -> Sequence[Any]:
    return (tensors,) if isinstance(tensors, Operand | GradientEdge) else tuple(tensors)


def _nodes(inputs: Sequence[Any]) -> list[Any]:
    for tensor in inputs:
        if tensor._node is None:
            raise AutogradError("One of the differentiated Tensors does not require grad")
    return [tensor._node for tensor in inputs]


def _roots(tensors: Sequence[Any], cotangents: Any, create_graph: bool) -> list[tuple[Any, Any]]:
    if cotangents is None:
        cotangents = (None,) * len(tensors)
    elif isinstance(cotangents, Operand):
        cotangents = (cotangents,)
    if len(cotangents) != len(tensors):
        raise AutogradError(f"got {len(tensors)} tensors and {len(cotangents)} gradients for them")
    given = [
        _cotangent(i, tensor, cotangent, create_graph)
        for i, (tensor, cotangent) in enumerate(zip(tensors, cotangents, strict=True))
    ]
    roots = []
    for i, (tensor, g) in enumerate(zip(tensors, given, strict=True)):
        if tensor._node is None or getattr(tensor, "_maker", tensor) is None:
            raise AutogradError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
        roots.append((tensor._node, g))
    return roots


def refuse_complex_output(dtype: Any) -> None:
    """RuntimeError for a complex tensor, whose gradient needs a cotangent."""
    if dtype.kind == "c":
        raise AutogradError(
            "grad can be implicitly created only for real scalar outputs but got "
            f"torch.{np.dtype(dtype).name}"
        )


def _cotangent(i: int, tensor: Any, given: Any, create_graph: bool) -> Any:
    """The cotangent of a root, a tensor if the pass is recorded, else its array.

    1 if none is given; None for a tensor that cannot be a root.
    """
    array = tensor._node if isinstance(tensor, GradientEdge) else tensor._array
    if given is None:
        if tensor._node is None:
            return None
        if array.size != 1:
            raise AutogradError("grad can be implicitly created only for scalar outputs")
        refuse_complex_output(array.dtype)
        one = np.array(1, array.dtype).reshape(array.shape)
        return as_tensor(one) if create_graph or not _in_memory(tensor) else one
    given = as_tensor(given)
    if given.shape != array.shape:
        raise AutogradError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {given.shape} and output[{i}] "
            f"has a shape of {Size(array.shape)}."
        )
    if given._array.dtype == array.dtype:
        return given if create_graph else _plain(given, tensor)
    if "c" in (given._array.dtype.kind, array.dtype.kind):
        raise AutogradError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{i}] has a dtype of {DTYPES[given._array.dtype]!r} "
            f"and output[{i}] has a dtype of {DTYPES[array.dtype]!r}."
        )
    cast = astype(given, array.dtype)
    return cast if create_graph else _plain(cast, tensor)


def _plain(cotangent: Any, output: Any) -> Any:
    """A cotangent's array; itself where that or the output has no memory of its own."""
    in_memory = type(cotangent._array) is np.ndarray and _in_memory(output)
    return cotangent._array if in_memory else cotangent


def _in_memory(output: Any) -> bool:
    return isinstance(output, GradientEdge) or type(output._array) is np.ndarray
