"""Factories of tensors (PyTorch's): from data, filled, ranges and random numbers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.annotated import as_float, is_real
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import (
    complex_dtype,
    computing,
    is_inexact,
    is_narrow,
    limits,
    part_dtype,
)
from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.types import is_static
from staticgraph.dynamic.core.dtypes import (
    DTYPES,
    INT64,
    as_numpy_dtype,
    dtype_of_number,
    element,
    get_default_dtype,
    promote_types,
)
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, MissingKernelError
from staticgraph.dynamic.core.no_tensors import refuse
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.core.user_warnings import keep_silent
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.captured_data import copied, is_outside, of_tensor, on_memory
from staticgraph.dynamic.tensors.factory_options import check_options
from staticgraph.dynamic.tensors.inplace import into
from staticgraph.dynamic.tensors.random_numbers import source_of
from staticgraph.dynamic.tensors.refused_data import (
    number_in,
    refuse_sizes,
    refused_elements,
    refused_rows,
)
from staticgraph.dynamic.tensors.tensor import Tensor, wrap
from staticgraph.dynamic.tensors.values import values_of


def _leaf(array: Any, requires_grad: bool, out: Any = None) -> Tensor:
    """A leaf on an array, or what stands for one that each call of a captured function draws.

    Or `out`, with these elements.
    """
    keep_silent()
    result = array if isinstance(array, Tensor) else wrap(np.asarray(array))
    if out is not None:
        result = into("out", out, result.to(out.dtype), ())
    if requires_grad:
        if not is_inexact(result._array.dtype):
            raise AutogradError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        result.requires_grad = True
    return result


def _filled(make: Callable[..., Any], shape: tuple[Any, ...], number: object, dtype: Any) -> Any:
    """`make(shape, dtype=dtype)`; in a captured function of unknown sizes what stands for it."""
    if paused and _is_unknown(shape):
        return mode.capture.filled(np.asarray(number, dtype), shape)
    return make(shape, dtype=dtype)


def _is_unknown(sizes: tuple[Any, ...]) -> bool:
    """Whether a size has no value yet, in a function that is captured."""
    return mode.capture is not None and not is_static(sizes)


def _float(dtype: object) -> np.dtype[Any]:
    return get_default_dtype().dtype if dtype is None else as_numpy_dtype(dtype)


def _shape(function: str, sizes: tuple[object, ...], size: object) -> tuple[Any, ...]:
    """The shape that a factory gets as `f(2, 3)`, `f((2, 3))` or `f(size=(2, 3))`."""
    for one in sizes:
        if type(one) is not int or one < 0:
            break
    else:
        if sizes and size is None:
            return sizes
    if size is not None and sizes:
        raise ArgumentError(f"a shape given twice: {sizes_of(sizes)} and size={size}")
    given: Any = sizes if size is None else (size,)
    if len(given) == 1 and isinstance(given[0], float | str):
        refuse_sizes(function, given)
    shape = sizes_of(given)
    refuse_sizes(function, shape)
    return shape


def _as_array(data: object, dtype: object) -> Any:
    """Data as an array: floats become the default dtype, integers int64, arrays keep theirs."""
    if isinstance(data, Tensor):
        data = values_of(data)
    if isinstance(data, np.ndarray | np.generic):
        wanted = data.dtype if dtype is None else as_numpy_dtype(dtype)
        if wanted not in DTYPES:
            raise ArgumentError(f"tensor: no dtype {data.dtype}: cast the array first")
        if isinstance(data, np.complexfloating) and wanted.kind != "c":
            raise ArgumentError(f"tensor: {data} is complex, and {wanted} is real: take its part")
        return np.asarray(data, wanted)
    plain, only_numbers = _plain(data)
    try:
        array = np.array(plain, None if dtype is None else as_numpy_dtype(dtype))
    except ValueError:
        raise refused_rows(data) from None
    except OverflowError:
        return _narrowed(np.array(plain), as_numpy_dtype(dtype))
    if dtype is not None:
        return array
    if array.dtype.kind not in "biufc":
        raise refused_elements(data)
    if only_numbers and not is_inexact(array.dtype):
        return array if array.dtype.kind == "b" else array.astype(INT64)
    wanted = None if only_numbers else _dtype_of(data)
    default = get_default_dtype().dtype
    return array.astype(wanted or (complex_dtype(default) if array.dtype.kind == "c" else default))


def _narrowed(numbers: Any, dtype: Any) -> Any:
    """Numbers as elements of a dtype that not all of them fit; as of `fill_`, -1 is 255 to uint8.

    RuntimeError for a number that no element is.
    """
    try:
        elements = [element(one, dtype) for one in numbers.reshape(-1).tolist()]
    except AutogradError:
        raise AutogradError(
            f"value cannot be converted to type {dtype.name} without overflow"
        ) from None
    return np.array(elements, dtype).reshape(numbers.shape)


def _dtype_of(data: object) -> Any:
    """The dtype that holds all of the data: arrays have theirs; None if there are none."""
    if not isinstance(data, list | tuple | range):
        if isinstance(data, Tensor):
            return data._array.dtype
        if not isinstance(data, np.ndarray | np.generic):
            return dtype_of_number(data)
        if data.dtype not in DTYPES:
            raise ArgumentError(f"tensor: no dtype {data.dtype}: cast the array first")
        return data.dtype
    kinds = set(map(type, data))
    if kinds <= {complex, float, int, bool}:  # at once: most data are long lists of numbers
        kind = next((one for one in (complex, float, int, bool) if one in kinds), None)
        return None if kind is None else dtype_of_number(kind())
    dtypes = {_dtype_of(one) for one in data} - {None}
    return functools.reduce(promote_types, dtypes) if dtypes else None


_NUMBERS = frozenset({bool, complex, float, int})


def _plain(data: object) -> tuple[Any, bool]:
    """Nested sequences with the tensors in them as arrays; whether all else are Python's numbers.

    Lists of numbers, which most data are, stay as they are.
    """
    if isinstance(data, Tensor):
        return values_of(data), False
    if not isinstance(data, list | tuple | range):
        return data, type(data) in _NUMBERS
    if _NUMBERS.issuperset(map(type, data)):
        return data, True
    parts = [(number_in(one), False) if isinstance(one, Tensor) else _plain(one) for one in data]
    return [part for part, _ in parts], all(numbers for _, numbers in parts)


def tensor(
    data: object,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """A leaf with a copy of `data`: numbers, nested sequences, an ndarray or a tensor.

    Python floats become the default dtype, integers int64, bools bool; arrays keep their dtype.
    """
    check_options("tensor", options)
    if is_outside(data):
        made = mode.capture.made(data)  # what is written to it is another value, and no copy
        made = made if dtype is None else made.to(dtype)
        return made.requires_grad_() if requires_grad else made
    if paused and mode.capture is not None and isinstance(data, Tensor):
        return copied(data, dtype, requires_grad)
    return _leaf(np.array(_as_array(data, dtype)), requires_grad)


def as_tensor(
    data: object,
    dtype: object = None,
    **options: object,
) -> Tensor:
    """`data` as a tensor: itself, or on the memory of an ndarray, if the dtype allows."""
    check_options("as_tensor", options)
    if is_outside(data):
        data = mode.capture.on_memory(data)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    keep_silent()
    return on_memory(data, _as_array(data, dtype))


def from_numpy(ndarray: object) -> Tensor:
    """A tensor on the memory of an ndarray; TypeError for anything else."""
    if is_outside(ndarray):
        found: Tensor = mode.capture.on_memory(ndarray)
        return found
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentError(f"expected np.ndarray (got {type(ndarray).__name__})")
    keep_silent()
    return on_memory(ndarray, _as_array(ndarray, None))


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor on the memory of what another library exports by DLPack, such as a torch.Tensor.

    Raises:
        BufferError: the library does not export it, or it does not lie on this machine's CPU.
    """
    return from_numpy(np.from_dlpack(ext_tensor))


