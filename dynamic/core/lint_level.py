"""How much the lint of the eager engine looks at, and what NumPy has met since it last looked."""

from __future__ import annotations

from staticgraph.compiler.core.errors import OptionError
from staticgraph.compiler.core.settings import EAGER_LINT
from staticgraph.dynamic.core.places import Place

LEVELS = ("off", "certain", "warn", "error")


def check_level(level: object) -> str:
    """The level of that name; OptionError if there is none."""
    if level not in LEVELS:
        raise OptionError(f"set_lint: the level is one of {LEVELS}, not {level!r}")
    return str(level)


class _State:
    """The level, in all threads."""

    level = check_level(EAGER_LINT.given or EAGER_LINT.default)


state = _State()

MOST_PLACES = 1000
"""So many places are known of a kind at a time: code that is made anew each time has new ones."""

lost: dict[Place, str] = {}
"""Where an op met an overflow, a division by 0 or an invalid value since the last reverse pass, and
what NumPy says of it."""
