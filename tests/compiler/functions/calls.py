"""A sample call of a function that is composed of ops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import tests.samples  # noqa: F401 - their data are drawn before those of functions


@dataclass(frozen=True)
class Call:
    """`function(*args, **options)`, as of NumPy's function of the same name.

    Attributes:
        args, options: what is given; arrays become expressions and tensors.
        order: how often the result can be differentiated by the float64 arrays.
        sizes: whether axes longer than 1 may be unknown.
        numpy: NumPy's value, where NumPy's function of that name takes other arguments or is none.
    """

    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    order: int = 2
    sizes: bool = True
    numpy: Any = None


def call(*args: Any, order: int = 2, sizes: bool = True, numpy: Any = None, **options: Any) -> Call:
    return Call(args, options, order, sizes, numpy)
