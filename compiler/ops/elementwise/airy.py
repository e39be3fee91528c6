"""Airy's function Ai and its slope.

Between -4 and 2 by Chebyshev series, times exp(x / 2), which evens their size; beyond by the
asymptotic forms (Abramowitz and Stegun 10.4.59 to 10.4.62), whose sums are Chebyshev series in
1 / z or its square, z being 2/3 |x|**(3/2). They are fitted to 50 digits with mpmath; what is left
out is below 1e-18 of the largest coefficient. z is computed in twice the precision.
"""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler.ops.declare import as_operand, composite
from staticgraph.compiler.ops.elementwise.arithmetic import maximum, minimum
from staticgraph.compiler.ops.elementwise.chebyshev import chebyshev_sum
from staticgraph.compiler.ops.elementwise.comparison import greater, less, where
from staticgraph.compiler.ops.elementwise.exponential import cos, exp, sin, sqrt
from staticgraph.compiler.ops.elementwise.twofold import product_and_rest

__all__ = ["airy_ai"]

_LOW, _HIGH = -4.0, 2.0
_MIDDLE = (
    0.11946021230346678, 0.12856574002560164, -0.12415854987410226, -0.09193971429794455,
    0.062094148536526096, 0.015223811947721776, -0.016779926600304043, 0.00085086703917839,
    0.002222127386778668, -0.0005472678284650877, -0.00012351298344200979,
    7.256538439377104e-05, -3.3144987936927073e-06, -4.594489718269756e-06,
    9.950425552232911e-07, 1.0448610515673778e-07, -6.996593450262748e-08, 5.7491350120054e-09,
    2.3135588498213758e-09, -5.843166351092786e-10, -7.16770994284483e-12,
    2.2561901277946295e-11, -2.844226049051028e-12, -3.5471592498229887e-13,
    1.3406247381022496e-13, -6.866024421005656e-15, -2.8421209022833843e-15,
    5.305670477371334e-16, 6.967909630719742e-18, -1.348716074465592e-17,
    1.4121252540972836e-18, 1.3268430492017015e-19,
)  # fmt: skip
_DECAYING = (
    0.2776956095117059, -0.004172967562045923, 0.00020669586013998011, -1.7280997841068207e-05,
    1.928052166797157e-06, -2.605774398776262e-07, 4.051516883512395e-08,
    -7.022240440986223e-09, 1.3286081997701028e-09, -2.703558037129289e-10,
    5.852297782838998e-11, -1.3363584416519756e-11, 3.1978547149289153e-12,
    -7.976813559559603e-13, 2.0651347541109665e-13, -5.52899978215978e-14,
    1.526165619010181e-14, -4.331979304955806e-15, 1.2616239319898747e-15,
    -3.7626070399357594e-16, 1.1471616156264618e-16, -3.570144365109208e-17,
    1.1326462271400218e-17, -3.658761589006902e-18, 1.2021046148071358e-18,
    -4.0132972758830535e-19,
)  # fmt: skip
_P = (
    0.9993708890742778, -0.0006216836584374116, 7.181193774368645e-06, -2.316269813501758e-07,
    1.3216283888528755e-08, -1.0938736172758127e-09, 1.1794620737908535e-10,
    -1.5518841909929856e-11, 2.386927411492466e-12, -4.16552889201035e-13,
    8.071678110741467e-14, -1.708757321110567e-14, 3.902945148540815e-15,
    -9.523976784907064e-16, 2.4632810885752603e-16, -6.709077463464858e-17,
    1.913939683718707e-17, -5.69308436211377e-18, 1.75895281622296e-18,
)  # fmt: skip
_Q = (
    0.06882170556308001, -0.0006089151840832694, 1.3174151014089972e-05,
    -6.014071912908298e-07, 4.327537342298499e-08, -4.247731732954726e-09,
    5.232285376834493e-10, -7.672290975115024e-11, 1.2923809452698712e-11,
    -2.43852975710829e-12, 5.059047237872084e-13, -1.1378513792256329e-13,
    2.7441377308322258e-14, -7.03448211263258e-15, 1.9032114367198917e-15,
    -5.403040541409308e-16, 1.6016711026585234e-16, -4.9375274403528065e-17,
    1.5773435797781153e-17, -5.206129581838458e-18, 1.7706787947400164e-18,
    -6.191669620783275e-19, 2.2214932182107093e-19, -8.163522026177268e-20,
)  # fmt: skip
_SLOPE_MIDDLE = (
    -0.08285128583814204, -0.12035293491116242, -0.06987357778616728, 0.15544452541608034,
    0.02087950160440764, -0.06372163380415573, 0.009570499347083455, 0.010584545051332127,
    -0.0039012404959570526, -0.0005677335776656969, 0.0005551866599438123,
    -5.423029448172773e-05, -3.705873460133393e-05, 1.0865632923834328e-05,
    6.054056158792882e-07, -7.709188366296351e-07, 9.304880917486962e-08,
    2.4752949804090786e-08, -8.247800970749337e-09, 1.569694297916163e-10,
    3.1390635385030296e-10, -5.090037249739844e-11, -4.122005987842104e-12,
    2.273251490147602e-12, -1.7217273287748129e-13, -4.567304109664419e-14,
    1.0713304828867146e-14, -1.0790785810359273e-16, -2.614464363583076e-16,
    3.4051599697200063e-17, 2.08323022668475e-18, -1.000827909533657e-18,
)  # fmt: skip
_SLOPE_DECAYING = (
    -0.2884113861054928, -0.006042341571114764, 0.0002518914909840106, -1.987037801592287e-05,
    2.1521066850690985e-06, -2.8560952719714534e-07, 4.38596368037876e-08,
    -7.533439518916628e-09, 1.415495238823857e-09, -2.8646058241402664e-10,
    6.173274353454642e-11, -1.4044226986272154e-11, 3.3501682597372517e-12,
    -8.334179324068734e-13, 2.152584956932872e-13, -5.751230262331675e-14,
    1.5846004842984166e-14, -4.490482713050062e-15, 1.3058591406470174e-15,
    -3.8893373055311817e-16, 1.1843598197682658e-16, -3.681816348463531e-17,
    1.1668824431910889e-17, -3.7658047207053445e-18, 1.2361954881523668e-18,
    -4.1237692098947854e-19,
)  # fmt: skip
_SLOPE_P = (
    1.0007456538095232, 0.0007375422856386275, -7.849801565961249e-06, 2.4655502716618296e-07,
    -1.3885571094301025e-08, 1.1403684313690508e-09, -1.2232366466937644e-10,
    1.6034952133843246e-11, -2.45935637996635e-12, 4.2823904886738336e-13,
    -8.283148973288884e-14, 1.7508938758431875e-14, -3.994102734612813e-15,
    9.735750616386858e-16, -2.515650485808415e-16, 6.845945511425819e-17,
    -1.951521788851582e-17, 5.8009714762854255e-18, -1.791197101108548e-18,
)  # fmt: skip
_SLOPE_Q = (
    -0.0965241730005987, 0.0006832040061833247, -1.4160009198627945e-05, 6.34915931317914e-07,
    -4.524033183421346e-08, 4.413124196286169e-09, -5.412671880605753e-10,
    7.911624119633375e-11, -1.3294282641859538e-11, 2.503511443376537e-12,
    -5.185487375830426e-13, 1.1647113793090767e-13, -2.8056693644159728e-14,
    7.185014663611874e-15, -1.942232011007999e-15, 5.509527876844791e-16,
    -1.632102834035148e-16, 5.028190927177303e-17, -1.6053953651148823e-17,
    5.295974042982029e-18, -1.800381529605102e-18, 6.29278211180794e-19,
    -2.256858409389671e-19,
)  # fmt: skip
_LOW_PHASE, _HIGH_PHASE = (2 / 3 * size**1.5 for size in (-_LOW, _HIGH))
_VANISHED = 200.0
"""Here it is 0: exp(-z) has long underflowed."""
_ROOT_PI = math.sqrt(math.pi)
_ROOT_HALF = math.sqrt(0.5)


