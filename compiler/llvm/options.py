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
    """An option that is set as long as anybody wants it.

    Those who want it as usual meanwhile wait, and those who want it set wait for them: what comes
    out does not depend on what another thread compiles.
    """

    def __init__(self, wanted: str, usual: str) -> None:
        self.wanted, self.usual = wanted, usual
        self.wanting = 0  # how many want it set; below zero how many want it as usual

    @contextmanager
    def as_given(self, step: int) -> Iterator[None]:
        """Set as long as the block runs (`step` 1), or as usual (-1)."""
        if llvm.llvm_version_info[0] not in KNOWN:
            yield  # an option that LLVM does not know would end the process
            return
        with _changed:
            _changed.wait_for(lambda: self.wanting * step >= 0)
            if not self.wanting and step > 0:
                llvm.set_option("", self.wanted)
            self.wanting += step
        try:
            yield
        finally:
            with _changed:
                self.wanting -= step
                if not self.wanting:
                    if step > 0:
                        llvm.set_option("", self.usual)
                    _changed.notify_all()

    def forget(self) -> None:
        """In a child: the threads that wanted it are not there."""
        if self.wanting > 0:
            llvm.set_option("", self.usual)
        self.wanting = 0


_setting = threading.RLock()
_changed = threading.Condition(_setting)
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
    return _NO_STRIDE_VERSIONS.as_given(1)


def addresses(strides: bool) -> AbstractContextManager[None]:
    """Object code's addresses as they are written, or for units that stride as LLVM has them.

    Its strength reduction, which makes pointers of indices, takes a third of the time from LLVM's
    language to object code, and gains nothing where the processor's addressing does the same:
    kernels and products were as fast without it. The pass of that name, for single units, ended
    the process at some of them (LLVM 22).
    """
    return _NO_STRENGTH_REDUCTION.as_given(-1 if strides else 1)
