"""Programs of what Python has for state: dispatch, patterns, generators, protocols."""

from __future__ import annotations

from typing import Any

from .trap import trap


@trap("arrays")
def an_array_gets_another_dtype_in_place(t: Any) -> Any:
    def added(x: Any) -> Any:
        y = x.astype("int32")
        y += x
        return y

    f = t.capture(added)
    yield t.x
    yield f(t.x)
