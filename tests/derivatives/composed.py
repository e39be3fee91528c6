"""A call of each function that is composed of ops: its operands are named after what they are.

`x`, `y` (3, 4) numbers, `u`, `v` (4,), `m`, `n` (3, 3); `p` (3, 4) and `q` (4,) positive, `r`
(3, 4) between 0.1 and 0.9; `signal`, `image` and `volume` as convolutions take them, with
`kernel1` and so on. Numbers of all operands of a call are apart from each other and from 0, where
there may be kinks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import staticgraph as sg
from tests.derivatives.composed_layers import LAYERS

Call = Callable[..., Any]
GAP8, GAP12 = 3.2 / 7, 3.2 / 11
"""How far apart so many numbers are: kinks are put between them."""
_I = np.array([2, 0, 3, 1])
_B = np.array([True, False, True, False])


def _parts(z: Any) -> list[Any]:
    return [sg.real(z), sg.imag(z)]


ARRAYS: dict[str, Call] = {
    "amax": lambda x: sg.amax(x, axis=0),
    "amin": lambda x: sg.amin(x, axis=1),
    "angle": lambda x, y: sg.angle(sg.complex(x, y)),
    "append": lambda x, y: sg.append(x, y, axis=0),
    "array_split": lambda x: sg.array_split(x, 3, axis=1),
    "around": lambda x: sg.around(0.2 * x + 3.0) * x,
    "round": lambda x: sg.round(0.002 * x + 3.0, 1) * x,
    "associative_scan": lambda x: sg.associative_scan(lambda a, b: a * b, x),
    "atleast_1d": lambda x: sg.atleast_1d(x) * x,
    "atleast_2d": lambda v: sg.atleast_2d(v) * v,
    "atleast_3d": lambda x: sg.atleast_3d(x) ** 2,
    "average": lambda x, p: sg.average(x, axis=1, weights=p),
    "block": lambda x, y: sg.block([[x, y], [y, x * x]]),
    "broadcast_arrays": lambda x, v: [one * one for one in sg.broadcast_arrays(x, v)],
    "choose": lambda u, v: sg.choose(np.array([1, 0, 1, 0]), [u * v, v]),
    "clip": lambda x: sg.clip(x, -2 * GAP12, 3 * GAP12) * x,
    "column_stack": lambda u, v: sg.column_stack([u, v, u * v]),
    "compress": lambda x: sg.compress(_B, x * x, axis=1, size=2),
    "concat": lambda x, y: sg.concat([x, y * x], axis=1),
    "conj": lambda x, y: _parts(sg.conj(sg.complex(x, y)) * x),
    "conjugate": lambda x, y: _parts(sg.conjugate(sg.complex(x, y)) * x),
    "convolve": lambda u, v: sg.convolve(u, v),
    "corrcoef": lambda x: sg.corrcoef(x),
    "correlate": lambda u, v: sg.correlate(u, v, mode="full"),
    "cov": lambda x, y: sg.cov(x, y),
    "cross": lambda m, n: sg.cross(m, n),
    "cummax": lambda x: sg.cummax(x, axis=1)[0],
    "cummin": lambda x: sg.cummin(x, axis=0)[0],
    "cumulative_prod": lambda x: sg.cumulative_prod(x, axis=1, include_initial=True),
    "cumulative_sum": lambda x: sg.cumulative_sum(x * x, axis=0),
    "delete": lambda x: sg.delete(x * x, 1, axis=0),
    "diag": lambda v: sg.diag(v * v),
    "diagflat": lambda x: sg.diagflat(x * x, 1),
    "diagonal": lambda x: sg.diagonal(x * x, 1),
    "divmod": lambda x, p: sg.divmod(x, p + 1.6)[1] * x,
    "dropout": lambda x: sg.dropout(x * x, 0.3, key=sg.random.key(0)),
    "dsplit": lambda x: sg.dsplit(sg.expand_dims(x * x, 0), 2),
    "dstack": lambda x, y: sg.dstack([x, y * x]),
    "ediff1d": lambda x: sg.ediff1d(x * x),
    "einsum": lambda x, y, m: sg.einsum("ij,ki,lj->kl", x, m, y),
    "extract": lambda v: sg.extract(_B, v * v, size=2),
    "fabs": lambda x: sg.fabs(x) * x,
    "fill_diagonal": lambda m: sg.fill_diagonal(m * m, 2.0),
    "fliplr": lambda x: sg.fliplr(x) * x,
    "flipud": lambda x: sg.flipud(x) * x,
    "float_power": lambda p, x: sg.float_power(p, x),
    "fori_loop": lambda x: sg.fori_loop(0, 3, lambda i, c: sg.sin(c) * x, x),
    "frexp": lambda x: sg.frexp(x / 8 + 1.5)[0] * x,
    "full_like": lambda x: sg.full_like(x, 3.0) * x * x,
    "geomspace": lambda q: sg.geomspace(q[0], q[1], 4),
    "gradient": lambda x: sg.gradient(x * x, axis=1),
    "histogram": lambda u, v: sg.histogram(u, 4, (-4 * GAP8, 4 * GAP8), weights=v * v)[0],
    "histogram2d": lambda u, v: sg.histogram2d(u, v, 2, ((-2.0, 2.0),) * 2, weights=u * v)[0],
    "histogramdd": lambda x, v: sg.histogramdd(
        sg.transpose(x), 2, [(-2.0, 2.0)] * 3, weights=v * v
    )[0],
    "hsplit": lambda x: sg.hsplit(x * x, 2),
    "hstack": lambda x, y: sg.hstack([x, x * y]),
    "imag": lambda x, y: sg.imag(sg.complex(x, y) ** 2),
    "index_put": lambda x, v: sg.index_put(x * x, (np.array([0, 2, 0, 2]), _I), v * v, True),
    "inner": lambda x, y: sg.inner(x, y),
    "insert": lambda x, v: sg.insert(x, 1, v * v, axis=0),
    "interp": lambda u, v: sg.interp(u, np.array([-2.0, -GAP8, 2 * GAP8, 2.0]), v * v),
    "kron": lambda m, v: sg.kron(m, v),
    "ldexp": lambda v: sg.ldexp(v * v, _I),
    "linspace": lambda u, v: sg.linspace(u, v * u, 3),
    "logspace": lambda q: sg.logspace(q[0], q[1], 4),
    "map": lambda x: sg.map(lambda row: sg.sort(row) * row, x),
    "masked_fill": lambda x: sg.masked_fill(x * x, _B, 0.5),
    "matrix_transpose": lambda x: sg.matrix_transpose(x) ** 2,
    "matvec": lambda x, v: sg.matvec(x, v),
    "median": lambda x: sg.median(x, axis=0) ** 2,
    "meshgrid": lambda u, v: [one**2 for one in sg.meshgrid(u, v)],
    "modf": lambda x: sg.modf(0.25 * x + 2.5)[0] * x,
    "moveaxis": lambda x: sg.moveaxis(x, 0, 1) ** 2,
    "nan_to_num": lambda x: sg.nan_to_num(x) * x,
    "nancumprod": lambda x: sg.nancumprod(x, axis=1),
    "nancumsum": lambda x: sg.nancumsum(x * x, axis=1),
    "nanmax": lambda x: sg.nanmax(x, axis=0) ** 2,
    "nanmean": lambda x: sg.nanmean(x * x, axis=0),
    "nanmedian": lambda x: sg.nanmedian(x, axis=0) ** 2,
    "nanmin": lambda x: sg.nanmin(x, axis=0) ** 2,
    "nanpercentile": lambda x: sg.nanpercentile(x, 30.0, axis=1) ** 2,
    "nanprod": lambda x: sg.nanprod(x, axis=0),
    "nanquantile": lambda x: sg.nanquantile(x, 0.3, axis=1) ** 2,
    "nanstd": lambda x: sg.nanstd(x, axis=0),
    "nansum": lambda x: sg.nansum(x * x, axis=0),
    "nanvar": lambda x: sg.nanvar(x, axis=0),
    "ones_like": lambda x: sg.ones_like(x) * x * x,
    "pad": lambda x: sg.pad(x * x, ((1, 1), (2, 0)), mode="reflect"),
    "partition": lambda x: sg.partition(x, 1, axis=1)[:, 1] ** 2,
    "percentile": lambda x: sg.percentile(x, 30.0, axis=1) ** 2,
    "permute": lambda x: sg.permute(x, (1, 0)) ** 2,
    "permute_dims": lambda x: sg.permute_dims(x, (1, 0)) ** 2,
    "piecewise": lambda x: sg.piecewise(x, [x < 0.0], [lambda a: a * a, lambda a: a**3]),
    "polar": lambda p, x: _parts(sg.polar(p, x)),
    "poly": lambda v: sg.poly(v),
    "polyadd": lambda u, v: sg.polyadd(u * v, v[:3]),
    "polyder": lambda v: sg.polyder(v * v),
    "polydiv": lambda u, q: [*sg.polydiv(u, q[:3])],
    "polyfit": lambda v: sg.polyfit(np.arange(4.0), v * v, 1),
    "polyint": lambda v: sg.polyint(v * v),
    "polymul": lambda u, v: sg.polymul(u, v),
    "polysub": lambda u, v: sg.polysub(u * v, v),
    "polyval": lambda u, v: sg.polyval(u, v),
    "positive": lambda x: sg.positive(x) * x,
    "ptp": lambda x: sg.ptp(x, axis=0) ** 2,
    "put_along_axis": lambda x, v: sg.put_along_axis(
        x * x, np.array([[1, 0, 2, 1]]), (v * v)[None], axis=0
    ),
    "quantile": lambda x: sg.quantile(x, 0.3, axis=1) ** 2,
    "ravel": lambda x: sg.ravel(x) ** 2,
    "real": lambda x, y: sg.real(sg.complex(x, y) ** 2),
    "repeat": lambda x: sg.repeat(x * x, 2, axis=1),
    "resize": lambda x: sg.resize(x * x, (5, 3)),
    "roll": lambda x: sg.roll(x, 1, axis=0) * x,
    "rollaxis": lambda x: sg.rollaxis(x * x, 1),
    "rot90": lambda m: sg.rot90(m) * m,
    "segment_max": lambda x: sg.segment_max(x, np.array([0, 1, 0]), 2) ** 2,
    "segment_min": lambda x: sg.segment_min(x, np.array([0, 1, 0]), 2) ** 2,
    "segment_prod": lambda x: sg.segment_prod(x, np.array([0, 1, 0]), 2),
    "segment_sum": lambda x: sg.segment_sum(x * x, np.array([0, 1, 0]), 2),
    "select": lambda x, y: sg.select([x < 0.0, y < 0.0], [x * y, y * y], 1.0),
    "split": lambda x: sg.split(x * x, 2, axis=1),
    "stack": lambda x, y: sg.stack([x, x * y], axis=1),
    "swapaxes": lambda x: sg.swapaxes(x, 0, 1) ** 2,
    "switch": lambda x: sg.switch(np.int64(1), [sg.exp, sg.sin, sg.tanh], x),
    "tensordot": lambda x, y: sg.tensordot(x, y, ((1,), (1,))),
    "tile": lambda x: sg.tile(x * x, (2, 1)),
    "topk": lambda x: sg.topk(x, 2)[0] ** 2,
    "trace": lambda m: sg.trace(m @ m.T),
    "trapezoid": lambda x, v: sg.trapezoid(x, v),
    "tril": lambda m: sg.tril(m) @ m,
    "triu": lambda m: sg.triu(m) @ m,
    "unstack": lambda x: [one**2 for one in sg.unstack(x)],
    "unwrap": lambda v: sg.unwrap(0.9 * v + 2 * np.pi * _I.astype(v.dtype)) * v,
    "vander": lambda v: sg.vander(v, 4),
    "vdot": lambda p, x: sg.vdot(p, x * x),
    "vecdot": lambda x, y: sg.vecdot(x, y),
    "vecmat": lambda u, x: sg.vecmat(u, sg.transpose(x)),
    "vsplit": lambda x: sg.vsplit(x * x, 3),
    "vstack": lambda x, y: sg.vstack([x, x * y]),
    "zeros_like": lambda x: (sg.zeros_like(x) + x) * x,
}  # fmt: skip
"""Of `sg`, which are NumPy's names."""


