"""Factories of tensors of random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import computing, is_inexact, is_narrow, limits, part_dtype
from staticgraph.dynamic.core.dtypes import DTYPES, INT64, as_numpy_dtype
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, MissingKernelError
from staticgraph.dynamic.core.no_tensors import of_kinds
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.tensors.creation import float_dtype, leaf, like, shape_given
from staticgraph.dynamic.tensors.factory_options import check_options
from staticgraph.dynamic.tensors.random_numbers import source_of
from staticgraph.dynamic.tensors.refused_data import refuse_sizes
from staticgraph.dynamic.tensors.tensor import Tensor


def _drawn(draw: Callable[..., Any], shape: tuple[Any, ...], dtype: np.dtype[Any]) -> Any:
    """Random numbers in the dtype that ops compute in; of complex ones the parts are drawn."""
    if not is_inexact(dtype):
        kernel = "normal_kernel_cpu" if "normal" in draw.__name__ else "check_uniform_bounds"
        raise MissingKernelError(f'"{kernel}" not implemented for {DTYPES[dtype].legacy!r}')
    if dtype.kind != "c":
        return draw(shape, computing(dtype))
    return ops.view_as_complex(draw((*shape, 2), part_dtype(dtype)))


def rand(
    *sizes: object,
    size: object = None,
    generator: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """Uniform numbers in [0, 1).

    Example:
        >>> x = dynamic.rand(2, 3)
        >>> x.shape, bool(((x >= 0) & (x < 1)).all())
        (torch.Size([2, 3]), True)
    """
    out = check_options("rand", options)
    wanted = float_dtype(dtype)
    array = _drawn(source_of(generator).random, shape_given("rand", sizes, size), wanted)
    if is_narrow(wanted):  # of the bits that it has, so that none is rounded to 1
        steps = 2.0 ** (limits(wanted).nmant + 1)
        array = ops.astype(ops.floor(array * steps) / steps, wanted)
    return leaf(array, requires_grad, out)


def randn(
    *sizes: object,
    size: object = None,
    generator: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """Normal numbers of mean 0 and variance 1; of complex ones each part has half of it.

    Example:
        >>> dynamic.randn(2, 3, dtype=dynamic.float64).dtype
        torch.float64
    """
    out = check_options("randn", options)
    wanted = float_dtype(dtype)
    array = _drawn(source_of(generator).standard_normal, shape_given("randn", sizes, size), wanted)
    if wanted.kind == "c":
        array = array * array.dtype.type(math.sqrt(0.5))
    return leaf(ops.astype(array, wanted) if is_narrow(wanted) else array, requires_grad, out)


@of_kinds
def randint(
    low: Any = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: Any,
) -> Tensor:
    """Integers in [low, high), low 0 if two arguments are given: `randint(high, size)`.

    Example:
        >>> x = dynamic.randint(3, 7, (100,))
        >>> int(x.min()), int(x.max()), x.dtype
        (3, 6, torch.int64)
    """
    out = check_options("randint", options)
    if high is None or size is None:
        low, high, size = 0, low, high if size is None else size
    if size is None:
        raise ArgumentError("randint(): the argument 'size' (tuple of ints) is missing")
    if hasattr(size, "__index__"):
        raise ArgumentError(
            f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}"
        )
    sizes = sizes_of((size,), "randint")
    require_int("randint", "low", 1, low)
    require_int("randint", "high", 2, high)
    if low >= high:
        raise AutogradError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    wanted = INT64 if dtype is None else as_numpy_dtype(dtype)
    drawn = source_of(generator).integers(low, high, sizes)
    return leaf(_as_asked(drawn, wanted), requires_grad, out)


def _as_asked(drawn: Any, wanted: np.dtype[Any]) -> Any:
    """Integers in another dtype than int64 if one was asked for; without a copy if none was."""
    return drawn if wanted == INT64 else ops.astype(drawn, wanted)


@of_kinds
def randperm(
    n: int,
    *,
    generator: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """The integers from 0 to n - 1 in random order.

    Example:
        >>> dynamic.randperm(4).sort()[0]
        tensor([0, 1, 2, 3])
    """
    out = check_options("randperm", options)
    refuse_sizes("randperm", (n,))
    wanted = INT64 if dtype is None else as_numpy_dtype(dtype)
    if isinstance(n, float | list | tuple) or getattr(n, "ndim", 0) > 0:
        kind = type(n).__name__
        raise ArgumentError(f"randperm(): argument 'n' (position 1) must be int, not {kind}")
    if getattr(n, "ndim", None) == 0:  # its elements, of which it has none, would be permuted
        n = int(n)
    return leaf(_as_asked(source_of(generator).permutation(n), wanted), requires_grad, out)


rand_like, randn_like = like(rand, True), like(randn, True)
