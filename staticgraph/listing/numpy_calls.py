"""A call of each of NumPy's functions that takes arrays, as users write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Given(NamedTuple):
    """The operands of the calls: arrays, or expressions or tensors of their values."""

    x: Any
    """(3, 4) floats between 0.1 and 0.9, unsorted."""
    y: Any
    """As x."""
    v: Any
    """(4,) floats, as x."""
    m: Any
    """(3, 3), symmetric and positive definite."""
    i: Any
    """(4,) integers from 0 to 3."""
    b: Any
    """(3, 4) booleans."""


def arrays() -> Given:
    """The arrays of the calls."""
    rng = np.random.default_rng(5)
    x, y = rng.uniform(0.1, 0.9, (2, 3, 4))
    root = rng.normal(size=(3, 3))
    return Given(x, y, x[0].copy(), root @ root.T + 3 * np.eye(3), np.array([2, 0, 3, 1]), x > y)


Call = Callable[[Given], Any]


def _listed(names: str) -> list[str]:
    return names.split()


_INTEGERS = frozenset(
    _listed(
        "bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or "
        "bitwise_right_shift bitwise_xor gcd invert lcm left_shift right_shift"
    )
)


def of_ufunc(ufunc: np.ufunc) -> Call:
    """A call of an elementwise function on operands that it is defined for."""
    name = ufunc.__name__
    if name in _INTEGERS:
        return lambda g: ufunc(*(g.i, g.i)[: ufunc.nin])
    if name in ("acosh", "arccosh"):
        return lambda g: ufunc(g.x + 1)
    if name == "ldexp":
        return lambda g: ufunc(g.v, g.i)
    if ufunc.signature is None:
        return lambda g: ufunc(*(g.x, g.y)[: ufunc.nin])
    products: dict[str, Call] = {
        "matmul": lambda g: np.matmul(g.m, g.x), "matvec": lambda g: np.matvec(g.x, g.v),
        "vecmat": lambda g: np.vecmat(g.v, g.x.T), "vecdot": lambda g: np.vecdot(g.x, g.y),
    }  # fmt: skip
    return products[name]


def _on_x(name: str) -> Call:
    return lambda g: getattr(np, name)(g.x)


def _on_m(name: str) -> Call:
    return lambda g: getattr(np.linalg, name)(g.m)


_OF_ONE = _listed(
    "all any amax amin angle argmax argmin argsort argwhere around array_equiv atleast_1d "
    "atleast_2d atleast_3d average corrcoef count_nonzero cov cumprod cumsum "
    "diagonal diff ediff1d fix flatnonzero fliplr flip flipud imag iscomplex iscomplexobj isneginf "
    "isposinf isreal isrealobj max mean median min nan_to_num nanargmax nanargmin nancumprod "
    "nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar ndim nonzero prod ptp "
    "ravel real result_type rot90 round shape size sinc sort squeeze std sum trace transpose tril "
    "triu unique unwrap var zeros_like ones_like array_repr array_str "
    "array2string real_if_close sort_complex min_scalar_type copy matrix_transpose unstack "
    "unique_all unique_counts unique_inverse unique_values "
)

CALLS: dict[str, Call] = {
    **{name: _on_x(name) for name in _OF_ONE},
    "allclose": lambda g: np.allclose(g.x, g.y),
    "append": lambda g: np.append(g.x, g.y, axis=0),
    "apply_along_axis": lambda g: np.apply_along_axis(np.sum, 0, g.x),
    "apply_over_axes": lambda g: np.apply_over_axes(np.sum, g.x, [0]),
    "argpartition": lambda g: np.argpartition(g.v, 1),
    "array_equal": lambda g: np.array_equal(g.x, g.y),
    "array_equiv": lambda g: np.array_equiv(g.x, g.y),
    "array_split": lambda g: np.array_split(g.x, 2),
    "astype": lambda g: np.astype(g.x, np.float32),
    "bincount": lambda g: np.bincount(g.i, minlength=4),
    "block": lambda g: np.block([[g.x, g.y], [g.y, g.x]]),
    "broadcast_arrays": lambda g: np.broadcast_arrays(g.x, g.v),
    "broadcast_to": lambda g: np.broadcast_to(g.v, (2, 4)),
    "can_cast": lambda g: np.can_cast(g.x.dtype, np.float32),
    "choose": lambda g: np.choose(g.i % 2, [g.v, g.v * 2]),
    "clip": lambda g: np.clip(g.x, 0.3, 0.6),
    "column_stack": lambda g: np.column_stack([g.v, g.v]),
    "common_type": lambda g: np.common_type(g.x, g.y),
    "compress": lambda g: np.compress(np.array([True, False, True]), g.x, axis=0),
    "concat": lambda g: np.concat([g.x, g.y]),
    "concatenate": lambda g: np.concatenate([g.x, g.y], axis=1),
    "convolve": lambda g: np.convolve(g.v, g.v),
    "copyto": lambda g: np.copyto(np.zeros((3, 4)), g.x),
    "correlate": lambda g: np.correlate(g.v, g.v),
    "cross": lambda g: np.cross(g.m, g.m + 1),
    "cumulative_prod": lambda g: np.cumulative_prod(g.v),
    "cumulative_sum": lambda g: np.cumulative_sum(g.v),
    "delete": lambda g: np.delete(g.x, 1, axis=0),
    "diag": lambda g: np.diag(g.v),
    "diag_indices_from": lambda g: np.diag_indices_from(g.m),
    "diagflat": lambda g: np.diagflat(g.v),
    "digitize": lambda g: np.digitize(g.v, np.array([0.2, 0.4])),
    "dot": lambda g: np.dot(g.m, g.x),
    "dsplit": lambda g: np.dsplit(np.expand_dims(g.x, 0), 2),
    "dstack": lambda g: np.dstack([g.x, g.y]),
    "einsum": lambda g: np.einsum("ij,kj->ik", g.x, g.y),
    "einsum_path": lambda g: np.einsum_path("ij,kj->ik", g.x, g.y),
    "empty_like": lambda g: np.shape(np.empty_like(g.x)),
    "expand_dims": lambda g: np.expand_dims(g.x, 1),
    "extract": lambda g: np.extract(g.b, g.x),
    "fill_diagonal": lambda g: np.fill_diagonal(g.m, 0.0),
    "full_like": lambda g: np.full_like(g.x, 2.0),
    "geomspace": lambda g: np.geomspace(g.v[0], 2.0, 5),
    "gradient": lambda g: np.gradient(g.v),
    "histogram": lambda g: np.histogram(g.v, 3, (0.0, 1.0)),
    "histogram2d": lambda g: np.histogram2d(g.v, g.v, 3, ((0.0, 1.0), (0.0, 1.0))),
    "histogram_bin_edges": lambda g: np.histogram_bin_edges(g.v, 3, (0.0, 1.0)),
    "histogramdd": lambda g: np.histogramdd(g.x, 2, [(0.0, 1.0)] * 4),
    "hsplit": lambda g: np.hsplit(g.x, 2),
    "hstack": lambda g: np.hstack([g.x, g.y]),
    "i0": lambda g: np.i0(g.x),
    "inner": lambda g: np.inner(g.x, g.y),
    "insert": lambda g: np.insert(g.x, 1, g.v, axis=0),
    "interp": lambda g: np.interp(g.v, np.array([0.0, 1.0]), np.array([1.0, 3.0])),
    "intersect1d": lambda g: np.intersect1d(g.i, g.i),
    "isclose": lambda g: np.isclose(g.x, g.y),
    "isin": lambda g: np.isin(g.i, np.array([1, 2])),
    "ix_": lambda g: np.ix_(g.i, g.i),
    "kron": lambda g: np.kron(g.x, g.v),
    "lexsort": lambda g: np.lexsort((g.v, g.i)),
    "linspace": lambda g: np.linspace(g.v[0], 2.0, 5),
    "logspace": lambda g: np.logspace(g.v[0], 2.0, 5),
    "may_share_memory": lambda g: np.may_share_memory(g.x, g.y),
    "meshgrid": lambda g: np.meshgrid(g.v, g.v),
    "moveaxis": lambda g: np.moveaxis(g.x, 0, 1),
    "nanpercentile": lambda g: np.nanpercentile(g.x, 30.0),
    "nanquantile": lambda g: np.nanquantile(g.x, 0.3),
    "outer": lambda g: np.outer(g.v, g.v),
    "packbits": lambda g: np.packbits(g.b),
    "pad": lambda g: np.pad(g.x, 1),
    "partition": lambda g: np.partition(g.v, 1)[1],
    "percentile": lambda g: np.percentile(g.x, 30.0),
    "permute_dims": lambda g: np.permute_dims(g.x, (1, 0)),
    "piecewise": lambda g: np.piecewise(g.x, [g.x < 0.5], [0.0, 1.0]),
    "place": lambda g: np.place(g.x, g.b, [0.0]),
    "poly": lambda g: np.poly(g.v),
    "polyadd": lambda g: np.polyadd(g.v, g.v),
    "polyder": lambda g: np.polyder(g.v),
    "polydiv": lambda g: np.polydiv(g.v, np.array([1.0, 2.0])),
    "polyfit": lambda g: np.polyfit(np.arange(4.0), g.v, 1),
    "polyint": lambda g: np.polyint(g.v),
    "polymul": lambda g: np.polymul(g.v, g.v),
    "polysub": lambda g: np.polysub(g.v, g.v * 2),
    "polyval": lambda g: np.polyval(g.v, 0.5),
    "put": lambda g: np.put(g.x, [0], 1.0),
    "put_along_axis": lambda g: np.put_along_axis(g.v, np.array([0]), 1.0, 0),
    "putmask": lambda g: np.putmask(g.x, g.b, 0.0),
    "quantile": lambda g: np.quantile(g.x, 0.3),
    "ravel_multi_index": lambda g: np.ravel_multi_index((g.i % 2, g.i), (2, 4)),
    "repeat": lambda g: np.repeat(g.x, 2, axis=1),
    "reshape": lambda g: np.reshape(g.x, (4, 3)),
    "resize": lambda g: np.resize(g.x, (2, 3)),
    "roll": lambda g: np.roll(g.x, 1, axis=0),
    "rollaxis": lambda g: np.rollaxis(g.x, 1),
    "roots": lambda g: np.roots(g.v),
    "searchsorted": lambda g: np.searchsorted(np.array([0.2, 0.4]), g.v),
    "select": lambda g: np.select([g.b], [g.x], 0.0),
    "setdiff1d": lambda g: np.setdiff1d(g.i, np.array([1])),
    "setxor1d": lambda g: np.setxor1d(g.i, np.array([1])),
    "shares_memory": lambda g: np.shares_memory(g.x, g.y),
    "split": lambda g: np.split(g.x, 2, axis=1),
    "stack": lambda g: np.stack([g.x, g.y], axis=1),
    "swapaxes": lambda g: np.swapaxes(g.x, 0, 1),
    "take": lambda g: np.take(g.x, [0, 2], axis=0),
    "take_along_axis": lambda g: np.take_along_axis(g.v, g.i, 0),
    "tensordot": lambda g: np.tensordot(g.x, g.y, ((1,), (1,))),
    "tile": lambda g: np.tile(g.x, (2, 1)),
    "trapezoid": lambda g: np.trapezoid(g.v),
    "tril_indices_from": lambda g: np.tril_indices_from(g.m),
    "trim_zeros": lambda g: np.trim_zeros(g.v),
    "triu_indices_from": lambda g: np.triu_indices_from(g.m),
    "union1d": lambda g: np.union1d(g.i, np.array([9])),
    "unpackbits": lambda g: np.unpackbits(g.i.astype(np.uint8)),
    "unravel_index": lambda g: np.unravel_index(g.i, (2, 2)),
    "vander": lambda g: np.vander(g.v, 3),
    "vdot": lambda g: np.vdot(g.x, g.y),
    "vsplit": lambda g: np.vsplit(g.x, 3),
    "vstack": lambda g: np.vstack([g.x, g.y]),
    "where": lambda g: np.where(g.b, g.x, g.y),
}
"""By the name of one of NumPy's functions."""

