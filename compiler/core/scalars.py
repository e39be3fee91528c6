"""Functions of scalars that users wrote, as kernels call them: LLVM's code of each by its symbol.

The symbol has a digest of the code, so that a kernel's text, which the kernel cache is asked with,
says which code it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.core.types import DType


@frozen(eq=False)
class ScalarFunction:
    """A function of scalars of one dtype.

    Attributes:
        symbol: its name in emitted source and in LLVM's code.
        arity: how many operands it takes.
        operand, result: the dtype of these, and of what it gives.
        code: the text in LLVM's language that defines the symbol.
        deferred: functions of vecmath that the code calls, which are defined when loops are
            vectors (`compiler.llvm.vecmath.deferred`).
        function: the same in Python.
    """

    symbol: str
    arity: int
    operand: DType
    result: DType
    code: str
    deferred: tuple[Any, ...]
    function: Callable[..., Any]


_known: dict[str, ScalarFunction] = {}


def add_scalar(function: ScalarFunction) -> None:
    """Let kernels call a function by its symbol."""
    _known[function.symbol] = function


def scalar_functions() -> Mapping[str, ScalarFunction]:
    """All functions that kernels can call, by their symbols."""
    return _known
