"""Integrals of exponentials: Ei, E1 and Dawson's.

By Chebyshev series in x near 0 and in 1 / x or its square beyond, in several pieces, of the
function times what makes its size even; of Ei divided by its zero. They are fitted to 50 digits
with mpmath; what is left out is below 1e-18 of the largest coefficient. Errors are a few units in
the last place.
"""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler.ops.declare import composite
from staticgraph.compiler.ops.elementwise.arithmetic import absolute, copysign, maximum, minimum
from staticgraph.compiler.ops.elementwise.bessel_waves import even_series
from staticgraph.compiler.ops.elementwise.chebyshev import chebyshev_sum
from staticgraph.compiler.ops.elementwise.comparison import greater, less, less_equal, where
from staticgraph.compiler.ops.elementwise.exponential import exp, log, log1p

__all__ = ["dawsn", "exp1", "expi"]

_EI_NEAR = (
    5.257958226943482, 6.004639395661629, 2.469688170948231, 0.7902956029932626,
    0.2071548491532639, 0.04602682604407321, 0.008880237057344323, 0.0015146911094885722,
    0.00023159134968734474, 3.2092485124027427e-05, 4.066921310320624e-06, 4.748419512679941e-07,
    5.140302084703391e-08, 5.187110649842181e-09, 4.902148216697985e-10, 4.356558086355594e-11,
    3.6539244499196015e-12, 2.901505315385807e-13, 2.1876473555324577e-14, 1.5701440360230516e-15,
    1.0752799606371169e-16, 7.041144635241966e-18,
)  # fmt: skip
_EI_MIDDLE = (
    1.151455582739956, 0.11714903507018536, 0.011472244627728957, -0.0005007729858989506,
    -0.0006963966571406743, -3.98250103460054e-05, 4.6904002103762074e-05, 5.130496015386443e-08,
    -3.6875912156397035e-06, 6.306495021606828e-07, 1.7980578713232585e-07,
    -1.0079826570271972e-07, 1.2259676327834634e-08, 5.501398516583584e-09,
    -2.9916534532866193e-09, 5.391460293938023e-10, 8.717219835695692e-11, -8.679245071196351e-11,
    2.6673900881223756e-11, -2.567498334381883e-12, -1.5643374640444126e-12, 9.5314321796165e-13,
    -2.737487274360451e-13, 2.95060055741726e-14, 1.4160075363763422e-14, -9.834794978247951e-15,
    3.3265976294291275e-15, -6.222888395741241e-16, -3.516329313239749e-17, 8.281990621842193e-17,
    -3.869914393213294e-17, 1.1304109406808263e-17, -1.8229953835658084e-18,
)  # fmt: skip
_EI_FAR = (
    1.0222957360954668, 0.022812793514753286, 0.0005360936928493524, 2.0034094292122614e-05,
    1.0686092350144287e-06, 7.746060698591084e-08, 7.504513851387549e-09, 9.65386432321799e-10,
    1.5701407029249868e-10, 2.779058341161681e-11, 3.828483997307224e-12, -1.9274603059481113e-13,
    -3.984438522784285e-13, -1.5561943489863476e-13, -2.6325433913268538e-14,
    5.119012243843834e-15, 4.450825135967824e-15, 8.977579029888121e-16, -2.2282754984589544e-16,
    -1.6452081405038015e-16, -1.5179371674871094e-17, 1.6736756138129383e-17,
    5.4633715506034455e-18, -1.1481735479418837e-18,
)  # fmt: skip
_E1_NEAR = (
    -0.15608954289343577, 0.39708785273195646, -0.02277106547144326, 0.0012097775028096784,
    -5.5182563885653714e-05, 2.1671613488351387e-06, -7.426313409051455e-08,
    2.2509122178774545e-09, -6.107395323643698e-11, 1.498675699736102e-12, -3.354930941889216e-14,
    6.90235852390662e-16, -1.3134361119396419e-17,
)  # fmt: skip
_E1_MIDDLE = (
    0.7072598387826036, -0.12516831141517962, 0.016483112634993042, -0.002619222747326536,
    0.0004668105835752934, -9.006213623265251e-05, 1.8430969063252215e-05, -3.949554346402969e-06,
    8.784497953404707e-07, -2.0151606597158034e-07, 4.7454546901577116e-08,
    -1.142996755381686e-08, 2.8078082837854157e-09, -7.018488118222507e-10,
    1.7817741792169905e-10, -4.586826632130074e-11, 1.1957707060544035e-11,
    -3.1533350998785837e-12, 8.403463173425224e-13, -2.2612451181805267e-13,
    6.139307243630293e-14, -1.680710784055073e-14, 4.6368191187067395e-15,
    -1.2884861380972167e-15, 3.604739433497118e-16, -1.0149031182468713e-16,
    2.874558666881135e-17, -8.187813462235115e-18, 2.3446729800716206e-18,
)  # fmt: skip
_E1_FAR = (
    0.9207851444538939, -0.07343411783162129, 0.00520981196727233, -0.0005021407198959901,
    5.9207969379263374e-05, -8.085645130978803e-06, 1.2372038564792629e-06,
    -2.075017686070276e-07, 3.756005474022421e-08, -7.254109760044177e-09, 1.4818160118218233e-09,
    -3.179568286293793e-10, 7.126935828012092e-11, -1.661231318794899e-11, 4.0115506899031356e-12,
    -1.0003879180427522e-12, 2.569334133609565e-13, -6.780374490445101e-14,
    1.8347853759504047e-14, -5.0820871155233905e-15, 1.4386059197977184e-15,
    -4.1560286459317385e-16, 1.2238014856028196e-16, -3.6690471597189634e-17,
    1.1188379694365048e-17, -3.4670140646681552e-18, 1.09083064994728e-18,
)  # fmt: skip
_EI_ZERO = (0.3725074231624603, -1.2381093692686445e-08)
"""The zero of Ei, as a number that float32 holds and the rest."""
_DAWSN_NEAR = (
    1.2952790396157536, -0.14666212280522603, -0.10093402030873486, 0.14926851481229492,
    -0.10550163166761793, 0.053781028433943404, -0.021944725422762726, 0.007523684710813077,
    -0.002231183401449356, 0.0005837854096242631, -0.00013675496849789551, 2.900975011044841e-05,
    -5.623776153086013e-06, 1.0038572964732533e-06, -1.6604737501309816e-07,
    2.558953984782541e-08, -3.6914756148753995e-09, 5.005241949877104e-10, -6.401890968563826e-11,
    7.749002881587217e-12, -8.901996343937716e-13, 9.731018796695428e-14, -1.0145587587389541e-14,
    1.0110455709172466e-15, -9.649070552168323e-17, 8.83482559314289e-18,
)  # fmt: skip
_DAWSN_MIDDLE = (
    1.0406291220990977, 0.02741895822370963, 0.0014328713101258196, 0.00014151905417741833,
    8.301029804633698e-06, -3.5723129175805918e-06, -1.1379059326186253e-06,
    5.554871536253779e-08, 7.393788282886746e-08, -3.0937062218650476e-09, -5.097469286831228e-09,
    6.56268435323687e-10, 3.1391770529737345e-10, -1.0144087567718326e-10, -6.955758795039944e-12,
    1.0060109831866316e-11, -1.7989612494547969e-12, -4.1664913686507815e-13,
    2.7845792131463635e-13, -4.56618783667296e-14, -1.1190342915157893e-14, 7.98565320685084e-15,
    -1.7180206090836234e-15, -1.4098119836272681e-16, 2.176705868098325e-16,
    -7.003443479611795e-17, 6.435629723102919e-18, 4.271932214807337e-18, -2.4060986643015233e-18,
)  # fmt: skip
_DAWSN_FAR = (
    1.0071752259291502, 0.007254579074193655, 8.086455588294952e-05, 1.5531562229740047e-06,
    4.328531758315657e-08, 1.6123107664377309e-09, 7.658641739865631e-11, 4.507377409362404e-12,
    3.2301123783078875e-13, 2.7957319878986848e-14, 2.925190651996624e-15, 3.725396398903869e-16,
    5.750901831204063e-17, 1.0260765992952646e-17, 1.883245636374852e-18,
)  # fmt: skip
_DAWSN_SLOPE_MIDDLE = (
    1.1391678519302644, 0.10316954841251123, 0.009985790907224939, 0.0011001276688176545,
    -6.70539355849617e-05, -7.971568895628042e-05, -1.0169141315173717e-05,
    4.3738571421381125e-06, 9.222941828503034e-07, -3.5013433340118013e-07,
    -5.2175535478747393e-08, 3.469573346120688e-08, -4.751396008682418e-10, -2.97583508309822e-09,
    6.562658128527158e-10, 1.205295292653329e-10, -9.22603665446589e-11, 1.4304745935869629e-11,
    4.57956295271264e-12, -2.8379953320400053e-12, 4.968811642146691e-13, 1.0745186480261719e-13,
    -8.843133903237907e-14, 2.23892868332852e-14, 2.6618787860663605e-16, -2.3802034282300636e-15,
    9.44517808399586e-16, -1.5036881301734283e-16, -3.3182939053605536e-17, 2.999313808974841e-17,
    -9.833860476787483e-18, 1.3004710164804587e-18,
)  # fmt: skip
_DAWSN_SLOPE_FAR = (
    1.0220175246319356, 0.02243001833137713, 0.0004236874411473166, 1.1598880617698957e-05,
    4.2378983379882824e-07, 1.971117865247951e-08, 1.13330963027925e-09, 7.909029777500676e-11,
    6.634468067108863e-12, 6.680025860426782e-13, 8.123488595399223e-14, 1.1982549824365009e-14,
    2.091430685709175e-15, 3.9718607808434316e-16, 6.929776409250072e-17, 6.5931370066127625e-18,
    -2.1369675632101177e-18, -1.5607848062896357e-18,
)  # fmt: skip
_VANISHED = 2000.0
"""Here exp is inf, or 0, in every dtype."""


