"""Reverse passes inside a function that is captured: they become a part of its graph.

`backward()` and `autograd.grad` differentiate the expressions. A gradient that goes to a tensor
from outside is set, or accumulated, by a step after each call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.refusals import refuse, user_place
from staticgraph.compiler.core.watching import unwatched
from staticgraph.compiler.graph.biases import biases_of
from staticgraph.compiler.graph.definition import define
from staticgraph.compiler.graph.expression import Expression, Handle
from staticgraph.compiler.graph.losses import note_loss
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.transforms.autodiff import cotangents_of, depending_on
from staticgraph.compiler.transforms.custom_rules import FailingRule, with_rule
from staticgraph.compiler.transforms.zero_gradients import note_zeros
from staticgraph.dynamic.capture.effects import Backward, SetGrad
from staticgraph.dynamic.capture.hooked import Hooked
from staticgraph.dynamic.capture.questions import grad_state
from staticgraph.dynamic.core.errors import AutogradError, DeferredError
from staticgraph.dynamic.tape.grad_mode import record_if
from staticgraph.dynamic.tape.gradients import refuse_complex_output
from staticgraph.dynamic.tape.nodes import FREED
from staticgraph.dynamic.tensors.history import is_leaf


class _Grad:
    """The gradient that a tensor has since the function set it or made it None.

    Attributes:
        tensor: the tensor.
        value: a traced tensor, or None.
        before: whether it is the one of before the call, whose memory is changed.
        known: the value, and how often that had changed, when it was last made a step.
    """

    def __init__(self, tensor: Any, value: Any, before: bool = False) -> None:
        self.tensor, self.value, self.before = tensor, value, before
        self.known: tuple[Any, int] | None = None

    def state(self) -> tuple[Any, int]:
        """What tells whether it changed."""
        if self.value is not None:
            self.value._current()
        return self.value, 0 if self.value is None else self.value._stamp


class Gradients:
    """The gradients of the tensors of a function that is captured.

    Attributes:
        hooked: those that are looked at on their way.
        variables: what the functions that `func` differentiates, while they run, are
            differentiated by, by their serial numbers.
    """

    def __init__(self, capture: Any) -> None:
        self._capture = capture
        self.variables: set[int] = set()
        self.hooked = Hooked(capture)
        self._grads: dict[int, _Grad] = {}
        self._leaves: dict[int, Any] = {}
        self._freed: set[int] = set()
        self._added: dict[int, list[Any]] = {}

    def add_leaf(self, x: object, expression: Expression) -> None:
        """A tensor that was made inside requires grad: it has this expression of its own."""
        self._leaves[expression.serial] = x

    def of(self, x: Any) -> Any:
        """The gradient of a leaf; refused if it is one of before the call."""
        found = self._grads.get(id(x))
        if found is not None:
            return found.value
        if id(x) in self.hooked.grads:
            return self.hooked.grads[id(x)]
        place = self._capture.place_of(x)
        if place is not None:
            return self._before(x, place)
        if not any(one is x for one in self._leaves.values()):
            refuse(
                "reads the gradient of a tensor that is no leaf",
                "use autograd.grad, which returns gradients",
            )
        return None

    def _before(self, x: Any, place: int) -> Any:
        """The gradient that an operand has before the call, and what was added to it here.

        A pass that went on outside has added it there, too: nothing is set, unless it changes.
        """
        if not is_leaf(self._capture.tensor_at(place)):
            refuse(
                "reads the gradient of a tensor that is no leaf",
                "use autograd.grad, which returns gradients",
            )
        added = self._added.pop(place, [])
        if added:
            self._accumulates(place)
        before = self._capture.gradient(place)
        if before is None and not added:
            return None
        value = added.pop(0).clone() if before is None else before
        for one in added:
            value.becomes((value + one).expression)
        state = self._grads[id(x)] = _Grad(x, value, before is not None)
        state.known = state.state()
        return value

    def holder(self, value: Any) -> int | None:
        """The operand of which a tensor is the gradient, if it is one at the end."""
        for one in self._grads.values():
            if one.value is value:
                place: int | None = self._capture.place_of(one.tensor)
                return place
        return None

    def put(self, x: Any, value: Any) -> None:
        """A leaf gets a gradient, or None."""
        self._grads[id(x)] = _Grad(x, value)

    def is_leaf(self, serial: int) -> bool:
        """Whether an expression is that of a leaf made inside, or of a variable."""
        return serial in self._leaves or serial in self.variables

    @unwatched
    def requires(self, expression: Expression) -> bool:
        """Whether a value depends, for gradients, on a leaf."""
        if not is_inexact(expression.dtype):
            return False
        nodes = ancestors([expression])
        own = [node for node in nodes if self.is_leaf(node.serial)]
        if expression.serial in depending_on(nodes, own):
            return True
        found: bool = self._capture.outside_requires(expression)
        return found

    def pulled(
        self,
        outputs: Sequence[Any],
        targets: Sequence[Expression],
        seeds: Sequence[Any],
        keep: bool,
        create: bool,
    ) -> list[Expression | None]:
        """The cotangents of expressions; the graph is freed unless it is to `keep`.

        RuntimeError, PyTorch's, if it was freed before. `create`: whether hooks are recorded.
        """
        roots = [one.expression for one in outputs]
        nodes = ancestors(roots)
        needed = depending_on(nodes, targets) - {target.serial for target in targets}
        reached = _reached(roots, needed)
        read = {node.serial for node in reached if any(node.op.saves)}
        if read & self._freed:
            raise AutogradError(FREED)
        if not keep:
            self._freed |= read
        try:
            given = [one.expression for one in seeds]
            if not self.hooked:
                return unwatched(cotangents_of)(roots, targets, given)
            hooks = self.hooked.functions(create)
            return cotangents_of(roots, targets, given, hooks=hooks)
        except DeferredError as error:
            assert error.__cause__ is not None
            raise error.__cause__ from None

    def failing(self, value: Any, operands: Sequence[Any], error: Exception) -> Any:
        """A value whose derivatives by operands raise the error, of who asks for them."""
        lifted = map(self._capture.lifted, operands)
        given = [one.expression for one in lifted if isinstance(one, Handle)]
        floats = [one for one in given if is_inexact(one.dtype)]
        rule = FailingRule(DeferredError(), len(floats), error)
        return self._capture.made(with_rule(value.expression, floats, rule))

    def is_freed(self, expression: Expression) -> bool:
        """Whether a value has a graph of which a reverse pass has freed a part."""
        nodes = ancestors([expression])
        freed = [node for node in nodes if node.serial in self._freed]
        return bool(freed) and expression.serial in depending_on(nodes, freed)

    def backward(
        self, tensors: Sequence[Any], given: Any, retain: bool | None, create: bool, inputs: Any
    ) -> None:
        """`backward` of traced tensors."""
        run = self._backward if self.hooked.calls() else unwatched(self._backward)
        run(tensors, given, retain, create, inputs)

    def _backward(
        self, tensors: Sequence[Any], given: Any, retain: bool | None, create: bool, inputs: Any
    ) -> None:
        capture = self._capture
        if capture.body is not capture.top:
            refuse(
                "backward() in a branch, the body of a loop or one example of vmap",
                "call it outside of that, or use sg.grad",
            )
        seeds = _seeds(tensors, given)
        roots = [one.expression for one in tensors]
        wanted = self._targets(ancestors(roots), {root.serial for root in roots}, inputs)
        if not wanted and not any(one.requires_grad for one in tensors):
            raise AutogradError(
                "element 0 of tensors does not require grad and does not have a grad_fn"
            )
        keep = create if retain is None else retain
        found = self.pulled(tensors, [target for _, target in wanted], seeds, keep, create)
        if len(roots) == 1:
            by = [target for (_, target), g in zip(wanted, found, strict=True) if g is not None]
            results = [g for g in found if g is not None]
            note_zeros(roots[0], by, ancestors(roots), results, implied=True)
            note_loss(roots[0], results)
        before = record_if(create)
        pairs = []
        try:
            for (x, _), g in zip(wanted, found, strict=True):
                if g is None:
                    continue
                made = capture.made(g if create else ops.stop_gradient(g))
                state = self._grads.get(id(x))
                place = capture.place_of(x)
                if state is None and place is not None:
                    pairs.append((place, capture.output(made.expression)))
                    self._added.setdefault(place, []).append(made)
                    continue
                if place is not None:
                    made = self.hooked.of_leaf(place, made, create)
                if state is None or state.value is None:
                    self.put(x, made)
                elif state.before and not create:
                    state.value.add_(made)
                else:
                    self.put(x, state.value + made)
        finally:
            record_if(before)
        if pairs:
            biases = biases_of(define(capture.inputs, roots))
            capture.add(Backward(tuple(pairs), bool(keep), biases, user_place()))

    def _accumulates(self, place: int) -> None:
        """Refuse what hooks of a leaf do, which the pass outside calls too."""
        if grad_state(self._capture.tensor_at(place)) is None:
            refuse(
                "backward() reaches a tensor that has hooks",
                "remove them, or call backward() outside",
            )

    @unwatched
    def _targets(
        self, nodes: Sequence[Expression], roots: set[int], inputs: Any
    ) -> list[tuple[Any, Expression]]:
        """The leaves that a pass reaches, with their expressions."""
        if inputs is not None:
            listed = [inputs] if hasattr(inputs, "_array") else list(inputs)
            if not listed:
                raise AutogradError("`inputs` argument to `backward()` cannot be empty.")
            given = [self._capture.lifted(one) for one in listed]
            self.ask(given)
            return [(one, self.target(one)) for one in given]
        capture = self._capture
        found = [(x, node) for node in nodes if (x := self._leaves.get(node.serial)) is not None]
        for place, x, expression in capture.floating_operands(nodes):
            if depending_on(nodes, [expression]) & roots and capture.requires(place):
                found.append((x, expression))
        return [one for one in found if not capture.flagged.is_frozen(capture.place_of(one[0]))]

    def ask(self, given: Sequence[Any]) -> None:
        """Ask of operands that are differentiated by what each call must have in common."""
        for one in given:
            place = self._capture.place_of(one)
            if place is not None:
                self._capture.requires(place)

    def target(self, x: Any) -> Expression:
        """What is differentiated by where a tensor is meant."""
        place = self._capture.place_of(x)
        is_own = any(one is x for one in self._leaves.values())
        known = place is not None and not is_own
        found: Expression = self._capture.input_at(place) if known else x.expression
        for node in ancestors([found]):
            if self._leaves.get(node.serial) is x:
                return node
        return found

    def flush(self) -> None:
        """Make steps of the gradients that were set since the last time."""
        for one in self._grads.values():
            place = self._capture.place_of(one.tensor)
            state = one.state()
            if place is None or one.before or (one.known is not None and _same(one.known, state)):
                continue
            one.known = state
            result = None if one.value is None else self._capture.output(one.value.expression)
            self._capture.add(SetGrad(place, result))


def _reached(roots: Sequence[Expression], needed: set[int]) -> list[Expression]:
    """The nodes to which a reverse pass from some roots comes, among those that are needed."""
    found: dict[int, Expression] = {}
    rest = [*roots]
    while rest:
        node = rest.pop()
        if node.serial in needed and node.serial not in found:
            found[node.serial] = node
            rest += node.operands
    return [*found.values()]


def _same(one: tuple[Any, int], other: tuple[Any, int]) -> bool:
    return one[0] is other[0] and one[1] == other[1]


def _seeds(tensors: Sequence[Any], given: Any) -> list[Any]:
    """The cotangents, 1 where none is given; PyTorch's errors where there is none."""
    if given is None or hasattr(given, "_array"):
        given = (given,) * len(tensors)
    if len(given) != len(tensors):
        raise AutogradError(f"got {len(tensors)} tensors and {len(given)} gradients for them")
    seeds = []
    for i, (tensor, seed) in enumerate(zip(tensors, given, strict=True)):
        if not tensor.requires_grad:
            raise AutogradError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )
        if seed is None:
            if tensor.numel() != 1:
                raise AutogradError("grad can be implicitly created only for scalar outputs")
            refuse_complex_output(tensor._array.dtype)
            one = tensor._constant(np.ones((), tensor._array.dtype))
            seed = ops.broadcast_to(one, tuple(tensor.shape))
        elif tuple(seed.shape) != tuple(tensor.shape):
            raise AutogradError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {seed.shape} and output[{i}] "
                f"has a shape of {tensor.shape}."
            )
        elif seed.dtype != tensor.dtype:
            seed = ops.astype(seed, tensor.dtype)
        seeds.append(seed)
    return seeds
