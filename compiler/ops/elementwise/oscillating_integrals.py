"""Integrals of what oscillates: Fresnel's, and the sine and cosine integrals.

Near 0 by Chebyshev series of what is left of their power series; beyond by their two auxiliary
functions f and g (Abramowitz and Stegun 5.2.8 and 7.3.9), whose products with powers of x are
Chebyshev series in powers of 1 / x, in two pieces. They are fitted to 50 digits with mpmath; what
is left out is below 1e-18 of the largest coefficient. Errors are a few units in the last place; of
the cosine integral in that of its envelope, 1 / x, where that is larger.
"""

from __future__ import annotations

import math
from typing import Any

from staticgraph.compiler.ops.declare import composite
from staticgraph.compiler.ops.elementwise.arithmetic import (
    absolute,
    copysign,
    maximum,
    minimum,
    round,
)
from staticgraph.compiler.ops.elementwise.bessel_waves import spherical_bessel_j0
from staticgraph.compiler.ops.elementwise.chebyshev import chebyshev_sum
from staticgraph.compiler.ops.elementwise.comparison import equal, less, less_equal, where
from staticgraph.compiler.ops.elementwise.exponential import cos, log, log1p, sin
from staticgraph.compiler.ops.elementwise.twofold import product_and_rest

__all__ = ["cosine_integral", "fresnel_cosine", "fresnel_sine", "sine_integral"]

