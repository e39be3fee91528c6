"""Special functions in the names of scipy.special, element by element; differentiable."""

from typing import TYPE_CHECKING

from staticgraph.compiler.functions.faddeeva import *
from staticgraph.compiler.functions.orthogonal import *
from staticgraph.compiler.functions.special import *
from staticgraph.compiler.functions.waves import *
from staticgraph.compiler.ops.elementwise.arithmetic import round as round
from staticgraph.compiler.ops.elementwise.exponential import (
    erf as erf,
    erfc as erfc,
    exp2 as exp2,
    expm1 as expm1,
    log1p as log1p,
)
from staticgraph.compiler.ops.elementwise.normal import cbrt as cbrt
from staticgraph.compiler.ops.elementwise.special import (
    digamma as digamma,
    logit as logit,
    polygamma as polygamma,
    sinc as sinc,
    xlogy as xlogy,
)
from staticgraph.compiler.ops.public_special import *

psi, igamma, igammac, mvlgamma = digamma, gammainc, gammaincc, multigammaln
j0, j1, y0, y1 = bessel_j0, bessel_j1, bessel_y0, bessel_y1
k0, k1 = modified_bessel_k0, modified_bessel_k1
k0e, k1e = scaled_modified_bessel_k0, scaled_modified_bessel_k1
modified_bessel_i0, modified_bessel_i1 = i0, i1

if not TYPE_CHECKING:
    from staticgraph.compiler.functions import (
        orthogonal as _orthogonal,
        special as _composed,
        waves as _waves,
    )
    from staticgraph.compiler.ops import SPECIAL as _SPECIAL

    __all__ = [  # noqa: PLE0604 - they are listed where they are declared
        "cbrt", "digamma", "erf", "erfc", "exp2", "expm1", "igamma", "igammac", "j0", "j1", "k0",
        "k0e", "k1", "k1e", "log1p", "logit", "modified_bessel_i0", "modified_bessel_i1",
        "mvlgamma", "polygamma", "psi", "round", "sinc", "wofz", "xlogy", "y0", "y1",
        *_composed.__all__, *_orthogonal.__all__, *_waves.__all__, *_SPECIAL,
    ]  # fmt: skip
