"""Options of LLVM that belong to the process: set while a kernel is compiled, then as usual.

Numba compiles with the same LLVM.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import llvmlite.binding as llvm

from staticgraph.compiler.core import fork
from staticgraph.compiler.ir.records import Binary, Const, Expr, For, Function, Load, Name
from staticgraph.compiler.ir.walk import expressions, operands, parts, statements

KNOWN = range(20, 23)  # versions of LLVM that were seen to have the options
STRIDE_VERSIONS = "-enable-mem-access-versioning"
WITHOUT_STRENGTH_REDUCTION = "-disable-lsr"
_setting = threading.RLock()  # one at a time
fork.hold(fork.Rank.LLVM_OPTIONS, _setting)


@contextmanager
def without_stride_versions() -> Iterator[None]:
    """Without the guess that a stride that is not known is 1.

    LLVM would vectorise a loop for that case alone, and leave all others, such as reading a
    transposed matrix, to scalar code: up to twelve times slower than with gathering loads.
    """
    with _set(f"{STRIDE_VERSIONS}=false", f"{STRIDE_VERSIONS}=true"):
        yield


@contextmanager
def addresses_as_written(units: Sequence[Function]) -> Iterator[None]:
    """Without LLVM's strength reduction, which makes pointers of indices, unless a unit strides.

    It takes a third of the time from LLVM's language to object code, and gains nothing where the
    processor's addressing does the same: the kernels were as fast without it.
    """
    if any(map(strides, units)):
        yield
        return
    with _set(WITHOUT_STRENGTH_REDUCTION, f"{WITHOUT_STRENGTH_REDUCTION}=false"):
        yield


def strides(unit: Function) -> bool:
    """Whether an innermost loop multiplies its index by what is no constant.

    As written that is a multiplication per element: a transposed matrix was read 1.3 times as
    slowly.
    """
    for loop in statements(unit.body):
        if isinstance(loop, For) and not any(isinstance(one, For) for one in statements(loop.body)):
            index = Name(loop.variable)
            found = (part for one in statements(loop.body) for part in expressions(one))
            if any(_is_stride(part, index) for one in found for part in parts(one)):
                return True
    return False


def _is_stride(one: Expr, index: Name) -> bool:
    """Whether an expression is the product of what depends on an index, and of no constant."""
    if not isinstance(one, Binary) or one.sign != "*":
        return False
    return not isinstance(one.left, Const) and not isinstance(one.right, Const) and _has(one, index)


def _has(one: Expr, index: Name) -> bool:
    """Whether an index is in an expression, other than to read an element."""
    if isinstance(one, Load):
        return False
    return one == index or any(_has(part, index) for part in operands(one))


@contextmanager
def _set(option: str, usual: str) -> Iterator[None]:
    if llvm.llvm_version_info[0] not in KNOWN:
        yield  # an option that LLVM does not know would end the process
        return
    with _setting:
        llvm.set_option("", option)
        try:
            yield
        finally:
            llvm.set_option("", usual)
