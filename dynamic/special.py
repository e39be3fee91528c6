"""Special functions of tensors in PyTorch's names: `torch.special`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.published import published
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions import orthogonal as _orthogonal, special as _special
from staticgraph.compiler.ops.public_special import *
from staticgraph.dynamic.core.named_operands import taking_input
from staticgraph.dynamic.tensors.outputs import taking_out


def _cast_before(function: Callable[..., Any]) -> Any:
    """A function along an axis, of what is cast to `dtype` before."""
    taking = taking_input(function, "dim")

    @functools.wraps(function)
    def cast(*args: Any, dtype: Any = None, **options: Any) -> Any:
        if dtype is None:
            return taking(*args, **options)
        input, *rest = args or (options.pop("input"),)
        return taking(input.to(dtype), *rest, **options)

    return cast


entr = taking_out(taking_input(_special.entr))
erfcx = taking_out(taking_input(_special.erfcx))
expit = taking_out(taking_input(_special.expit))
gammaln = taking_out(taking_input(_special.gammaln))
log_ndtr = taking_out(taking_input(_special.log_ndtr))
log_softmax = _cast_before(_special.log_softmax)
multigammaln = taking_out(taking_input(_special.multigammaln, "p"))
ndtr = taking_out(taking_input(_special.ndtr))
softmax = _cast_before(_special.softmax)
xlog1py = taking_out(taking_input(_special.xlog1py, "other"))
zeta = taking_out(taking_input(_special.zeta, "other"))
chebyshev_polynomial_t = taking_out(taking_input(_orthogonal.chebyshev_polynomial_t, "n"))
chebyshev_polynomial_u = taking_out(taking_input(_orthogonal.chebyshev_polynomial_u, "n"))
chebyshev_polynomial_v = taking_out(taking_input(_orthogonal.chebyshev_polynomial_v, "n"))
chebyshev_polynomial_w = taking_out(taking_input(_orthogonal.chebyshev_polynomial_w, "n"))
hermite_polynomial_h = taking_out(taking_input(_orthogonal.hermite_polynomial_h, "n"))
hermite_polynomial_he = taking_out(taking_input(_orthogonal.hermite_polynomial_he, "n"))
laguerre_polynomial_l = taking_out(taking_input(_orthogonal.laguerre_polynomial_l, "n"))
legendre_polynomial_p = taking_out(taking_input(_orthogonal.legendre_polynomial_p, "n"))
shifted_chebyshev_polynomial_t = taking_out(
    taking_input(_orthogonal.shifted_chebyshev_polynomial_t, "n")
)
shifted_chebyshev_polynomial_u = taking_out(
    taking_input(_orthogonal.shifted_chebyshev_polynomial_u, "n")
)
shifted_chebyshev_polynomial_v = taking_out(
    taking_input(_orthogonal.shifted_chebyshev_polynomial_v, "n")
)
shifted_chebyshev_polynomial_w = taking_out(
    taking_input(_orthogonal.shifted_chebyshev_polynomial_w, "n")
)
modified_bessel_i0, modified_bessel_i1 = ops.i0, ops.i1
digamma, erf, erfc, exp2, expm1 = ops.digamma, ops.erf, ops.erfc, ops.exp2, ops.expm1
log1p, sinc = ops.log1p, ops.sinc
logit, polygamma = taking_out(ops.logit), taking_out(ops.polygamma)
psi, round, xlogy = ops.digamma, ops.round, ops.xlogy
igamma, igammac, mvlgamma = ops.gammainc, ops.gammaincc, multigammaln


@taking_out
def logsumexp(input: Value, dim: Value, keepdim: bool = False) -> Value:
    """log(sum(exp(x))) over axes, without overflow.

    Example:
        >>> dynamic.special.logsumexp(dynamic.tensor([[0.0, 1000.0]]), 1)
        tensor([1000.])
    """
    return _special.logsumexp(input, dim, keepdims=keepdim)


if not TYPE_CHECKING:
    __all__ = [  # noqa: PLE0604 - the ops are listed where they are declared
        "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
        "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc", "erfcx", "exp2", "expit",
        "expm1", "gammaln", "hermite_polynomial_h", "hermite_polynomial_he",
        "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax",
        "logit", "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "multigammaln", "ndtr",
        "polygamma", "psi", "round", "shifted_chebyshev_polynomial_t",
        "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
        "shifted_chebyshev_polynomial_w", "sinc", "softmax", "xlog1py", "xlogy", "zeta",
        *ops.SPECIAL,
    ]  # fmt: skip

published(__name__, globals())
