"""Special functions of tensors in PyTorch's names: `torch.special`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.published import published
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions import orthogonal as _orthogonal, special as _special
from staticgraph.compiler.ops.public_special import *
from staticgraph.dynamic.core.dtypes import get_default_dtype
from staticgraph.dynamic.core.named_operands import taking_input
from staticgraph.dynamic.core.no_tensors import of_kinds
from staticgraph.dynamic.operations.numeric_types import result_type
from staticgraph.dynamic.tensors.naming import called as _called
from staticgraph.dynamic.tensors.outputs import taking_out
from staticgraph.dynamic.tensors.tensor import Tensor


def _cast_before(function: Callable[..., Any]) -> Any:
    """A function along an axis, of what is cast to `dtype` before."""
    taking = taking_input(function, "dim")

    @functools.wraps(function)
    def cast(*args: Any, dtype: Any = None, **options: Any) -> Any:
        if dtype is None:
            return taking(*args, **options)
        input, *rest = args or (options.pop("input"),)
        return taking(input.to(dtype=dtype), *rest, **options)

    return cast


def _of_floats(function: Callable[..., Any], *others: str) -> Any:
    """A function of real numbers: whole ones have the dtype of what they meet, or the default."""

    @functools.wraps(function)
    def cast(*operands: Any) -> Any:
        whole = [isinstance(one, Tensor) and not one.is_floating_point() for one in operands]
        if any(whole):
            dtype = result_type(*operands) if len(operands) == 2 else operands[0].dtype
            dtype = dtype if dtype.is_floating_point else get_default_dtype()
            pairs = zip(operands, whole, strict=True)
            operands = tuple([one.to(dtype) if is_whole else one for one, is_whole in pairs])
        return function(*operands)

    return taking_out(taking_input(cast, *others))


def _of_degree(function: Callable[..., Any]) -> Any:
    """A polynomial whose degrees may be floats, which are cut off at the point, as in PyTorch."""
    taking = taking_input(function, "n")

    @functools.wraps(taking)
    def polynomial(input: Any, n: Any, **options: Any) -> Any:
        if isinstance(n, float):
            n = int(n) if math.isfinite(n) else -1
        elif isinstance(n, Tensor) and n.is_floating_point():
            if isinstance(input, Tensor):
                input = input.to(result_type(input, n))
            n = n.long()
        return taking(input, n, **options)

    return taking_out(polynomial)


entr = _called("SpecialEntr")(_of_floats(_special.entr))
erfcx = _of_floats(_special.erfcx)
expit = taking_out(taking_input(_special.expit))
gammaln = taking_out(taking_input(_special.gammaln))
log_ndtr = _of_floats(_special.log_ndtr)
log_softmax = _cast_before(_special.log_softmax)
multigammaln = taking_out(taking_input(_special.multigammaln, "p"))
ndtr = _of_floats(_special.ndtr)
softmax = _cast_before(_special.softmax)
xlog1py = _of_floats(_special.xlog1py, "other")
zeta = _of_floats(_special.zeta, "other")
chebyshev_polynomial_t = _of_degree(_orthogonal.chebyshev_polynomial_t)
chebyshev_polynomial_u = _of_degree(_orthogonal.chebyshev_polynomial_u)
chebyshev_polynomial_v = _of_degree(_orthogonal.chebyshev_polynomial_v)
chebyshev_polynomial_w = _of_degree(_orthogonal.chebyshev_polynomial_w)
hermite_polynomial_h = _of_degree(_orthogonal.hermite_polynomial_h)
hermite_polynomial_he = _of_degree(_orthogonal.hermite_polynomial_he)
laguerre_polynomial_l = _of_degree(_orthogonal.laguerre_polynomial_l)
legendre_polynomial_p = _of_degree(_orthogonal.legendre_polynomial_p)
shifted_chebyshev_polynomial_t = _of_degree(_orthogonal.shifted_chebyshev_polynomial_t)
shifted_chebyshev_polynomial_u = _of_degree(_orthogonal.shifted_chebyshev_polynomial_u)
shifted_chebyshev_polynomial_v = _of_degree(_orthogonal.shifted_chebyshev_polynomial_v)
shifted_chebyshev_polynomial_w = _of_degree(_orthogonal.shifted_chebyshev_polynomial_w)
modified_bessel_i0, modified_bessel_i1 = ops.i0, ops.i1
digamma, erf, erfc, exp2, expm1 = ops.digamma, ops.erf, ops.erfc, ops.exp2, ops.expm1
log1p, sinc = ops.log1p, ops.sinc
logit, polygamma = taking_out(ops.logit), taking_out(ops.polygamma)
psi, round, xlogy = ops.digamma, ops.round, ops.xlogy
igamma, igammac = ops.gammainc, ops.gammaincc


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

    for _name in __all__:
        if isinstance(globals()[_name], FunctionType):
            globals()[_name] = of_kinds(globals()[_name], _name)

mvlgamma = of_kinds(multigammaln, "mvlgamma")

published(__name__, globals())
