"""Machines that code can be compiled for, whatever the tests run on."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm


def machine_for(kind: str, cpu: str) -> Any:
    """LLVM's machine for a processor; its code can be looked at, and need not run here."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(f"{kind}-unknown-linux-gnu")
    return target.create_target_machine(cpu=cpu, opt=2)