_SI = (
    0.7946853820693451, -0.19135970616011902, 0.013410100514456598, -0.0005313123623389447,
    1.3269268702959881e-05, -2.2678448442136907e-07, 2.813877912795683e-09,
    -2.6478421588215673e-11, 1.9537678633837418e-13, -1.1605341080713775e-15,
    5.6682295949643244e-18,
)  # fmt: skip
_CI = (
    -0.2059316081057872, 0.038134610223066835, -0.0019466839104682113, 5.997146537963406e-05,
    -1.2222591741411943e-06, 1.7632973740000916e-08, -1.892463158302027e-10,
    1.5689266514158304e-12, -1.0345947812455518e-14, 5.555075088818909e-17,
    -2.4754424385626167e-19,
)  # fmt: skip
_CI_F_MIDDLE = (
    0.9200763122389779, -0.04794991516976958, 0.004248968916676889, -0.0005883347569577751,
    0.00010333966815843463, -2.108240086589411e-05, 4.771369486151406e-06, -1.165894143741006e-06,
    3.022705431315536e-07, -8.21629592843212e-08, 2.3216266808841002e-08, -6.77628376921811e-09,
    2.033146178987447e-09, -6.24704852996041e-10, 1.9597163143164144e-10, -6.261135396491777e-11,
    2.033160865824906e-11, -6.699028631267361e-12, 2.236406161069348e-12, -7.555395355184732e-13,
    2.5803251847714667e-13, -8.900331513226229e-14, 3.098178142911138e-14,
    -1.0876042963962533e-14, 3.847963122513827e-15, -1.3713470797981863e-15,
    4.920474110157811e-16, -1.7767164837186e-16, 6.453695096336598e-17, -2.3573382441108484e-17,
    8.655993853706433e-18, -3.194218664225067e-18, 1.1842605405893666e-18,
)  # fmt: skip
_CI_F_FAR = (
    0.9860406569623826, -0.013471738208295213, 0.00045329284116522655, -3.067288651655165e-05,
    3.1319919760108725e-06, -4.2110196496309775e-07, 6.907244830281719e-08,
    -1.3183212904229397e-08, 2.8369743299741647e-09, -6.732923425486324e-10,
    1.7339686939790845e-10, -4.7869389042489193e-11, 1.40323465212929e-11, -4.334957125531991e-12,
    1.4027265342681547e-12, -4.730617346429996e-13, 1.6557877505805563e-13,
    -5.993808246042817e-14, 2.2372132982506768e-14, -8.588065231433418e-15,
    3.3829238741050624e-15, -1.364728176890462e-15, 5.628689985613522e-16,
    -2.3698003543410957e-16, 1.0171106526868841e-16, -4.44475164215311e-17,
    1.9754855213207925e-17, -8.921083556115416e-18, 4.0896792688566056e-18,
    -1.9016664907831932e-18,
)  # fmt: skip
_CI_G_MIDDLE = (
    0.8056873333378597, -0.1038902584623942, 0.013045594167236862, -0.002215163665374835,
    0.0004479400357435748, -0.0001016375299510287, 2.5039871864641263e-05, -6.564302734601569e-06,
    1.8068763941836144e-06, -5.173746116586411e-07, 1.5306367338278915e-07,
    -4.654913668142584e-08, 1.4494680402754408e-08, -4.606883413090376e-09, 1.490785006195216e-09,
    -4.901600134428404e-10, 1.634683783871625e-10, -5.5217834813832503e-11,
    1.8868861129537693e-11, -6.51597504311852e-12, 2.2718984594810743e-12, -7.991591994123424e-13,
    2.834091166668608e-13, -1.0126678626695852e-13, 3.6438404616378466e-14,
    -1.3197224824733805e-14, 4.808951515519002e-15, -1.762361744623368e-15, 6.49329624401914e-16,
    -2.4044939550934215e-16, 8.946346414513125e-17, -3.343624130200065e-17,
    1.2549740440368855e-17, -4.729355890982355e-18, 1.789086145903974e-18,
)  # fmt: skip
_CI_G_FAR = (
    0.9607478397520359, -0.03711389621239806, 0.0019414398889919036, -0.0001716598842514708,
    2.1126377532314656e-05, -3.2716325671153157e-06, 6.006921161477705e-07,
    -1.2586794403387074e-07, 2.932563457995776e-08, -7.456959206276285e-09,
    2.0410547835874715e-09, -5.950223038763333e-10, 1.8322967411118143e-10, -5.92050607828413e-11,
    1.9965165181282273e-11, -6.995114007847224e-12, 2.536857739286041e-12, -9.492851164356655e-13,
    3.6552311529158363e-13, -1.4448739149813032e-13, 5.851312143767554e-14,
    -2.423290214812307e-14, 1.0247042520028651e-14, -4.417960820697268e-15,
    1.9396807770775258e-15, -8.662331164331828e-16, 3.930926051912992e-16,
    -1.8109729263460377e-16, 8.462994316463079e-17, -4.00867851855537e-17, 1.92327687413453e-17,
    -9.340477377370811e-18, 4.5891100553766576e-18, -2.2797395348928596e-18,
    1.1445170128331023e-18,
)  # fmt: skip
_FRESNEL_S = (
    0.3483832187052685, -0.15750351716141162, 0.016715986678576274, -0.0009609748078871035,
    3.4236127569475907e-05, -8.274788772868434e-07, 1.4446076579426192e-08,
    -1.9064700225197268e-10, 1.9685557423680603e-12, -1.6337631275773858e-14,
    1.1136100208875748e-16, -6.345579128406962e-19,
)  # fmt: skip
_FRESNEL_C = (
    0.5900519732929554, -0.3469673946735075, 0.058159315338410414, -0.004606081358344454,
    0.00020897758775611545, -6.130048216143895e-06, 1.25771925318985e-07, -1.9064525736391698e-09,
    2.222496804495852e-11, -2.0548394227145616e-13, 1.5437485934314072e-15, -9.61106897495144e-18,
)  # fmt: skip
_SPIRAL_F_MIDDLE = (
    0.3102366244256157, -0.005407284538870049, 0.00033016484940349224, -3.6505277446291226e-05,
    5.46973295738174e-06, -9.884617846718905e-07, 2.0307706813317017e-07, -4.583025223104683e-08,
    1.111609730113945e-08, -2.8551839276619785e-09, 7.684672352483831e-10,
    -2.1505466615496501e-10, 6.220619920777894e-11, -1.8512866898511482e-11,
    5.647692823577878e-12, -1.7608841134713332e-12, 5.59741286008236e-13, -1.8103092082888884e-13,
    5.946733570433743e-14, -1.9811946761854012e-14, 6.6857671350062575e-15,
    -2.2828461024886348e-15, 7.87933908818268e-16, -2.746804125220352e-16, 9.664285650585426e-17,
    -3.429504414485525e-17, 1.2267570291178472e-17, -4.4210323360582466e-18,
    1.6044340854805573e-18, -5.860949397363792e-19,
)  # fmt: skip
_SPIRAL_F_FAR = (
    0.3171426106442158, -0.0011453775417211434, 2.091732058413388e-05, -9.083539257159824e-07,
    6.491112986887513e-08, -6.450902954421657e-09, 8.123547128222313e-10, -1.224073770506664e-10,
    2.1248191920863906e-11, -4.13778094793094e-12, 8.866443467521813e-13, -2.0603681843601395e-13,
    5.1340511222039765e-14, -1.3596341906786213e-14, 3.7993178742777e-15, -1.1136497200064327e-15,
    3.407379100842409e-16, -1.0837466373514082e-16, 3.570628397408375e-17,
    -1.2149557594275635e-17, 4.258334858223266e-18, -1.5338809571487328e-18,
    5.666893131060511e-19,
)  # fmt: skip
_SPIRAL_G_MIDDLE = (
    0.0904969551417122, -0.006639399260195342, 0.0006255020451204487, -8.788000699554111e-05,
    1.546190741725411e-05, -3.1476378335839022e-06, 7.103331789601462e-07,
    -1.7315687916649558e-07, 4.482845830373876e-08, -1.2181589286202685e-08,
    3.445089354527332e-09, -1.0075832204397294e-09, 3.032625189171088e-10, -9.357051358390012e-11,
    2.95050888182644e-11, -9.48407250893331e-12, 3.101160686740716e-12, -1.0297309845573246e-12,
    3.4669572154019646e-13, -1.1820799589398206e-13, 4.077023560873727e-14,
    -1.421098494066072e-14, 5.001818911128052e-15, -1.776380593844105e-15, 6.361598260519952e-16,
    -2.2959767861056193e-16, 8.346706750886459e-17, -3.054973360161295e-17, 1.125284339057844e-17,
    -4.169796626469372e-18, 1.553872786032247e-18, -5.821400933094888e-19, 2.19192751865609e-19,
)  # fmt: skip
_SPIRAL_G_FAR = (
    0.09954137899641122, -0.001722743618730504, 5.3574026442292785e-05, -3.169164585555068e-06,
    2.797020502558876e-07, -3.253513635581354e-08, 4.638621201359696e-09, -7.738782901826064e-10,
    1.463937831617713e-10, -3.07036516616718e-11, 7.022043111226992e-12, -1.7291980761610948e-12,
    4.539789166764727e-13, -1.2606815293696131e-13, 3.679307523332918e-14,
    -1.1225812632693649e-14, 3.564820561584386e-15, -1.1738146870722153e-15,
    3.9949738122438747e-16, -1.4014670936139562e-16, 5.055512471470768e-17,
    -1.871324584379888e-17, 7.094654816005252e-18, -2.7504218866688285e-18,
    1.0887252743697274e-18, -4.394600726635982e-19, 1.8067196659497553e-19,
)  # fmt: skip
_CI_ZERO = (0.61650550365448, -1.8033763746671638e-08)
"""The first zero of the cosine integral, as a number that float32 holds and the rest."""
_WAVES = (2, 3.0, 8.0)
_SPIRAL = (4, 1.5, 2.5)
"""In which power of 1 / x the auxiliary functions are series, from where on, and in two pieces."""


