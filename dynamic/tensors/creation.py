"""Factories of tensors (PyTorch's): from data, filled and ranges."""

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
    is_inexact,
)
from staticgraph.compiler.core.overrides import answer
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
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError, ComplexArgumentError
from staticgraph.dynamic.core.no_tensors import of_kinds, refuse
from staticgraph.dynamic.core.required_ints import require_int
from staticgraph.dynamic.core.results import sizes_of
from staticgraph.dynamic.core.user_warnings import keep_silent
from staticgraph.dynamic.tape.grad_mode import mode, paused
from staticgraph.dynamic.tensors.captured_data import copied, is_outside, of_tensor, on_memory
from staticgraph.dynamic.tensors.factory_options import check_options
from staticgraph.dynamic.tensors.inplace import into
from staticgraph.dynamic.tensors.refused_data import (
    number_in,
    refuse_nothing,
    refuse_sizes,
    refused_elements,
    refused_rows,
)
from staticgraph.dynamic.tensors.tensor import Tensor, wrap
from staticgraph.dynamic.tensors.values import values_of


def leaf(array: Any, requires_grad: bool, out: Any = None) -> Tensor:
    """A leaf on an array, or what stands for one that each call of a captured function draws.

    Or `out`, with these elements.
    """
    keep_silent()
    result = array if isinstance(array, Tensor) else wrap(np.asarray(array))
    if out is not None:
        result = into("out", out, result.to(out.dtype), ())
    if requires_grad is not False and not isinstance(requires_grad, bool | np.bool_ | None):
        raise ArgumentError(
            f"argument 'requires_grad' must be bool, not {type(requires_grad).__name__}"
        )
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


def float_dtype(dtype: object) -> np.dtype[Any]:
    """NumPy's dtype of one of a factory whose numbers are floating point if none is given."""
    return get_default_dtype().dtype if dtype is None else as_numpy_dtype(dtype)


def shape_given(function: str, sizes: tuple[object, ...], size: object) -> tuple[Any, ...]:
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
        refuse_nothing(data)
        raise refused_rows(data) from None
    except OverflowError:
        return _narrowed(np.array(plain), as_numpy_dtype(dtype))
    if dtype is not None:
        if not only_numbers:
            refuse_nothing(data)
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

    Example:
        >>> x = dynamic.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """
    check_options("tensor", options)
    if is_outside(data):
        made = mode.capture.made(data)  # what is written to it is another value, and no copy
        made = made if dtype is None else made.to(dtype=dtype)
        return made.requires_grad_() if requires_grad else made
    if paused and mode.capture is not None and isinstance(data, Tensor):
        return copied(data, dtype, requires_grad)
    return leaf(np.array(_as_array(data, dtype)), requires_grad)


def as_tensor(
    data: object,
    dtype: object = None,
    **options: object,
) -> Tensor:
    """`data` as a tensor: itself, or on the memory of an ndarray, if the dtype allows.

    Example:
        >>> a = np.zeros(2)
        >>> dynamic.as_tensor(a)[0] = 1.0
        >>> a
        array([1., 0.])
    """
    check_options("as_tensor", options)
    if is_outside(data):
        data = mode.capture.on_memory(data)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype=dtype)
    keep_silent()
    return on_memory(data, _as_array(data, dtype))


def from_numpy(ndarray: object) -> Tensor:
    """A tensor on the memory of an ndarray; TypeError for anything else.

    Example:
        >>> a = np.zeros(2)
        >>> dynamic.from_numpy(a)[0] = 1.0
        >>> a
        array([1., 0.])
    """
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

    Example:
        >>> a = np.zeros(2)
        >>> dynamic.from_dlpack(a)[0] = 1.0
        >>> a
        array([1., 0.])
    """
    if isinstance(ext_tensor, np.ndarray):  # before NumPy 2.1 those that are read-only export none
        return from_numpy(ext_tensor)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise AutogradError(
            "from_dlpack(): argument 'ext_tensor' (position 1) must have __dlpack__, as tensors "
            f"and arrays have, and not be {type(ext_tensor).__name__}"
        )
    return from_numpy(np.from_dlpack(ext_tensor))