def _pieces(
    middle: tuple[float, ...], far: tuple[float, ...], x: Any, least: float, border: float
) -> Any:
    """A series in 1 / x between both numbers, and another beyond the second."""
    inverse = 1 / maximum(x, least)
    low, high = 1 / border, 1 / least
    scale = 2 / (high - low)
    near = chebyshev_sum(middle, maximum(inverse, low) * scale - (low * scale + 1))
    beyond = chebyshev_sum(far, minimum(inverse, low) * (2 * border) - 1)
    return where(less_equal(x, border), near, beyond)


def _exp1(x: Any) -> Any:
    inside = minimum(x, 1)
    near = chebyshev_sum(_E1_NEAR, inside * 2 - 1) - log(inside)
    beyond = minimum(maximum(x, 1), _VANISHED)
    far = exp(-beyond) / beyond * _pieces(_E1_MIDDLE, _E1_FAR, beyond, 1.0, 5.0)
    return where(less_equal(x, 1), near, far)


def _expi(x: Any) -> Any:
    inside = minimum(absolute(x), 6)
    zero, rest = _EI_ZERO
    apart = (inside - zero) - rest
    tiny = less(inside, 0.1)
    ratio = log1p(where(tiny, 0, apart) * (1 / (zero + rest)))
    logs = where(tiny, log(inside) - math.log(zero + rest), ratio)
    near = logs + chebyshev_sum(_EI_NEAR, inside * (1 / 3) - 1) * apart
    beyond = minimum(maximum(x, 6), _VANISHED)
    half = exp(beyond * 0.5)  # the whole one overflows before Ei does
    far = half / beyond * _pieces(_EI_MIDDLE, _EI_FAR, beyond, 6.0, 24.0) * half
    positive = where(less_equal(x, 6), near, far)
    return where(less(x, 0), -exp1(where(less(x, 0), -x, 1)), positive)


