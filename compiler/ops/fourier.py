"""Discrete Fourier transforms, by NumPy's pocketfft: of complex numbers, and of real ones.

A transform is linear, and its matrix symmetric: a gradient is a transform in the other direction.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from staticgraph.compiler.core.dims import Size, floor_divide
from staticgraph.compiler.core.dtypes import DType, complex_dtype, part_dtype
from staticgraph.compiler.core.errors import DTypeError
from staticgraph.compiler.core.lowering import Host
from staticgraph.compiler.core.op import Op, register
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.ops.batching import shifted, shifted_one
from staticgraph.compiler.ops.elementwise.comparison import equal, logical_or, where
from staticgraph.compiler.ops.elementwise.complex_numbers import real_part
from staticgraph.compiler.ops.leaves import iota
from staticgraph.compiler.ops.shapes.shape import reshape
from staticgraph.compiler.ops.shapes.slicing import embed

Norm: TypeAlias = Literal["backward", "ortho", "forward"]
SWAPPED: dict[str, Norm] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""Which direction is divided by the size where the other one is, by the norm of the other one."""


def _dft_type(x: TensorType, *, axes: tuple[int, ...], inverse: bool, norm: Norm) -> TensorType:
    if x.dtype.kind != "c":
        raise DTypeError(f"dft: {x} is not complex: cast it with astype")
    return x


def _dft_numpy(x: Any, *, axes: tuple[int, ...], inverse: bool, norm: Norm) -> Any:
    if not axes:
        return np.array(x)
    if not x.size:
        return np.zeros_like(x)
    found = (np.fft.ifftn if inverse else np.fft.fftn)(x, axes=axes, norm=norm)
    return found.astype(x.dtype, copy=False)


dft: Op = register(
    Op(
        name="dft",
        infer_type=_dft_type,
        evaluate=_dft_numpy,
        vjp=(
            lambda g, o, a, *, axes, inverse, norm: dft.bound(
                (g,), {"axes": axes, "inverse": inverse, "norm": norm}
            ),
        ),
        saves=("",),
        bind=lambda x, axes, inverse=False, norm="backward": (
            (x,),
            {"axes": tuple(axes), "inverse": inverse, "norm": norm},
        ),
        lowering=Host(),
        batching=shifted,
        linearity="linear",
        cost="expensive",
        complex="holomorphic",
        doc="The discrete Fourier transform of complex numbers along axes, or its inverse.",
    )
)


def _half(size: Size) -> Size:
    return floor_divide(size, 2) + 1


def _with_size(shape: tuple[Size, ...], axis: int, size: Size) -> tuple[Size, ...]:
    return tuple(size if i == axis else one for i, one in enumerate(shape))


def _real_type(x: TensorType, *, axis: int, norm: Norm) -> TensorType:
    if x.dtype.kind != "f":
        raise DTypeError(f"rfft: {x} is not of real floating-point numbers")
    return TensorType(_with_size(x.shape, axis, _half(x.shape[axis])), complex_dtype(x.dtype))


def _as_complex(dtype: Any) -> DType:
    return complex_dtype(np.dtype(dtype))


def _real_numpy(x: Any, *, axis: int, norm: Norm) -> Any:
    if not x.size:
        return np.zeros(_real_type(TensorType(x.shape, x.dtype), axis=axis, norm=norm).shape)
    return np.fft.rfft(x, axis=axis, norm=norm).astype(_as_complex(x.dtype), copy=False)


def _real_vjp(g: Any, o: object, a: Any, *, axis: int, norm: Norm) -> Any:
    attrs = {"axes": (axis,), "inverse": True, "norm": SWAPPED[norm]}
    whole = embed(g, (0,) * g.ndim, tuple(a.shape), (1,) * g.ndim)  # sizes may be unknown
    return real_part(dft.bound((whole,), attrs))


real_dft: Op = register(
    Op(
        name="real_dft",
        infer_type=_real_type,
        evaluate=_real_numpy,
        vjp=(_real_vjp,),
        saves=("",),
        bind=lambda x, axis=-1, norm="backward": ((x,), {"axis": axis % x.ndim, "norm": norm}),
        floating=True,
        lowering=Host(),
        batching=shifted_one,
        linearity="linear",
        cost="expensive",
        complex="",
        doc="The first half of the discrete Fourier transform of real numbers along an axis, which "
        "has the other half conjugated.",
    )
)


def _inverse_type(x: TensorType, *, size: Size, axis: int, norm: Norm) -> TensorType:
    if x.dtype.kind != "c":
        raise DTypeError(f"irfft: {x} is not complex: cast it with astype")
    return TensorType(_with_size(x.shape, axis, size), part_dtype(x.dtype))


def _inverse_numpy(x: Any, *, size: int, axis: int, norm: Norm) -> Any:
    dtype = part_dtype(x.dtype)
    if not x.size or not size:
        return np.zeros(_with_size(x.shape, axis, size), dtype)
    return np.fft.irfft(x, size, axis, norm).astype(dtype, copy=False)


def _inverse_vjp(g: Any, o: object, a: Any, *, size: Size, axis: int, norm: Norm) -> Any:
    found = real_dft.bound((g,), {"axis": axis, "norm": SWAPPED[norm]})
    # what is not its own mirror image stands for two numbers
    place = reshape(_places(found, axis), [-1 if i == axis else 1 for i in range(g.ndim)])
    single = logical_or(equal(place, 0), equal(place * 2, size))
    return found * where(single, 1.0, 2.0)


def _places(like: Any, axis: int) -> Any:
    size = like.shape[axis]
    return like._apply(iota, (), {"size": size}) if hasattr(like, "_apply") else np.arange(size)


real_inverse_dft: Op = register(
    Op(
        name="real_inverse_dft",
        infer_type=_inverse_type,
        evaluate=_inverse_numpy,
        vjp=(_inverse_vjp,),
        saves=("",),
        bind=lambda x, size, axis=-1, norm="backward": (
            (x,),
            {"size": size, "axis": axis % x.ndim, "norm": norm},
        ),
        lowering=Host(),
        batching=shifted_one,
        linearity="linear",
        cost="expensive",
        complex="own",
        doc="The inverse of `real_dft`: `size` real numbers along an axis. The imaginary parts of "
        "the first and of the middle number do not count.",
    )
)
