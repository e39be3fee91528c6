"""Discrete Fourier transforms in NumPy's and PyTorch's names; differentiable.

`n` or `s` are the sizes that axes are cut or filled with zeros to before; `norm` says which
direction is divided by the size: "backward" (or None), "forward", or both by its root, "ortho".
`dim` is PyTorch's name of `axis` and `axes`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Dim, Size, floor_divide
from staticgraph.compiler.core.dtypes import complex_dtype, is_float
from staticgraph.compiler.core.errors import DTypeError, OptionError, ShapeError
from staticgraph.compiler.core.op_arguments import refuse_objects
from staticgraph.compiler.core.types import normalise_axis
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions.complex_numbers import conj
from staticgraph.compiler.functions.elements import floats
from staticgraph.compiler.ops.declare import as_operand
from staticgraph.compiler.ops.fourier import SWAPPED, dft, real_dft, real_inverse_dft
from staticgraph.compiler.ops.shapes.slicing import slice_axis

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

Axes: TypeAlias = int | Sequence[int] | None


def _norm(name: str, norm: str | None) -> str:
    found = "backward" if norm is None else norm
    if found not in SWAPPED:
        raise OptionError(f"{name}: norm is one of {tuple(SWAPPED)}, not {norm!r}")
    return found


def _one(axis: int | None, dim: int | None) -> int:
    return dim if dim is not None else -1 if axis is None else axis


def _complex(name: str, x: Value) -> Any:
    x = floats(x)
    if np.dtype(x.dtype).kind == "c":
        return x
    return ops.astype(x, complex_dtype(np.dtype(x.dtype)))


def _real(name: str, x: Value) -> Any:
    x = floats(x)
    if not is_float(np.dtype(x.dtype)):
        raise DTypeError(f"{name}: {x.dtype} is complex, and {name} is of real numbers: use fft")
    return x


def _sized(name: str, x: Any, axis: int, size: Size | None) -> Any:
    """x with an axis cut, or filled with zeros, to a size."""
    if not (size is None or isinstance(size, int | np.integer | Dim)) or isinstance(size, bool):
        raise OptionError(f"{name}: a size is an integer, not {size!r}")
    if size is None or size == x.shape[axis]:
        found = x
    else:
        have = x.shape[axis]
        if isinstance(size, Dim) or isinstance(have, Dim):
            raise ShapeError(f"{name}: the axis has {have} elements, {size} are asked for: cut it")
        found = slice_axis(x, axis, 0, min(size, have))
        if size > have:
            widths = [(0, size - have if i == axis else 0) for i in range(x.ndim)]
            found = ops.pad(found, widths)
    if found.shape[axis] == 0 or (isinstance(size, int) and size < 1):
        raise ShapeError(f"{name}: an axis of {found.shape[axis]} elements has no transform")
    return found


def _along(name: str, x: Any, n: Any, axis: int, inverse: bool, norm: str | None) -> Any:
    x = _complex(name, x)
    axis = normalise_axis(name, axis, x.ndim)
    x = _sized(name, x, axis, n)
    return dft.bound((x,), {"axes": (axis,), "inverse": inverse, "norm": _norm(name, norm)})


def fft(
    x: Value, n: Size | None = None, axis: int | None = None, norm: str | None = None, *,
    dim: int | None = None,
) -> Value:  # fmt: skip
    """The discrete Fourier transform along an axis, the last one: complex.

    Example:
        >>> sg.real(sg.fft.fft(np.array([1.0, 2.0, 3.0, 4.0])))
        array([10., -2., -2., -2.])
    """
    return _along("fft", x, n, _one(axis, dim), False, norm)


def ifft(
    x: Value, n: Size | None = None, axis: int | None = None, norm: str | None = None, *,
    dim: int | None = None,
) -> Value:  # fmt: skip
    """The inverse of `fft`.

    Example:
        >>> sg.real(sg.fft.ifft(np.array([10.0, -2.0, -2.0, -2.0]))).round(12)
        array([1., 3., 3., 3.])
    """
    return _along("ifft", x, n, _one(axis, dim), True, norm)


def rfft(
    x: Value, n: Size | None = None, axis: int | None = None, norm: str | None = None, *,
    dim: int | None = None,
) -> Value:  # fmt: skip
    """The first n // 2 + 1 numbers of the transform of real numbers: the rest are conjugates.

    Example:
        >>> sg.real(sg.fft.rfft(np.array([1.0, 2.0, 3.0, 4.0])))
        array([10., -2., -2.])
    """
    x = _real("rfft", x)
    place = normalise_axis("rfft", _one(axis, dim), x.ndim)
    x = _sized("rfft", x, place, n)
    return real_dft.bound((x,), {"axis": place, "norm": _norm("rfft", norm)})


def irfft(
    x: Value, n: Size | None = None, axis: int | None = None, norm: str | None = None, *,
    dim: int | None = None,
) -> Value:  # fmt: skip
    """The inverse of `rfft`: n real numbers, 2 (m - 1) of m complex ones unless it is given.

    Example:
        >>> sg.fft.irfft(np.array([10.0, -2.0, -2.0]), 4)
        array([1., 3., 3., 3.])
    """
    return _to_real("irfft", x, n, _one(axis, dim), _norm("irfft", norm))


def _to_real(name: str, x: Value, n: Any, axis: int, norm: str) -> Any:
    x = _complex(name, x)
    axis = normalise_axis(name, axis, x.ndim)
    size = 2 * (x.shape[axis] - 1) if n is None else n
    if not isinstance(size, Dim) and size < 1:
        raise ShapeError(f"{name}: {size} numbers have no transform")
    if n is not None:
        x = _sized(name, x, axis, floor_divide(size, 2) + 1)
    return real_inverse_dft.bound((x,), {"size": size, "axis": axis, "norm": norm})


def hfft(
    x: Value, n: Size | None = None, axis: int | None = None, norm: str | None = None, *,
    dim: int | None = None,
) -> Value:  # fmt: skip
    """The transform, real, of n numbers of which the second half mirrors the first, conjugated.

    Example:
        >>> sg.fft.hfft(np.array([1.0, 2.0, 3.0]))
        array([ 8., -2.,  0., -2.])
    """
    return _to_real("hfft", conj(_complex("hfft", x)), n, _one(axis, dim), _swapped("hfft", norm))


def ihfft(
    x: Value, n: Size | None = None, axis: int | None = None, norm: str | None = None, *,
    dim: int | None = None,
) -> Value:  # fmt: skip
    """The inverse of `hfft`: the first half of complex numbers.

    Example:
        >>> sg.real(sg.fft.ihfft(np.array([8.0, -2.0, 0.0, -2.0])))
        array([1., 2., 3.])
    """
    return conj(rfft(_real("ihfft", x), n, axis, _swapped("ihfft", norm), dim=dim))


def _swapped(name: str, norm: str | None) -> str:
    return SWAPPED[_norm(name, norm)]


def _places(name: str, x: Any, s: Any, axes: Axes) -> tuple[tuple[int, ...], Sequence[Any]]:
    """The axes of a transform along several, and the size of each, None as it is."""
    if axes is None:
        listed = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    else:
        single = hasattr(axes, "__index__") and not getattr(axes, "ndim", 0)
        listed = (axes,) if single else axes  # type: ignore[assignment]
    places = tuple([normalise_axis(name, one, x.ndim) for one in listed])
    if len(set(places)) != len(places):
        raise ShapeError(f"{name}: an axis is repeated in {places}")
    sizes = (None,) * len(places) if s is None else tuple(s)
    if len(sizes) != len(places):
        raise ShapeError(f"{name}: {len(sizes)} sizes for {len(places)} axes")
    return places, [None if size == -1 else size for size in sizes]


def _several(name: str, x: Value, s: Any, axes: Axes, inverse: bool, norm: str | None) -> Any:
    x = _complex(name, x)
    places, sizes = _places(name, x, s, axes)
    for place, size in zip(places, sizes, strict=True):
        x = _sized(name, x, place, size)
    return dft.bound((x,), {"axes": places, "inverse": inverse, "norm": _norm(name, norm)})


def fftn(
    x: Value,
    s: Sequence[Size] | None = None,
    axes: Axes = None,
    norm: str | None = None,
    *,
    dim: Axes = None,
) -> Value:
    """The transform along several axes, all unless they are given.

    Example:
        >>> sg.real(sg.fft.fftn(np.array([[1.0, 2.0], [3.0, 4.0]])))
        array([[10., -2.],
               [-4.,  0.]])
    """
    return _several("fftn", x, s, axes if dim is None else dim, False, norm)


def ifftn(
    x: Value,
    s: Sequence[Size] | None = None,
    axes: Axes = None,
    norm: str | None = None,
    *,
    dim: Axes = None,
) -> Value:
    """The inverse of `fftn`.

    Example:
        >>> sg.real(sg.fft.ifftn(np.array([[10.0, -2.0], [-4.0, 0.0]])))
        array([[1., 2.],
               [3., 4.]])
    """
    return _several("ifftn", x, s, axes if dim is None else dim, True, norm)


def rfftn(
    x: Value,
    s: Sequence[Size] | None = None,
    axes: Axes = None,
    norm: str | None = None,
    *,
    dim: Axes = None,
) -> Value:
    """`rfft` along the last of several axes, then `fft` along the others.

    Example:
        >>> sg.fft.rfftn(np.ones((4, 6))).shape
        (4, 4)
    """
    x = _real("rfftn", x)
    places, sizes = _places("rfftn", x, s, axes if dim is None else dim)
    if not places:
        raise ShapeError("rfftn: at least one axis is transformed")
    for place, size in zip(places, sizes, strict=True):
        x = _sized("rfftn", x, place, size)
    found = real_dft.bound((x,), {"axis": places[-1], "norm": _norm("rfftn", norm)})
    attrs = {"axes": places[:-1], "inverse": False, "norm": _norm("rfftn", norm)}
    return dft.bound((found,), attrs) if places[:-1] else found


def irfftn(
    x: Value,
    s: Sequence[Size] | None = None,
    axes: Axes = None,
    norm: str | None = None,
    *,
    dim: Axes = None,
) -> Value:
    """The inverse of `rfftn`; `s` are the sizes of the result.

    Example:
        >>> sg.fft.irfftn(sg.fft.rfftn(np.ones((4, 6)))).shape
        (4, 6)
    """
    x = _complex("irfftn", x)
    places, sizes = _places("irfftn", x, s, axes if dim is None else dim)
    if not places:
        raise ShapeError("irfftn: at least one axis is transformed")
    *rest, last = places
    for place, size in zip(rest, sizes, strict=False):
        x = _sized("irfftn", x, place, size)
    if rest:
        attrs = {"axes": tuple(rest), "inverse": True, "norm": _norm("irfftn", norm)}
        x = dft.bound((x,), attrs)
    return _to_real("irfftn", x, sizes[-1], last, _norm("irfftn", norm))


def _of_planes(name: str, function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """A transform along the last two axes."""

    def planes(
        x: Value, s: Sequence[Size] | None = None, axes: Axes = (-2, -1),
        norm: str | None = None, *, dim: Axes = None,
    ) -> Value:  # fmt: skip
        return function(x, s, axes if dim is None else dim, norm)

    planes.__name__ = planes.__qualname__ = name
    planes.__doc__ = doc
    return planes


fft2 = _of_planes(
    "fft2", fftn,
    "The transform along two axes, the last ones.\n\n    Example:\n"
    "        >>> sg.fft.fft2(np.ones((2, 3, 4))).shape\n        (2, 3, 4)\n    ",
)  # fmt: skip
ifft2 = _of_planes(
    "ifft2", ifftn,
    "The inverse of `fft2`.\n\n    Example:\n"
    "        >>> sg.fft.ifft2(np.ones((2, 3, 4))).shape\n        (2, 3, 4)\n    ",
)  # fmt: skip
rfft2 = _of_planes(
    "rfft2", rfftn,
    "`rfftn` along two axes, the last ones.\n\n    Example:\n"
    "        >>> sg.fft.rfft2(np.ones((2, 3, 4))).shape\n        (2, 3, 3)\n    ",
)  # fmt: skip
irfft2 = _of_planes(
    "irfft2", irfftn,
    "The inverse of `rfft2`.\n\n    Example:\n"
    "        >>> sg.fft.irfft2(np.ones((2, 3, 3))).shape\n        (2, 3, 4)\n    ",
)  # fmt: skip


def _shifted(name: str, x: Value, axes: Axes, back: bool) -> Any:
    x = as_operand(x)
    refuse_objects(name, (x,))
    places, _ = _places(name, x, None, axes)
    for place in places:
        size = x.shape[place]
        half = floor_divide(size + 1, 2) if not back else floor_divide(size, 2)
        parts = [slice_axis(x, place, half, size), slice_axis(x, place, 0, half)]
        x = ops.concatenate(parts, axis=place)
    return x


def fftshift(x: Value, axes: Axes = None, *, dim: Axes = None) -> Value:
    """Frequency 0 moved to the middle of axes, all unless they are given.

    Example:
        >>> sg.fft.fftshift(np.array([0.0, 1.0, 2.0, -2.0, -1.0]))
        array([-2., -1.,  0.,  1.,  2.])
    """
    return _shifted("fftshift", x, axes if dim is None else dim, False)


def ifftshift(x: Value, axes: Axes = None, *, dim: Axes = None) -> Value:
    """The inverse of `fftshift`.

    Example:
        >>> sg.fft.ifftshift(np.array([-2.0, -1.0, 0.0, 1.0, 2.0]))
        array([ 0.,  1.,  2., -2., -1.])
    """
    return _shifted("ifftshift", x, axes if dim is None else dim, True)


def _count(name: str, n: Any) -> int:
    """A number of frequencies as an int: one of few bits has no room for what is computed of it."""
    if not hasattr(n, "__index__"):
        raise OptionError(f"{name}: n is an integer, not {n!r}")
    return operator.index(n)


def fftfreq(n: int, d: float = 1.0) -> Value:
    """The frequencies of `fft` of n numbers that are d apart.

    Example:
        >>> sg.fft.fftfreq(4)
        array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    return np.fft.fftfreq(_count("fftfreq", n), d)


def rfftfreq(n: int, d: float = 1.0) -> Value:
    """The frequencies of `rfft` of n numbers that are d apart.

    Example:
        >>> sg.fft.rfftfreq(4)
        array([0.  , 0.25, 0.5 ])
    """
    return np.fft.rfftfreq(_count("rfftfreq", n), d)
