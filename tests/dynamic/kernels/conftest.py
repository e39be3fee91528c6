"""What is called often becomes machine code after some calls, not after thousands."""

from __future__ import annotations

import pytest

from staticgraph.dynamic.core import activity
from staticgraph.dynamic.fast_paths import loops
from staticgraph.dynamic.kernels import quick
from staticgraph.dynamic.tensors import recorders, tensor


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ops are looked at at every second call."""
    for module in (loops, quick, recorders):
        monkeypatch.setattr(module, "OFTEN", 2)
    monkeypatch.setattr(activity, "ENOUGH", 0)
    for state in loops._states.values():
        monkeypatch.setattr(state, "blanks", tensor.blanks(1))
