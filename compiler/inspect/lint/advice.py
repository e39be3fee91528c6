"""Rules whose findings may be meant: `lint="warn"` looks for them too."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from staticgraph.compiler.core.dims import Dim
from staticgraph.compiler.core.dtypes import is_float, limits
from staticgraph.compiler.core.source import place_of
from staticgraph.compiler.graph.definition import Node
from staticgraph.compiler.graph.losses import are_crossed, relu_message
from staticgraph.compiler.graph.notes import Promoted, ZeroGradient
from staticgraph.compiler.inspect.lint.certain import (
    are_classes,
    becomes_float64,
    float64_message,
    is_stopped,
    normalises_batch,
    normalises_rows,
    slips_of_variables,
    softmax_over_batch,
    trains,
)
from staticgraph.compiler.inspect.lint.rules import (
    RULES,
    Linted,
    Table,
    advice,
    advice_of_all,
    described,
    is_gradient,
)
from staticgraph.compiler.ops import leaves


@advice("softmax", "log_softmax")
def softmax_over_first_axis(linted: Linted, node: Node) -> str | None:
    """A softmax over an axis of unknown size that comes first, as batches do."""
    if not normalises_batch(node) or is_gradient(node) or softmax_over_batch(linted, node):
        return None
    if isinstance(node.type.shape[-1], Dim):
        return None  # any of its axes may be the batch
    return (
        f"{node.op.name} over axis 0 of {described(node)}, of unknown size: if that is the batch, "
        "write axis=-1"
    )


@advice("softmax", "log_softmax")
def softmax_over_rows(linted: Linted, node: Node) -> str | None:
    """Probabilities over axis 0 of what is then taken as probabilities of classes, sizes known."""
    if not normalises_rows(node) or is_gradient(node) or softmax_over_batch(linted, node):
        return None
    if not are_classes(linted, node, by_places=True):
        return None
    return (
        f"{node.op.name} over axis 0 of {described(node)}, whose last axis is then read as "
        "classes: each column sums to 1 instead of each row: write axis=-1"
    )


_RESHAPED = ("broadcast_to", "expand_dims", "reshape", "squeeze", "transpose")
_WEIGHED = (*_RESHAPED, "strided_slice", "take", "take_along_axis", "multiply", "matmul", "sum")


@advice("divide")
def softmax_by_hand(linted: Linted, node: Node) -> str | None:
    """exp(x) / sum(exp(x)), or a part or weighted sum of it, which overflows where x is large."""
    total = _summed_exp(linted, linted.operand(node, 1))
    if total is None or is_gradient(node):
        return None
    exp = linted.operand(total, 0)
    if not _is_made_of(linted, linted.operand(node, 0), exp):
        return None
    return (
        f"divide: exp(x) / sum(exp(x)) of {described(linted.operand(exp, 0))} is inf / inf "
        f"where x is above {_largest(exp):.0f}: write sg.softmax(x, axis={total.attrs['axes'][0]})"
    )


@advice("log")
def logsumexp_by_hand(linted: Linted, node: Node) -> str | None:
    """log(sum(exp(x))), which overflows where x is large."""
    total = _summed_exp(linted, linted.operand(node, 0))
    if total is None or is_gradient(node):
        return None
    exp = linted.operand(total, 0)
    return (
        f"log: log(sum(exp(x))) of {described(linted.operand(exp, 0))} is inf where x is above "
        f"{_largest(exp):.0f}: write sg.logsumexp(x, axis={total.attrs['axes'][0]})"
    )


def _summed_exp(linted: Linted, node: Node) -> Node | None:
    """The sum of an exp of what may be large, also reshaped; None of anything else."""
    while node.op.name in _RESHAPED:
        node = linted.operand(node, 0)
    if node.op.name != "sum" or linted.operand(node, 0).op.name != "exp":
        return None
    return None if _is_bounded(linted, linted.operand(linted.operand(node, 0), 0)) else node


def _is_made_of(linted: Linted, node: Node, exp: Node) -> bool:
    """Whether a value is an exp, or a part or a weighted sum of it."""
    pending, seen = [node.id], set[int]()
    while pending:
        at = pending.pop()
        if at == exp.id:
            return True
        if at not in seen and linted.nodes[at].op.name in _WEIGHED:
            seen.add(at)
            pending += linted.nodes[at].operands
    return False


def _is_bounded(linted: Linted, node: Node) -> bool:
    """Whether a value is a difference, as from a maximum, or cannot be large."""
    if node.op.name == "negative":
        return linted.operand(node, 0).op.name in ("abs", "square", "relu", "softplus", "exp")
    return node.op.name in ("subtract", "minimum", "clamp", "log_softmax", "tanh", "sigmoid")


def _largest(exp: Node) -> float:
    """Above which argument an exp of its dtype is inf."""
    return float(np.log(limits(exp.type.dtype).max))


@advice("cross_entropy", "log_softmax")
def relu_before_softmax(linted: Linted, node: Node) -> str | None:
    """A loss that applies softmax to what has been through relu."""
    made = linted.operand(node, 0)
    while made.op.name == "astype":
        made = linted.operand(made, 0)
    if is_gradient(node) or made.op.name != "relu":
        return None
    return relu_message(node.op.name, f"{described(made)} at {place_of(made.source)}")


@advice("where")
def gradient_of_hidden_branch(linted: Linted, node: Node) -> str | None:
    """where(x > 0, log(x), 0): its value is fine, and its gradient nan where x is 0."""
    if is_gradient(node):
        return None
    for position in (1, 2):
        side = linted.operand(node, position)
        if side.op.name in ("log", "sqrt", "divide", "reciprocal", "power", "rsqrt"):
            of = place_of(side.source)
            name = f"gradient of {side.op.name} at {of}"
            if (
                side.op.name in ("divide", "power")
                and linted.constant(linted.operand(side, side.op.name == "divide")) is not None
            ):
                continue
            if any(one.source == name for one in linted.nodes):
                return (
                    f"where: the gradient goes through {described(side)} ({of}) also where it is "
                    "not chosen, and 0 * inf is nan: choose its operand first, "
                    f"{side.op.name}(where(mask, x, 1)), then the result"
                )
    return None


@advice("where", "cond")
def float_equality(linted: Linted, node: Node) -> str | None:
    """A choice by == of floats that were computed, which rounding decides."""
    test = linted.operand(node, 0)
    if test.op.name not in ("equal", "not_equal") or is_gradient(node):
        return None
    sides = [linted.operand(test, 0), linted.operand(test, 1)]
    if any(not is_float(one.type.dtype) or linted.constant(one) is not None for one in sides):
        return None
    return (
        f"{node.op.name}: {test.op.name} of the floats {described(sides[0])} and "
        f"{described(sides[1])} is decided by rounding: write abs(a - b) <= tolerance"
    )


@advice("divide")
def division_by_zero(linted: Linted, node: Node) -> str | None:
    """A division by a constant that is 0."""
    divisor = linted.constant(linted.operand(node, 1))
    if divisor is None or not divisor.size or divisor.all() or is_gradient(node):
        return None
    return (
        f"divide: {described(linted.operand(node, 0))} by a constant that is 0 is inf or nan: "
        "divide by what is not 0"
    )


@advice("subtract")
def all_pairs_by_hand(linted: Linted, node: Node) -> str | None:
    """(x - y)**2 of (n, 1) and (n,), averaged over all pairs."""
    sides = [linted.operand(node, 0), linted.operand(node, 1)]
    first, second = (one.type.shape for one in sides)
    if is_gradient(node) or not are_crossed(first, second) or not _is_averaged(linted, node):
        return None
    return (
        f"subtract: {described(sides[0])} and {described(sides[1])} give each pair of elements, "
        "by broadcasting, of which the mean is then taken: if each element has one target, give "
        "both the same shape: x[:, 0], or target[:, None]"
    )


def _is_averaged(linted: Linted, node: Node) -> bool:
    """Whether what is made of a difference, element by element, is its mean alone."""
    readers = [one for one in linted.readers(node) if not is_gradient(one)]
    while len(readers) == 1 and readers[0].op.name in ("square", "absolute", "abs", "power"):
        readers = [one for one in linted.readers(readers[0]) if not is_gradient(one)]
    return len(readers) == 1 and readers[0].op.name == "mean" and not readers[0].type.shape


@advice_of_all
def never_updated(linted: Linted) -> Iterator[tuple[str, str]]:
    """A variable of floats that a graph which trains others reads, and nothing changes."""
    updates = linted.definition.updates
    if not any(trains(linted, new) for _, new in updates):
        return
    updated = {variable for variable, _ in updates}
    first = described(linted.nodes[min(updated)])
    told = slips_of_variables(linted)
    for node in linted.nodes:
        if node.op is not leaves.variable or not is_float(node.type.dtype) or not node.type.ndim:
            continue
        state = node.attrs["key"]
        changes = node.id in updated or state.changes
        if not changes and state not in told and not _is_only_stopped(linted, node):
            yield (
                f"{described(node)} is read and never updated, although {first} is: add it to "
                "the updates; if it is to stay, write sg.constant, or sg.stop_gradient of it",
                node.source,
            )


def _is_only_stopped(linted: Linted, node: Node) -> bool:
    readers = linted.readers(node)
    return bool(readers) and all(one.op.name == "stop_gradient" for one in readers)


@advice_of_all
def stopped_gradient(linted: Linted) -> Iterator[tuple[str, str]]:
    """A variable that is minimized over, and stands behind stop_gradient alone."""
    for one, what in linted.notes:
        if isinstance(what, ZeroGradient) and is_stopped(what):
            yield (
                f"the gradient of {what.output} by {what.target} is zero: it flows only through "
                f"{what.blocks[0]}: name the parameters in minimize, without it",
                place_of(one.source),
            )


@advice_of_all
def float64_between(linted: Linted) -> Iterator[tuple[str, str]]:
    """A float32 value that becomes float64, by integers, or where no output shows it."""
    is_told = becomes_float64(linted)
    for one, what in linted.notes:
        if isinstance(what, Promoted) and not (what.is_constant and is_told):
            yield float64_message(what), place_of(one.source)


@advice_of_all
def output_without_inputs(linted: Linted) -> Iterator[tuple[str, str]]:
    """An output that is the same for all inputs and values of variables."""
    if not linted.definition.inputs:
        return
    varies: set[int] = set()
    for node in linted.nodes:
        fed = node.op in (leaves.placeholder, leaves.variable) or "size" in node.attrs
        if fed or any(one in varies for one in node.operands):
            varies.add(node.id)
    for place, one in enumerate(linted.definition.outputs):
        node = linted.nodes[one]
        is_made = node.operands and node.op.name != "broadcast_to" and not is_gradient(node)
        has_sizes = any(isinstance(size, Dim) for size in node.type.sizes)
        if is_made and one not in varies and not has_sizes:
            yield (
                f"output {place}, {described(node)}, depends on no input and no variable: it is "
                "the same in each call: compute it once, outside",
                place_of(node.source),
            )


@advice_of_all
def input_for_its_size(linted: Linted) -> Iterator[tuple[str, str]]:
    """An input of which nothing is read but its size."""
    roots = {*linted.definition.outputs, *(new for _, new in linted.definition.updates)}
    for one in linted.definition.inputs:
        node = linted.nodes[one]
        if not linted.readers(node) and one not in roots:
            yield (
                f"{described(node)}: no output depends on the values of this input, but for its "
                "size: if it was to be used, it is not",
                node.source,
            )


@advice_of_all
def not_in_optimizer(linted: Linted) -> Iterator[tuple[str, str]]:
    """A parameter that gets a gradient, and is in no optimizer that the function steps."""
    captured = linted.captured
    if captured is None or not captured.stepped:
        return
    for one in sorted(captured.reached - captured.stepped):
        node = linted.nodes[one]
        yield (
            f"{described(node)} gets a gradient in each call, and no optimizer that is stepped "
            "here has it: it is never updated: give it to the optimizer, or set "
            "requires_grad_(False)",
            _first_line(linted, node),
        )


@advice_of_all
def never_reached(linted: Linted) -> Iterator[tuple[str, str]]:
    """A parameter of an optimizer that is read, and that no gradient reaches."""
    captured = linted.captured
    if captured is None or not captured.reached:
        return
    for one in sorted(captured.stepped - captured.reached):
        node = linted.nodes[one]
        if linted.readers(node):
            yield (
                f"{described(node)} is a parameter of the optimizer and is read, and no gradient "
                "reaches it: all ways lead through detach, no_grad or what has no gradient: it is "
                "never updated",
                _first_line(linted, node),
            )


@advice_of_all
def result_without_arguments(linted: Linted) -> Iterator[tuple[str, str]]:
    """A result that depends on no argument, in a function that takes some."""
    captured = linted.captured
    if captured is None or not (captured.unused or linted.arguments):
        return
    varies: set[int] = set()
    for node in linted.nodes:
        sized = bool(linted.arguments) and "size" in node.attrs
        if sized or node.id in linted.arguments or any(one in varies for one in node.operands):
            varies.add(node.id)
    for place, one in enumerate(linted.definition.outputs[: captured.results]):
        node = linted.nodes[one]
        if node.operands and one not in varies:
            yield (
                f"result {place}, {described(node)}, does not depend on the arguments: it is the "
                "same for every batch",
                place_of(node.source),
            )


@advice_of_all
def argument_not_read(linted: Linted) -> Iterator[tuple[str, str]]:
    """An argument that nothing depends on, of a function that steps an optimizer."""
    captured = linted.captured
    if captured is not None and captured.stepped:
        for name, source in captured.unused:
            yield (
                f"argument {name!r} is not read by anything that the function gives or updates",
                place_of(source),
            )


def _first_line(linted: Linted, node: Node) -> str:
    readers = [one for one in linted.readers(node) if not is_gradient(one)]
    return place_of(readers[0].source) if readers else node.source


ALL = Table(RULES)
