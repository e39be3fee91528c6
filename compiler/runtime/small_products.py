"""What multiplies small tensors, as a builtin function: `compiler.llvm.small_products`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.llvm.loop_words import PRODUCT_SYMBOL
from staticgraph.compiler.llvm.small_products_words import (
    C_FUNCTIONS,
    HEAD,
    LAYER,
    MATRICES,
    PYTHON_FUNCTIONS,
    STACKS,
)
from staticgraph.compiler.runtime.joining import shared_words
from staticgraph.compiler.runtime.loops import (
    c_function,
    exceptions,
    loops_are_there,
    slots_are_right,
    ufunc_loop,
)
from staticgraph.compiler.runtime.recorder import Tape, made_of
from staticgraph.compiler.runtime.trampoline import python_function

MOST = 1 << 16
"""The multiplications up to which a product is small: the interpreter's lock is held for it."""


def product_function(
    tape: Tape,
    general: Callable[..., Any],
    finish: Callable[..., Any],
    kind: int,
    shown: tuple[str, str] = ("kernel", ""),
) -> Callable[..., Any] | None:
    """The builtin function `(left, right) -> tensor` of a kind of products; None if there is none.

    Args:
        general: what takes all other calls.
        finish: `(array, *operands) -> tensor`.
        kind: what it multiplies.
        shown: its name, and its documentation.
    """
    if not (loops_are_there() and slots_are_right(tape.tensor)):
        return None
    loops: dict[str, int] = {}
    for name, ufunc in (("matmul", np.matmul), ("add", np.add)):
        for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
            found = ufunc_loop(ufunc, (dtype,) * 3)
            if found is None:
                return None
            size = dtype.itemsize
            loops[f"loop_{name}_{size}"], loops[f"data_{name}_{size}"] = found
    values: dict[str, int] = {
        "general": id(general), "finish": id(finish), "most": MOST,
        "turns": kind == LAYER, "ndim": 3 if kind == STACKS else 2, "vectors": kind == MATRICES,
        "exceptions": exceptions(), **loops, **shared_words(tape),
        **{name: python_function(name) for name in PYTHON_FUNCTIONS},
        **{name: c_function(name) for name in C_FUNCTIONS},
    }  # fmt: skip
    words = [values[name] for name in HEAD]
    return made_of(PRODUCT_SYMBOL, tape, words, (general, finish), shown)
