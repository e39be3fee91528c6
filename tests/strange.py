"""An op that no kernel can compute: made for the tests of what is refused."""

from __future__ import annotations

import numpy as np

from staticgraph.compiler.core.op import Op

strange = Op(
    name="strange",
    infer_type=lambda x: x,
    evaluate=np.log2,
    vjp=(lambda g, o, a: g * strange(a),),
    saves=("a",),
)
