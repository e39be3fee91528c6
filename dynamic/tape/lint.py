"""Lint of reverse passes: slips that cannot be meant, told at the user's line.

`backward()` asks for it where something waits (`dynamic.tape.noted`), or where the loss is inf or
nan; so a pass that nothing is noted of takes as long as without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import LintError, LintWarning
from staticgraph.dynamic.core import eager_ops
from staticgraph.dynamic.core.lint_level import MOST_PLACES, lost, state
from staticgraph.dynamic.core.places import Place, line_of, user_place
from staticgraph.dynamic.tape import anomaly
from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad
from staticgraph.dynamic.tape.lint_losses import slips_of_loss
from staticgraph.dynamic.tape.noted import (
    NewOptimizer,
    Notes,
    allowing_lost,
    flat,
    lost_notes,
    optimizers,
    promoted,
    waiting,
)
from staticgraph.dynamic.tape.tape import Node

LOOKED_AT = (1, 2, 4, 8)
"""The passes after an optimizer was made in which its parameters are looked at."""

_told: set[tuple[str, str]] = set()
_harmless: set[Place] = set()


class _Loss:
    """Whether the last loss that was looked at was inf or nan."""

    was_lost = False


def tell(rule: str, line: str, message: str) -> None:
    """Warn once of a finding at a `file:line`; LintError with the level "error"."""
    if (rule, line) in _told:
        return
    _told.add((rule, line))
    text = f"{message} [{rule}]"
    if state.level == "error":
        raise LintError(f"{text} ({line})")
    file, _, number = line.rpartition(":")
    warnings.warn_explicit(text, LintWarning, file, int(number))


def look(root: object, value: float) -> None:
    """Look at the graph that a reverse pass is about to go through.

    Args:
        root: the node of the loss.
        value: of the loss.
    """
    if state.level == "off":
        return
    if value - value:  # inf or nan
        if not _Loss.was_lost and not allowing_lost.depth:
            _Loss.was_lost = True
            _lost_loss(root, value)
        if _Loss not in waiting:
            waiting.append(_Loss)  # to see when it is finite again
    else:
        _Loss.was_lost = False
        lost_notes.clear()
        if len(_harmless) >= MOST_PLACES:
            _harmless.clear()
        _harmless.update(lost)
    lost.clear()
    if not waiting:
        return
    asked, waiting[:] = waiting[:], [_Loss] if _Loss.was_lost else []
    walk: _Walk | None = None
    for one in asked:
        if isinstance(one, Notes):
            walk = walk or _Walk(root)
            (_zero_gradients if one is flat else _wide_loss)(walk)
            one.found.clear()
            continue
        if not isinstance(one, NewOptimizer):
            continue
        one.passes += 1
        if one.passes in LOOKED_AT:
            walk = walk or _Walk(root)
            advises = state.level in ("warn", "error")
            for rule, message in slips_of_loss(root, walk.nodes, walk.leaves, advises):
                tell(rule, line_of(user_place()), message)
            _never_updated(walk.leaves, partial(_weights_of, nodes=walk.nodes), one)
            if advises:
                _left_out(walk, one)
        if one.passes < LOOKED_AT[-1] and one.optimizer() is not None:
            waiting.append(one)


class _Walk:
    """A graph: its nodes, those that gradients reach, and its leaves.

    Attributes:
        root: the node of the loss.
        nodes: all nodes.
        leaves: those of leaves that are alive.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        self.nodes = set(_reached(root, through=lambda node: True))
        self.leaves = [
            one for one in self.nodes if isinstance(one, AccumulateGrad) and one.leaf() is not None
        ]


def _reached(root: Any, through: Any) -> Iterator[Any]:
    """The nodes that some root depends on by way of nodes that `through` is true of."""
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop()
        yield node
        if through(node):
            more = [one for one in node.edges if one is not None and one not in seen]
            seen.update(more)
            stack += more


def _lost_loss(root: object, value: float) -> None:
    """The loss is inf or nan: where that came from, as far as it is known."""
    line, what = _origin_of(root)
    if anomaly.state.enabled:
        lost_notes[:] = [f"the loss is {value}: {line}: {what}"]
        return
    tell(
        "loss_not_finite",
        line,
        f"the loss of which backward() is called at {line_of(user_place())} is {value}: {what}; "
        "autograd.set_detect_anomaly(True) stops at the first nan of a reverse pass",
    )


def _origin_of(root: Any) -> tuple[str, str]:
    """The line to blame for a loss that is inf or nan, and what happened there."""
    explained = getattr(root, "lost_at", None)
    found: tuple[str, str] | None = None if explained is None else explained()
    if found is not None:
        return found
    fresh = [place for place in lost if place not in _harmless] or list(lost)
    if fresh:
        others = "".join(f", then at {line_of(one)}" for one in fresh[1:3])
        return line_of(fresh[0]), f"{lost[fresh[0]]}{others}"
    shapes = [
        str(list(tensor.shape))
        for tensor in (one.leaf() for one in _Walk(root).leaves)
        if tensor is not None and _is_lost(tensor)
    ]
    if shapes:
        return line_of(user_place()), f"so are parameters of shape {' and '.join(shapes[:3])}"
    return line_of(user_place()), "its gradients will be nan"


