"""Modules of LLVM, parsed, each in a context that is freed after it.

llvmlite frees modules and contexts when Python finalises their objects. Where those are garbage in
a cycle, such as the frames of an exception that somebody keeps, Python may finalise the context
first, and freeing the module then reads freed memory. So here a module frees its context itself.
It is one of its own, since the global one keeps every type and constant that it has seen.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding.module import ModuleRef


class Module(ModuleRef):  # type: ignore[misc]
    """A module that frees its context."""

    def __init__(self, module: Any, context: Any) -> None:
        super().__init__(module._ptr, context)
        self._freed_after = context._ptr
        module.detach()
        context._owned = True  # finalising it does not free it

    def _dispose(self) -> None:
        super()._dispose()
        self._capi.LLVMPY_ContextDispose(self._freed_after)


def parse(text: str) -> Module:
    """The module of a text in LLVM's language."""
    context = llvm.create_context()
    return Module(llvm.parse_assembly(text, context), context)


def link(module: Module, text: str) -> None:
    """Put what a text defines into a module."""
    with llvm.parse_assembly(text, module._context) as other:  # which the module takes over
        module.link_in(other)
