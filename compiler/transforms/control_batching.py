"""Loops and branches on batches: the bodies are batched, and the batch is their first axis."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from staticgraph.compiler import ops
from staticgraph.compiler.core.dims import Size
from staticgraph.compiler.core.types import TensorType
from staticgraph.compiler.graph.body import Body
from staticgraph.compiler.graph.evaluate import substitute
from staticgraph.compiler.graph.expression import Expression, construct
from staticgraph.compiler.graph.loop import Carry, OpenLoop, items_of, open_loop
from staticgraph.compiler.ops.batching import Example, full
from staticgraph.compiler.ops.programs import control
from staticgraph.compiler.transforms.control_gradients import stand_in

Batched: TypeAlias = (
    "Callable[[Sequence[Expression], Mapping[Expression, Expression], Size], list[Any]]"
)
"""`compiler.transforms.vectorize.batched`."""


def items_on_batches(
    node: Expression, examples: Sequence[Example], size: Size, batched: Batched
) -> list[Example] | None:
    """The items of a loop or a branch, some operands of which are batches; None without a rule."""
    if node.op is control.scan:
        return _scan(node, examples, size, batched)
    if node.op is control.cond:
        return _cond(node, examples, size, batched)
    if node.op is control.while_loop:
        return _while(node, examples, size, batched)
    return None


def _batch(inner: Expression, size: Size) -> Expression:
    """What stands in a body for a batch of a value."""
    return stand_in(TensorType((size, *inner.shape), inner.dtype), inner.name)


def _scan(
    node: Expression, examples: Sequence[Example], size: Size, batched: Batched
) -> list[Example]:
    loop = open_loop(node.operands, node.attrs)
    given = {one.serial: example for one, example in zip(loop.inputs, examples, strict=True)}
    batches = {inner: _batch(inner, size) for inner in loop.inputs if given[inner.serial].batched}
    outputs = _outputs(loop, batches, size, batched)
    count = len(loop.carries)
    carries = [
        Carry(
            batches[carry.inner],
            full(given[carry.inner.serial], size),
            _filled(carry.next, output, size),
        )
        if carry.inner in batches
        else carry
        for carry, output in zip(loop.carries, outputs[:count], strict=True)
    ]
    consts = [(batches.get(one, one), given[one.serial].tensor) for one, _ in loop.consts]
    xs = [(batches.get(one, one), _by_slice(given[one.serial])) for one, _ in loop.xs]
    ys = [y if new is None else new for y, new in zip(loop.ys, outputs[count:], strict=True)]
    items = OpenLoop(consts, carries, xs, ys, loop.length, loop.reverse).close()
    results = [
        Example(last, carry.inner in batches, carry.inner.ndim)
        for carry, last in zip(loop.carries, items[:count], strict=True)
    ]
    for y, new, stack in zip(loop.ys, outputs[count:], items[count:], strict=True):
        value = stack if new is None else ops.swapaxes(stack, 0, 1)
        results.append(Example(value, new is not None, y.ndim + 1))
    return _all_batched(results, size)


def _outputs(
    loop: OpenLoop, batches: dict[Expression, Expression], size: Size, batched: Batched
) -> list[Any]:
    """The outputs of the body on batches; a carry of which a step makes a batch becomes one."""
    while True:
        outputs = batched(loop.outputs, batches, size)
        more = [
            carry.inner
            for carry, output in zip(loop.carries, outputs, strict=False)
            if output is not None and carry.inner not in batches
        ]
        if not more:
            return outputs
        batches |= {inner: _batch(inner, size) for inner in more}


def _by_slice(example: Example) -> Any:
    """Stacks of slices with the axis of the slices first, and the batch second."""
    return ops.swapaxes(example.tensor, 0, 1) if example.batched else example.tensor


def _all_batched(results: Sequence[Example], size: Size) -> list[Example]:
    """The items as batches: one that is the same for all examples is of the new loop, too."""
    return [Example(full(one, size), True, one.ndim) for one in results]


def _cond(
    node: Expression, examples: Sequence[Example], size: Size, batched: Batched
) -> list[Example]:
    pred, *operands = examples
    bodies = [node.attrs[name].expressions() for name in ("on_true", "on_false")]
    if pred.batched:
        return _selected(pred.tensor, bodies, operands, size, batched)
    branches = []
    for inputs, outputs in bodies:
        pairs = zip(inputs, operands, strict=True)
        batches = {inner: _batch(inner, size) for inner, one in pairs if one.batched}
        taken = [batches.get(inner, inner) for inner in inputs]
        branches.append((taken, outputs, batched(outputs, batches, size)))
    results = range(len(branches[0][1]))
    is_batch = [any(new[i] is not None for *_, new in branches) for i in results]
    on_true, on_false = (
        Body.of(
            taken,
            [_filled(outputs[i], new[i], size) if is_batch[i] else outputs[i] for i in results],
        )
        for taken, outputs, new in branches
    )
    given = (pred.tensor, *(one.tensor for one in operands))
    made = construct(control.cond, given, {"on_true": on_true, "on_false": on_false})
    items = items_of(made, len(results))
    ranks = [output.ndim for output in branches[0][1]]
    return _all_batched([Example(*one) for one in zip(items, is_batch, ranks, strict=True)], size)


def _selected(
    pred: object, bodies: Sequence[Any], operands: Sequence[Example], size: Size, batched: Batched
) -> list[Example]:
    """Both branches for all examples, and of each example the one that its predicate chooses."""
    filled = []
    for inputs, outputs in bodies:
        pairs = list(zip(inputs, operands, strict=True))
        batches = {inner: one.tensor for inner, one in pairs if one.batched}
        same = {inner.serial: inner if inner in batches else one.tensor for inner, one in pairs}
        alone = substitute(outputs, same)
        new = batched(alone, batches, size)
        filled.append([_filled(*pair, size) for pair in zip(alone, new, strict=True)])
    results = []
    for on_true, on_false in zip(*filled, strict=True):
        ndim = on_true.ndim - 1
        mask = ops.reshape(pred, (size, *(1,) * ndim))
        results.append(Example(ops.where(mask, on_true, on_false), True, ndim))
    return results


def _filled(output: Expression, batch: object, size: Size) -> Any:
    """All examples of an output, which may be the same for all."""
    return full(Example(output, False, output.ndim), size) if batch is None else batch


def _while(
    node: Expression, examples: Sequence[Example], size: Size, batched: Batched
) -> list[Example]:
    """As long as the condition holds for any example; the others keep what they have."""
    consts = node.attrs["consts"]
    test, body = (node.attrs[name].expressions() for name in ("test", "body"))
    places = {i for i, one in enumerate(examples) if one.batched}
    while True:
        asked, (answer,) = _on_batches(test, places, size, batched)
        inputs, outputs = _on_batches(body, places, size, batched)
        more = {consts + i for i, one in enumerate(outputs) if one is not None}
        if answer is not None:
            more |= set(range(consts, len(examples)))
        if more <= places:
            break
        places |= more
    following = [
        _filled(*pair, size) if consts + i in places else pair[0]
        for i, pair in enumerate(zip(body[1], outputs, strict=True))
    ]
    tested = test[1][0] if answer is None else ops.any(answer)
    if answer is not None:
        values = dict(zip([one.serial for one in test[0]], body[0], strict=True))
        again = substitute(test[1], values)
        pairs = zip(body[0], inputs, strict=True)
        (holds,) = batched(again, {one: whole for one, whole in pairs if whole is not one}, size)
        following = [
            ops.where(ops.reshape(holds, (size, *(1,) * (new.ndim - 1))), new, old)
            for new, old in zip(following, inputs[consts:], strict=True)
        ]
    attrs = {"test": Body.of(asked, [tested]), "body": Body.of(inputs, following), "consts": consts}
    operands = [
        full(one, size) if i in places and i >= consts else one.tensor
        for i, one in enumerate(examples)
    ]
    made = construct(control.while_loop, tuple(operands), attrs)
    results = [
        Example(one, consts + i in places, examples[consts + i].ndim)
        for i, one in enumerate(items_of(made, len(following)))
    ]
    return _all_batched(results, size)


def _on_batches(
    body: Any, places: Collection[int], size: Size, batched: Batched
) -> tuple[list[Expression], list[Any]]:
    """The inputs of a body with batches at some places, and its outputs on them, None for one that
    is the same for all examples.
    """
    inputs, outputs = body
    batches = {inputs[i]: _batch(inputs[i], size) for i in sorted(places)}
    return [batches.get(one, one) for one in inputs], batched(outputs, batches, size)