def _is_lost(tensor: Any) -> bool:
    total = float(tensor._array.sum())
    return bool(total - total)


def _zero_gradients(walk: _Walk) -> None:
    """Leaves to which gradients flow only through ops that make them 0: rounding, sign."""
    reached = set(_reached(walk.root, through=lambda node: not _is_flat(node)))
    dead = [one for one in walk.leaves if one not in reached]
    if not dead:
        return
    for place, (name, reference) in flat.found.items():
        node = reference()
        if node is None or node not in reached:
            continue
        behind = set(_reached(node, through=lambda one: True))
        shapes = [str(list(one.shape)) for one in dead if one in behind]
        if shapes:
            tell(
                "zero_gradient",
                line_of(place),
                f"the gradient of the loss by a parameter of shape {' and '.join(shapes[:3])} is "
                f"zero everywhere: all ways lead through ops such as this {name}, which has none: "
                "write something smooth, or x + (round(x) - x).detach() for a rounding",
            )


def _is_flat(node: object) -> bool:
    """Whether a node hands on zeros, and nobody has hooked it to do something else."""
    return isinstance(node, Node) and node.hooks is None and node.recipe.flat


def _wide_loss(walk: _Walk) -> None:
    """A loss of float64 of which all leaves are float32, because an operand is float64."""
    if walk.root.dtype != "float64" or any(one.dtype == "float64" for one in walk.leaves):
        return
    for place, (what, reference) in promoted.found.items():
        if reference() in walk.nodes:
            tell("float64_loss", line_of(place), wide_message(what))


def wide_message(what: str) -> str:
    """What to do about a float32 value that becomes float64."""
    return (
        f"{what}, and so does all that follows: cast the float64 one with .float(), or "
        "make it of a float32 array"
    )


def look_at_step(
    operands: Sequence[Any], reached: Sequence[int], biases: Mapping[int, Sequence[int]]
) -> None:
    """Look at a captured reverse pass, whose gradients are about to be accumulated.

    Args:
        operands: of the function.
        reached: those that get gradients, beside what they have.
        biases: those that are only added to products with others, each with these.
    """
    if state.level == "off":
        return
    leaves = [one for one in (operands[i]._node for i in reached) if type(one) is AccumulateGrad]
    weights = {
        operands[bias]._node: [operands[i]._node for i in factors if hasattr(operands[i], "_node")]
        for bias, factors in biases.items()
        if bias in reached
    }
    for one in list(waiting):
        if not isinstance(one, NewOptimizer):
            continue
        one.passes += 1
        if one.passes in LOOKED_AT:
            _never_updated(leaves, lambda leaf: weights.get(leaf, ()), one)
        if one.passes >= LOOKED_AT[-1] or one.optimizer() is None:
            waiting.remove(one)


def _never_updated(
    leaves: Iterable[Any], weights_of: Callable[[Any], Iterable[Any]], new: NewOptimizer
) -> None:
    """A bias that is 0, gets gradients, and that no optimizer has, unlike the weights before it.

    Advice: of this optimizer's own, those that get no gradient, unlike others.
    """
    made = new.optimizer()
    if made is None:
        return
    leaves = list(leaves)
    if state.level in ("warn", "error"):
        _without_gradient(made, leaves, line_of(new.place))
    owned = _owned(optimizers)
    own = _owned([made])
    zeros = [one for one in leaves if _is_free_zero(one, owned)]
    before, new.versions = new.versions, {one: _version_of(one) for one in zeros}
    for leaf in zeros:
        if leaf.grad is None or before.get(leaf) != _version_of(leaf):
            continue
        for weight in weights_of(leaf):
            tensor = weight.leaf() if isinstance(weight, AccumulateGrad) else None
            if tensor is not None and id(tensor) in own and tensor._counter[0] > 0:
                tell(
                    "never_updated",
                    line_of(new.place),
                    f"a parameter of shape {list(leaf.shape)} that is 0 is added to a product with "
                    f"one of shape {list(weight.shape)}, which this optimizer updates; it gets "
                    "gradients and is in no optimizer: it stays 0: give it to the optimizer, or "
                    "set its requires_grad to False",
                )
                break


def _without_gradient(made: Any, leaves: Iterable[Any], line: str) -> None:
    """Advise of parameters of an optimizer that no gradient has ever reached, unlike others."""
    own = [one for group in made.param_groups for one in group["params"] if one.requires_grad]
    reached = {id(one.leaf()) for one in leaves}
    dead = [one for one in own if id(one) not in reached and one.grad is None]
    if dead and len(dead) < len(own):
        shapes = " and ".join([str(list(one.shape)) for one in dead][:3])
        tell(
            "no_gradient",
            line,
            f"no gradient reaches parameters of shape {shapes} of this optimizer: is there a "
            "detach() or no_grad() after them, or does the loss not depend on them?",
        )


