"""Calls from a room to one above it. This is all of them: what is above registers here, once.

An import points to the same room or a lower one (`docs/architecture.md`). Where a lower room has
to call a higher one it calls an attribute of `upward`, which the module named there sets when it
is imported, as it is with the package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Upward:
    """The functions that lower rooms call in higher ones."""

    __slots__ = ("traced_gradients", "wrap")

    wrap: Callable[[Any], Any]
    """`wrap(array)`: a tensor on the memory of an array, without a gradient. The tape makes
    tensors of cotangents and of saved arrays; set by `dynamic.tensors.tensor`."""

    traced_gradients: Callable[..., tuple[Any, ...]]
    """`autograd.grad` where some of the tensors are tracers; set by `dynamic.func.pull`, whose
    `gradients` says what it takes."""


upward = Upward()
