"""What an expression has beside its ops: methods, in the ops' names."""

from __future__ import annotations

import numpy as np
import pytest

import staticgraph as sg


def test_methods_are_there_when_they_are_asked_for() -> None:
    x = sg.placeholder("x", (2, 3))
    assert sg.run(x.cumsum(1).std(), {x: np.ones((2, 3))}) == np.std([1, 2, 3] * 2)
    assert x.std.__doc__ == sg.std.doc
    for name in ("gemm", "convolve", "conv2d", "_array", "effects"):
        with pytest.raises(AttributeError, match=f"object has no attribute '{name}'"):
            getattr(x, name)
