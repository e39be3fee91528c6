"""Jacobians, Hessians and their products with vectors (PyTorch's torch.autograd.functional).

Functions take one tensor or a tuple of tensors, and return one or a tuple; the results have the
same form. Each result is detached unless `create_graph`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic import func as transforms
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.func.batched import Batched
from staticgraph.dynamic.func.pull import pull
from staticgraph.dynamic.func.tracer import batch_of, new_level
from staticgraph.dynamic.operations.functions import stack
from staticgraph.dynamic.tape.grad_mode import enable_grad
from staticgraph.dynamic.tape.gradients import grad
from staticgraph.dynamic.tensors.creation import zeros_like
from staticgraph.dynamic.tensors.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_Function = Callable[..., Any]

_INDEPENDENT = (
    "While computing the hessian, found that the jacobian of the user-provided function with "
    "respect to input {} is independent of the input. This is not allowed in strict mode. You "
    "should ensure that your function is twice differentiable and that the jacobian depends on "
    "the inputs (this would be violated by a linear function for example)."
)


_NO_GRADIENT = (
    "The output of the user-provided function is independent of input {}. This is not allowed in "
    "strict mode."
)


class _Call:
    """A call of the user's function on inputs that require grad.

    Attributes:
        inputs, single_input: the inputs as a tuple, and whether the user gave one tensor.
        outputs, single_output: the same of what the function returned.
    """

    def __init__(
        self, name: str, func: _Function, inputs: object, create_graph: bool, strict: bool
    ) -> None:
        given, self.single_input = _as_tuple(f"inputs given to {name}", "inputs", inputs)
        self.inputs = tuple(_variable(x, create_graph) for x in given)
        what = "outputs of the user-provided function"
        found = func(*self.inputs)
        self.outputs, self.single_output = _as_tuple(f"{what} given to {name}", what, found)
        self.create_graph = create_graph
        self.strict = strict
        if strict:
            _check_recorded(self.outputs)

    def finished(self, results: Any) -> Any:
        """Results as they are handed out: detached unless the graph is wanted."""
        if isinstance(results, tuple):
            return tuple(self.finished(one) for one in results)
        return results if self.create_graph else results.detach()


def _as_tuple(what: str, name: str, value: Any) -> tuple[tuple[Any, ...], bool]:
    """A tensor or a tuple of them as a tuple, and whether it is one; TypeError otherwise."""
    single = not isinstance(value, tuple)
    listed = (value,) if single else value
    for i, one in enumerate(listed):
        if not isinstance(one, Tensor):
            which = f"the given {name} has type" if single else f"the value at index {i} has type"
            raise ArgumentError(
                f"The {what} must be either a Tensor or a tuple of Tensors but {which} {type(one)}."
            )
    return listed, single


def _variable(x: Any, create_graph: bool) -> Any:
    if create_graph and x.requires_grad:
        return x.view_as(x)
    return x.detach().requires_grad_()


def _unpacked(values: Sequence[object], single: bool) -> Any:
    return values[0] if single else tuple(values)


def _gradients(
    outputs: Sequence[Any], inputs: Sequence[object], vectors: Sequence[object], create_graph: bool
) -> tuple[Any, ...]:
    """The gradients of the outputs that have any history; None for inputs they do not reach."""
    pairs = [(out, v) for out, v in zip(outputs, vectors, strict=True) if out.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outs, vs = zip(*pairs, strict=True)
    return grad(outs, inputs, vs, retain_graph=True, create_graph=create_graph, allow_unused=True)


def _filled(found: Sequence[object], like: Sequence[object]) -> tuple[Any, ...]:
    """Zeros of the shape of `like` where nothing was found."""
    return tuple(zeros_like(x) if g is None else g for g, x in zip(found, like, strict=True))


def _vectors(
    name: str, v: object, like: Sequence[Any], single: bool, missing: str
) -> tuple[Any, ...]:
    """`v` as one vector per tensor; ones if it is None and there is one tensor of one element."""
    if v is None:
        if not single or like[0].numel() != 1:
            raise AutogradError(f"The vector v can only be None if {missing}.")
        return (
            ops.broadcast_to(like[0]._constant(np.ones((), like[0].dtype.dtype)), like[0].shape),
        )
    given, _ = _as_tuple(f"v given to {name}", "v", v)
    if len(given) != len(like):
        if single:
            raise AutogradError("The given v should contain a single Tensor.")
        raise AutogradError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}."
        )
    for i, (one, x) in enumerate(zip(given, like, strict=True)):
        if one.shape != x.shape:
            which = "v has" if single else f"Entry {i} in v has"
            raise AutogradError(f"{which} invalid size: should be {x.shape} but got {one.shape}.")
    return given


_ONE_OUTPUT = "the user-provided function returns a single Tensor with a single element"
_ONE_INPUT = "the input to the user-provided function is a single Tensor with a single element"


def _check_reached(found: Sequence[Any], i: int | None, create_graph: bool) -> None:
    """RuntimeError unless every input has a gradient, one that depends on the inputs if needed.

    `i` is the output that is meant, or None: all of them.
    """
    for j, g in enumerate(found):
        if g is None and i is None:
            raise AutogradError(_NO_GRADIENT.format(j))
        if g is None:
            raise AutogradError(
                f"Output {i} of the user-provided function is independent of input {j}. This is "
                "not allowed in strict mode."
            )
        if create_graph and not g.requires_grad:
            raise AutogradError(
                f"The jacobian of the user-provided function is independent of input {j}. This is "
                "not allowed in strict mode when create_graph=True."
            )


def _check_recorded(outputs: Sequence[Any]) -> None:
    for i, out in enumerate(outputs):
        if not out.requires_grad:
            raise AutogradError(
                f"Output {i} of the user-provided function does not require gradients. The outputs "
                "must be computed in a differentiable manner from the input when running in strict "
                "mode."
            )


def vjp(
    func: _Function,
    inputs: object,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(outputs, v times the Jacobian), v of the outputs' shapes.

    RuntimeError if v does not fit; with `strict` also if an output does not depend on an input,
    which gives zeros otherwise.

    Example:
        >>> x, v = dynamic.tensor([1.0, 2.0]), dynamic.ones(2)
        >>> dynamic.autograd.functional.vjp(lambda x: x * x, x, v)
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        call = _Call("vjp", func, inputs, create_graph, strict)
        vectors = _vectors("vjp", v, call.outputs, call.single_output, _ONE_OUTPUT)
        found = _gradients(call.outputs, call.inputs, vectors, create_graph)
        if strict:
            _check_reached(found, None, create_graph)
    results = _unpacked(_filled(found, call.inputs), call.single_input)
    return call.finished(_unpacked(call.outputs, call.single_output)), call.finished(results)


def jvp(
    func: _Function,
    inputs: object,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(outputs, the Jacobian times v), v of the inputs' shapes, by two reverse passes.

    The first is linear in its cotangent, and the second differentiates it by that. `func.jvp`
    does it in forward mode, without keeping the graph.

    Example:
        >>> x, v = dynamic.tensor([1.0, 2.0]), dynamic.tensor([1.0, 0.0])
        >>> dynamic.autograd.functional.jvp(lambda x: x * x, x, v)
        (tensor([1., 4.]), tensor([2., 0.]))
    """
    with enable_grad():
        call = _Call("jvp", func, inputs, create_graph, strict)
        vectors = _vectors("jvp", v, call.inputs, call.single_input, _ONE_INPUT)
        cotangents = tuple(zeros_like(out).requires_grad_() for out in call.outputs)
        pulled = _gradients(call.outputs, call.inputs, cotangents, True)
        if strict:
            _check_reached(pulled, None, False)
        used = [i for i, g in enumerate(pulled) if g is not None]
        found = _gradients(
            [pulled[i] for i in used], cotangents, [vectors[i] for i in used], create_graph
        )
        if strict:
            _check_reached(found, None, create_graph)
    results = _unpacked(_filled(found, call.outputs), call.single_output)
    return call.finished(_unpacked(call.outputs, call.single_output)), call.finished(results)