exp1: Any = composite(
    "exp1", _exp1, vjp=(lambda g, o, a: g * (-exp(-a) / a),), saves=("a",), elementwise=True,
    floating=True, domain="positive",
    doc="The integral of exp(-t) / t from x on: inf at 0, nan below.",
    example=">>> sg.special.exp1(np.array([1.0, 2.0]))\narray([0.21938393, 0.04890051])",
)  # fmt: skip


def _expi_slope(a: Any) -> Any:
    """exp(x) / x, which overflows later than exp does."""
    inside = minimum(a, _VANISHED)
    half = exp(inside * 0.5)
    return half / inside * half


expi: Any = composite(
    "expi", _expi, vjp=(lambda g, o, a: g * _expi_slope(a),), saves=("a",), elementwise=True,
    floating=True,
    doc="Ei, the integral of exp(t) / t up to x, beyond 0 its principal value: -inf at 0.",
    example=">>> sg.special.expi(np.array([-1.0, 1.0, 2.0]))\n"
    "array([-0.21938393,  1.89511782,  4.95423436])",
)  # fmt: skip


def _dawsn(x: Any) -> Any:
    size = absolute(x)
    inside, beyond = minimum(size, 3), maximum(size, 3)
    square = inside * inside
    near = chebyshev_sum(_DAWSN_NEAR, square * (2 / 9) - 1) * inside / (square * 2 + 1)
    inverse = 1 / beyond
    far = _pieces(_DAWSN_MIDDLE, _DAWSN_FAR, beyond * beyond, 9.0, 36.0) * inverse * 0.5
    return copysign(where(less_equal(size, 3), near, far), x)


