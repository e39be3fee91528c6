"""Special functions in the names of scipy.special, element by element; differentiable."""

from typing import TYPE_CHECKING

from staticgraph.compiler.functions.special import *
from staticgraph.compiler.ops.elementwise.exponential import erf as erf, erfc as erfc
from staticgraph.compiler.ops.elementwise.special import (
    digamma as digamma,
    logit as logit,
    polygamma as polygamma,
    xlogy as xlogy,
)
from staticgraph.compiler.ops.public_special import *

if not TYPE_CHECKING:
    from staticgraph.compiler.functions import special as _composed
    from staticgraph.compiler.ops import SPECIAL as _SPECIAL

    __all__ = [  # noqa: PLE0604 - they are listed where they are declared
        "digamma", "erf", "erfc", "logit", "polygamma", "xlogy", *_composed.__all__, *_SPECIAL,
    ]  # fmt: skip