def empty(
    *sizes: object,
    size: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """Uninitialised memory of this shape.

    Example:
        >>> dynamic.empty((2, 3)).shape
        torch.Size([2, 3])
    """
    out = check_options("empty", options) if options else None
    made = _filled(np.empty, shape_given("empty", sizes, size), 0, float_dtype(dtype))
    return leaf(made, requires_grad, out)


def zeros(
    *sizes: object,
    size: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """Zeros of this shape.

    Example:
        >>> dynamic.zeros(2, dtype=dynamic.int64)
        tensor([0, 0])
    """
    out = check_options("zeros", options) if options else None
    made = _filled(np.zeros, shape_given("zeros", sizes, size), 0, float_dtype(dtype))
    return leaf(made, requires_grad, out)


def ones(
    *sizes: object,
    size: object = None,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """Ones of this shape.

    Example:
        >>> dynamic.ones(2, 3).shape
        torch.Size([2, 3])
    """
    out = check_options("ones", options) if options else None
    made = _filled(_ones, shape_given("ones", sizes, size), 1, float_dtype(dtype))
    return leaf(made, requires_grad, out)


def _ones(shape: tuple[int, ...], dtype: Any) -> Any:
    (array := np.empty(shape, dtype)).fill(1)  # `np.ones` takes twice the time
    return array


@of_kinds
def full(
    size: object,
    fill_value: Any,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """One number in this shape; its dtype that of the number as a tensor.

    Example:
        >>> dynamic.full((2,), 7.0)
        tensor([7., 7.])
    """
    out = check_options("full", options)
    if paused and mode.capture is not None and isinstance(fill_value, Tensor):
        return of_tensor(fill_value, sizes_of((size,)), dtype, requires_grad)
    value = fill_value.item() if isinstance(fill_value, Tensor | np.generic) else fill_value
    wanted = dtype_of_number(value) if dtype is None else as_numpy_dtype(dtype)
    number = element(value, wanted)
    make = functools.partial(np.full, fill_value=number)
    return leaf(_filled(make, sizes_of((size,)), number, wanted), requires_grad, out)


def like(make: Any, is_random: bool = False) -> Any:
    """The factory that takes the shape and dtype of a tensor; a random one takes a generator."""
    name = f"{make.__name__}_like"
    filled = ("fill_value",) if make is full else ()
    known = {*filled, "requires_grad", *(("generator",) if is_random else ())}

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
            if (found := answer(function, (input, *args), options)) is not None:
                return found[0]
            refuse(name, input)
        wanted = array.dtype if dtype is None else dtype
        result: Tensor = make(array.shape, *args, dtype=wanted, **options)
        return result

    function.__name__ = function.__qualname__ = name
    given = ", 7.0" if filled else ""
    function.__doc__ = (
        f"As `{make.__name__}`, with the shape and dtype of a tensor.\n\nExample:\n"
        f"    >>> dynamic.{name}(dynamic.zeros(2, 3){given}).shape\n    torch.Size([2, 3])\n"
    )
    return function


empty_like, zeros_like, ones_like, full_like = (like(make) for make in (empty, zeros, ones, full))


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

    Example:
        >>> dynamic.arange(1, 7, 2)
        tensor([1, 3, 5])
    """
    out = check_options("arange", options)
    if end is None:
        start, end = 0, start
    numbers = [value.item() if isinstance(value, Tensor) else value for value in (start, end, step)]
    for name, value in zip(("start", "end", "step"), numbers, strict=True):
        if not (is_real(value) or isinstance(value, Dim)):
            complex_number = isinstance(value, complex | np.complexfloating)
            raise (ComplexArgumentError if complex_number else ArgumentError)(
                f"arange(): argument '{name}' must be Number, not {type(value).__name__}"
            )
    if numbers[2] == 0:
        raise AutogradError("step must be nonzero")
    if dtype is not None:
        wanted = as_numpy_dtype(dtype)
    elif all(isinstance(value, int | np.integer | Dim) for value in numbers):
        wanted = INT64
    else:
        wanted = get_default_dtype().dtype
    first, last, by = numbers
    if paused and _is_unknown((last,)) and (first, by) == (0, 1):
        return leaf(mode.capture.counted(last, wanted), requires_grad, out)
    count = math.ceil((last - first) / by)
    if count < 0:
        raise AutogradError(
            f"arange: upper bound and lower bound inconsistent with step sign: {first} to {last} "
            f"by {by}"
        )
    return leaf((first + by * np.arange(count)).astype(wanted), requires_grad, out)


@of_kinds
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, equally far apart.

    Example:
        >>> dynamic.linspace(0, 1, 3)
        tensor([0.0000, 0.5000, 1.0000])
    """
    out = check_options("linspace", options)
    first, last = as_float("linspace", "start", start), as_float("linspace", "end", end)
    require_int("linspace", "steps", 3, steps)
    if int(steps) < 0:
        raise AutogradError(f"number of steps must be non-negative, got {steps}")
    array = np.linspace(first, last, int(steps)).astype(float_dtype(dtype))
    return leaf(array, requires_grad, out)


@of_kinds
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: object = None,
    requires_grad: bool = False,
    **options: object,
) -> Tensor:
    """The identity matrix, of n rows and m columns (n).

    Example:
        >>> dynamic.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    out = check_options("eye", options)
    if paused and _is_unknown((n, m)):
        rows, columns = (mode.capture.counted(one, INT64) for one in (n, n if m is None else m))
        made = ops.equal(ops.expand_dims(rows, 1), columns)
        return leaf(ops.astype(made, float_dtype(dtype)), requires_grad, out)
    for name, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise AutogradError(f"{name} must be greater or equal to 0, got {size}")
    return leaf(np.eye(n, m, dtype=float_dtype(dtype)), requires_grad, out)
