"""What an expression has beside its ops: methods, in the ops' names."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.core.op_shown import shown_example


def test_methods_are_there_when_they_are_asked_for() -> None:
    x = sg.placeholder("x", (2, 3), dtype="float64")
    assert sg.run(x.exp().max(0).logsumexp(), {x: np.zeros((2, 3))}) == pytest.approx(
        np.log(3 * np.e)
    )
    assert x.logsumexp.__doc__ == f"{sg.logsumexp.doc}{shown_example(sg.logsumexp)}"
    for name in ("gemm", "convolve", "conv2d", "_array", "effects"):
        with pytest.raises(AttributeError, match=f"object has no attribute '{name}'"):
            getattr(x, name)
