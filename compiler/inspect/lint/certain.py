"""Rules whose findings are slips wherever they are found: every compile looks for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.core import fork
from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_float
from staticgraph.compiler.core.source import place_of
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.losses import LOGITS, are_crossed, logits_message
from staticgraph.compiler.graph.notes import ConstantLoss, Promoted, Sibling, ZeroGradient
from staticgraph.compiler.inspect.lint import losses  # noqa: F401 - declares rules
from staticgraph.compiler.inspect.lint.rules import (
    RULES,
    Linted,
    Table,
    certain,
    certain_of_all,
    described,
    is_gradient,
)
from staticgraph.compiler.ops import astype, leaves


@certain("softmax", "log_softmax")
def softmax_over_batch(linted: Linted, node: Node) -> str | None:
    """Probabilities over the batch of what is then taken as probabilities of classes."""
    known = normalises_rows(node) and has_rows_of_argument(linted, linted.operand(node, 0))
    if is_gradient(node) or not (known or normalises_batch(node)):
        return None
    if not are_classes(linted, node):
        return None
    return (
        f"{node.op.name} over axis 0, the batch{'' if known else ' of unknown size'}, of "
        f"{described(linted.operand(node, 0))}, whose last "
        f"axis is then read as classes: each column sums to 1 instead of each row: write axis=-1"
    )


def normalises_batch(node: Node) -> bool:
    """Whether a softmax is over a first axis of unknown size, and not the last one."""
    shape = node.type.shape
    return (
        len(shape) > 1
        and node.attrs["axis"] % len(shape) == 0
        and isinstance(shape[0], Dim)
        and shape[-1] not in (1, shape[0])
    )


def normalises_rows(node: Node) -> bool:
    """Whether a softmax is over a first axis of known size, and not the last one."""
    shape = node.type.shape
    return (
        len(shape) > 1
        and node.attrs["axis"] % len(shape) == 0
        and not isinstance(shape[0], Dim)
        and not isinstance(shape[-1], Dim)
        and shape[-1] not in (1, shape[0])
    )


def has_rows_of_argument(linted: Linted, node: Node) -> bool:
    """Whether axis 0 is that of an argument, and the last one of what is the same in each call."""
    is_product = False
    while node.operands:
        if node.op.name == "matmul":
            weight = linted.operand(node, 1)
            if any(one in linted.arguments for one in _below(linted, weight.id)):
                return False
            is_product = True
            node = linted.operand(node, 0)
        elif node.op.elementwise:
            rows = node.type.shape
            same = [one for one in node.operands if linted.nodes[one].type.shape == rows]
            if not same:
                return False
            node = linted.nodes[same[0]]
        else:
            return False
    return is_product and node.id in linted.arguments


def _below(linted: Linted, start: int) -> set[int]:
    """A node and all that it depends on."""
    stack, seen = [start], {start}
    while stack:
        more = [one for one in linted.nodes[stack.pop()].operands if one not in seen]
        seen.update(more)
        stack += more
    return seen


def are_classes(linted: Linted, softmax: Node, by_places: bool = False) -> bool:
    """Whether the last axis is looked up, searched for the largest, or summed as a likelihood.

    `by_places`: also if as many elements as there are rows are looked up by their places among all.
    """
    last = len(softmax.type.shape) - 1
    logs = {softmax.id} if softmax.op.name == "log_softmax" else set[int]()
    stack, seen = [softmax], {softmax.id}
    while stack:
        node = stack.pop()
        for reader in linted.readers(node):
            if is_gradient(reader) or reader.id in seen:
                continue
            name, attrs = reader.op.name, reader.attrs
            if name == "take_along_axis" and attrs["axis"] == last:
                return reader.operands[0] == node.id and _is_fed(linted, reader.operands[1])
            likelihood = name in ("sum", "mean") and node.id in logs
            if (name == "argmax" or likelihood) and attrs["axes"] == (last,):
                return True
            if name == "multiply" and node.id in logs and _is_one_hot(linted, reader):
                return True
            if name == "reshape" and _is_picked_from(linted, node, reader, by_places):
                return True
            if reader.op.elementwise and len(reader.type.shape) == last + 1:
                seen.add(reader.id)
                stack.append(reader)
                if name == "log" or node.id in logs:
                    logs.add(reader.id)
    return False


def _is_picked_from(linted: Linted, rows: Node, flat: Node, by_places: bool) -> bool:
    """Whether `rows[i, y]`, an index of the elements in a row, picks a class y of each i."""
    if len(rows.type.shape) != 2 or len(flat.type.shape) != 1:
        return False
    classes = rows.type.shape[-1]
    for reader in linted.readers(flat):
        if reader.op.name == "take" and reader.operands[0] == flat.id:
            index = linted.operand(reader, 1)
            while index.op.name in ("reshape", "expand_dims", "astype"):
                index = linted.operand(index, 0)
            if by_places and index.op is leaves.placeholder:
                return index.type.shape == rows.type.shape[:1]
            sides = index.operands if index.op.name == "add" else ()
            fed = [one for one in sides if _is_fed(linted, one)]
            if len(sides) == 2 and len(fed) == 1 and _counts_to(linted, fed[0], classes):
                return True
    return False


def _counts_to(linted: Linted, index: int, size: object) -> bool:
    """Whether an index is one into an axis of this size: it is taken of its places."""
    return any(
        linted.nodes[one].op.name == "iota" and linted.nodes[one].attrs["size"] == size
        for one in _below(linted, index)
    )


def _is_fed(linted: Linted, wanted: int) -> bool:
    """Whether a value, such as the classes of examples, depends on an input or a variable."""
    fed = (leaves.placeholder, leaves.variable)
    return any(linted.nodes[one].op in fed for one in _below(linted, wanted))


def _is_one_hot(linted: Linted, product: Node) -> bool:
    """Whether a factor of a product is one-hot."""
    for position in (0, 1):
        factor = linted.operand(product, position)
        while factor.op.name == "astype":
            factor = linted.operand(factor, 0)
        if factor.op.name == "one_hot":
            return True
    return False


@certain("floor_divide", "remainder", "fmod")
def integer_division_by_zero(linted: Linted, node: Node) -> str | None:
    """Integers divided by a constant that is, or has, 0: the result there is 0, and no error."""
    if node.type.dtype.kind not in "iu" or 0 in node.type.shape:
        return None
    divisor = linted.constant(linted.operand(node, 1))
    if divisor is None or not divisor.size or divisor.all():
        return None
    what = "0" if divisor.size == 1 else f"{int((divisor == 0).sum())} zeros of {divisor.size}"
    return (
        f"{node.op.name} of {described(linted.operand(node, 0))} by the constant {what} gives 0 "
        "there, as in NumPy, and no error: divide by what is not 0, or choose with where"
    )


@certain("take", "take_along_axis")
def index_out_of_range(linted: Linted, node: Node) -> str | None:
    """A constant index that points outside its axis: every call would raise."""
    index = linted.constant(linted.operand(node, 1))
    whole = linted.operand(node, 0)
    size = whole.type.shape[node.attrs["axis"]]
    if index is None or isinstance(size, Dim) or not index.size:
        return None
    for value in (int(index.max()), int(index.min())):
        if not -size <= value < size:
            return (
                f"{node.op.name}: the constant index {value} is out of range for axis "
                f"{node.attrs['axis']} of size {size}, of {described(whole)}: every call raises: "
                f"write indices from {-size} to {size - 1}"
            )
    return None


@certain_of_all
def zero_gradient(linted: Linted) -> Iterator[tuple[str, str]]:
    """A gradient that flows only through ops that hand none on: rounding, comparisons, casts."""
    for one, what in linted.notes:
        if isinstance(what, ZeroGradient) and not is_stopped(what):
            yield (
                f"the gradient of {what.output} by {what.target} is zero everywhere: all ways "
                f"lead through {' and '.join(what.blocks[:3])}, which has none: leave it out of "
                "the gradients, or write something smooth (sigmoid for a comparison, "
                "x + stop_gradient(round(x) - x) for a rounding)",
                place_of(one.source),
            )


def is_stopped(what: ZeroGradient) -> bool:
    """Whether a gradient is zero because of `stop_gradient` alone, for what nobody named."""
    return what.implied and all(block.startswith("stop_gradient ") for block in what.blocks)


@certain_of_all
def float64_by_constant(linted: Linted) -> Iterator[tuple[str, str]]:
    """A graph of float32 in which a float64 constant makes an output float64."""
    found = [(one, what) for one, what in linted.notes if isinstance(what, Promoted)]
    if found and becomes_float64(linted):
        for one, what in found:
            if what.is_constant:
                yield float64_message(what), place_of(one.source)


def float64_message(what: Promoted) -> str:
    """What to do about a float32 value that becomes float64."""
    instead = "give it as a Python number, or cast it" if what.is_constant else "cast it"
    return (
        f"{what.op}: {what.value} becomes float64 because of {what.other}, in a graph of float32, "
        f"and so does all that follows: {instead} with astype('float32')"
    )


def becomes_float64(linted: Linted) -> bool:
    """Whether an output is float64, and no input and no variable is."""
    fed = (node for node in linted.nodes if node.op in (leaves.placeholder, leaves.variable))
    given = (linted.nodes[output] for output in linted.definition.outputs)
    return any(map(_is_float64, given)) and not any(map(_is_float64, fed))


def _is_float64(node: Node) -> bool:
    return getattr(node.type, "dtype", None) == np.float64


@certain_of_all
def float64_around(linted: Linted) -> Iterator[tuple[str, str]]:
    """A float64 tensor around a captured function of float32, which makes its result float64."""
    captured = linted.captured
    if captured is None or any(_is_float64(linted.nodes[one]) for one in linted.arguments):
        return
    results = linted.definition.outputs[: captured.results]
    if not any(_is_float64(linted.nodes[one]) for one in results):
        return
    for node in linted.nodes:
        if node.op is not astype or not _is_float64(node) or is_gradient(node):
            continue
        value = linted.operand(node, 0)
        if value.type.dtype != np.float32:
            continue
        for reader in linted.readers(node):
            for other in (linted.nodes[one] for one in reader.operands):
                if _is_around(linted, other) and other.id not in captured.written:
                    yield (
                        f"{reader.op.name}: {described(value)} becomes float64 because of "
                        f"{described(other)} around the captured function, and so does what "
                        "follows: cast it with .float()",
                        place_of(reader.source),
                    )


def _is_around(linted: Linted, node: Node) -> bool:
    """Whether a node is a float64 tensor that exists outside of the function."""
    return (
        node.op is leaves.placeholder
        and node.id not in linted.arguments
        and _is_float64(node)
        and bool(node.type.shape)
    )


@certain_of_all
def gradient_not_used(linted: Linted) -> Iterator[tuple[str, str]]:
    """A variable whose gradient was taken with those of others, which are updated: it is not."""
    for target, used in _forgotten(linted):
        yield (
            f"{described(target)} is never updated: its gradient was taken together with "
            f"that of {described(used)}, which is updated, and is not used: add it to "
            "the updates, or take no gradient by it",
            target.source,
        )


def _forgotten(linted: Linted) -> Iterator[tuple[Expression, Expression]]:
    """Variables whose gradients are not used, each with one whose gradient is."""
    updated = {linted.nodes[variable].attrs["key"] for variable, _ in linted.definition.updates}
    for _, what in linted.notes:
        if not isinstance(what, Sibling) or not updated:
            continue
        targets: Any = what.targets
        used = [
            target
            for serial, target in zip(what.serials, targets, strict=True)
            if serial in linted.expressions and target.attrs["key"] in updated
        ]
        for serial, target in zip(what.serials, targets, strict=True):
            if used and serial not in linted.expressions and _is_forgotten(target, updated):
                yield target, used[0]


@certain_of_all
def bias_never_updated(linted: Linted) -> Iterator[tuple[str, str]]:
    """A bias that is 0 everywhere and stays so, in a graph that trains other variables."""
    for node in _zero_biases(linted):
        updated = min(variable for variable, _ in linted.definition.updates)
        yield (
            f"{described(node)} is 0 everywhere, is added, and never updated, although "
            f"{described(linted.nodes[updated])} is updated: it stays 0: give it to "
            "minimize, or to the updates",
            node.source,
        )


def _zero_biases(linted: Linted) -> Iterator[Node]:
    """Biases that stay 0 in a graph that trains other variables, not told of as forgotten."""
    updates = linted.definition.updates
    if not any(trains(linted, new) for _, new in updates):
        return
    known = {variable for variable, _ in updates}
    forgotten = {target.attrs["key"] for target, _ in _forgotten(linted)}
    for node in linted.nodes:
        if node.op is leaves.variable and node.id not in known and _is_bias(linted, node):
            state = node.attrs["key"]
            if not state.changes and not state.array.any() and state not in forgotten:
                yield node


def slips_of_variables(linted: Linted) -> set[object]:
    """The variables that a certain rule tells of because nothing updates them."""
    forgotten = {target.attrs["key"] for target, _ in _forgotten(linted)}
    return forgotten | {node.attrs["key"] for node in _zero_biases(linted)}


def trains(linted: Linted, new: int) -> bool:
    """Whether the next value of a variable is made of a gradient."""
    stack, seen = [new], {new}
    while stack:
        node = linted.nodes[stack.pop()]
        if is_gradient(node):
            return True
        more = [one for one in node.operands if one not in seen]
        seen.update(more)
        stack += more
    return False


def _is_bias(linted: Linted, node: Node) -> bool:
    """Whether a variable of floats with one axis is broadcast to be added, and only that."""
    readers = [one for one in linted.readers(node) if not is_gradient(one)]
    return (
        is_float(node.type.dtype)
        and len(node.type.shape) == 1
        and bool(readers)
        and all(one.op.name == "add" and one.type.shape != node.type.shape for one in readers)
    )


def _is_forgotten(target: Expression, updated: set[object]) -> bool:
    state = target.attrs["key"]
    return state not in updated and not state.changes


@certain(*LOGITS)
def probabilities_as_logits(linted: Linted, node: Node) -> str | None:
    """A loss that applies softmax, or sigmoid, to what has been through it."""
    if is_gradient(node):
        return None
    made = linted.operand(node, 0)
    while made.op.name == "astype":
        made = linted.operand(made, 0)
    if made.op.name not in LOGITS[node.op.name]:
        return None
    of = linted.operand(made, 0)
    if node.op.name != "binary_cross_entropy_with_logits":
        ndim = len(made.type.shape)
        classes = node.attrs["axis"] if "axis" in node.attrs else min(1, ndim - 1)
        if made.attrs["axis"] % ndim != classes % ndim:
            return None
    return logits_message(node.op.name, f"{made.op.name} at {place_of(made.source)}", described(of))


@certain("mse_loss", "binary_cross_entropy_with_logits")
def all_pairs(linted: Linted, node: Node) -> str | None:
    """A loss of (n, 1) and (n,): by broadcasting each element meets each target."""
    if is_gradient(node) or linted.captured is not None:
        return None  # what is captured of tensors says so as it does eagerly
    first, second = (linted.operand(node, i).type.shape for i in (0, 1))
    if not are_crossed(first, second):
        return None
    return (
        f"{node.op.name} of {described(linted.operand(node, 0))} and "
        f"{described(linted.operand(node, 1))} compares each element with each target, by "
        "broadcasting: give both the same shape: x[:, 0], or target[:, None]"
    )


@certain_of_all
def constant_loss(linted: Linted) -> Iterator[tuple[str, str]]:
    """A loss that is minimized, and is the same for all parameters."""
    captured = linted.captured
    if not (linted.definition.updates or (captured is not None and captured.stepped)):
        return
    for one, what in linted.notes:
        if isinstance(what, ConstantLoss):
            yield (
                f"the loss, {what.output}, is the same for all parameters: all ways lead through "
                f"{' and '.join(what.blocks[:3])}, which is always the same: every gradient is "
                "zero, and nothing is learnt",
                place_of(one.source),
            )


@certain_of_all
def frozen_branch(linted: Linted) -> Iterator[tuple[str, str]]:
    """A Python `if` on a variable's value, of which the graph has one side for good."""
    if not linted.reads:
        return
    with fork.importing():
        from staticgraph.compiler.inspect.lint.branches import branches_at

    for (file, line), label in linted.reads.items():
        for kind, first, last in branches_at(file, line):
            compiles = linted.line.startswith(f"{file}:") and first <= _line(linted.line) <= last
            if not compiles and _has_nodes(linted, file, first, last):
                yield (
                    f"{kind} on the value of {label} was decided once, when the graph was defined: "
                    "later values change nothing: write sg.cond or sg.where on the variable itself",
                    f"{file}:{line}",
                )


def _line(place: str) -> int:
    return int(place.rpartition(":")[2])


def _has_nodes(linted: Linted, file: str, first: int, last: int) -> bool:
    start = f"{file}:"
    return any(
        node.source.startswith(start) and first <= _line(node.source) <= last
        for node in linted.nodes
        if node.operands
    )


CERTAIN = Table(rule for rule in RULES if rule.certain)