def _left_out(walk: _Walk, new: NewOptimizer) -> None:
    """Advise of layers between others that an optimizer updates, and that no optimizer has.

    What is below or above all that it updates may be meant to stay, as the body of a model of which
    the head alone is trained.
    """
    made = new.optimizer()
    if made is None:
        return
    owned, own = _owned(optimizers), _owned([made])
    now = {one: int(x._counter[0]) for one in walk.leaves if (x := one.leaf()) is not None}
    before, new.counts = new.counts, now
    same = {one for one, count in now.items() if before.get(one) == count}
    free = [one for one in same if id(one.leaf()) not in owned]
    trained = [one for one in now if id(one.leaf()) in own and one not in same]
    users = _users(walk.nodes)
    above = _above(users, trained)
    found = [one for one in free if before and _is_between(users, one, above)]
    if found:
        shapes = " and ".join([str(list(one.shape)) for one in found][:3])
        tell(
            "not_in_optimizer",
            line_of(new.place),
            f"parameters of shape {shapes} get gradients and are in no optimizer, while this one "
            "updates others before and after them: they stay as they are: give them to the "
            "optimizer (modules in a Python list are not registered: write ModuleList), or set "
            "requires_grad to False",
        )


def _is_between(users: Mapping[Any, Sequence[Any]], leaf: Any, trained: Collection[Any]) -> bool:
    """Whether what a leaf is put together with, and what follows, depend on others `trained`."""
    node, first = leaf, None
    while first is None and node in users:
        node = users[node][0]
        first = node if sum(edge is not None for edge in node.edges) > 1 else None
    if first is None:
        return False
    mine = _above(users, [leaf])
    after = _above(users, [first]) - {first}
    return _meets(first, mine, trained) and any(_meets(node, mine, trained) for node in after)


def _meets(node: Any, mine: Collection[Any], trained: Collection[Any]) -> bool:
    return any(edge in trained and edge not in mine for edge in node.edges)


def _users(nodes: Collection[Any]) -> Mapping[Any, list[Any]]:
    """The nodes that read each node."""
    users: dict[Any, list[Any]] = {}
    for node in nodes:
        for edge in node.edges:
            users.setdefault(edge, []).append(node)
    return users


def _above(users: Mapping[Any, Sequence[Any]], leaves: Iterable[Any]) -> set[Any]:
    """The nodes that depend on some leaves, these among them."""
    found = set(leaves)
    stack = list(found)
    while stack:
        more = [one for one in users.get(stack.pop(), ()) if one not in found]
        found.update(more)
        stack += more
    return found


def _owned(made: Iterable[Any]) -> set[int]:
    """The ids of the parameters of optimizers."""
    return {id(one) for each in made for group in each.param_groups for one in group["params"]}


def _is_free_zero(leaf: Any, owned: Collection[int]) -> bool:
    """Whether a leaf is a vector of zeros that no optimizer has."""
    tensor = leaf.leaf()
    return id(tensor) not in owned and len(leaf.shape) == 1 and not tensor._array.any()


def _version_of(leaf: Any) -> int:
    """How often a leaf was overwritten."""
    cell = leaf.leaf()._cell
    return int(cell[0]) if isinstance(cell, list) else 0


_SUMS = (ops.add, ops.subtract, eager_ops.add_bias)
_VIEWS = ("broadcast_to", "expand_dims", "reshape", "squeeze", "transpose", "t", "swapaxes")


def _weights_of(leaf: Any, nodes: Collection[Any]) -> Iterator[Any]:
    """The leaves that are factors of the products to which a leaf is added."""
    for node in nodes:
        if leaf not in node.edges:
            continue
        biases = getattr(node, "biases", None)
        if biases is not None:
            for weight in biases().get(node.edges.index(leaf), ()):
                if isinstance(node.edges[weight], AccumulateGrad):
                    yield node.edges[weight]
        elif isinstance(node, Node) and node.recipe.op in _SUMS:
            for other in node.edges:
                if other is not leaf and other is not None and node.shape != leaf.shape:
                    yield from _factors(other)
        elif isinstance(node, Node) and len(node.edges) == 3:  # a layer with a bias
            yield from (one for one in node.edges[:2] if isinstance(one, AccumulateGrad))


def _factors(node: object) -> Iterator[Any]:
    """The leaves that are factors of a product, views between them left out."""
    if isinstance(node, Node) and node.recipe.op.linearity == "multilinear":
        for factor in node.edges:
            while isinstance(factor, Node) and factor.recipe.op.name in _VIEWS:
                factor = factor.edges[0]
            if isinstance(factor, AccumulateGrad):
                yield factor
    elif isinstance(node, Node) and node.recipe.op.name in _VIEWS:
        yield from _factors(node.edges[0])


def forget() -> None:
    """Forget what was noted and told."""
    waiting.clear()
    flat.forget()
    promoted.forget()
    lost.clear()
    _told.clear()
    _harmless.clear()
    _Loss.was_lost = False
