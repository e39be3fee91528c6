"""Functions of one floating tensor: of its elements, along one axis, and reductions."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from operator import methodcaller
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_narrow
from staticgraph.compiler.core.op import Attrs, Op, all_ops
from staticgraph.compiler.ops import library
from staticgraph.compiler.ops.declare import one_axis
from staticgraph.compiler.ops.elementwise.arithmetic import is_flat
from staticgraph.compiler.reference import totals
from staticgraph.compiler.reference.classes import row_starts
from staticgraph.compiler.reference.extremes import largest_of_all, smallest_of_all
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.dtypes import BOOL, F32, F64, MOST_F32
from staticgraph.dynamic.core.pytorch import known
from staticgraph.dynamic.core.results import Max, Min
from staticgraph.dynamic.fast_paths.loops import WAYS, Watched, Way
from staticgraph.dynamic.fast_paths.names import named_after
from staticgraph.dynamic.fast_paths.options import MOST_KNOWN, way_with
from staticgraph.dynamic.kernels.dispatch import LARGE, LARGE_ROWS
from staticgraph.dynamic.kernels.layouts import tells_apart
from staticgraph.dynamic.kernels.quick import FEW, QuickRows
from staticgraph.dynamic.tape.grad_mode import mode, paused, recording
from staticgraph.dynamic.tape.noted import flat
from staticgraph.dynamic.tape.recipes import Recipe, recipe
from staticgraph.dynamic.tape.tape import new_node
from staticgraph.dynamic.tape.watching import watching
from staticgraph.dynamic.tensors import dims
from staticgraph.dynamic.tensors.recorders import Recorder, recorded_by, recording_by
from staticgraph.dynamic.tensors.tensor import PLAIN, Tensor, fresh, new_value

_clamped = recipe(ops.clamp, (True, False, False), True)
_BOUNDS = (float, int, type(None))
_NO_ATTRS: Attrs = {}
_asarray = np.asarray
_ndarray = np.ndarray
_new = object.__new__
_NOTHING = object()  # what stands for an operand that is not given
_LAST_OF_TWO: Attrs = {"axis": 1}
_LAST = (1,)
_ANY = object()  # the axis that the op takes where none is given
_NO_OPTIONS = ()
_OPTIONS = frozenset((float, int, str))
"""The types of options of which the attributes are kept."""
_RANKS = range(9)
"""The numbers of axes for which attributes are kept ready."""


def _way(op: Op, plan: Recipe) -> Way:
    def finish(array: object, operand: Tensor) -> Tensor:
        return new_value(_new(Tensor), plan, operand, array, _NO_ATTRS)

    return Way(op.evaluate, finish, recorded=recording_by(op, 1, finish))


def unary(op: Op) -> Any:
    """A function of each element."""
    evaluate, plan = op.evaluate, recipe(op, (True,))
    row = known(op)
    prepared = _counted if row.counts else _truth if row.of_truth else None
    state = Watched(_way(op, plan))

    def function(input: Any = _NOTHING, /, *more: object, **options: object) -> Any:
        kind = type(input)
        if (kind is Tensor or kind in PLAIN) and not more and not options:
            x = input._array
            dtype = x.dtype
            if (dtype is F32 or dtype is F64) and x.size < LARGE:
                value = evaluate(x)
                for result in state.blanks:
                    return new_value(result, plan, input, value, _NO_ATTRS)
                return new_value(state.count((input,)), plan, input, value, _NO_ATTRS)
        elif kind is _ndarray and not more and not options:  # as gradient rules call it
            dtype = input.dtype
            if dtype is F32 or dtype is F64:
                return evaluate(input)
        if input is _NOTHING:
            return op.general(**options)
        if prepared is not None and isinstance(input, Tensor):
            input = prepared(input)
        return op.general(input, *more, **options)

    return named_after(op, state.counts(function))


def _counted(input: Any) -> Any:
    """Booleans as integers, which a square of them is."""
    return input.long() if getattr(input, "_array", input).dtype is BOOL else input


def _truth(input: Any) -> Any:
    """Whether numbers are not 0, where NumPy has no such rule for their dtype."""
    dtype = getattr(input, "_array", input).dtype
    return ops.not_equal(input, 0) if dtype.kind == "c" or is_narrow(dtype) else input


def operator(op: Op) -> Any:
    """The operator of one operand, which has no other arguments."""
    evaluate, plan = op.evaluate, recipe(op, (True,))
    state = Watched(_way(op, plan))

    def method(self: Any) -> Any:
        x = self._array
        dtype = x.dtype
        if (dtype is F32 or dtype is F64) and x.size < LARGE:
            value = evaluate(x)
            for result in state.blanks:
                return new_value(result, plan, self, value, _NO_ATTRS)
            return new_value(state.count((self,)), plan, self, value, _NO_ATTRS)
        return op.general(self)

    return named_after(op, state.counts(method))


def flat_unary(op: Op) -> Any:
    """A function of each element whose derivative is 0 everywhere, which is noted for the lint."""
    evaluate, plan = op.evaluate, recipe(op, (True,))

    def unnoted(array: object, input: Tensor) -> Tensor:
        return new_value(_new(Tensor), plan, input, array, _NO_ATTRS)

    def finish(array: object, input: Tensor) -> Tensor:
        return noted(unnoted(array, input))

    def noted(result: Tensor) -> Tensor:
        if type(result) is Tensor and result._maker is not None:
            flat.note(op.name, result._maker)
        return result

    def recorded(of_number: bool) -> Any:
        record = recorded_by(op, 1, unnoted, [_NO_ATTRS for _ in _RANKS])
        return record and (lambda array, operand: noted(record(array, operand)))

    state = Watched(Way(evaluate, finish, recorded=recorded))

    def function(input: Any = _NOTHING, /, *more: object, **options: object) -> Any:
        kind = type(input)
        if (kind is Tensor or kind in PLAIN) and not more and not options:
            x = input._array
            dtype = x.dtype
            if (dtype is F32 or dtype is F64) and x.size < LARGE:
                value = evaluate(x)
                for result in state.blanks:
                    return noted(new_value(result, plan, input, value, _NO_ATTRS))
                return noted(new_value(state.count((input,)), plan, input, value, _NO_ATTRS))
        given = () if input is _NOTHING else (input,)
        return op.general(*given, *more, **options)

    return named_after(op, state.counts(function))


def with_options(op: Op) -> Any:
    """A function of each element with options, whose attributes are kept for the usual values."""
    assert op.bind is not None
    evaluate, plan, bind = op.evaluate, recipe(op, (True,)), op.bind
    known: dict[Any, Watched] = {}

    def function(*operands: Any, **options: object) -> Any:
        if not operands or type(input := operands[0]) not in PLAIN:
            return op.general(*operands, **options)
        x = input._array
        if not ((x.dtype is F32 or x.dtype is F64) and 0 < x.size < LARGE):
            return op.general(*operands, **options)
        given = (*operands[1:], *options.values())
        key = (given, *options, *map(type, given)) if given else _NO_OPTIONS
        try:
            state = known.get(key)
        except TypeError:  # a tensor or an array
            return op.general(*operands, **options)
        if not tells_apart(given):
            return op.general(*operands, **options)
        if state is not None:
            return state.function(input)  # type: ignore[misc] # it has one
        result = op.general(*operands, **options)
        if _OPTIONS.issuperset(map(type, given)) and len(known) < MOST_KNOWN:
            _, attrs = bind(x, *operands[1:], **options)
            if attrs is not None:
                others = operands[1:]
                known[key] = way_with(op, attrs, lambda x: op.general(x, *others, **options))
        return result

    def defaults(x: Any) -> Attrs:
        attrs = bind(x)[1]
        assert attrs is not None  # elementwise ops have no composed form
        return attrs

    def usual(x: Any) -> Any:
        return evaluate(x, **defaults(x))

    def finish(array: object, input: Tensor) -> Tensor:
        return new_value(_new(Tensor), plan, input, array, defaults(input._array))

    if _takes_defaults(bind):
        WAYS[function] = Way(usual, finish)
    return named_after(op, function)


def _takes_defaults(bind: Callable[..., object]) -> bool:
    """Whether a signature asks for one operand only."""
    parameters = list(inspect.signature(bind).parameters.values())[1:]
    return all(one.default is not one.empty for one in parameters)


def along_axis(op: Op) -> Any:
    """A function of the rows along one axis, such as softmax."""
    evaluate = op.evaluate
    general = dims.along(op.general, op.name)
    ready = [[{"axis": axis} for axis in range(ndim)] for ndim in _RANKS]
    quick, recorder = QuickRows(evaluate), Recorder(op, 1)

    def function(input: Any, dim: object = _ANY, **options: object) -> Any:
        if not options and type(dim) is int and type(input) in PLAIN:
            x = input._array
            fits = x.dtype is F32 or x.dtype is F64
            if fits and 0 < x.size < LARGE_ROWS and x.flags.c_contiguous:
                try:
                    attrs = ready[x.ndim][dim]
                except IndexError:  # many axes, none or no such axis
                    return general(input, dim)
                axis, shape = attrs["axis"], x.shape
                value = None
                if axis and axis + 1 == len(shape) and x.size <= FEW:
                    value = quick.value((x.dtype is F32, shape[axis]), (x,), _LAST_OF_TWO)
                if value is None:
                    value = evaluate(x, axis=axis)
                return recorder.function(value, attrs, input)
        if "dtype" in options and hasattr(input, "to"):  # PyTorch's: what is cast before
            dtype = options.pop("dtype")
            return function(input if dtype is None else input.to(dtype=dtype), dim, **options)
        given = () if dim is _ANY else (dim,)
        return general(input, *given, **options)

    return named_after(op, function)


def _ready(options: Attrs) -> tuple[list[Attrs], list[list[list[Attrs]]]]:
    """The attributes of reductions: by the number of axes; by `keepdims`, that number, the axis."""
    every = [{"axes": tuple(range(n)), "keepdims": False, **options} for n in _RANKS]
    single = [
        [[{"axes": (i,), "keepdims": kept, **options} for i in range(n)] for n in _RANKS]
        for kept in (False, True)
    ]
    return every, single


def reduction(
    name: str, op: Op, along: Op | None, general: Callable[..., Any], whole: Any = None,
    **options: object,
) -> Any:  # fmt: skip
    """The method `name` that reduces all axes, or one; `general` is that for every other call.

    `along` is the op where an axis is given, None if `general` makes something else of it; `whole`
    a shorter form of the op on all axes; the `options` are attributes beside the axes, which only
    the gradient rule reads.
    """
    evaluate, floating = op.evaluate, op.floating
    recorder = None if along is None else Recorder(along, 1)
    plan = recipe(op, (True,))
    every, single = _ready(options)
    if whole is None:

        def whole(x: Any) -> Any:
            return evaluate(x, axes=every[x.ndim]["axes"], keepdims=False)

    def finish(array: object, input: Tensor) -> Any:
        ndim = input._array.ndim
        if ndim >= len(every):
            return general(input)
        return new_value(_new(Tensor), plan, input, array, every[ndim])

    is_watched = op.floating or op in (ops.sum, ops.max, ops.min)
    state = Watched(Way(whole, finish, "t", is_watched, recording_by(op, 1, finish, every)))

    def method(self: Any, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
        if options:
            return by_name(self, dim, keepdim, **options)
        x = self._array
        own = x.dtype
        usual = own is F32 or own is F64 or (not floating and own.kind in "bi")
        if usual and x.size < LARGE and (keepdim is False or keepdim is True):
            try:
                if dim is None and keepdim is False:
                    value, attrs = whole(x), every[x.ndim]
                    for result in state.blanks:
                        return new_value(result, plan, self, value, attrs)
                    return new_value(state.count((self,)), plan, self, value, attrs)
                if type(dim) is int and recorder is not None:
                    attrs = single[keepdim][x.ndim][dim]
                    value = evaluate(x, axes=attrs["axes"], keepdims=attrs["keepdims"])
                    return recorder.function(_asarray(value), attrs, self)
            except (IndexError, ValueError):  # no such axis, more than are ready, or no element
                pass
        return general(self, dim, keepdim)

    def by_name(
        self: Any, dim: Any = None, keepdim: bool = False, *, dtype: object = None,
        axis: object = None, keepdims: bool = False,
    ) -> Any:  # fmt: skip
        if axis is not None or keepdims is not False:  # NumPy's names
            dim = one_axis(op.name, axis, dim)
            keepdim = keepdims if keepdim is False else keepdim
        if dtype is not None:
            return general(self, dim, keepdim, dtype=dtype)
        return method(self, dim, keepdim)

    # keywords that are not given are looked up one by one
    setattr(method, "__signature__", inspect.signature(by_name))  # noqa: B010
    for one in (method, by_name):
        one.__name__ = one.__qualname__ = name
    method.__doc__ = general.__doc__
    return state.counts(method)


def extremum(op: Op, position: Op, at: Op, whole: Any, result: Any) -> Any:
    """A method that finds the largest or smallest element of all, or along an axis with its place.

    `position` is the op that finds the place, `at` that of the element there, which is what is
    recorded, and `result` makes one of both.
    """
    general = getattr(Tensor, op.name)
    of_all = reduction(op.name, op, None, general, whole, ties="all")
    plan, of_places = recipe(op, (True,)), recipe(position, (True,))
    recorder, places_of = Recorder(at, 2), methodcaller(position.name, 1)
    state = Watched(WAYS[of_all])
    every, _ = _ready({"ties": "all"})
    _, ready = _ready({"ties": "first"})
    _, places = _ready({})

    def method(self: Any, dim: Any = None, keepdim: bool = False, **options: object) -> Any:
        x = self._array
        if dim is None and keepdim is False and not options:
            dtype = x.dtype
            if (dtype is F32 or dtype is F64) and 0 < x.size < LARGE and x.ndim < len(every):
                value, attrs = whole(x), every[x.ndim]
                for blank in state.blanks:
                    return new_value(blank, plan, self, value, attrs)
                return new_value(state.count((self,)), plan, self, value, attrs)
        usual = not options and (keepdim is False or keepdim is True) and 0 < x.size < LARGE
        seen = paused and mode.capture is not None
        if not usual or type(dim) is not int or type(self) not in PLAIN or seen:
            return of_all(self, dim, keepdim, **options)
        try:
            attrs, of_place = ready[keepdim][x.ndim][dim], places[keepdim][x.ndim][dim]
        except IndexError:  # no such axis, or more than are ready
            return general(self, dim, keepdim)
        if keepdim is False and x.ndim == 2 and attrs["axes"] == _LAST and x.flags.c_contiguous:
            index = places_of(x)  # to look for the values as well takes twice as long
            found = x.take(index + row_starts(*x.shape))
        else:
            found, index = op.evaluate(x, **attrs), position.evaluate(x, **of_place)
        indices = new_value(_new(Tensor), of_places, self, index, of_place)
        return result(recorder.function(found, of_place, self, indices), indices)

    method.__doc__ = general.__doc__
    return state.counts(method)


def _is_bound(value: Any) -> bool:
    """Whether a value is None, or a number that every floating dtype has a place for."""
    return type(value) in _BOUNDS and (value is None or -MOST_F32 <= value <= MOST_F32)


def _clamp(self: Any, min: Any = None, max: Any = None) -> Any:
    """The elements limited to [min, max]."""
    x = self._array
    dtype = x.dtype
    fits = _is_bound(min) and _is_bound(max) and min is not max
    seen = paused and (mode.capture is not None or watching)
    if fits and not seen and (dtype is F32 or dtype is F64) and x.size < LARGE:
        low = np.array(-math.inf if min is None else min, dtype)
        high = np.array(math.inf if max is None else max, dtype)
        return _of_bounds(np.minimum(np.maximum(x, low), high), self, low, high)
    return _general_clamp(self, min, max)


def _of_bounds(array: Any, input: Tensor, low: object, high: object) -> Tensor:
    result = fresh(array)
    edge = None if paused and not recording() else input._node
    if edge is not None:
        counter = input._counter
        saved, guards = (input._array, low, high, None), (counter, None, None, None)
        edges, versions = (edge, None, None), (counter[0], 0, 0, 0)
        array = result._array
        result._maker = new_node(_clamped, edges, saved, guards, versions, _NO_ATTRS, array)
    return result


def _finished_clamp(array: Any, input: Tensor, min: object, max: object) -> Any:
    if paused and (mode.capture is not None or watching):
        return _clamp(input, min, max)
    dtype = array.dtype
    return _of_bounds(array, input, np.array(min, dtype), np.array(max, dtype))


def _of_clamp(of_number: bool) -> Any:
    """A faster `_finished_clamp`."""

    def general(array: object, input: Tensor, low: object, high: object) -> Tensor:
        if paused and (mode.capture is not None or watching):
            return _clamp(input, *[float(one) for one in (low, high)])  # type: ignore[arg-type]
        return _of_bounds(array, input, low, high)

    record = recorded_by(ops.clamp, 3, general, [_NO_ATTRS for _ in _RANKS], True)
    if record is None:
        return None
    return lambda array, x, low, high: record(
        array, x, np.array(low, array.dtype), np.array(high, array.dtype)
    )


WAYS[_clamp] = Way(
    lambda x, low, high: np.minimum(np.maximum(x, low), high),
    _finished_clamp,
    "tnn",
    recorded=_of_clamp,
)

_general_clamp: Any = Tensor.clamp


def _mean(x: Any) -> Any:
    return totals.whole(x) / x.size


def _has_one_operand(op: Op) -> bool:
    return isinstance(op.vjp, tuple) and len(op.vjp) == 1


UNARY: dict[Op, Any] = {
    op: (flat_unary if is_flat(op.rule(0)) else unary)(op)
    for op in all_ops()
    if op.elementwise and op.bind is None and _has_one_operand(op)
}
UNARY[ops.logical_not] = unary(ops.logical_not)
"""The short way of an op that maps elements, as a function."""
WITH_OPTIONS: dict[Op, Any] = {
    op: with_options(op)
    for op in all_ops()
    if op.elementwise and op.bind is not None and _has_one_operand(op)
}
"""The short way of an op that maps elements and has options, as a function."""
ALONG_AXIS: dict[Op, Any] = {
    op: along_axis(op) for op in all_ops() if op.sweep == "rows" and _has_one_operand(op)
}
"""The short way of an op along one axis, as a function."""


_SHARED = {"ties": "even"}
_REDUCTIONS: tuple[tuple[str, Op, Op | None, Any, Attrs], ...] = (
    ("sum", ops.sum, eager_ops.sum_dim, totals.whole, {}),
    ("mean", ops.mean, eager_ops.mean_dim, _mean, {}),
    ("prod", ops.prod, eager_ops.prod_dim, None, {}),
    ("amax", ops.max, ops.max, largest_of_all, _SHARED),
    ("amin", ops.min, ops.min, smallest_of_all, _SHARED),
    ("argmax", ops.argmax, ops.argmax, lambda x: x.argmax(), {}),
    ("argmin", ops.argmin, ops.argmin, lambda x: x.argmin(), {}),
    ("any", ops.any, ops.any, None, {}),
    ("all", ops.all, ops.all, None, {}),
    ("logsumexp", ops.logsumexp, ops.logsumexp, None, {}),
)


_EXTREMA: tuple[tuple[Op, Op, Op, Any, Any], ...] = (
    (ops.max, ops.argmax, eager_ops.largest_at, largest_of_all, Max),
    (ops.min, ops.argmin, eager_ops.smallest_at, smallest_of_all, Min),
)
"""Per method: the op, those of the place and of the element there, of all elements, the names of
both results."""
_functions = UNARY | ALONG_AXIS

METHODS: dict[str, Any] = {
    name: _functions[op]
    for name in (*library.PUBLIC, *library.SPECIAL)
    # `round` takes decimals, and what is real is its own conjugate
    if isinstance(op := getattr(library, name), Op)
    and op in _functions
    and op not in (ops.round, ops.conjugate)
}
METHODS |= {
    "neg": UNARY[ops.negative],
    "__neg__": operator(ops.negative),
    "clamp": _clamp,
    "__abs__": operator(ops.abs),
    **{
        name: reduction(name, op, along, getattr(Tensor, name), whole, **options)
        for name, op, along, whole, options in _REDUCTIONS
    },
    **{row[0].name: extremum(*row) for row in _EXTREMA},
}
"""Operators and methods of Tensor."""
