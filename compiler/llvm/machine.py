"""The machine that code is compiled for: the processor of this process."""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from staticgraph.compiler.core import fork

fork.hold(fork.Rank.LLVM, ffi.lib._lock)  # which llvmlite holds during each call of LLVM


def target_machine(effort: int = 2) -> Any:
    """LLVM's machine for this process; whoever makes an engine of it owns it.

    `effort`: what it spends on machine code, from 0 to 3.
    """
    return _target().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=_features(),
        opt=effort,
        reloc="default",
        codemodel="jitdefault",
        jit=True,
    )


@cache
def kernel_machine() -> Any:
    """One that all kernels are compiled for; nobody makes an engine of it."""
    return target_machine()


@cache
def _features() -> str:
    """What the processor has, which may be less than its name says.

    LLVM keeps to half of the widest vectors on some processors, for the sake of code that uses
    them seldom. Measured on an Emerald Rapids: whole vectors are 1.2 times as fast in kernels.
    """
    found = llvm.get_host_cpu_features()
    wide = ",-prefer-256-bit" if found.get("avx512f") else ""
    return str(found.flatten()) + wide


@cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()
