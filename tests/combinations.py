"""Which of many combinations `make test` or `make quick` runs; `make test-all` runs all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some(
    values: Iterable[Any], count: int, mark: pytest.MarkDecorator = pytest.mark.long
) -> list[Any]:
    """All values, for `parametrize`: `count` of them, evenly chosen, and the others marked.

    For tests of which each combination takes a while, and goes the same way as its neighbours.
    """
    given = list(values)
    chosen = {i * len(given) // count for i in range(count)}
    return [value if i in chosen else _marked(value, mark) for i, value in enumerate(given)]


def _marked(value: Any, mark: pytest.MarkDecorator) -> Any:
    """What `parametrize` takes for a value, or for what was one already: a `pytest.param`."""
    if isinstance(value, type(pytest.param())):
        marks = [*value.marks, mark]
        return pytest.param(*value.values, marks=marks, id=value.id)
    return pytest.param(value, marks=mark)
