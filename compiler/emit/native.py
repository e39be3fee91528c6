"""Compile the source of a kernel with Numba."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any

from numba import njit, types

from compiler.emit.intrinsics import NAMESPACE

SIGNATURE = types.int64(types.CPointer(types.int64))


@dataclass(frozen=True, slots=True, eq=False)
class NativeKernel:
    """A kernel in this process, and what is needed to load it in another.

    Attributes:
        address: of the function, which is called by Numba's convention
            `int32 (place of the result, place of an error, table)`.
        symbol: its name in the object code.
        code: the object code; empty if this Numba does not give it.
        owner: what keeps the function in memory.
    """

    address: int
    symbol: str
    code: bytes
    owner: Any


def compile_native(source: str) -> NativeKernel:
    """The native function of a kernel's source.

    No fast-math flag is set: sums may be reordered where the source says `fsum`, and nan and inf
    are what IEEE 754 says.
    """
    namespace: dict[str, Any] = dict(NAMESPACE)
    file = f"<kernel {abs(hash(source)):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), namespace)
    compiled = njit(SIGNATURE, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(
        namespace["kernel"]
    )
    (result,) = compiled.overloads.values()
    symbol = result.fndesc.llvm_func_name
    address = result.library.get_pointer_to_function(symbol)
    return NativeKernel(address, symbol, _object_code(result.library), compiled)


def _object_code(library: Any) -> bytes:
    # no public name gives the object code
    get = getattr(library, "_get_compiled_object", None)
    try:
        return bytes(get()) if get is not None else b""
    except (RuntimeError, ValueError):
        return b""
