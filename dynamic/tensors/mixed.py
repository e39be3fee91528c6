"""Products and the like of tensors of different dtypes, which PyTorch refuses rather than casts.

An op of the shared library promotes its operands; so do expressions and arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.core.op import Op
from staticgraph.dynamic.core.dtypes import DTYPES, F64, c_name
from staticgraph.dynamic.core.errors import MixedError
from staticgraph.dynamic.core.pytorch import known


def _legacy(tensor: Any) -> str:
    return str(DTYPES[np.dtype(tensor.dtype)].legacy)


def _c(tensor: Any) -> str:
    return c_name(tensor.dtype)


def _matmul(first: Any, second: Any) -> str:
    ranks = first.ndim, second.ndim
    if ranks == (1, 1):
        return (
            "dot : expected both vectors to have same dtype, but found "
            f"{_legacy(first)} and {_legacy(second)}"
        )
    if ranks == (2, 1):
        names = _legacy(second), _legacy(first), _legacy(second)
        return "addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*names)
    if ranks[1] == 2:
        return f"expected m1 and m2 to have the same dtype, but got: {_c(first)} != {_c(second)}"
    return _found(first, second)


def _found(first: Any, second: Any, *others: object) -> str:
    return f"expected scalar type {_legacy(first)} but found {_legacy(second)}"


def _conv(first: Any, second: Any, *others: Any) -> str:
    bias = next((one for one in others if hasattr(one, "dtype")), None)
    if bias is not None and bias.dtype != first.dtype:
        return f"Input type ({_c(first)}) and bias type ({_c(bias)}) should be the same"
    return _found(first, second)


def _norm(first: Any, weight: Any, bias: Any) -> str:
    if first.dtype == F64:
        return "mixed dtype (CPU): all inputs must share same datatype."
    if first.dtype == weight.dtype and hasattr(weight, "layout"):
        return _found(first, bias)
    return "mixed dtype (CPU): expect parameter to have scalar type of Float"


TEXTS: dict[str, Callable[..., str]] = {
    "by rank": _matmul, "expected": _found, "bias first": _conv, "all inputs": _norm,
}  # fmt: skip
"""What to say, by `PyTorchOp.one_dtype`."""


def refuse_mixed(op: Op, operands: Sequence[Any]) -> None:
    """RuntimeError if an op that takes one dtype got tensors of several."""
    text = known(op).one_dtype
    if not text:
        return
    dtypes = {np.dtype(one.dtype) for one in operands if hasattr(one, "dtype")}
    unknown = any(one.kind in "OUS" for one in dtypes)  # which is refused otherwise
    if len(dtypes) > 1 and not unknown:
        raise MixedError(TEXTS[text](*operands))
