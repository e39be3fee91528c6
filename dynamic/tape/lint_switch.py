"""The switch of the lint of the eager engine."""

from __future__ import annotations

from staticgraph.dynamic.core.lint_level import check_level, lost, state
from staticgraph.dynamic.tape.noted import waiting
from staticgraph.dynamic.tape.watching import watch


class set_lint:  # noqa: N801 - as set_detect_anomaly
    """Set what eager code is warned of: at once, and back when a `with` block ends.

    Args:
        level: "certain", the default, warns where it cannot be meant, and costs nothing that can be
            measured: a loss that is inf or nan, at the op that made it so; a gradient that is zero
            everywhere because of a rounding; a float64 loss of float32 parameters; a bias that no
            optimizer has. "warn" gives the advice of `compile(lint="warn")` too, and tells of
            integers that wrap around, for which it follows each op: it takes several times as
            long. "error" raises both. "off" looks at nothing.

    Warnings are `LintWarning`, once per finding and line. DYNAMIC_LINT in the environment says what
    holds at the start.

    Raises:
        OptionError: there is no such level.

    Example:
        >>> from dynamic import set_lint
        >>> with set_lint("off"):
        ...     pass
    """

    def __init__(self, level: str) -> None:
        self._before = state.level
        _set(check_level(level))

    def __enter__(self) -> None:
        """The level is set already."""

    def __exit__(self, *exception: object) -> None:
        _set(self._before)


def _set(level: str) -> None:
    state.level = level
    watch(level in ("warn", "error"))
    if level == "off":
        lost.clear()
        waiting.clear()
