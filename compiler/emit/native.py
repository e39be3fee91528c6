"""Compile the source of a kernel with Numba."""

from __future__ import annotations

import importlib
import linecache
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from numba import njit, types
from numba.core import typed_passes as typed
from numba.core import untyped_passes as untyped
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager

from compiler.emit.intrinsics import NAMESPACE
from compiler.emit.optimisation import kernel_passes

SIGNATURE = types.int64(types.CPointer(types.int64))
PASSES = (
    untyped.TranslateByteCode,
    untyped.FixupArgs,
    untyped.IRProcessing,
    untyped.ReconstructSSA,
    typed.NopythonTypeInference,
    typed.PreLowerStripPhis,
    typed.IRLegalization,
    typed.AnnotateTypes,
    typed.NativeLowering,
    typed.NoPythonBackend,
)


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler without the rewrites that have nothing to do in explicit scalar loops."""

    def define_pipelines(self) -> list[Any]:
        """One sequence of passes."""
        manager = PassManager("kernel")
        for one in PASSES:
            manager.add_pass(one, one.__doc__ or one.__name__)
        manager.finalize()
        return [manager]


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
    _load_arrays_without_scipy()
    namespace: dict[str, Any] = dict(NAMESPACE)
    file = f"<kernel {abs(hash(source)):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), namespace)
    with kernel_passes():
        compiled = njit(
            SIGNATURE,
            error_model="numpy",
            pipeline_class=KernelCompiler,
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
        )(namespace["kernel"])
    del linecache.cache[file]
    (result,) = compiled.overloads.values()
    symbol = result.fndesc.llvm_func_name
    address = result.library.get_pointer_to_function(symbol)
    return NativeKernel(address, symbol, _object_code(result.library), compiled)


@cache
def _load_arrays_without_scipy() -> None:
    """Load Numba's array functions, which import SciPy just to know that it is there: 0.1 s.

    SciPy is imported when a function that needs it is compiled, as before.
    """
    linear_algebra = importlib.import_module("numba.np.linalg")
    find = getattr(linear_algebra, "ensure_blas", None)
    if find is None:
        return

    def is_installed() -> None:
        if find_spec("scipy") is None:
            raise ImportError("scipy")

    linear_algebra.ensure_blas = is_installed  # type: ignore[attr-defined]
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        linear_algebra.ensure_blas = find  # type: ignore[attr-defined]


def _object_code(library: Any) -> bytes:
    # no public name gives the object code
    get = getattr(library, "_get_compiled_object", None)
    try:
        return bytes(get()) if get is not None else b""
    except (RuntimeError, ValueError):
        return b""
