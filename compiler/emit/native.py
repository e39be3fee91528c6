"""Compile the source of a kernel with Numba."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any

from numba import njit, types
from numba.np.numpy_support import from_dtype

from compiler.emit.intrinsics import NAMESPACE
from compiler.passes.memory import Slot


def compile_native(source: str, arguments: Sequence[Slot]) -> Callable[..., int]:
    """The native function of a kernel's source, for exactly the types of its arguments.

    No fast-math flag is set: sums may be reordered where the source says `fsum`, and nan and inf
    are what IEEE 754 says.
    """
    namespace: dict[str, Any] = dict(NAMESPACE)
    file = f"<kernel {abs(hash(source)):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), namespace)
    signature = types.int64(types.int64[::1], *(_array_type(slot) for slot in arguments))
    native: Callable[..., int] = njit(signature, error_model="numpy")(namespace["kernel"])
    return native


def _array_type(slot: Slot) -> Any:
    layout = "A" if slot.shape else "C"
    return types.Array(
        from_dtype(slot.dtype), len(slot.shape), layout, readonly=slot.kind == "input"
    )
