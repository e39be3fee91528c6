"""Linear and bilinear maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Attrs, Operand
from staticgraph.compiler.core.overrides import answer, asking
from staticgraph.compiler.core.passing import passed, passing
from staticgraph.compiler.layers.distances import products
from staticgraph.compiler.llvm.small_products_words import LAYER
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import DTYPES, F32
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, MixedError, SizeError
from staticgraph.dynamic.core.no_tensors import of_kinds
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.fast_paths.pairs import forward, plans_of
from staticgraph.dynamic.tape.grad_mode import mode, paused, recording
from staticgraph.dynamic.tape.recipes import Recipe, recipe
from staticgraph.dynamic.tape.tape import new_node, record_pair
from staticgraph.dynamic.tape.watching import watching
from staticgraph.dynamic.tensors.naming import keep
from staticgraph.dynamic.tensors.narrowing import in_dtype
from staticgraph.dynamic.tensors.short_ways import Products
from staticgraph.dynamic.tensors.tensor import PLAIN, Plans, Tensor, fresh

__all__ = ["bilinear", "linear"]

_with_bias = forward(eager_ops.add_bias)
_turned = recipe(eager_ops.transpose_2d, (True,))
_of_product, _of_bias = plans_of(ops.matmul, False), plans_of(eager_ops.add_bias, False)
_REVERSED: Attrs = {"axes": (1, 0)}
_NO_ATTRS: Attrs = {}


@asking
def linear(input: Any, weight: Any, bias: object = None) -> Any:
    """x @ weight.T + bias: (..., k), (n, k), (n,) -> (..., n); a vector as weight gives (...).

    Example:
        >>> nn.functional.linear(
        ...     dynamic.tensor([1.0, 2.0]), dynamic.tensor([[3.0, 4.0]]), dynamic.tensor([0.5])
        ... )
        tensor([11.5000])
    """
    if passing and (said := passed(linear, (input, weight, bias), {})) is not None:
        return said[0]
    try:
        return _products.function(input, weight, bias)
    except Exception:
        if (found := answer(linear, (input, weight, bias), {})) is not None:
            return found[0]
        raise


def _linear(input: Any, weight: Any, bias: Any) -> Any:
    if type(input) in PLAIN:
        dtype = input._array.dtype
        if dtype is not F32 and dtype.kind in "biu" and input.dtype != weight.dtype:
            raise _mixed(input, weight)  # which a product by itself casts
    elif _is_cast(input, weight):
        raise _mixed(input, weight)
    if not input.ndim or not weight.ndim:
        raise AutogradError(
            f"linear: input and weight have axes, not {input.ndim} and {weight.ndim} of them"
        )
    if weight.ndim > 2:
        raise AutogradError(
            f"linear: the weight must be a matrix or a vector, not of shape {list(weight.shape)}"
        )
    if type(weight) in PLAIN and weight._array.ndim == 2:
        matrix = weight.t()
    else:
        matrix = weight if weight.ndim == 1 else ops.swapaxes(weight, -1, -2)
    try:
        product = ops.matmul(input, matrix)
    except MixedError:
        if bias is None:
            raise
        raise _mixed(input, weight) from None
    except SizeError as error:
        raise SizeError(_of_linear(str(error), input, weight)) from None
    if bias is None:
        return product
    if not isinstance(bias, Operand | np.ndarray | complex | float | int):
        given = type(bias).__name__
        raise ArgumentError(f"linear(): argument 'bias' (position 3) must be Tensor, not {given}")
    if paused and mode.autocast is not None:
        (bias,) = in_dtype((bias,), mode.autocast)
    if type(product) in PLAIN and product._array.ndim > 1:
        return _with_bias(product, bias)
    return product + bias


def _plan(plans: Plans, first: object, second: object) -> Recipe:
    """The recipe where these are the nodes of the operands, one of which there is."""
    return plans[2] if first is None else plans[1] if second is None else plans[0]


def _edge(tensor: Any) -> Any:
    """The node that made a tensor, or None."""
    return tensor._maker if tensor._note is None else tensor._node


def _finish(array: Any, input: Any, weight: Any, bias: Any) -> Any:
    """The tensor of a small layer, with the nodes that `_linear` records."""
    if paused and (mode.capture is not None or mode.autocast is not None or watching):
        return _linear(input, weight, bias)
    result = fresh(array)
    if paused and not recording():
        return result
    x, of_input, of_weight, node = input._array, _edge(input), _edge(weight), None
    matrix = weight._array.T
    if of_weight is not None:
        saved = of_weight, None
        of_weight = new_node(_turned, saved[:1], saved, (), (), _REVERSED, matrix)
    if of_input is not None or of_weight is not None:
        plan, edges = _plan(_of_product, of_input, of_weight), (of_input, of_weight)
        node = record_pair(plan, edges, x, matrix, input, weight, result, _NO_ATTRS)
    if bias is not None:
        of_bias = _edge(bias)
        if node is not None or of_bias is not None:
            plan, edges = _plan(_of_bias, node, of_bias), (node, of_bias)
            node = record_pair(plan, edges, array, bias._array, result, bias, result, _NO_ATTRS)
    result._maker = node
    return result


_products = Products(of_kinds(_linear, "linear"), _finish, LAYER)


def _is_cast(input: Any, weight: Any) -> bool:
    """Whether a product by itself would cast integers of a tensor that is captured."""
    mixed = isinstance(input, Tensor) and input.dtype != weight.dtype
    return mixed and np.dtype(input.dtype).kind in "biu"


def _mixed(input: Any, weight: Any) -> MixedError:
    first, second = (DTYPES[np.dtype(one.dtype)].legacy for one in (input, weight))
    return MixedError(
        f"mat1 and mat2 must have the same dtype, but got {first} and {second}: linear of input "
        f"{list(input.shape)} and weight {list(weight.shape)}"
    )


def _of_linear(text: str, input: Any, weight: Any) -> str:
    """What a product says of shapes that do not fit, with the operands of the layer."""
    first = text.partition(": matmul: ")[0]
    return (
        f"{first}: linear: input {list(input.shape)} has {input.shape[-1]} features, weight "
        f"{list(weight.shape)} takes {weight.shape[-1]}"
    )


def bilinear(input1: Any, input2: Any, weight: Any, bias: object = None) -> Any:
    """x weight[k] y + bias[k] for each k: (..., i), (..., j), (k, i, j), (k,) -> (..., k).

    Example:
        >>> x, y = dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0])
        >>> nn.functional.bilinear(x, y, dynamic.tensor([[[1.0], [1.0]]]))
        tensor([9.])
    """
    _, first, second = weight.shape
    for number, (operand, size) in enumerate(((input1, first), (input2, second)), 1):
        if differ(operand.shape[-1:], (size,)):
            raise SizeError(
                f"bilinear(): input{number} size does not match weight size: got "
                f"{operand.shape[-1]} but expected {size}"
            )
    return keep(products(input1, input2, weight, bias), weight)
