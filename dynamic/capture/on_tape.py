"""What a traced tensor knows of the tape: whether it requires grad, gradients, reverse passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from staticgraph.compiler import ops
from staticgraph.compiler.core.dtypes import is_inexact
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.graph.expression import Expression, Handle, construct
from staticgraph.compiler.ops.elementwise.arithmetic import copy
from staticgraph.compiler.transforms.vectorize import batched as vectorized, example
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.func.batched import Batched
from staticgraph.dynamic.func.tracer import batch_of
from staticgraph.dynamic.tape.grad_mode import mode, recording
from staticgraph.dynamic.tape.hooks import refuse_hooks


class OnTape:
    """The part of a traced tensor that is about gradients."""

    __slots__ = ()

    dtype: Any
    expression: Any
    detach: Any
    _array: Any
    _current: Any
    _outside: bool
    _value: Any

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient flows to it; of an operand that is that of each call."""
        value = self._current()
        if not isinstance(value, Expression) or not is_inexact(value.dtype):
            return False
        capture = mode.capture
        place = capture.place_of(self)
        if place is not None and value is capture.input_at(place):
            return bool(capture.requires(place))
        return bool(capture.gradients.requires(value)) and bool(capture.records())

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Itself, a leaf that requires grad; PyTorch's errors where it cannot be."""
        had = self.requires_grad
        if bool(requires_grad) is had:
            return self
        if self._outside:
            refuse(
                "changes whether a tensor from outside requires grad",
                "change it before the call, or use detach()",
            )
        if had:
            raise AutogradError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if not is_inexact(self._array.dtype):
            raise AutogradError("only Tensors of floating point dtype can require gradients")
        leaf = ops.stop_gradient(self.expression)
        self._value = leaf
        mode.capture.gradients.add_leaf(self, leaf)
        return self

    def stands_for(self, tensor: object) -> bool:
        """Whether it is what a tensor from outside is while the function is captured."""
        place = mode.capture.place_of(self)
        return self._outside and place is not None and mode.capture.tensor_at(place) is tensor

    @property
    def is_leaf(self) -> bool:
        """Whether nothing that is recorded made it: an operand has to be one at each call."""
        capture, value = mode.capture, self._current()
        place = capture.place_of(self)
        if place is not None and value is capture.input_at(place):
            return bool(capture.is_leaf(place))
        if isinstance(value, Expression) and capture.gradients.is_leaf(value.serial):
            return True
        return not self.requires_grad

    @property
    def grad_fn(self) -> None:
        """None of a leaf; else what made it is known to the tape alone."""
        return None if self.is_leaf else refuse_tape("grad_fn")

    @property
    def output_nr(self) -> int:
        """0 of a leaf; else it is known to the tape alone."""
        return 0 if self.is_leaf else refuse_tape("output_nr")

    @property
    def grad(self) -> Any:
        """The gradient that the function has set or computed."""
        return mode.capture.gradients.of(self)

    @grad.setter
    def grad(self, value: object) -> None:
        mode.capture.gradients.put(self, None if value is None else mode.capture.lifted(value))

    def register_hook(self, hook: object) -> Any:
        """Call `hook` with its gradient, in reverse passes of the function."""
        if not self.requires_grad:
            raise AutogradError("cannot register a hook on a tensor that doesn't require gradient")
        if self._outside:
            refuse_hooks()
        return mode.capture.gradients.hooked.add(self, hook)

    def retain_grad(self) -> None:
        """Have reverse passes of the function put its gradient into `grad`."""
        if not self.requires_grad:
            raise AutogradError("can't retain_grad on Tensor that has requires_grad=False")
        if not self.is_leaf:
            if self._outside:
                refuse_hooks()
            mode.capture.gradients.hooked.retain(self)

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called."""
        return id(self) in mode.capture.gradients.hooked.grads

    def backward(
        self,
        gradient: object = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: object = None,
        *,
        retain_variables: bool | None = None,
    ) -> None:
        """The derivatives of this tensor, added to the gradients of the leaves."""
        retain_graph = retain_graph if retain_variables is None else retain_variables
        mode.capture.gradients.backward([self], gradient, retain_graph, create_graph, inputs)

    def _variable(self) -> Any:
        """A variable to differentiate by, with the history that it has if that is recorded."""
        if not recording():
            return self.detach().requires_grad_()
        made = construct(copy, (self.expression,), {})
        mode.capture.gradients.variables.add(made.serial)
        return mode.capture.made(made)

    def _pulled(
        self,
        outputs: Sequence[Any],
        inputs: Sequence[Any],
        cotangents: Sequence[Any],
        record: bool | None,
    ) -> list[Any]:
        capture = mode.capture
        by = [capture.lifted(one) for one in inputs]
        capture.gradients.ask(by)
        targets = [capture.gradients.target(one) for one in by]
        seeds = [capture.lifted(one) for one in cotangents]
        if not all(isinstance(one, Handle) for one in seeds):
            return self._pulled_together(outputs, inputs, seeds, record)
        create, hooked = record is not False, capture.gradients.hooked
        found = capture.gradients.pulled(outputs, targets, seeds, True, create)
        made = []
        for x, g in zip(by, found, strict=True):
            one = None if g is None else capture.made(g if create else ops.stop_gradient(g))
            place = None if one is None else capture.place_of(x)
            made.append(one if place is None else hooked.of_leaf(place, one, create))
        return made

    def _pulled_together(
        self,
        outputs: Sequence[Any],
        inputs: Sequence[Any],
        cotangents: Sequence[Any],
        record: bool | None,
    ) -> list[Any]:
        """What a batch of cotangents gives: that of one, for all of them."""
        level: Any = next(one._level for one in cotangents if not isinstance(one, Handle))
        whole = [batch_of(one, level) for one in cotangents]
        if level.size is None or not all(isinstance(one, Handle) for one in whole):
            refuse("takes derivatives in many directions at once", "use sg.jacobian or sg.hessian")
        batches = {example(one.expression): one.expression for one in whole}
        found = self._pulled(outputs, inputs, [*map(mode.capture.made, batches)], record)
        given = [one.expression for one in found if one is not None]
        made = iter(zip(given, vectorized(given, batches, level.size), strict=True))
        results: list[Any] = []
        for one in found:
            if one is None:
                results.append(None)
                continue
            alone, batch = next(made)
            if batch is None:
                batch = ops.broadcast_to(alone, (level.size, *alone.shape))
            results.append(Batched(level, mode.capture.made(batch)))
        return results


def refuse_tape(what: str) -> NoReturn:
    """Refuse what only the tape knows."""
    refuse(
        f"{what} asks the tape, which knows nothing of what is captured",
        "ask outside, and differentiate the function with sg.grad or sg.vjp",
    )