def empty(
    *sizes: object,
    size: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """Uninitialised memory of this shape."""
    out = check_options("empty", options) if options else None
    made = _filled(np.empty, _shape("empty", sizes, size), 0, _float(dtype))
    return _leaf(made, requires_grad, out)


def zeros(
    *sizes: object,
    size: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """Zeros of this shape."""
    out = check_options("zeros", options) if options else None
    made = _filled(np.zeros, _shape("zeros", sizes, size), 0, _float(dtype))
    return _leaf(made, requires_grad, out)


def ones(
    *sizes: object,
    size: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """Ones of this shape."""
    out = check_options("ones", options) if options else None
    made = _filled(_ones, _shape("ones", sizes, size), 1, _float(dtype))
    return _leaf(made, requires_grad, out)


def _ones(shape: tuple[int, ...], dtype: Any) -> Any:
    (array := np.empty(shape, dtype)).fill(1)  # `np.ones` takes twice the time
    return array


def full(
    size: object,
    fill_value: Any,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """One number in this shape; its dtype that of the number as a tensor."""
    out = check_options("full", options)
    if paused and mode.capture is not None and isinstance(fill_value, Tensor):
        return of_tensor(fill_value, sizes_of((size,)), dtype, requires_grad)
    value = fill_value.item() if isinstance(fill_value, Tensor | np.generic) else fill_value
    wanted = dtype_of_number(value) if dtype is None else as_numpy_dtype(dtype)
    number = element(value, wanted)
    make = functools.partial(np.full, fill_value=number)
    return _leaf(_filled(make, sizes_of((size,)), number, wanted), requires_grad, out)


def _like(make: Any) -> Any:
    name = f"{make.__name__}_like"
    filled = ("fill_value",) if make is full else ()
    known = {*filled, "requires_grad", *(("generator",) if make in _DRAWING else ())}

    def function(
        input: Tensor,
        *args: object,
        dtype: object = None,
        **options: object,
    ) -> Tensor:
        if len(args) > len(filled):
            raise ArgumentError(f"{name}() takes no shape: it has that of the tensor")
        check_options(name, {key: value for key, value in options.items() if key not in known})
        try:
            array = input._array
        except AttributeError:
            refuse(name, input)
        wanted = array.dtype if dtype is None else dtype
        result: Tensor = make(array.shape, *args, dtype=wanted, **options)
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `{make.__name__}`, with the shape and dtype of a tensor."
    return function


_DRAWING: list[Any] = []
"""The factories of random numbers."""
empty_like, zeros_like, ones_like, full_like = (_like(make) for make in (empty, zeros, ones, full))


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    **options: Any,
) -> Tensor:
    """The numbers from `start` (0) up to `end`, without it, by `step`: (ceil((end-start)/step),).

    int64 if all three are integers, else the default dtype.
    """
    out = check_options("arange", options)
    if end is None:
        start, end = 0, start
    numbers = [value.item() if isinstance(value, Tensor) else value for value in (start, end, step)]
    for name, value in zip(("start", "end", "step"), numbers, strict=True):
        if not (is_real(value) or isinstance(value, Dim)):
            raise TypeError(
                f"arange(): argument '{name}' must be Number, not {type(value).__name__}"
            )
    if numbers[2] == 0:
        raise OptionError("step must be nonzero")
    if dtype is not None:
        wanted = as_numpy_dtype(dtype)
    elif all(isinstance(value, int | np.integer | Dim) for value in numbers):
        wanted = INT64
    else:
        wanted = get_default_dtype().dtype
    first, last, by = numbers
    if paused and _is_unknown((last,)) and (first, by) == (0, 1):
        return _leaf(mode.capture.counted(last, wanted), requires_grad, out)
    count = math.ceil((last - first) / by)
    if count < 0:
        raise AutogradError(
            f"arange: upper bound and lower bound inconsistent with step sign: {first} to {last} "
            f"by {by}"
        )
    return _leaf((first + by * np.arange(count)).astype(wanted), requires_grad, out)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, equally far apart."""
    out = check_options("linspace", options)
    first, last = as_float("linspace", "start", start), as_float("linspace", "end", end)
    array = np.linspace(first, last, int(steps)).astype(_float(dtype))
    return _leaf(array, requires_grad, out)


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """The identity matrix, of n rows and m columns (n)."""
    out = check_options("eye", options)
    if paused and _is_unknown((n, m)):
        rows, columns = (mode.capture.counted(one, INT64) for one in (n, n if m is None else m))
        made = ops.equal(ops.expand_dims(rows, 1), columns)
        return _leaf(ops.astype(made, _float(dtype)), requires_grad, out)
    return _leaf(np.eye(n, m, dtype=_float(dtype)), requires_grad, out)


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
    """Uniform numbers in [0, 1)."""
    out = check_options("rand", options)
    wanted = _float(dtype)
    array = _drawn(source_of(generator).random, _shape("rand", sizes, size), wanted)
    if is_narrow(wanted):  # of the bits that it has, so that none is rounded to 1
        steps = 2.0 ** (limits(wanted).nmant + 1)
        array = ops.astype(ops.floor(array * steps) / steps, wanted)
    return _leaf(array, requires_grad, out)


def randn(
    *sizes: object,
    size: object = None,
    generator: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """Normal numbers of mean 0 and variance 1; of complex ones each part has half of it."""
    out = check_options("randn", options)
    wanted = _float(dtype)
    array = _drawn(source_of(generator).standard_normal, _shape("randn", sizes, size), wanted)
    if wanted.kind == "c":
        array = array * array.dtype.type(math.sqrt(0.5))
    return _leaf(ops.astype(array, wanted) if is_narrow(wanted) else array, requires_grad, out)


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
    """Integers in [low, high), low 0 if two arguments are given: `randint(high, size)`."""
    out = check_options("randint", options)
    if high is None or size is None:
        low, high, size = 0, low, high if size is None else size
    if size is None:
        raise ArgumentError("randint(): the argument 'size' (tuple of ints) is missing")
    wanted = INT64 if dtype is None else as_numpy_dtype(dtype)
    drawn = source_of(generator).integers(low, high, tuple(size))
    return _leaf(ops.astype(drawn, wanted), requires_grad, out)


def randperm(
    n: int,
    *,
    generator: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """The integers from 0 to n - 1 in random order."""
    out = check_options("randperm", options)
    wanted = INT64 if dtype is None else as_numpy_dtype(dtype)
    return _leaf(ops.astype(source_of(generator).permutation(n), wanted), requires_grad, out)


_DRAWING += [rand, randn]
rand_like, randn_like = _like(rand), _like(randn)
