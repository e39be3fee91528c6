"""The machine that code is compiled for: the processor of this process."""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ffi

from staticgraph.compiler.core import fork
from staticgraph.compiler.llvm.options import addresses

fork.hold(fork.Rank.LLVM, ffi.lib._lock)  # which llvmlite holds during each call of LLVM


class _Emissions:
    """The threads in which LLVM makes object code without llvmlite's lock."""

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.changed = threading.Condition()

    def __enter__(self) -> None:
        with self.changed:
            self.threads.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        with self.changed:
            self.threads.discard(threading.get_ident())
            self.changed.notify_all()


class _NoEmissions:
    """As long as it is held, none begins; who takes it waits for those of other threads."""

    def __init__(self, emissions: _Emissions) -> None:
        self.emissions = emissions

    def __enter__(self) -> None:
        self.emissions.changed.acquire()
        self.emissions.changed.wait_for(lambda: self.emissions.threads <= {threading.get_ident()})

    def __exit__(self, *_: object) -> None:
        self.emissions.changed.release()


_emissions = _Emissions()
fork.hold(fork.Rank.EMISSIONS, _NoEmissions(_emissions))


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


def emit_object(machine: Any, module: Any, strides: bool = False) -> bytes:
    """The object code of a module in a context of its own; other threads may use LLVM meanwhile.

    `strides`: whether it has loops that go along a stride that is no constant.

    llvmlite has each call of LLVM wait for those of other threads. LLVM asks for that only where
    they share a context, as what Numba compiles does ("Threads and LLVM" in its Programmer's
    Manual).
    """
    with ffi.OutputString() as error:
        with addresses(strides), _emissions:
            emitted = ffi.lib._lib.LLVMPY_TargetMachineEmitToMemory(machine, module, 1, error)
        if not emitted:
            raise RuntimeError(
                f"LLVM made no object code: {str(error) if error else 'without a reason'}"
            )
    start, size = ffi.lib.LLVMPY_GetBufferStart(emitted), ffi.lib.LLVMPY_GetBufferSize(emitted)
    try:
        return ctypes.string_at(start, size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(emitted)


def emit_assembly(machine: Any, module: Any, strides: bool) -> str:
    """The same to be read."""
    with addresses(strides):
        return str(machine.emit_assembly(module))


_machines = threading.local()


def kernel_machine() -> Any:
    """What the kernels of a thread are compiled for; nobody makes an engine of it.

    LLVM's machine keeps what it learns of functions: it is for one thread at a time.
    """
    made = getattr(_machines, "made", None)
    if made is None:
        made = _machines.made = target_machine()
    return made


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
