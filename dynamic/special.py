"""Special functions of tensors in PyTorch's names: `torch.special`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from staticgraph.compiler import ops
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.functions import special as _special
from staticgraph.compiler.ops.public_special import *
from staticgraph.dynamic.core.named_operands import taking_input
from staticgraph.dynamic.tensors.outputs import taking_out

entr = taking_out(taking_input(_special.entr))
erfcx = taking_out(taking_input(_special.erfcx))
expit = taking_out(taking_input(_special.expit))
gammaln = taking_out(taking_input(_special.gammaln))
log_ndtr = taking_out(taking_input(_special.log_ndtr))
log_softmax = taking_input(_special.log_softmax)
multigammaln = taking_out(taking_input(_special.multigammaln))
ndtr = taking_out(taking_input(_special.ndtr))
softmax = taking_input(_special.softmax)
xlog1py = taking_out(taking_input(_special.xlog1py))
zeta = taking_out(taking_input(_special.zeta))
digamma, erf, erfc, exp2, expm1 = ops.digamma, ops.erf, ops.erfc, ops.exp2, ops.expm1
log1p, logit, polygamma, sinc = ops.log1p, ops.logit, ops.polygamma, ops.sinc
psi, round, xlogy = ops.digamma, ops.round, ops.xlogy
igamma, igammac, mvlgamma = ops.gammainc, ops.gammaincc, multigammaln


def logsumexp(input: Value, dim: Value, keepdim: bool = False) -> Value:
    """log(sum(exp(x))) over axes, without overflow."""
    return _special.logsumexp(input, dim, keepdims=keepdim)


if not TYPE_CHECKING:
    __all__ = [  # noqa: PLE0604 - the ops are listed where they are declared
        "digamma", "entr", "erf", "erfc", "erfcx", "exp2", "expit", "expm1", "gammaln", "log1p",
        "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "polygamma", "psi",
        "round", "sinc", "softmax", "xlog1py", "xlogy", "zeta", *ops.SPECIAL,
    ]  # fmt: skip
