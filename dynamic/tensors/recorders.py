"""Who makes the tensor and the node of a small op: `new_value_of_several`, or machine code.

An op that is recorded often gets a builtin function that does the same
(`compiler.llvm.recorder`), in a fifth of the time. All that is not plain it hands back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.op import Attrs, Op
from staticgraph.compiler.core.settings import COMPILE_SMALL_OPS
from staticgraph.dynamic.core.activity import were_enough
from staticgraph.dynamic.core.results import Size
from staticgraph.dynamic.core.spec import Spec
from staticgraph.dynamic.tape.grad_mode import copying, mode, paused, recording
from staticgraph.dynamic.tape.nodes import numbers
from staticgraph.dynamic.tape.observers import observers
from staticgraph.dynamic.tape.recipes import recipe
from staticgraph.dynamic.tape.tape import Node, record_by
from staticgraph.dynamic.tape.watching import told, watching
from staticgraph.dynamic.tensors.narrowing import NARROWED
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor, fresh

OFTEN = 1000
"""The calls of an op after which it is recorded by machine code."""
MOST = 4
"""The operands of such an op: as in `compiler.llvm.recorder_words`."""

_RECORDER = "staticgraph.compiler.runtime.recorder"
_PRODUCTS = "staticgraph.compiler.runtime.small_products"
_JOINING = "staticgraph.compiler.runtime.joining"

Function = Callable[..., Any]


def new_value_of_several(op: Op, operands: Sequence[Any], array: object, attrs: Attrs) -> Any:
    """The tensor of `array`, which an op makes of plain tensors, recorded if need be.

    `array` has memory of its own.
    """
    result = fresh(array)
    if paused:
        if mode.autocast is not None and op in NARROWED:
            return operands[0]._apply(op, operands, attrs)
        if copying and mode.capture is not None:
            return mode.capture.apply(op, operands, attrs)
        if watching:
            told(op, operands, attrs, result)
        if not recording():
            return result
    for one in operands:
        if one._maker is not None or one._note is not None:
            break
    else:
        return result
    edges = tuple([one._maker if one._note is None else one._node for one in operands])
    needs = tuple([edge is not None for edge in edges])
    if True in needs:
        plan = recipe(op, needs)
        if plan.steps:
            result._maker = record_by(plan, edges, attrs, operands, result)
    return result


def recorded_by(
    op: Op,
    count: int,
    general: Function,
    attrs: list[Attrs] | None = None,
    number: bool = False,
) -> Function | None:
    """The builtin function that records an op of so many operands; None where there is none.

    Args:
        general: what takes the calls that it hands back: `(array, *operands)`, or without `attrs`
            `(array, attrs, *operands)`.
        attrs: the attributes by the number of axes of the first operand.
        number: whether an operand is a Python number: an array that nobody else holds.
    """
    if COMPILE_SMALL_OPS.is_off:
        return None
    with fork.importing():
        made = import_module(_RECORDER)
    patterns = [None]
    for bits in range(1, 1 << count):
        plan = recipe(op, tuple([bool(bits >> i & 1) for i in range(count)]), number)
        kept = plan.keeps, plan.keeps_output
        patterns.append(made.Pattern(plan, bool(plan.steps), plan.holds, *kept))
    found: Function | None = made.recorder_function(_tape(), patterns, general, attrs)
    return found


def _tape() -> Any:
    """What all recorders have to do with."""
    with fork.importing():
        made = import_module(_RECORDER)
    return made.Tape(Tensor, Node, Spec, PLAIN, paused, observers, numbers)


def viewed_by(general: Function) -> Function | None:
    """The builtin function that makes the tensors of views; None where there is none.

    `general` takes the calls that it hands back: `(recipe, operand, array, attrs)`.
    """
    if COMPILE_SMALL_OPS.is_off:
        return None
    with fork.importing():
        made = import_module(_RECORDER)
    found: Function | None = made.viewer_function(_tape(), general)
    return found


def reshaped_by(general: Function, recipe: object, shown: tuple[str, str]) -> Function | None:
    """The builtin function `(tensor, *sizes)` that makes views of other shapes; or None.

    `general` takes the calls that it hands back, `recipe` is that of its nodes.
    """
    if COMPILE_SMALL_OPS.is_off:
        return None
    with fork.importing():
        made = import_module(_RECORDER)
    tape = _tape()
    found: Function | None = made.reshaper_function(tape, general, recipe, "shape", Size, shown)
    return found


def joined_by(op: Op, general: Function, attrs: list[Attrs], adds: bool) -> Function | None:
    """The builtin function that joins tensors, along a new axis if it `adds` one; or None.

    Args:
        general: what takes the calls that it hands back: `(tensors, dim)`.
        attrs: the attributes by the axis.
    """
    if COMPILE_SMALL_OPS.is_off:
        return None
    with fork.importing():
        made = import_module(_JOINING)
    usual: Function = partial(_general, op)
    finishes = [usual] * (made.MOST_TENSORS + 1)
    for count in range(1, MOST + 1):
        finishes[count] = recorded_by(op, count, usual) or usual
    found: Function | None = made.joining_function(_tape(), general, finishes, attrs, adds)
    return found


def multiplied_by(
    general: Function, finish: Function, kind: int, shown: tuple[str, str] = ("kernel", "")
) -> Function | None:
    """The builtin function that multiplies a kind of `compiler.llvm.small_products_words`; or None.

    Args:
        general: what takes the calls that it hands back.
        finish: `(array, *operands) -> tensor`.
        kind: what it multiplies.
        shown: its name, and its documentation.
    """
    if COMPILE_SMALL_OPS.is_off:
        return None
    with fork.importing():
        made = import_module(_PRODUCTS)
    found: Function | None = made.product_function(_tape(), general, finish, kind, shown)
    return found


def recording_by(
    op: Op, count: int, general: Function, attrs: list[Attrs] | None = None
) -> Callable[[bool], Function | None]:
    """What makes `recorded_by` of these when it is asked for, if no operand is a number."""
    ready = [{} for _ in range(9)] if attrs is None else attrs

    def make(of_number: bool) -> Function | None:
        return None if of_number else recorded_by(op, count, general, ready)

    return make


class Recorder:
    """What records an op of so many plain operands of one floating dtype.

    Attributes:
        function: `(array, attrs, *operands) -> tensor`; the array has memory of its own.
    """

    __slots__ = ("_calls", "_count", "_op", "function")

    def __init__(self, op: Op, count: int) -> None:
        self._op, self._count, self._calls = op, count, 0
        self.function: Function = self._counted

    def _counted(self, array: object, attrs: Attrs, *operands: Any) -> Any:
        self._calls += 1
        if self._calls >= OFTEN and not were_enough(OFTEN):
            self._calls = 0
        elif self._calls >= OFTEN:
            general = partial(_general, self._op)
            self.function = recorded_by(self._op, self._count, general) or general
        return new_value_of_several(self._op, operands, array, attrs)


def _general(op: Op, array: object, attrs: Attrs, *operands: Any) -> Any:
    return new_value_of_several(op, operands, array, attrs)
