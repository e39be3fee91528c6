"""The page of promotion rules, made by promoting: docs/promotion.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph import dynamic
from staticgraph.compiler import ops
from staticgraph.compiler.core.types import DTYPES
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.leaves import placeholder

NUMBERS: dict[str, Any] = {"a bool": True, "an int": 1, "a float": 1.0}
"""Python numbers, which are weak, by the heads of their columns."""


def static_table() -> dict[str, dict[str, str]]:
    """By the dtype of an expression and of what it meets, that of both."""
    mask = placeholder("mask", (2,), "bool")
    leaves = {name: placeholder(name, (2,), name) for name in DTYPES}
    return {
        name: {
            other: ops.where(mask, x, y).dtype.name for other, y in {**leaves, **NUMBERS}.items()
        }
        for name, x in leaves.items()
    }


def eager_table() -> dict[str, dict[str, str]]:
    """By the dtype of a tensor and of what it meets, that of their product; `[]`: without axes."""

    def tensors(shape: tuple[int, ...]) -> dict[str, Any]:
        return {name: dynamic.ones(shape, dtype=getattr(dynamic, name)) for name in DTYPES}

    met = {**tensors((2,)), **NUMBERS, **{f"{k}[]": x for k, x in tensors(()).items()}}
    return {
        name: {other: _product(x, y) for other, y in met.items()}
        for name, x in tensors((2,)).items()
    }


def _product(x: Any, y: Any) -> str:
    try:
        return str((x * y).dtype).removeprefix("torch.")
    except AutogradError:
        return "refused"


def markdown() -> str:
    """The page."""
    chosen = ops.where(placeholder("c", (), "bool"), 1.0, 0.1) * placeholder("x")
    eager = eager_table()
    return "\n\n".join([
        _HEAD, _grid(static_table()), _WEAK.format(chosen=chosen.dtype), _EAGER,
        _grid(_columns(eager, False)), _SCALARS, _grid(_columns(eager, True)),
        _FUNCTIONS.format(table=_functions()),
    ]) + "\n"  # fmt: skip


def _columns(table: dict[str, dict[str, str]], scalars: bool) -> dict[str, dict[str, str]]:
    """The columns of tensors without axes, or the others."""
    return {
        name: {head: dtype for head, dtype in row.items() if head.endswith("[]") == scalars}
        for name, row in table.items()
    }


def _grid(table: dict[str, dict[str, str]]) -> str:
    heads = list(next(iter(table.values())))
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    lines += [f"| **{name}** | {' | '.join(row.values())} |" for name, row in table.items()]
    return "\n".join(lines)


def _functions() -> str:
    """What functions of one operand give for each dtype."""
    functions: dict[str, Callable[[Any], Any]] = {
        "exp, sin, sqrt": ops.exp, "sum, prod": ops.sum, "mean, var": ops.mean, "max, abs": ops.max,
        "cumsum, cumprod": ops.cumsum, "x / x": lambda x: x / x, "x // x": lambda x: x // x,
        "x < x": lambda x: x < x, "argmax, argmin": ops.argmax,
    }  # fmt: skip
    table: dict[str, dict[str, str]] = {}
    for name in DTYPES:
        x = placeholder("x", (2,), name)
        table[name] = {}
        for title, function in functions.items():
            try:
                table[name][title] = np.dtype(function(x).dtype).name
            except TypeError:
                table[name][title] = "refused"
    return _grid(table)


_HEAD = """# Promotion of dtypes

Written by `staticgraph promotion --markdown docs/promotion.md` by promoting; a test compares it,
the first table with NumPy, the others with PyTorch.

## Expressions

Expressions, and arrays that ops are applied to, have NumPy 2's rules: what two operands become
does not depend on their shapes or values. A Python number is weak: it has the dtype of what it
meets, unless it is of a higher kind (bool, int, float); an int that this dtype does not hold is
refused. bfloat16, which NumPy has not, meets others as float16 does, and float16 in float32;
uint64 and signed integers meet in float64, but they are compared exactly."""

_WEAK = """What is made of numbers alone stays weak, whatever chooses, moves or computes with it:
`sg.where(c, 1.0, 0.1) * x` of a float32 `x` is {chosen}, as are `sg.maximum(x, 0.5)`, `sg.clip(x,
0, 1)` and `sg.sum(sg.where(c, 1, 0)) * x`. Alone it is an int64 or a float64, as in NumPy, and it
is computed so: it is rounded where it meets a float32. Arrays of NumPy are never weak, nor are
variables, constants and what has a dtype of its own, such as `sg.full(shape, 0.5)`.

Where nothing says a dtype, Python floats that become tensors are float32: `sg.constant`,
`variable`, `placeholder`, `zeros`, `linspace`, `one_hot`, random numbers and the rest.
`sg.set_default_dtype("float64")` says otherwise for all that is made from then on, and `with
sg.default_dtype("float64"):` in a block."""

_EAGER = """## Tensors

Tensors of `dynamic` have PyTorch's rules, which refuse what would promote uint16, uint32 or uint64
to another integer. Tensors with axes:"""

_SCALARS = """A tensor without axes (`[]`) counts less than one with axes, unless it is of a
higher kind:"""

_FUNCTIONS = """## Functions of expressions

Sums and products of unsigned integers are uint64, of tensors int64, as PyTorch's. float16 and
bfloat16 are stored only: every op casts them to float32, computes, and rounds its result once.

{table}"""
