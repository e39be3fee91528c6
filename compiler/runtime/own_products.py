"""The functions of `compiler.llvm.products` in memory: out of the kernel cache, or compiled.

They take the place of a BLAS's gemm in descriptors such as those of `compiler.runtime.blas`.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.once import Once
from staticgraph.compiler.llvm.products.workspaces import BLOCK, FLAG, WORKSPACES, slot_bytes

ALIGNMENT = 64  # bytes


@Once
def own_gemm(itemsize: int) -> int:
    """The address of the gemm for floats of so many bytes, called as cblas with 64-bit integers."""
    from staticgraph.compiler.runtime.cache.common import load_products

    loaded = load_products(itemsize, BLOCK)
    gemm, place = loaded.addresses
    ctypes.c_int64.from_address(place).value = _workspaces().ctypes.data
    _kept.append(loaded)
    return gemm


_kept: list[object] = []
"""The code, which is as long in memory as the process."""


@Once
def _workspaces() -> Any:
    """The words of the workspaces: their address, and a flag of each; the system gives the memory
    of each when it is first used.
    """
    memory = np.empty(WORKSPACES * slot_bytes(BLOCK) + ALIGNMENT, np.uint8)
    words = np.zeros((WORKSPACES + 1) * FLAG, np.int64)
    words[0] = memory.ctypes.data + -memory.ctypes.data % ALIGNMENT
    _kept.append(memory)
    fork.after_in_child(lambda: words[1:].fill(0))  # of threads that are not there
    return words
