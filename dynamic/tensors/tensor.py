"""Tensor: an ndarray with a place on the tape, and the flat path by which ops are applied to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat, starmap
from typing import Any, TypeAlias

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_float, is_inexact
from staticgraph.compiler.core.errors import GraphError
from staticgraph.compiler.core.op import Attrs, Op, Operand
from staticgraph.compiler.core.values import Value
from staticgraph.compiler.graph.expression import Handle
from staticgraph.compiler.ops.operators import Operators, add_methods
from staticgraph.dynamic.core import provided
from staticgraph.dynamic.core.dtypes import (
    F32,
    F64,
    INT64,
    element,
    get_default_dtype,
    known_array,
    result_type,
)
from staticgraph.dynamic.core.eager_ops import clone
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.core.no_tensors import check, refuse_options
from staticgraph.dynamic.core.operands import explain, validate
from staticgraph.dynamic.core.pytorch import PLACING, TOTALS, VIEWS
from staticgraph.dynamic.core.whole_numbers import keeps_whole_numbers
from staticgraph.dynamic.kernels.dispatch import evaluate
from staticgraph.dynamic.tape.grad_mode import copying, mode, paused, recording
from staticgraph.dynamic.tape.noted import promoted
from staticgraph.dynamic.tape.recipes import Recipe, recipe
from staticgraph.dynamic.tape.several import record_several
from staticgraph.dynamic.tape.tape import new_node, record, record_one, record_pair
from staticgraph.dynamic.tape.versions import UNTRACKED
from staticgraph.dynamic.tape.watching import told, told_wide, watching
from staticgraph.dynamic.tensors.autograd_methods import Autograd
from staticgraph.dynamic.tensors.inplace import into
from staticgraph.dynamic.tensors.inplace_methods import InPlace
from staticgraph.dynamic.tensors.methods import Methods, is_overriding
from staticgraph.dynamic.tensors.mixed import refuse_mixed
from staticgraph.dynamic.tensors.narrowing import NARROWED, narrowed
from staticgraph.dynamic.tensors.strided import Region
from staticgraph.dynamic.tensors.views import (
    View,
    make_view,
    node_of_view,
    shares_memory,
    view_note,
)

PLAIN: set[type] = set()
"""The classes of tensors that are what they hold, unlike the tracers of `dynamic.func`."""

_EVERY = slice(None)
_new = object.__new__
_ndarray = np.ndarray
_asarray = np.asarray
_NO_ATTRS: Attrs = {}

add_methods()


class Tensor(Autograd, InPlace, Methods, Operators):
    """An array that records the ops applied to it if it requires grad (PyTorch's Tensor).

    `Tensor(2, 3)` is uninitialised, `Tensor(data)` a copy of `data`, both of the default dtype;
    the factory functions of the package say more. Methods, by subject, with PyTorch's arguments; a
    name with an underscore at its end changes the tensor in place:

    What it is       shape, dtype, ndim, numel, requires_grad, grad, grad_fn, is_leaf, device
    Out of it        item, tolist, numpy, detach, clone, to, float, double, int, long, bool
    Gradients        backward, requires_grad_, retain_grad, register_hook, zero_
    Shape            view, reshape, flatten, squeeze, unsqueeze, expand, permute, transpose, T, mT
    Parts            x[...], select, narrow, split, chunk, unbind, unfold, gather, take, where
    Arithmetic       + - * / // % ** @, add, mul, div, pow, clamp, abs, exp, log, sqrt, sin, tanh
    Along axes       sum, mean, prod, var, std, max, min, argmax, sort, topk, cumsum, softmax
    Into it          x[...] = y, copy_, fill_, scatter_, index_put_, masked_fill_, normal_, uniform_

    Example:
        >>> x = dynamic.Tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.sum(dim=0)
        tensor([4., 6.])
    """

    __slots__ = ("__weakref__", "_array", "_cell", "_home", "_maker", "_note")

    _array: Any
    """The ndarray."""
    _cell: Any
    """Its version counter, or None as long as nobody has asked for it: see `_counter`."""
    _home: Any
    """What holds its gradient: an AccumulateGrad, a Cell, or None."""
    _maker: Any
    """The node that made it; the AccumulateGrad of a leaf that requires grad; or None. That of a
    view may be out of date: see `_node`."""
    _note: tuple[Any, ...] | None
    """What it is a view of: the fields of `_view`."""

    @property
    def _counter(self) -> list[Any]:
        """The version, shared by all tensors on the memory, and the line that changed it last."""
        cell: list[Any] | None = self._cell
        if cell is None:
            cell = self._cell = [0, None]
        return cell

    @_counter.setter
    def _counter(self, counter: object) -> None:
        self._cell = counter

    @property
    def _node(self) -> Any:
        """The node that made the tensor, up to date if it is a view of what was overwritten."""
        note, maker = self._note, self._maker
        if note is not None and (maker is None or note[2] != self._cell[0]):
            if maker is None and note[0]._maker is None:
                return None  # nothing of it is recorded
            return node_of_view(self)
        return maker

    @_node.setter
    def _node(self, node: object) -> None:
        self._maker = node

    @property
    def _view(self) -> View | None:
        """What it is a view of, or None."""
        return None if self._note is None else View(*self._note)

    def __init_subclass__(cls, plain: bool = True) -> None:
        super().__init_subclass__()
        if hasattr(cls, "__torch_dispatch__"):
            provided.wrapping(cls)
        elif is_overriding(cls):
            provided.overriding(cls)
        elif plain:
            PLAIN.add(cls)

    def __init__(self, *data: object, **options: object) -> None:
        if hasattr(self, "_array"):  # which the `__new__` of a subclass made
            return
        refuse_options("Tensor", options)
        dtype = get_default_dtype().dtype
        holds = data and not all(isinstance(size, int) for size in data)
        self._array = np.array(data[0], dtype) if holds else np.empty(data or (0,), dtype)
        self._cell = UNTRACKED if mode.inference else None
        self._home = self._maker = self._note = None

    def _apply_into(self, op: Op, operands: Sequence[Value], attrs: Attrs) -> Any:
        rest = {name: value for name, value in attrs.items() if name != "out"}
        result, out = self._apply(op, operands, rest), attrs["out"]
        if not isinstance(out, Tensor):
            if out is None:
                return result
            raise ArgumentError(f"{op.name}(): out is a tensor, not {type(out).__name__}")
        return into(op.name, out, result, operands)

    @staticmethod
    def _constant(array: object) -> Tensor:
        """A tensor on the memory of `array`, without a gradient."""
        return wrap(_asarray(array))

    def _standing(self) -> Value:
        """What stands for it in the function that is being captured; itself where none is."""
        return mode.capture.lifted(self) if paused and mode.capture is not None else self

    def _apply(self, op: Op, operands: Sequence[Value], attrs: Attrs) -> Tensor:
        """The value of `op`, recorded if an operand requires grad and grad mode is on."""
        if paused and mode.autocast is not None and op in NARROWED:
            operands = narrowed(op, operands)
        if paused and mode.capture is not None:
            captured: Tensor = mode.capture.apply(op, operands, attrs)
            return captured
        if attrs and "out" in attrs:
            return self._apply_into(op, operands, attrs)
        arrays: Sequence[Any]
        number = mixed = False
        if len(operands) == 1 and operands[0] is self:  # the usual case, without a loop
            arrays = (self._array,)
            dtype = self._array.dtype
            needed = self._node is not None
            if dtype.kind == "u" and op in TOTALS:
                return self._apply(op, (ops.astype(self, INT64),), attrs)
        else:
            arrays, dtype, needed, mixed = _gather(op, operands)
        if mixed or (op.floating and not is_inexact(dtype)):
            for operand in operands:
                if isinstance(operand, Tensor) and type(operand) not in PLAIN:
                    return operand._apply(op, operands, attrs)
            if mixed:
                refuse_mixed(op, operands)
            elif keeps_whole_numbers(op, dtype):
                return self._apply(clone, operands, {})
            operands, number = as_operands(op, operands)
            arrays = [operand._array for operand in operands]
            needed = any(operand._node is not None for operand in operands)
        if not op.complex:
            op.refuse_complex(arrays)
        if op.checked:
            validate(op, arrays, attrs)
        try:
            array = evaluate(op, arrays, attrs)
        except (ValueError, TypeError, IndexError) as error:
            explain(op, arrays, attrs, error)
        if type(array) is not _ndarray:
            if type(array) is tuple:
                return _several(op, attrs, operands, array, needed)
            array = _asarray(array)
        if op in VIEWS:
            result = fresh(array.view() if arrays and array is arrays[0] else array)
            if shares_memory(result._array, arrays[0]):
                make_view(result, operands[0])
        else:
            if array.base is not None or (arrays and array is arrays[0]):
                array = _own(array, arrays)
            elif not (op.elementwise or op is clone or array.flags.c_contiguous):
                array = np.ascontiguousarray(array)  # so that `view` takes it
            result = fresh(array)
        if watching:
            told(op, operands, attrs, result)
        if needed and is_inexact(array.dtype) and (not paused or recording()):
            result._maker = record(op, attrs, operands, result, number)
        return result


PLAIN.add(Tensor)

for _kind in (Autograd, InPlace, Methods):
    for _name in vars(_kind):
        check(Tensor, _name)  # before the short ways lead to them


def _several(
    op: Op, attrs: Attrs, operands: Sequence[object], arrays: Sequence[object], needed: bool
) -> Any:
    """The results of an op whose value is a tuple, recorded as those of one node if need be."""
    results = tuple([fresh(np.array(array, order="C", copy=None)) for array in arrays])
    if needed and (not paused or recording()):
        record_several(op, attrs, operands, results)
    return results


def blanks(*count: int) -> Iterator[Tensor]:
    """So many empty tensors, or ever more: a loop is the shortest way to make one and count it."""
    return starmap(_new, repeat((Tensor,), *count))


def fresh(array: object) -> Tensor:
    """The tensor of an array that no other tensor holds, not on the tape.

    The three functions below fill a tensor and record its node, for all short ways. They repeat
    these lines, since to call this function takes 3 % of a small op.
    """
    result = _new(Tensor)
    result._array = array if type(array) is _ndarray else _asarray(array)
    result._cell = result._home = result._maker = result._note = None
    if paused and mode.inference:
        result._cell = UNTRACKED
    return result


def new_value(result: Tensor, plan: Recipe, operand: Tensor, array: object, attrs: Attrs) -> Tensor:
    """The tensor of `array`, which an op makes of one plain tensor, recorded if need be.

    `result` is one of which nothing is set; `array` has memory of its own; `plan` is the recipe
    for an operand that requires grad.
    """
    result._array = array if type(array) is _ndarray else _asarray(array)
    result._cell = result._home = result._maker = result._note = None
    if paused:
        if copying and mode.capture is not None:
            captured: Tensor = mode.capture.apply(plan.op, (operand,), attrs)
            return captured
        if watching:
            told(plan.op, (operand,), attrs, result)
        if not recording():
            if mode.inference:
                result._cell = UNTRACKED
            return result
    edge = operand._maker if operand._note is None else operand._node
    if edge is not None and plan.steps:
        if plan.holds:
            result._maker = record_one(plan, attrs, edge, operand, result)
        else:
            result._maker = new_node(plan, (edge,), (edge, None), (), (), attrs, result._array)
    return result


Plans: TypeAlias = "tuple[Recipe, Recipe, Recipe]"
"""The recipes of an op of two operands of which both require grad, the first, or the second."""


def new_value_of_two(
    result: Tensor, plans: Plans, left: Tensor | None, right: Tensor | None, x: object, y: object,
    array: object, attrs: Attrs = _NO_ATTRS,
) -> Tensor:  # fmt: skip
    """`new_value` of two operands, `x` and `y` on arrays: plain tensors, or None for a number."""
    result._array = array if type(array) is _ndarray else _asarray(array)
    result._cell = result._home = result._maker = result._note = None
    if paused:
        if mode.autocast is not None and plans[0].op in NARROWED:
            assert left is not None and right is not None  # no product is of a number
            return left._apply(plans[0].op, (left, right), attrs)
        pair = (x if left is None else left, y if right is None else right)
        if copying and mode.capture is not None:
            captured: Tensor = mode.capture.apply(plans[0].op, pair, attrs)
            return captured
        if watching:
            told(plans[0].op, pair, attrs, result)
        if not recording():
            if mode.inference:
                result._cell = UNTRACKED
            return result
    first = second = None
    if left is not None:
        first = left._maker if left._note is None else left._node
    if right is not None:
        second = right._maker if right._note is None else right._node
    if first is not None or second is not None:
        plan = plans[2] if first is None else plans[1] if second is None else plans[0]
        if plan.steps:
            edges = (first, second)
            result._maker = record_pair(plan, edges, x, y, left, right, result, attrs)
    return result


FEW_VIEWS = 499
"""How many views are made until it is asked whether machine code is to make them."""
few_views: Iterator[Tensor] = blanks(FEW_VIEWS)
"""Their tensors, of which nothing is set."""


def new_view(plan: Recipe, operand: Tensor, array: object, attrs: Attrs) -> Tensor:
    """The tensor of `array`, which an op makes on the memory of a plain tensor: see `new_value`."""
    for result in few_views:  # noqa: B007 - it is used below
        break
    else:
        provided.many_views()
        result = _new(Tensor)
    result._array = array
    result._home = result._maker = None
    cell = result._cell = operand._cell or operand._counter
    if operand._note is None and not paused and type(cell) is list:  # without a call
        result._note = (operand, None, cell[0])
        edge = operand._maker
    else:
        if copying and mode.capture is not None:
            captured: Tensor = mode.capture.apply(plan.op, (operand,), attrs)
            return captured
        if watching:
            told(plan.op, (operand,), attrs, result)
        result._note = view_note(operand)
        edge = None if cell is UNTRACKED else operand._node
    if edge is not None and not (paused and not recording()):
        result._maker = new_node(plan, (edge,), (edge, None), (), (), attrs, array)
    return result


def strided_view(op: Op, operand: Tensor, array: object, region: Region | None = None) -> Tensor:
    """The tensor of `array`, a view of a plain tensor by an op of `dynamic.tensors.strided`.

    `region`, if given, says where it lies in an operand whose elements lie apart.
    """
    attrs = {"region": region or Region(array, operand._array)}
    return new_view(recipe(op, (True,)), operand, array, attrs)


def as_one_node(op: Op, input: Any, **attrs: object) -> Any:
    """An op as a node on a plain floating tensor; of all else, what the op expands to."""
    attrs = {name: one.item() if hasattr(one, "item") else one for name, one in attrs.items()}
    if type(input) in PLAIN and is_float(input._array.dtype):
        return input._apply(op, (input,), attrs)
    assert op.expand is not None
    return op.expand(input, **attrs)


def _gather(op: Op, operands: Sequence[Any]) -> tuple[list[Any], Any, bool, bool]:
    """The arrays of tensors, their dtype, whether one requires grad, whether they need a cast."""
    arrays: list[Any] = []
    needed = mixed = False
    dtype = None
    for operand in operands:
        if type(operand) not in PLAIN:
            return arrays, dtype, needed, True
        array = operand._array
        arrays.append(array)
        if dtype is None:
            dtype = array.dtype
        elif array.dtype is not dtype:
            mixed = op.promotes is not None
        if operand._node is not None:
            needed = True
    if mixed and op.promotes is not None and op.promotes != _EVERY:
        # an index or a mask has a dtype of its own
        mixed = len({array.dtype for array in arrays[op.promotes]}) > 1
    return arrays, dtype, needed, mixed


def has_values(x: object) -> bool:
    """Whether an operand is a tensor with values, no expression or what stands for one.

    In a function that is captured none has: those of its surroundings may be others at each call.
    """
    if not isinstance(x, Tensor) or isinstance(x, Handle):
        return False
    return not paused or mode.capture is None


def wrap(array: object) -> Tensor:
    """A tensor on the memory of an array, without a gradient."""
    if paused and mode.capture is not None:
        known: Tensor = mode.capture.known(array)
        return known
    return fresh(array)


provided.wrap.provide(wrap)


def _own(array: Any, arrays: Sequence[object]) -> Any:
    """`array`, copied if it is on the memory of an operand: only views may share memory."""
    held = any(array is one or shares_memory(array, one) for one in arrays)
    return array.copy() if held else array


def as_operands(op: Op, operands: Sequence[object]) -> tuple[Sequence[Tensor], bool]:
    """The operands as tensors, cast to one dtype where the op wants it; whether one is a number.

    Raises GraphError for a symbolic operand.
    """
    values = [one if isinstance(one, Tensor) else _as_value(op, one) for one in operands]
    shared = range(len(values))[op.promotes] if op.promotes else range(0)
    dtype = None
    if len(shared):
        dtype = result_type(getattr(values[i], "_array", values[i]) for i in shared)
        if op.floating and not is_inexact(dtype):
            dtype = get_default_dtype().dtype
    number = False
    for i, value in enumerate(values):
        wanted = dtype if i in shared else None
        if not isinstance(value, Tensor):
            number = True
            whole = wanted is not None and not is_inexact(wanted)
            if op is ops.power and i and whole and value < 0:
                raise AutogradError("Integers to negative integer powers are not allowed.")
            if wanted is None:
                array = np.asarray(value)
            elif op in PLACING:
                array = element(value, wanted)
            else:
                array = np.asarray(value).astype(wanted)
            values[i] = wrap(array)
            continue
        if wanted is None and op.floating and not is_inexact(value._array.dtype):
            wanted = get_default_dtype().dtype
        if wanted is not None and value._array.dtype != wanted:
            values[i] = ops.astype(value, wanted)
            if wanted is F64 and value._array.dtype is F32 and has_values(value):
                _note_promotion(op, value, operands, values[i]._node)
    return values, number


def _note_promotion(op: Op, value: Tensor, operands: Sequence[Any], node: object) -> None:
    """Note for the lint that a float32 operand became float64, by `node`, because of another."""
    if node is None and not watching:
        return
    shapes = [
        list(array.shape)
        for array in (getattr(one, "_array", one) for one in operands)
        if isinstance(array, np.ndarray) and array.dtype == F64
    ]
    what = (
        f"{op.name}: a float32 tensor of shape {list(value.shape)} becomes float64 because of a "
        f"float64 one of shape {shapes[0] if shapes else []}"
    )
    if node is not None:
        promoted.note(what, node)
    if watching:
        told_wide(what)


def _as_value(op: Op, operand: object) -> Any:
    """A tensor on the operand's memory, or a Python number, which is weak."""
    if isinstance(operand, bool | int | float | complex):
        return operand
    if isinstance(operand, np.generic) and operand.dtype.kind in "biufc":
        return operand.item()
    if isinstance(operand, Operand):
        raise GraphError(
            f"{op.name}: an eager tensor meets a symbolic expression: feed the tensor to a "
            "placeholder, or use its numpy() as a constant"
        )
    return wrap(known_array(op.name, operand))