def _middle(series: tuple[float, ...], x: Any) -> Any:
    inside = maximum(minimum(x, _HIGH), _LOW)
    return chebyshev_sum(series, (inside + 1) / 3) * exp(inside * -0.5)


def _phase(x: Any) -> tuple[Any, Any]:
    """2/3 x**(3/2), and what is rounded off."""
    root = sqrt(x)
    square, rest = product_and_rest(root, root)
    cubed, more = product_and_rest(x, root)
    more = more + x * (((x - square) - rest) / (2 * root))
    found = 2 * cubed / 3
    thrice, rest = product_and_rest(found, x * 0 + 3)
    return found, ((2 * cubed - thrice) - rest + 2 * more) / 3


def _decaying(series: tuple[float, ...], x: Any) -> tuple[Any, Any]:
    """exp(-z) times the series in 1 / z, and the fourth root of x."""
    beyond = minimum(maximum(x, _HIGH), _VANISHED)
    z, rest = _phase(beyond)
    found = chebyshev_sum(series, 2 * _HIGH_PHASE / z - 1)
    return found * (exp(-z) * (1 - rest)), sqrt(sqrt(beyond))


def _waves(p: tuple[float, ...], q: tuple[float, ...], x: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Both sums, cosine and sine of z - pi / 4, and the fourth root of -x."""
    beyond = maximum(-x, -_LOW)
    # farther out z overflows, and x is no longer known to a turn
    inside = minimum(beyond, 1e22 if x.dtype == "float32" else 1e200)
    z, rest = _phase(inside)
    share = _LOW_PHASE / z
    t = 2 * share * share - 1
    c, s, near, off = cos(z), sin(z), cos(rest), sin(rest)  # far out the rest is many turns
    c, s = c * near - s * off, s * near + c * off
    even, odd = chebyshev_sum(p, t) * (_ROOT_HALF / _ROOT_PI), chebyshev_sum(q, t) / z
    odd = odd * (_ROOT_HALF / _ROOT_PI)
    return even, odd, c + s, s - c, sqrt(sqrt(beyond))


def _airy_ai(x: Any) -> Any:
    x = as_operand(x)
    even, odd, c, s, root = _waves(_P, _Q, x)
    decaying, other = _decaying(_DECAYING, x)
    found = where(greater(x, _HIGH), decaying / other, _middle(_MIDDLE, x))
    return where(less(x, _LOW), (even * c + odd * s) / root, found)


def _airy_slope(x: Any) -> Any:
    x = as_operand(x)
    even, odd, c, s, root = _waves(_SLOPE_P, _SLOPE_Q, x)
    decaying, other = _decaying(_SLOPE_DECAYING, x)
    found = where(greater(x, _HIGH), decaying * other, _middle(_SLOPE_MIDDLE, x))
    return where(less(x, _LOW), (even * s - odd * c) * root, found)


airy_ai: Any = composite(
    "airy_ai", _airy_ai, vjp=(lambda g, o, a: g * airy_ai_slope(a),), saves=("a",),
    elementwise=True, floating=True,
    doc="Airy's function Ai, which solves y'' = x y and decays.",
    example=">>> sg.special.airy_ai(np.array([0.0, 1.0]))\narray([0.35502805, 0.13529242])",
)  # fmt: skip
airy_ai_slope: Any = composite(
    "airy_ai_slope", _airy_slope, vjp=(lambda g, o, a: g * (a * airy_ai(a)),), saves=("a",),
    elementwise=True, floating=True,
    doc="The slope of airy_ai.",
)  # fmt: skip