LINALG: dict[str, Call] = {
    **{
        name: _on_m(name)
        for name in _listed(
            "cholesky cond det diagonal eig eigh eigvals eigvalsh inv matrix_norm "
            "matrix_rank matrix_transpose norm pinv qr slogdet svd svdvals trace vector_norm"
        )
    },
    "cross": lambda g: np.linalg.cross(g.m, g.m + 1),
    "lstsq": lambda g: np.linalg.lstsq(g.m, g.x),
    "matmul": lambda g: np.linalg.matmul(g.m, g.x),
    "matrix_power": lambda g: np.linalg.matrix_power(g.m, 3),
    "multi_dot": lambda g: np.linalg.multi_dot([g.m, g.m, g.x]),
    "outer": lambda g: np.linalg.outer(g.v, g.v),
    "solve": lambda g: np.linalg.solve(g.m, g.x),
    "tensordot": lambda g: np.linalg.tensordot(g.x, g.y, axes=((1,), (1,))),
    "tensorinv": lambda g: np.linalg.tensorinv(np.reshape(g.m, (3, 3)), ind=1),
    "tensorsolve": lambda g: np.linalg.tensorsolve(g.m, np.sum(g.m, axis=1)),
    "vecdot": lambda g: np.linalg.vecdot(g.x, g.y),
}
"""The same of numpy.linalg."""
