"""Recipes: what a node of an op keeps and runs, made once for each kind of operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.op import Op, Rule
from staticgraph.compiler.core.record import frozen
from staticgraph.compiler.ops.elementwise.arithmetic import is_flat
from staticgraph.dynamic.kernels.dispatch import Few, of_few
from staticgraph.dynamic.kernels.quick import Quick, QuickClasses, QuickNorm


@frozen
class Recipe:
    """What a node of an op keeps and runs, given which operands require grad.

    Attributes:
        steps: the operands that get a gradient, each with its rule.
        positions: these operands.
        arrays: the op's rule on plain arrays, for all of them at once; or None.
        keeps: per operand whether its values are saved.
        keeps_output: whether the output's values are saved.
        holds: whether anything is saved, so that freeing the graph matters.
        reduces: whether the cotangents of operands may be large, or much work, where that of the
            output is small.
        number: whether one of two operands is a Python number (for PyTorch's names).
        flat: whether all cotangents are 0 everywhere.
        narrow: whether an operand is of floats of 16 bits, though the result need not be.
        quick: machine code for small arrays, or None.
        few: the rules of small arrays in few steps, where the op has no attributes; or None.
    """

    op: Op
    steps: tuple[tuple[int, Rule], ...]
    positions: tuple[int, ...]
    arrays: Callable[..., Sequence[Any]] | None
    keeps: tuple[bool, ...]
    keeps_output: bool
    holds: bool
    reduces: bool
    number: bool = False
    flat: bool = False
    narrow: bool = False
    quick: Quick | QuickClasses | QuickNorm | None = None
    few: Few | None = None


def _reduces(op: Op) -> bool:
    """Whether the result may be small where the cotangents take much work."""
    return op.sweep in ("windows", "pairs") or (
        op.sweep == "reduction" and op.linearity != "linear"
    )


def _quick(
    op: Op, steps: tuple[tuple[int, Rule], ...], keeps: tuple[bool, ...], keeps_output: bool
) -> Quick | QuickClasses | QuickNorm | None:
    if op is ops.cross_entropy and steps:
        return QuickClasses()
    if op is ops.layer_norm and len(steps) == len(keeps):
        return QuickNorm()
    along_rows = op.sweep == "rows" and op.vjp_arrays is not None and len(keeps) == 1
    if not (op.elementwise or along_rows) or not steps or not isinstance(op.vjp, tuple):
        return None
    return Quick(op, steps, op.vjp_arrays, keeps, keeps_output)


_recipes: dict[tuple[Op, tuple[bool, ...], bool, bool, bool], Recipe] = {}


def recipe(
    op: Op,
    needs: tuple[bool, ...],
    number: bool = False,
    of_complex: bool = False,
    narrow: bool = False,
) -> Recipe:
    """The recipe for an op of which these operands require grad.

    `of_complex`: whether complex numbers enter or leave it; `narrow`: whether floats of 16 bits
    enter it.
    """
    found = _recipes.get((op, needs, number, of_complex, narrow))
    if found is not None:
        return found
    rules = [(i, op.rule_of(i, of_complex)) for i, needed in enumerate(needs) if needed]
    steps = tuple((i, rule) for i, rule in rules if rule is not None)
    letters = "".join(op.saved(i, of_complex) for i, _ in steps)
    keeps = tuple(chr(ord("a") + i) in letters for i in range(len(needs)))
    positions = tuple(i for i, _ in steps)
    arrays, usual = None if of_complex else op.vjp_arrays, not of_complex and not narrow
    made = Recipe(
        op, steps, positions, arrays, keeps,
        "o" in letters, bool(letters), _reduces(op), number,
        bool(steps) and all(is_flat(rule) for _, rule in steps), narrow,
        _quick(op, steps, keeps, "o" in letters) if usual else None,
        of_few(steps, len(needs)) if usual and arrays is None and not _reduces(op) else None,
    )  # fmt: skip
    _recipes[op, needs, number, of_complex, narrow] = made
    return made