dawsn: Any = composite(
    "dawsn", _dawsn, vjp=(lambda g, o, a: g * dawsn_slope(a),), saves=("a",),
    elementwise=True, floating=True,
    doc="Dawson's function, exp(-x**2) times the integral of exp(t**2) from 0 to x.",
    example=">>> sg.special.dawsn(np.array([0.0, 1.0, 1e3]))\n"
    "array([0.00000000e+00, 5.38079507e-01, 5.00000250e-04])",
)  # fmt: skip


def _dawsn_slope(x: Any) -> Any:
    """1 - 2 x dawsn(x), whose difference is lost far out."""
    size = absolute(x)
    beyond = maximum(size, 3)
    inverse = 1 / beyond
    square = beyond * beyond
    far = _pieces(_DAWSN_SLOPE_MIDDLE, _DAWSN_SLOPE_FAR, square, 9.0, 36.0) * inverse * inverse
    inside = minimum(size, 3)
    return where(less_equal(size, 3), 1 - 2 * inside * dawsn(inside), far * -0.5)


_FAR = 30.0
_BEND = tuple(
    math.prod(range(1, 2 * k, 2)) * (2 * k + 1) * (2 * k + 2) / 2 ** (k + 1) for k in range(9)
)
"""Of the asymptotic series of the second derivative, times x**3."""


def _dawsn_bend(g: Any, o: Any, a: Any) -> Any:
    """-2 (dawsn(x) + x times the slope); far out, where that is lost, the asymptotic series."""
    far = greater(absolute(a), _FAR)
    inverse = 1 / where(far, a, 1)
    beyond = even_series(_BEND, inverse) * (inverse * inverse * inverse)
    inside = where(far, 0, a)
    return g * where(far, beyond, -2 * (dawsn(inside) + inside * where(far, 0, o)))


dawsn_slope: Any = composite(
    "dawsn_slope", _dawsn_slope, vjp=(_dawsn_bend,), saves=("ao",), elementwise=True,
    floating=True,
    doc="The slope of dawsn.",
)  # fmt: skip
