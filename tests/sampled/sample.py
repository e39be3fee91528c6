"""A sample call of an op."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Sample:
    """One call: `function(*args, **options)`.

    `order` is how often the result can be differentiated by the float64 arrays among `args`, and
    `sizes` whether the axes longer than 1 may be unknown.
    """

    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    order: int = 2
    sizes: bool = True


def call(*args: Any, order: int = 2, sizes: bool = True, **options: Any) -> Sample:
    return Sample(args, options, order, sizes)
