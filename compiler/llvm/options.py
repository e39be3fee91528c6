"""Options of LLVM that belong to the process: set while a kernel is compiled, then as usual.

Numba compiles with the same LLVM.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import llvmlite.binding as llvm

from staticgraph.compiler.core import fork

KNOWN = range(20, 23)  # versions of LLVM that were seen to have the options


class _Option:
    """An option that is set as long as anybody wants it; all who compile want the same."""

    def __init__(self, wanted: str, usual: str) -> None:
        self.wanted, self.usual = wanted, usual
        self.wanting = 0

    @contextmanager
    def set(self) -> Iterator[None]:
        if llvm.llvm_version_info[0] not in KNOWN:
            yield  # an option that LLVM does not know would end the process
            return
        with _setting:
            if not self.wanting:
                llvm.set_option("", self.wanted)
            self.wanting += 1
        try:
            yield
        finally:
            with _setting:
                self.wanting -= 1
                if not self.wanting:
                    llvm.set_option("", self.usual)

    def forget(self) -> None:
        """In a child: the threads that wanted it are not there."""
        if self.wanting:
            self.wanting = 0
            llvm.set_option("", self.usual)


_setting = threading.RLock()
fork.hold(fork.Rank.LLVM_OPTIONS, _setting)
_NO_STRIDE_VERSIONS = _Option(
    "-enable-mem-access-versioning=false", "-enable-mem-access-versioning=true"
)
_NO_STRENGTH_REDUCTION = _Option("-disable-lsr", "-disable-lsr=false")
for _one in (_NO_STRIDE_VERSIONS, _NO_STRENGTH_REDUCTION):
    fork.after_in_child(_one.forget)


def without_stride_versions() -> AbstractContextManager[None]:
    """Without the guess that a stride that is not known is 1.

    LLVM would vectorise a loop for that case alone, and leave all others, such as reading a
    transposed matrix, to scalar code: up to twelve times slower than with gathering loads.
    """
    return _NO_STRIDE_VERSIONS.set()


def addresses_as_written() -> AbstractContextManager[None]:
    """Without LLVM's strength reduction, which makes pointers of indices, in object code.

    It takes a third of the time from LLVM's language to object code, and gains nothing where the
    processor's addressing does the same: kernels and products were as fast without it. What
    strides runs the pass by itself: `compiler.llvm.native`.
    """
    return _NO_STRENGTH_REDUCTION.set()