def _regular(m: Any) -> Any:
    return 0.4 * m + 4 * np.eye(3, dtype=m.dtype)


def _symmetric(m: Any) -> Any:
    return 0.3 * (m + m.T) + np.diag(np.array([1.0, 7.0, 15.0])).astype(m.dtype)


def _powers(values: Any) -> list[Any]:
    """What does not depend on the order of eigenvalues, which may be another a step away."""
    parts = sg.real(values) / 8
    return [sg.sum(parts**2), sg.sum(parts**3)]


LINALG: dict[str, Call] = {
    "cholesky": lambda m: sg.linalg.cholesky(m @ m.T + 2 * np.eye(3, dtype=m.dtype)),
    "cond": lambda m: sg.linalg.cond(_regular(m)),
    "cross": lambda m, n: sg.linalg.cross(m, n),
    "diagonal": lambda m: sg.linalg.diagonal(m @ m),
    "eig": lambda m: _powers(sg.linalg.eig(_symmetric(m) + 0.1 * m)[0]),
    "eigh": lambda m: (sg.linalg.eigh(_symmetric(m))[0] / 8) ** 2,
    "eigvals": lambda m: _powers(sg.linalg.eigvals(_symmetric(m) + 0.1 * m)),
    "lstsq": lambda x, u: sg.linalg.lstsq(0.4 * sg.transpose(x) + np.eye(4, 3, dtype=x.dtype), u)[
        0
    ],
    "matrix_norm": lambda m: sg.linalg.matrix_norm(m),
    "matrix_power": lambda m: sg.linalg.matrix_power(m, 3),
    "matrix_transpose": lambda m: sg.linalg.matrix_transpose(m) @ m,
    "multi_dot": lambda m, n, x: sg.linalg.multi_dot([m, n, x]),
    "norm": lambda x: sg.linalg.norm(x, axis=1),
    "qr": lambda m: [*sg.linalg.qr(_regular(m))],
    "slogdet": lambda m: sg.linalg.slogdet(_regular(m))[1],
    "solve": lambda m, n: sg.linalg.solve(_regular(m), n),
    "svd": lambda m: (sg.linalg.svd(_symmetric(m) + 0.3 * m)[1] / 8) ** 2,
    "tensordot": lambda x, y: sg.linalg.tensordot(x, y, axes=((1,), (1,))),
    "tensorinv": lambda m: sg.linalg.tensorinv(_regular(m), ind=1),
    "tensorsolve": lambda m, n: sg.linalg.tensorsolve(_regular(m), n[0]),
    "trace": lambda m, n: sg.linalg.trace(m @ m.T + n @ n.T),
    "vecdot": lambda x, y: sg.linalg.vecdot(x, y),
}
SPECIAL: dict[str, Call] = {
    "beta": lambda p, x: sg.special.beta(p, x * x + 0.5),
    "betaln": lambda p, x: sg.special.betaln(p, x * x + 0.5),
    "boxcox": lambda p, x: sg.special.boxcox(p, x),
    "boxcox1p": lambda p, x: sg.special.boxcox1p(p, x),
    "comb": lambda p: sg.special.comb(p + 5.0, p),
    "entr": lambda p: sg.special.entr(p),
    "erfcx": lambda x: sg.special.erfcx(x),
    "bessel_jn": lambda x: sg.special.bessel_jn(3 * x, v=3),
    "fresnel": lambda x: [*sg.special.fresnel(x)],
    "sici": lambda p: [*sg.special.sici(p)],
    "sph_harm_y": lambda p, x: _parts(sg.special.sph_harm_y(4, -3, p, x)),
    "wofz": lambda p, x: _parts(sg.special.wofz(sg.complex(x, p))),
    "factorial": lambda p: sg.special.factorial(p),
    "gamma": lambda p: sg.special.gamma(p),
    "kl_div": lambda p, x: sg.special.kl_div(p, x * x + 0.5),
    "log_expit": lambda x: sg.special.log_expit(x),
    "log_ndtr": lambda x: sg.special.log_ndtr(x),
    "log_softmax": lambda x: sg.special.log_softmax(x, axis=1),
    "logsumexp": lambda x: sg.special.logsumexp(x, axis=1),
    "multigammaln": lambda p: sg.special.multigammaln(p + 3.0, 2),
    "mvlgamma": lambda p: sg.special.mvlgamma(p + 3.0, 2),
    "ndtr": lambda x: sg.special.ndtr(x),
    "poch": lambda p, x: sg.special.poch(p, x * x + 0.5),
    "rel_entr": lambda p, x: sg.special.rel_entr(p, x * x + 0.5),
    "softmax": lambda x: sg.special.softmax(x, axis=1),
    "xlog1py": lambda x, p: sg.special.xlog1py(x, p),
    "zeta": lambda p: sg.special.zeta(2.5, p),
    "chebyshev_polynomial_t": lambda x: sg.special.chebyshev_polynomial_t(x, 3),
    "chebyshev_polynomial_u": lambda x: sg.special.chebyshev_polynomial_u(x, 3),
    "chebyshev_polynomial_v": lambda x: sg.special.chebyshev_polynomial_v(x, 3),
    "chebyshev_polynomial_w": lambda x: sg.special.chebyshev_polynomial_w(x, 3),
    "hermite_polynomial_h": lambda x: sg.special.hermite_polynomial_h(x, 3),
    "hermite_polynomial_he": lambda x: sg.special.hermite_polynomial_he(x, 3),
    "laguerre_polynomial_l": lambda x: sg.special.laguerre_polynomial_l(x, 3),
    "legendre_polynomial_p": lambda x: sg.special.legendre_polynomial_p(x, 3),
    "shifted_chebyshev_polynomial_t": lambda x: sg.special.shifted_chebyshev_polynomial_t(x, 3),
    "shifted_chebyshev_polynomial_u": lambda x: sg.special.shifted_chebyshev_polynomial_u(x, 3),
    "shifted_chebyshev_polynomial_v": lambda x: sg.special.shifted_chebyshev_polynomial_v(x, 3),
    "shifted_chebyshev_polynomial_w": lambda x: sg.special.shifted_chebyshev_polynomial_w(x, 3),
    "eval_chebyt": lambda x: sg.special.eval_chebyt(3, x),
    "eval_chebyu": lambda x: sg.special.eval_chebyu(3, x),
    "eval_hermite": lambda x: sg.special.eval_hermite(3, x),
    "eval_hermitenorm": lambda x: sg.special.eval_hermitenorm(3, x),
    "eval_laguerre": lambda x: sg.special.eval_laguerre(3, x),
    "eval_legendre": lambda x: sg.special.eval_legendre(3, x),
    "eval_sh_chebyt": lambda x: sg.special.eval_sh_chebyt(3, x),
    "eval_sh_chebyu": lambda x: sg.special.eval_sh_chebyu(3, x),
    "eval_sh_legendre": lambda x: sg.special.eval_sh_legendre(3, x),
}


def _complex_to_complex(name: str) -> Call:
    return lambda x, y: _parts(getattr(sg.fft, name)(sg.complex(x, y) * x))


def _complex_to_real(name: str) -> Call:
    return lambda x, y: getattr(sg.fft, name)(sg.complex(x, y) * x)


def _real_to_complex(name: str) -> Call:
    return lambda x: _parts(getattr(sg.fft, name)(x * x))


FFT: dict[str, Call] = {
    name: made(name)
    for made, names in (
        (_complex_to_complex, "fft fft2 fftn fftshift ifft ifft2 ifftn ifftshift"),
        (_complex_to_real, "hfft irfft irfft2 irfftn"),
        (_real_to_complex, "ihfft rfft rfft2 rfftn"),
    )
    for name in names.split()
}
COMPOSED: dict[str, Call] = ARRAYS | {
    f"{place}.{name}": one
    for place, calls in (("linalg", LINALG), ("special", SPECIAL), ("fft", FFT), ("nn", LAYERS))
    for name, one in calls.items()
}
"""By the name below `sg`."""
