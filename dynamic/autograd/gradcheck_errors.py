"""What `gradcheck` raises."""

from __future__ import annotations

from staticgraph.compiler.core.errors import StaticGraphError
from staticgraph.dynamic.core.errors import AutogradError


class GradcheckError(AutogradError):
    """A derivative is not what the values say."""


class GradcheckOptionError(StaticGraphError, AssertionError):
    """A check is asked for that cannot be done; PyTorch asserts it."""
