"""Modified Bessel functions of the first kind, of orders 0 and 1, and by exp(-|x|) smaller.

By Chebyshev series of exp(-|x|) I(x) up to 8, and of sqrt(x) exp(-x) I(x) in 8 / x beyond, fitted
to 40 digits with mpmath; what is left out is below 1e-19 of the largest coefficient.
"""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler.ops.declare import composite
from staticgraph.compiler.ops.elementwise.arithmetic import absolute, maximum, minimum, sign
from staticgraph.compiler.ops.elementwise.chebyshev import chebyshev_sum
from staticgraph.compiler.ops.elementwise.comparison import less_equal, where
from staticgraph.compiler.ops.elementwise.exponential import exp, sqrt

__all__ = ["i0", "i0e", "i1", "i1e"]

_BORDER = 8.0
_I0_NEAR = (
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877,
    -0.09490109704804764, 0.04930528423967071, -0.02373741480589947,
    0.010546460394594998, -0.004324309995050576, 0.0016394756169413357,
    -0.0005763755745385824, 0.00018850288509584165, -5.754195010082104e-05,
    1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06,
    -2.670793853940612e-07, 6.046995022541919e-08, -1.300025009986248e-08,
    2.6598237246823866e-09, -5.189795601635263e-10, 9.675809035373237e-11,
    -1.726826291441556e-11, 2.95505266312964e-12, -4.856446783111929e-13,
    7.676185498604936e-14, -1.1685332877993451e-14, 1.715391285555133e-15,
    -2.431279846547955e-16, 3.3307945188222384e-17, -4.4153416464793395e-18,
    5.669178006921496e-19, -7.057100692457294e-20,
)  # fmt: skip
_I0_FAR = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05,
    2.8913705208347567e-06, 2.0489185894690638e-07, 2.266668990498178e-08,
    3.3962320257083865e-09, 4.94060238822497e-10, 1.1889147107846439e-11,
    -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12,
    7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14,
    -4.150569347287222e-14, -9.554846698828307e-15, 3.8116806693526224e-15,
    1.7725601330565263e-15, -3.425485619677219e-16, -2.8276239805165836e-16,
    3.461222867697461e-17, 4.46562142029676e-17, -4.830504485944182e-18,
    -7.233180487874754e-18, 9.921475412173699e-19, 1.193650890845982e-18,
    -2.4887098371508075e-19, -1.938426454160906e-19, 6.444656697373444e-20,
)  # fmt: skip
_I1_NEAR = (
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471,
    -0.05294598120809499, 0.024726449030626516, -0.010564084894626197,
    0.004156422944312888, -0.0015135724506312532, 0.0005122859561685758,
    -0.00016176081582589674, 4.781565107550054e-05, -1.3273163656039436e-05,
    3.4702513081376785e-06, -8.568720264695455e-07, 2.0032947535521353e-07,
    -4.445059128796328e-08, 9.381537386495773e-09, -1.8872497517228294e-09,
    3.625590281552117e-10, -6.663489723502027e-11, 1.1736186298890901e-11,
    -1.9839743977649436e-12, 3.223793365945575e-13, -5.042185504727912e-14,
    7.600684294735408e-15, -1.1055969477353862e-15, 1.5536319577362005e-16,
    -2.111421214358166e-17, 2.7779141127610464e-18, -3.541581772542136e-19,
    4.379302756655071e-20,
)  # fmt: skip
_I1_FAR = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371,
    -3.882564808877691e-06, -2.512236237870209e-07, -2.6314688468895196e-08,
    -3.835380385964237e-09, -5.589743462196584e-10, -1.8974958123505413e-11,
    3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12,
    -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14,
    4.272440016711951e-14, 1.0420276984128802e-14, -3.8144030724370075e-15,
    -1.8803547755107825e-15, 3.3082023109209285e-16, 2.96262899764595e-16,
    -3.209525921993424e-17, -4.6503053684893586e-17, 4.414348323071708e-18,
    7.517296310842105e-18, -9.314178867326884e-19, -1.242193275194891e-18,
    2.4142767194548486e-19, 2.0269443840532852e-19, -6.394267188269098e-20,
)  # fmt: skip


def _scaled(near: tuple[float, ...], far: tuple[float, ...], x: Any) -> tuple[Any, Any, Any]:
    size = absolute(x)
    low = chebyshev_sum(near, minimum(size, _BORDER) / (_BORDER / 2) - 1)
    beyond = maximum(size, _BORDER)
    high = chebyshev_sum(far, 2 * _BORDER / beyond - 1) / sqrt(beyond)
    return size, low, high


def _i0e(x: object) -> Any:
    size, low, high = _scaled(_I0_NEAR, _I0_FAR, x)
    return where(less_equal(size, _BORDER), low, high)


def _i1e(x: object) -> Any:
    size, low, high = _scaled(_I1_NEAR, _I1_FAR, x)
    return where(less_equal(size, _BORDER), low * x, sign(x) * high)


_HALVES = tuple(0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(8))


def _by_x(value: object, a: Any, scaled: bool) -> Any:
    """I1(a) / a; near 0 by its power series, since derivatives of a quotient cancel there."""
    near = less_equal(absolute(a), 0.5)
    small = where(near, a, 0)
    square, series = small * small * 0.25, 0.0
    for coefficient in reversed(_HALVES):
        series = series * square + coefficient
    if scaled:
        series = series * exp(-absolute(small))
    return where(near, series, value / where(near, 1, a))


i0e: Any = composite(
    "i0e", _i0e, vjp=(lambda g, o, a: g * (i1e(a) - sign(a) * o),), saves=("ao",),
    elementwise=True, floating=True, smooth=False, domain="positive",
    doc="exp(-|x|) times the modified Bessel function of order 0.",
    example=">>> sg.special.i0e(np.array([0.0, 1.0]))\narray([1.        , 0.46575961])",
)  # fmt: skip
i1e: Any = composite(
    "i1e", _i1e, vjp=(lambda g, o, a: g * (i0e(a) - sign(a) * o - _by_x(o, a, True)),),
    saves=("ao",), elementwise=True, floating=True, smooth=False, domain="positive",
    doc="exp(-|x|) times the modified Bessel function of order 1.",
    example=">>> sg.special.i1e(np.array([0.0, 1.0]))\narray([0.        , 0.20791042])",
)  # fmt: skip
i0: Any = composite(
    "i0", lambda x: exp(absolute(x)) * i0e(x), vjp=(lambda g, o, a: g * i1(a),), saves=("a",),
    elementwise=True, floating=True, domain="small",
    doc="The modified Bessel function of the first kind of order 0.",
    example=">>> sg.special.i0(np.array([0.0, 1.0]))\narray([1.        , 1.26606588])",
)  # fmt: skip
i1: Any = composite(
    "i1", lambda x: exp(absolute(x)) * i1e(x),
    vjp=(lambda g, o, a: g * (i0(a) - _by_x(o, a, False)),), saves=("ao",),
    elementwise=True, floating=True, domain="small",
    doc="The modified Bessel function of the first kind of order 1.",
    example=">>> sg.special.i1(np.array([0.0, 1.0]))\narray([0.       , 0.5651591])",
)  # fmt: skip
