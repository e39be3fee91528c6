"""Which of many combinations `make test` runs; `make test-all` runs all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some(values: Iterable[Any], count: int) -> list[Any]:
    """All values, for `parametrize`: `count` of them, evenly chosen, and the others marked long.

    For tests of which each combination takes a while, and goes the same way as its neighbours.
    """
    given = list(values)
    chosen = {i * len(given) // count for i in range(count)}
    return [
        value if i in chosen else pytest.param(value, marks=pytest.mark.long)
        for i, value in enumerate(given)
    ]
