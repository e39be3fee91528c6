"""Linear and bilinear maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.layers.distances import products
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import DTYPES, F32
from staticgraph.dynamic.core.errors import MixedError, SizeError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.fast_paths.pairs import forward
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor

__all__ = ["bilinear", "linear"]

_with_bias = forward(eager_ops.add_bias)


def linear(input: Any, weight: Any, bias: object = None) -> Any:
    """x @ weight.T + bias: (..., k), (n, k), (n,) -> (..., n); a vector as weight gives (...).

    Example:
        >>> nn.functional.linear(
        ...     dynamic.tensor([1.0, 2.0]), dynamic.tensor([[3.0, 4.0]]), dynamic.tensor([0.5])
        ... )
        tensor([11.5000])
    """
    if type(input) in PLAIN:
        dtype = input._array.dtype
        if dtype is not F32 and dtype.kind in "biu" and input.dtype != weight.dtype:
            raise _mixed(input, weight)  # which a product by itself casts
    elif _is_cast(input, weight):
        raise _mixed(input, weight)
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
    if type(product) in PLAIN and product._array.ndim > 1:
        return _with_bias(product, bias)
    return product + bias


def _is_cast(input: Any, weight: Any) -> bool:
    """Whether a product by itself would cast integers of a tensor that is captured."""
    mixed = isinstance(input, Tensor) and input.dtype != weight.dtype
    return mixed and np.dtype(input.dtype).kind in "biu"


def _mixed(input: Any, weight: Any) -> MixedError:
    first, second = (DTYPES[np.dtype(one.dtype)].legacy for one in (input, weight))
    text = "mat1 and mat2 must have the same dtype, but got {} and {}"
    return MixedError(text.format(first, second))


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
    return products(input1, input2, weight, bias)
