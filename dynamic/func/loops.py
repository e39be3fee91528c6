"""Loops and branches of tracers inside captured functions: of examples, and of dual numbers.

A loop of examples is one of the batch, and a loop of dual numbers one of primals and tangents; so
is a branch whose predicate is the same for all examples.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core import provided
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.pytree import leaves, mapped, rebuilt
from staticgraph.compiler.graph.expression import Handle
from staticgraph.compiler.transforms.control_checks import aligned, pair_of, require_same
from staticgraph.compiler.transforms.control_eager import both, is_number, selected
from staticgraph.compiler.transforms.control_flow import cond, scan, while_loop
from staticgraph.dynamic.func.batched import Batched
from staticgraph.dynamic.func.dual import Dual, split
from staticgraph.dynamic.func.tracer import Level, Tracer, batch_of, innermost, settled, zeros_of
from staticgraph.dynamic.tensors.tensor import Tensor

Function = Callable[..., object]


def while_of_tracers(
    cond: Function, body: Function, init: object, max_steps: int | None
) -> tuple[Any] | None:
    """A loop whose carry has tracers of what is captured: that of what they hold, in a tuple.

    None if there are none.
    """
    init = mapped(settled, init)
    given = [one for one in leaves(init) if not isinstance(one, Handle)]
    like = innermost(given)
    if like is None or not any(map(_holds_captured, given)):
        return None
    init = mapped(lambda one: _tensor(one, like), init)
    loop = _of_examples if isinstance(like, Batched) else _of_duals
    try:
        return (loop(cond, body, init, max_steps, like._level),)
    except _FurtherInsideError as error:
        if error.level is not like._level:
            raise
        return (while_loop(cond, body, lifted(init, error.tracer), max_steps),)


class _FurtherInsideError(Exception):
    """A loop of the tracers of a level gave one of a level further inside, which it reads."""

    def __init__(self, level: Level, tracer: object) -> None:
        super().__init__()
        self.level, self.tracer = level, tracer


def _require_no_further(level: Level, tree: object) -> Any:
    """_FurtherInsideError if there is a tracer of a level further inside."""
    found = innermost(leaves(tree))
    if found is not None and found._level.number > level.number:
        raise _FurtherInsideError(level, found)
    return tree


def _of_examples(
    cond: Function, body: Function, init: object, max_steps: int | None, level: Level
) -> Any:
    """A loop that goes on as long as the condition holds for any example.

    The others keep what they have.
    """

    def whole(tree: object) -> Any:
        return mapped(lambda one: batch_of(one, level), tree)

    def each(tree: object) -> Any:
        return mapped(lambda one: Batched(level, one), tree)

    def goes_on(carry: object) -> Any:
        holds = _require_no_further(level, cond(each(carry)))
        return ops.any(whole(holds), axis=0)

    def step(carry: object) -> Any:
        before = each(carry)
        after = _require_no_further(level, body(before))
        return whole(selected(cond(before), after, before))

    return each(while_loop(goes_on, step, whole(init), max_steps))


def _of_duals(
    cond: Function, body: Function, init: object, max_steps: int | None, level: Level
) -> Any:
    """A loop of primals and, of floats, their tangents: it goes on as that of the primals."""

    def goes_on(carry: tuple[list[Any], list[Any]]) -> Any:
        return split(_require_no_further(level, cond(_together(init, carry, level))), level)[0]

    def step(carry: tuple[list[Any], list[Any]]) -> Any:
        after = _require_no_further(level, body(_together(init, carry, level)))
        pairs = zip(leaves(after), carry[0], strict=True)
        return _apart([_tensor(one, like) for one, like in pairs], level)

    return _together(init, while_loop(goes_on, step, _apart(init, level), max_steps), level)


def scan_of_tracers(
    step: Function, init: object, xs: object, length: Size, reverse: bool, further: object = None
) -> tuple[Any, Any] | None:
    """A scan whose carry or slices have tracers of what is captured: one of what they hold.

    `further` is a tracer that the step reads around it. None if there are no tracers.
    """
    init, xs = mapped(settled, (init, xs))
    given = leaves((init, xs))
    like = innermost([further, *[one for one in given if not isinstance(one, Handle)]])
    if like is None or (further is None and not any(map(_holds_captured, given))):
        return None
    loop = _scan_of_examples if isinstance(like, Batched) else _scan_of_duals
    try:
        return loop(step, init, xs, length, reverse, like)
    except _FurtherInsideError as error:
        if error.level is not like._level:
            raise
        return scan_of_tracers(step, init, xs, length, reverse, error.tracer)


class _MoreExamplesError(Exception):
    """A step makes examples of carries that were none.

    Attributes:
        level: of the examples.
        found: the leaves of the carry that are such, by their number.
    """

    def __init__(self, level: Level, found: dict[int, Any]) -> None:
        super().__init__()
        self.level, self.found = level, found


def _scan_of_examples(
    step: Function, init: object, xs: object, length: Size, reverse: bool, like: Any
) -> tuple[Any, Any]:
    """A scan of batches: of those carries that differ between examples, which a step may tell."""
    level = like._level
    start = leaves(init)
    numbers = [i for i, one in enumerate(start) if is_number(one)]
    places = {i for i, one in enumerate(start) if _is_example(one, level)}
    sliced = [_is_example(one, level) for one in leaves(xs)]
    stacks = mapped(lambda x: x._exchanged(x._held) if _is_example(x, level) else x, xs)
    made: list[Any] = []

    @functools.wraps(step)
    def stepped(carry: object, x: object) -> tuple[Any, Any]:
        pairs = zip(leaves(x), sliced, strict=True)
        slices = rebuilt(x, [Batched(level, one) if each else one for one, each in pairs])
        before = _examples(carry, places, level)
        after, y = _require_no_further(level, pair_of(step(before, slices), step))
        after = aligned(after, before)
        require_same("scan: carry", before, after, step, numbers)
        found = {i: one for i, one in enumerate(leaves(after)) if _is_example(one, level)}
        if not found.keys() <= places:
            raise _MoreExamplesError(level, found)
        made[:] = [y]
        return _wholes(after, places, level), _wholes(y, _places_in(y, level), level)

    while True:
        try:
            last, ys = scan(stepped, _wholes(init, places, level), stacks, length, reverse)
        except _MoreExamplesError as error:
            if error.level is not level:
                raise
            places |= error.found.keys()
            init = _in_dtypes(init, error.found, numbers)
        else:
            break
    batches = _places_in(made[0], level)
    stacked = [ops.swapaxes(one, 0, 1) if i in batches else one for i, one in enumerate(leaves(ys))]
    return _examples(last, places, level), _examples(rebuilt(ys, stacked), batches, level)


def _is_example(x: object, level: Level) -> bool:
    return isinstance(x, Batched) and x._level is level


def _places_in(tree: object, level: Level) -> set[int]:
    return {i for i, one in enumerate(leaves(tree)) if _is_example(one, level)}


def _wholes(tree: object, places: set[int], level: Level) -> Any:
    """The batches of the leaves at some places."""
    return rebuilt(
        tree, [batch_of(one, level) if i in places else one for i, one in enumerate(leaves(tree))]
    )


def _examples(tree: object, places: set[int], level: Level) -> Any:
    """Examples, of which the leaves at some places are the batches."""
    return rebuilt(
        tree, [Batched(level, one) if i in places else one for i, one in enumerate(leaves(tree))]
    )


def _in_dtypes(init: object, found: dict[int, Any], numbers: Sequence[int]) -> Any:
    """The first carry, whose numbers are tensors where a step makes examples of them."""
    return rebuilt(
        init,
        [
            found[i]._constant(np.asarray(one, np.dtype(found[i].dtype)))
            if i in numbers and i in found
            else one
            for i, one in enumerate(leaves(init))
        ],
    )


def _scan_of_duals(
    step: Function, init: object, xs: object, length: Size, reverse: bool, like: Any
) -> tuple[Any, Any]:
    """A scan of primals and, of the floats of the carry, their tangents."""
    level = like._level
    init = mapped(lambda one: _tensor(one, like), init)
    directions = [split(one, level)[1] for one in leaves(xs)]
    moving = [i for i, one in enumerate(directions) if one is not None]
    made: list[tuple[Any, list[int]]] = []

    @functools.wraps(step)
    def stepped(carry: Any, x: tuple[list[Any], list[Any]]) -> tuple[Any, Any]:
        before = _together(init, carry, level)
        after, y = _require_no_further(
            level, pair_of(step(before, _dual(xs, x[0], moving, x[1], level)), step)
        )
        after = aligned(after, before)
        require_same("scan: carry", before, after, step)
        pairs = [split(one, level) for one in leaves(y)]
        found = [i for i, (_, tangent) in enumerate(pairs) if tangent is not None]
        made[:] = [(y, found)]
        values = [one for one, _ in pairs], [pairs[i][1] for i in found]
        return _apart(_like_carry(after, before), level), values

    slices = [split(one, level)[0] for one in leaves(xs)], [directions[i] for i in moving]
    last, ys = scan(stepped, _apart(init, level), slices, length, reverse)
    y, found = made[0]
    return _together(init, last, level), _dual(y, ys[0], found, ys[1], level)


def _like_carry(after: object, before: object) -> Any:
    pairs = zip(leaves(after), leaves(before), strict=True)
    return rebuilt(after, [_tensor(one, like) for one, like in pairs])


def _dual(
    tree: object, primals: Sequence[Any], places: Sequence[int], tangents: Any, level: Level
) -> Any:
    """A tree of primals, and of dual numbers at those places that have tangents."""
    along = dict(zip(places, tangents, strict=True))
    return rebuilt(
        tree,
        [Dual(level, p, along[i]) if i in along else p for i, p in enumerate(primals)],
    )


def _apart(tree: object, level: Level) -> tuple[list[Any], list[Any]]:
    """The primals of a tree, and the tangents of its floats."""
    pairs = [split(one, level) for one in leaves(tree)]
    floats = [(p, t) for p, t in pairs if is_inexact(np.dtype(p.dtype))]
    return [p for p, _ in pairs], [zeros_of(p) if t is None else t for p, t in floats]


def _together(tree: object, carry: tuple[list[Any], list[Any]], level: Level) -> Any:
    """A tree of dual numbers, of primals and of the tangents of floats."""
    floats = [i for i, one in enumerate(carry[0]) if is_inexact(np.dtype(one.dtype))]
    return _dual(tree, carry[0], floats, carry[1], level)


def cond_of_tracers(
    pred: object,
    true_fn: Function,
    false_fn: Function,
    operands: tuple[object, ...],
    further: object = None,
) -> Any:
    """A branch on what is captured whose operands have tracers: one of what they hold.

    `further` is a tracer that a branch reads around it. Where the predicate differs between
    examples, both are computed.
    """
    pred, operands = mapped(settled, (pred, operands))
    given = leaves((pred, operands))
    like: Any = innermost([further, *[one for one in given if not isinstance(one, Handle)]])
    if like is None:
        return both(pred, true_fn, false_fn, operands)
    level = like._level
    if _is_example(pred, level):
        return both(pred, true_fn, false_fn, operands)
    branch = _cond_of_examples if isinstance(like, Batched) else _cond_of_duals
    try:
        return branch(pred, true_fn, false_fn, operands, like)
    except _FurtherInsideError as error:
        if error.level is not level:
            raise
        return cond_of_tracers(pred, true_fn, false_fn, operands, error.tracer)


def _cond_of_examples(
    pred: object, true_fn: Function, false_fn: Function, operands: tuple[object, ...], like: Any
) -> Any:
    level = like._level
    places = _places_in(operands, level)

    def on_batches(function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(*given: object) -> Any:
            result = _require_no_further(level, function(*_examples(given, places, level)))
            return mapped(lambda one: batch_of(_tensor(one, like), level), result)

        return wrapper

    whole = _wholes(operands, places, level)
    found = cond(pred, on_batches(true_fn), on_batches(false_fn), *whole)
    return mapped(lambda one: Batched(level, one), found)


def _cond_of_duals(
    pred: object, true_fn: Function, false_fn: Function, operands: tuple[object, ...], like: Any
) -> Any:
    level = like._level
    pairs = [split(one, level) for one in leaves(operands)]
    moving = [i for i, (_, tangent) in enumerate(pairs) if tangent is not None]
    made: list[Any] = []

    def on_pairs(function: Function) -> Function:
        @functools.wraps(function)
        def wrapper(primals: list[Any], tangents: list[Any]) -> Any:
            given = _dual(operands, primals, moving, tangents, level)
            result = _require_no_further(level, function(*given))
            result = mapped(lambda one: _tensor(one, like), result)
            if made:
                result = aligned(result, made[0])
                require_same("cond: result", made[0], result, function)
            made.append(result)
            return _apart(result, level)

        return wrapper

    primals, tangents = [one for one, _ in pairs], [pairs[i][1] for i in moving]
    taken = split(pred, level)[0]
    found = cond(taken, on_pairs(true_fn), on_pairs(false_fn), primals, tangents)
    return _together(made[0], found, level)


def lifted(tree: object, like: Any) -> Any:
    """A tree with tracers of the kind, and of the level, of one that is given."""
    level = like._level

    def tracer(leaf: object) -> Any:
        one = settled(_tensor(leaf, like))
        if isinstance(like, Batched):
            return Batched(level, batch_of(one, level))
        if split(one, level)[1] is not None or not is_inexact(np.dtype(one.dtype)):
            return one
        return Dual(level, one, zeros_of(one))

    return mapped(tracer, tree)


def _tensor(leaf: Any, like: Any) -> Any:
    """A leaf as a tensor; a float in the dtype of another one, if that is one of floats."""
    if isinstance(leaf, Tensor):
        return leaf
    floats = type(leaf) is float and is_inexact(np.dtype(like.dtype))
    return like._constant(np.asarray(leaf, np.dtype(like.dtype) if floats else None))


def _holds_captured(x: Any) -> bool:
    """Whether a leaf is what is captured, or a tracer of it."""
    while isinstance(x, Tracer) and not isinstance(x, Handle):
        x = x._held
    return isinstance(x, Handle)


provided.while_of_tracers.provide(while_of_tracers)
provided.lifted.provide(lifted)
provided.scan_of_tracers.provide(scan_of_tracers)
provided.cond_of_tracers.provide(cond_of_tracers)