def _auxiliary(
    middle: tuple[float, ...], far: tuple[float, ...], size: Any, pieces: tuple[int, float, float]
) -> Any:
    power, least, border = pieces
    inverse = 1 / maximum(size, least)
    for _ in range(power // 2):
        inverse = inverse * inverse
    low, high = border**-power, least**-power
    scale = 2 / (high - low)
    near = chebyshev_sum(middle, maximum(inverse, low) * scale - (low * scale + 1))
    beyond = chebyshev_sum(far, minimum(inverse, low) * (2 / low) - 1)
    return where(less_equal(size, border), near, beyond)


# -- sine and cosine integrals ---------------------------------------------------------------------


def _sine_integral(x: Any) -> Any:
    size = absolute(x)
    inside = minimum(size, _WAVES[1])
    near = chebyshev_sum(_SI, inside * inside * (2 / _WAVES[1] ** 2) - 1) * inside
    f, g, s, c = _waves(size)
    found = where(less_equal(size, _WAVES[1]), near, math.pi / 2 - f * c - g * s)
    return copysign(found, x)


def _cosine_integral(x: Any) -> Any:
    size = absolute(x)
    inside = minimum(size, _WAVES[1])
    zero, rest = _CI_ZERO
    apart = (inside - zero) - rest
    tiny = less(inside, 0.2)
    ratio = log1p(where(tiny, 0, apart) * (1 / (zero + rest)))
    logs = where(tiny, log(inside) - math.log(zero + rest), ratio)
    series = chebyshev_sum(_CI, inside * inside * (2 / _WAVES[1] ** 2) - 1)
    f, g, s, c = _waves(size)
    near = logs + series * (apart * (inside + (zero + rest)))
    return where(less_equal(size, _WAVES[1]), near, f * s - g * c)


def _waves(size: Any) -> tuple[Any, Any, Any, Any]:
    """Both auxiliary functions, and the sine and cosine of x."""
    inverse = 1 / maximum(size, _WAVES[1])
    f = _auxiliary(_CI_F_MIDDLE, _CI_F_FAR, size, _WAVES) * inverse
    g = _auxiliary(_CI_G_MIDDLE, _CI_G_FAR, size, _WAVES) * inverse * inverse
    turning = _finite(size)
    return f, g, sin(turning), cos(turning)


def _finite(size: Any) -> Any:
    return where(equal(size, math.inf), 0, size)


sine_integral: Any = composite(
    "sine_integral", _sine_integral, vjp=(lambda g, o, a: g * spherical_bessel_j0(a),),
    saves=("a",), elementwise=True, floating=True,
    doc="Si, the integral of sin(t) / t from 0 to x.",
    example=">>> sg.special.sine_integral(np.array([0.0, 1.0, np.inf]))\n"
    "array([0.        , 0.94608307, 1.57079633])",
)  # fmt: skip
cosine_integral: Any = composite(
    "cosine_integral", _cosine_integral,
    vjp=(lambda g, o, a: g * (cos(_finite(absolute(a))) / a),), saves=("a",), elementwise=True,
    floating=True, domain="positive",
    doc="Ci, less the integral of cos(t) / t from x on: -inf at 0, and below 0 the real part, "
    "Ci(-x).",
    example=">>> sg.special.cosine_integral(np.array([1.0, 2.0, np.inf]))\n"
    "array([0.33740392, 0.42298083, 0.        ])",
)  # fmt: skip


# -- Fresnel's integrals ---------------------------------------------------------------------------


def _turn(size: Any) -> Any:
    """pi x**2 / 2, less whole turns, as exactly as x is known."""
    inside = minimum(size, 1e16 if size.dtype == "float32" else 1e150)
    square, rest = product_and_rest(inside, inside)
    turn = square - 4 * round(square * 0.25) + (rest - 4 * round(rest * 0.25))
    return turn * (math.pi / 2)


def _turn_or_nan(size: Any) -> Any:
    return where(equal(size, math.inf), math.nan, _turn(size))


def _spiral(size: Any) -> tuple[Any, Any, Any, Any]:
    """Both auxiliary functions, and the sine and cosine of pi x**2 / 2."""
    inverse = 1 / maximum(size, _SPIRAL[1])
    f = _auxiliary(_SPIRAL_F_MIDDLE, _SPIRAL_F_FAR, size, _SPIRAL) * inverse
    g = _auxiliary(_SPIRAL_G_MIDDLE, _SPIRAL_G_FAR, size, _SPIRAL) * inverse * inverse * inverse
    turn = _turn(size)
    return f, g, sin(turn), cos(turn)


def _near(series: tuple[float, ...], size: Any) -> tuple[Any, Any, Any]:
    """The series in x**4, x and x**2, up to the border."""
    inside = minimum(size, _SPIRAL[1])
    square = inside * inside
    return chebyshev_sum(series, square * square * (2 / _SPIRAL[1] ** 4) - 1), inside, square


def _fresnel_sine(x: Any) -> Any:
    size = absolute(x)
    series, inside, square = _near(_FRESNEL_S, size)
    f, g, s, c = _spiral(size)
    near = series * (square * inside)
    return copysign(where(less_equal(size, _SPIRAL[1]), near, 0.5 - f * c - g * s), x)


def _fresnel_cosine(x: Any) -> Any:
    size = absolute(x)
    series, inside, _ = _near(_FRESNEL_C, size)
    f, g, s, c = _spiral(size)
    return copysign(where(less_equal(size, _SPIRAL[1]), series * inside, 0.5 + f * s - g * c), x)


fresnel_sine: Any = composite(
    "fresnel_sine", _fresnel_sine, vjp=(lambda g, o, a: g * fresnel_sine_slope(a),), saves=("a",),
    elementwise=True, floating=True,
    doc="Fresnel's integral S, of sin(pi t**2 / 2) from 0 to x.",
    example=">>> sg.special.fresnel_sine(np.array([0.0, 1.0, np.inf]))\n"
    "array([0.        , 0.43825915, 0.5       ])",
)  # fmt: skip
fresnel_cosine: Any = composite(
    "fresnel_cosine", _fresnel_cosine, vjp=(lambda g, o, a: g * fresnel_cosine_slope(a),),
    saves=("a",), elementwise=True, floating=True,
    doc="Fresnel's integral C, of cos(pi t**2 / 2) from 0 to x.",
    example=">>> sg.special.fresnel_cosine(np.array([0.0, 1.0, np.inf]))\n"
    "array([0.       , 0.7798934, 0.5      ])",
)  # fmt: skip
fresnel_sine_slope: Any = composite(
    "fresnel_sine_slope", lambda x: sin(_turn_or_nan(absolute(x))),
    vjp=(lambda g, o, a: g * (a * math.pi * fresnel_cosine_slope(a)),), saves=("a",),
    elementwise=True, floating=True,
    doc="sin(pi x**2 / 2), the slope of fresnel_sine.",
)  # fmt: skip
fresnel_cosine_slope: Any = composite(
    "fresnel_cosine_slope", lambda x: cos(_turn_or_nan(absolute(x))),
    vjp=(lambda g, o, a: -g * (a * math.pi * fresnel_sine_slope(a)),), saves=("a",),
    elementwise=True, floating=True,
    doc="cos(pi x**2 / 2), the slope of fresnel_cosine.",
)  # fmt: skip
