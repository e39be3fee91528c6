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
    return [value if i in chosen else _long(value) for i, value in enumerate(given)]


def _long(value: Any) -> Any:
    """What `parametrize` takes for a value, or for what was one already: a `pytest.param`."""
    if isinstance(value, type(pytest.param())):
        marks = [*value.marks, pytest.mark.long]
        return pytest.param(*value.values, marks=marks, id=value.id)
    return pytest.param(value, marks=pytest.mark.long)
