"""Which LLVM passes a kernel goes through: once over the module, and no loop is unrolled.

Numba runs the function passes, then a cheap and then the full module pipeline, to remove reference
counts that kernels do not have. Measured on a training step of a small convolutional network (350
lines): 4.7 s with Numba's pipelines, 3.8 s with the full one alone, 1.7 s without unrolling either;
the kernels are as fast or faster, for `compiler.emit.loops` writes the shortest loops out itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from numba.core import codegen
from numba.core.compiler_lock import global_compiler_lock

_STEPS = ("_optimize_functions", "_optimize_final_module")


@contextmanager
def kernel_passes() -> Iterator[None]:
    """Inside the block, Numba compiles with the passes for kernels; other threads wait.

    The two steps have no public name: where this Numba has not got them, its own are run.
    """
    library = codegen.CPUCodeLibrary
    with global_compiler_lock:
        own = {name: getattr(library, name, None) for name in _STEPS}
        if None in own.values():
            yield
            return
        try:
            library._optimize_functions = _set_layout
            library._optimize_final_module = _optimise
            yield
        finally:
            for name, step in own.items():
                setattr(library, name, step)


def _set_layout(library: Any, module: Any) -> None:
    module.data_layout = library._codegen._data_layout


def _optimise(library: Any) -> None:
    options = llvm.create_pipeline_tuning_options()
    options.speed_level = 3
    options.loop_vectorization = True
    options.loop_interleaving = True
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(library._codegen._tm, options)
    builder.getModulePassManager().run(library._final_module, builder)