def vhp(
    func: _Function,
    inputs: object,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(output, v times the Hessian) of a function of one element, v of the inputs' shapes.

    Example:
        >>> x, v = dynamic.tensor([1.0, 2.0]), dynamic.ones(2)
        >>> dynamic.autograd.functional.vhp(lambda x: (x**3).sum(), x, v)
        (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: _Function,
    inputs: object,
    v: object = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(output, the Hessian times v): the Hessian is symmetric, so this is `vhp`.

    Example:
        >>> x, v = dynamic.tensor([1.0, 2.0]), dynamic.ones(2)
        >>> dynamic.autograd.functional.hvp(lambda x: (x**3).sum(), x, v)
        (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, func: _Function, inputs: object, v: object, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    with enable_grad():
        call = _Call(name, func, inputs, create_graph, strict)
        value = _scalar(name, call.outputs, call.single_output)
        vectors = _vectors(name, v, call.inputs, call.single_input, _ONE_INPUT)
        slopes = _slopes(value, call.inputs, strict, _NO_GRADIENT)
        found = _gradients(slopes, call.inputs, vectors, create_graph)
    results = _unpacked(_filled(found, call.inputs), call.single_input)
    return call.finished(call.outputs[0]), call.finished(results)


def jacobian(
    func: _Function,
    inputs: object,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: for an output of shape s and an input of shape t a tensor of shape s + t.

    A tuple over the outputs of tuples over the inputs, without the level of a single tensor.

    Args:
        func: the function.
        inputs: where to differentiate it.
        create_graph: record the result, so that it can be differentiated.
        strict: RuntimeError, instead of zeros, where an output does not depend on an input.
        vectorize: pull all rows back at once, as a batch, instead of one after the other.
        strategy: "reverse-mode", or "forward-mode", where all columns are computed as a batch.

    Example:
        >>> dynamic.autograd.functional.jacobian(lambda x: x * x, dynamic.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise OptionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strict and strategy == "forward-mode":
        raise AutogradError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are '
            "not supported together (yet). Please either set `strict=False` or "
            '`strategy="reverse-mode"`.'
        )
    if strict and vectorize:
        raise AutogradError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
            "supported together. Please either set `strict=False` or `vectorize=False`."
        )
    if strategy == "forward-mode":
        return _by_columns(func, inputs, create_graph)
    with enable_grad():
        call = _Call("jacobian", func, inputs, create_graph, strict)
        rows = _batched_rows if vectorize else _rows
        found = [rows(call, i, out) for i, out in enumerate(call.outputs)]
    blocks = [call.finished(_unpacked(one, call.single_input)) for one in found]
    return _unpacked(blocks, call.single_output)


def _rows(call: _Call, i: int, out: Any) -> list[Any]:
    """The Jacobian of one output by each input, one row after the other."""
    columns: list[list[Any]] = [[] for _ in call.inputs]
    for element in out.reshape(-1).unbind() if out.ndim else (out,):
        one = element._constant(np.ones((), out.dtype.dtype))
        found = _gradients([element], call.inputs, [one], call.create_graph)
        if call.strict:
            _check_reached(found, i, call.create_graph)
        for column, g in zip(columns, _filled(found, call.inputs), strict=True):
            column.append(g)
    shape = tuple(out.shape)
    return [
        ops.reshape(stack(column), (*shape, *x.shape)) if column else _empty(out, x)
        for column, x in zip(columns, call.inputs, strict=True)
    ]


def _empty(out: Any, x: Any) -> Any:
    return x._constant(np.zeros((*out.shape, *x.shape), x.dtype.dtype))


def _construct_standard_basis_for(
    tensors: Sequence[Any], tensor_numels: Sequence[int]
) -> tuple[Any, ...]:
    """The columns of the identity that belong to each of several tensors, in its dtype."""
    total, starts = sum(tensor_numels), np.cumsum([0, *tensor_numels])
    return tuple(
        one._constant(np.eye(total, n, -start, dtype=one.dtype.dtype))
        for one, n, start in zip(tensors, tensor_numels, starts.tolist(), strict=False)
    )


def _batched_rows(call: _Call, i: int, out: Any) -> list[Any]:
    size, shape = out.numel(), tuple(out.shape)
    (basis,) = _construct_standard_basis_for((out,), (size,))
    basis = ops.reshape(basis, (size, *shape))
    with new_level(size) as level:
        found = pull([out], call.inputs, [Batched(level, basis)])
        batches = [None if g is None else batch_of(g, level) for g in found]
    return [
        _empty(out, x) if g is None else ops.reshape(g, (*shape, *x.shape))
        for g, x in zip(batches, call.inputs, strict=True)
    ]


def _by_columns(func: _Function, inputs: object, create_graph: bool) -> Any:
    given, single = _as_tuple("inputs given to jacobian", "inputs", inputs)
    what = "outputs of the user-provided function"

    def checked(*xs: object) -> Any:
        found = func(*xs)
        _as_tuple(f"{what} given to jacobian", what, found)
        return found

    places = tuple(range(len(given)))
    variables = [_variable(x, True) for x in given] if create_graph else given
    found = transforms.jacfwd(checked, 0 if single else places)(*variables)
    return found if create_graph else _detached(found)


def _detached(found: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(_detached(one) for one in found)
    return found.detach()


def hessian(
    func: _Function,
    inputs: object,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function of one element: for inputs of shapes t and u, t + u.

    A tuple of tuples over the inputs; a tensor for a single one. The arguments are those of
    `jacobian`, which differentiates the gradient: by reverse mode, or in forward mode.

    Example:
        >>> dynamic.autograd.functional.hessian(lambda x: (x**3).sum(), dynamic.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise OptionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    given, single = _as_tuple("inputs given to hessian", "inputs", inputs)

    def value(*xs: object) -> Any:
        what = "outputs of the user-provided function"
        outputs, one = _as_tuple(f"{what} given to hessian", what, func(*xs))
        return _scalar("hessian", outputs, one)

    if outer_jacobian_strategy == "forward-mode":
        argnums = 0 if single else tuple(range(len(given)))
        return _by_columns(transforms.grad(value, argnums), inputs, create_graph)

    def slope(*xs: object) -> Any:
        result = value(*xs)
        if strict:
            _check_recorded([result])
        return _unpacked(_slopes(result, xs, strict), single)

    return jacobian(slope, inputs, create_graph, strict, vectorize)


def _scalar(name: str, outputs: Sequence[Any], single: bool) -> Any:
    """The only output, as a 0-d tensor; RuntimeError unless it is one tensor of one element."""
    if not single:
        raise AutogradError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise AutogradError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )
    return outputs[0].reshape(())


def _slopes(
    value: Any, inputs: Sequence[object], strict: bool, missing: str | None = None
) -> tuple[Any, ...]:
    """The recorded gradient of a 0-d tensor; `missing` is what to say where there is none."""
    one = value._constant(np.ones((), value.dtype.dtype))
    found = _gradients([value], inputs, [one], True)
    if strict:
        for j, g in enumerate(found):
            if g is None or not g.requires_grad:
                text = missing if g is None and missing is not None else _INDEPENDENT
                raise AutogradError(text.format(j))
    return _filled(found, inputs)
