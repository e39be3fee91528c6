"""The version counters of tensors: lists `[version, place that changed it last]`, shared by views.

A tensor made in inference mode has none; what stands in for it refuses to be saved.
"""

from __future__ import annotations

from typing import Any, NoReturn

from staticgraph.dynamic.core.errors import AutogradError


class _Untracked:
    """Final; there is one, `UNTRACKED`."""

    __slots__ = ()

    def __getitem__(self, index: int) -> NoReturn:
        raise AutogradError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
            "inference mode in computation tracked by autograd. To work around this, you can make "
            "a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
            "instead of `torch.inference_mode()`."
        )

    def __setitem__(self, index: int, value: object) -> NoReturn:
        raise AutogradError(
            "Inplace update to inference tensor outside InferenceMode is not allowed."
        )


class TrackedInference(list[Any]):
    """The version of what `detach` and `data` make of an inference tensor outside of that mode.

    It still is one, but may be overwritten.
    """

    __slots__ = ()


class Versions:
    """The version of what depends on several tensors: the sum of theirs. Final."""

    __slots__ = ("counters",)

    def __init__(self, counters: list[list[Any]]) -> None:
        self.counters = counters

    def __getitem__(self, index: int) -> Any:
        if index:
            return next((one[1] for one in self.counters if one[1] is not None), None)
        total = 0
        for one in self.counters:
            total += one[0]
        return total


UNTRACKED: Any = _Untracked()
