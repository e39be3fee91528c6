"""How many small ops a process has run: their machine code is loaded when they may pay for it."""

from __future__ import annotations

ENOUGH = 20_000
"""The calls before machine code is loaded, which takes a tenth to a sixth of what they took."""


class _Total:
    """The calls that were counted."""

    calls = 0
    methods_stay = False


_total = _Total()


def were_enough(calls: int) -> bool:
    """Note more calls of small ops, views or nodes; whether all were enough to load the code."""
    _total.calls += calls
    return _total.calls >= ENOUGH


def keep_methods() -> None:
    """Have no method of Tensor replaced from now on.

    Classes with a `__torch_function__`, and modes, are handed methods and compare them with
    Tensor's.
    """
    _total.methods_stay = True


def methods_stay() -> bool:
    """Whether the methods of Tensor are to stay what they are."""
    return _total.methods_stay
