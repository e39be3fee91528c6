"""Warnings that point to the user's line, and none about values, as in PyTorch."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable

from staticgraph.compiler.core.whose_code import is_own
from staticgraph.dynamic.core.lint_level import MOST_PLACES, lost, state
from staticgraph.dynamic.core.places import user_place


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of the innermost line outside the project's own packages."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


class _Met:
    """Matches what NumPy says of the values that ops compute, as message and module of a filter.

    A filter matches the message first. Such a warning is about to be made when it does, which takes
    several times as long as to note its place. Whoever takes filters to another process, as
    scikit-learn does, has its `pattern` there.
    """

    pattern = r".* encountered in |staticgraph\."
    text = ""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return re.compile, (self.pattern,)

    def match(self, text: str) -> bool:
        """Whether it is a message or the module of such a warning."""
        if " encountered in " in text:
            self.text = text
            return True
        met, self.text = self.text, ""
        if not text.startswith("staticgraph."):
            return False
        if met and state.level != "off":
            if len(lost) >= MOST_PLACES:
                lost.clear()
            lost[user_place()] = met
        return True


class _Silence:
    """The filter that is in place, or None."""

    filter: object = None


_met = _Met()


def keep_silent() -> None:
    """Silence NumPy about the values that ops compute, and no other: log(0) is -inf, no warning.

    A filter does this, since to change NumPy's own setting takes as long as an op. Whoever sets
    filters, or imports this package where filters are put back, drops it; so what every script
    calls puts it in place again. It notes what it silences, for a loss that turns out to be inf or
    nan.
    """
    if not warnings.filters or warnings.filters[0] is not _Silence.filter:
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(dynamic|compiler)\.")
        # filters are tuples of an action and what is asked `match`: patterns, or anything like them
        action, _, category, _, line = warnings.filters[0]
        _Silence.filter = (action, _met, category, _met, line)
        warnings.filters[0] = _Silence.filter  # type: ignore[index]


keep_silent()
