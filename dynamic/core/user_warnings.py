"""Warnings that point to the user's line, and none about values, as in PyTorch."""

from __future__ import annotations

import sys
import warnings

from compiler.graph.expression import is_own


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the innermost line outside the project's own packages."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


class _Silence:
    """The filter that is in place, or None."""

    filter: object = None


def keep_silent() -> None:
    """Silence NumPy about the values that ops compute, and no other: log(0) is -inf, no warning.

    A filter does this, since to change NumPy's own setting takes as long as an op. Whoever sets
    filters, or imports this package where filters are put back, drops it; so what every program
    calls puts it in place again.
    """
    if not warnings.filters or warnings.filters[0] is not _Silence.filter:
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(dynamic|compiler)\.")
        _Silence.filter = warnings.filters[0]


keep_silent()
