"""Hooks on gradients in a function that is captured, and gradients that are retained.

A hook of a tensor that is made inside is called when the reverse pass of the function is captured,
with a traced gradient: what it makes of it is a part of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.core.refusals import refuse, user_place
from staticgraph.compiler.graph.expression import Expression
from staticgraph.compiler.graph.traversal import ancestors
from staticgraph.compiler.transforms.autodiff import depending_on
from staticgraph.dynamic.capture.questions import HookedBy, grad_state
from staticgraph.dynamic.tape.grad_mode import record_if
from staticgraph.dynamic.tape.handles import Hooks, RemovableHandle
from staticgraph.dynamic.tape.hooks import replacement


class Hooked:
    """The tensors of a captured function whose gradients are looked at.

    Attributes:
        grads: by identity of a tensor its retained gradient, or None as long as there is none.
    """

    def __init__(self, capture: Any) -> None:
        self._capture = capture
        self._hooks: dict[int, Hooks] = {}
        self._retained: dict[int, list[Any]] = {}
        self._nodes: dict[int, tuple[Expression, str]] = {}
        self.grads: dict[int, Any] = {}

    def add(self, x: Any, hook: object) -> RemovableHandle:
        """Call a hook with the gradient of a tensor."""
        return self._hooks.setdefault(self._noted(x, "register_hook"), Hooks()).add(hook)

    def retain(self, x: Any) -> None:
        """Keep the gradient of a tensor."""
        if not any(one is x for one in self._retained.get(x.expression.serial, ())):
            self._retained.setdefault(self._noted(x, "retain_grad"), []).append(x)
            self.grads[id(x)] = None

    def _noted(self, x: Any, what: str) -> int:
        capture = self._capture
        if capture.body is not capture.top:
            refuse(f"{what} in a branch or the body of a loop", "call it outside of that")
        self._nodes[x.expression.serial] = x.expression, user_place()
        serial: int = x.expression.serial
        return serial

    def __bool__(self) -> bool:
        return bool(self._retained) or any(self._hooks.values())

    def calls(self) -> bool:
        """Whether a reverse pass may call hooks: there are some, of operands too."""
        given = map(self._capture.tensor_at, range(len(self._capture.inputs)))
        return bool(self) or any(grad_state(one) is None for one in given)

    def functions(self, create: bool) -> Mapping[int, Callable[[Expression], Expression]]:
        """By serials what becomes of cotangents in a pass; with `create` it is recorded."""

        def of(serial: int) -> Callable[[Expression], Expression]:
            def function(g: Expression) -> Expression:
                made = self._capture.made(g if create else ops.stop_gradient(g))
                made = self._called(self._hooks.get(serial, {}), made, create)
                for x in self._retained.get(serial, ()):
                    before = self.grads[id(x)]
                    self.grads[id(x)] = made if before is None else before + made
                found: Expression = made.expression
                return found

            return function

        return {serial: of(serial) for serial in self._nodes}

    def _called(self, hooks: Mapping[int, Any], g: Any, create: bool) -> Any:
        before = record_if(create)
        try:
            for hook in tuple(hooks.values()):
                g = self._capture.lifted(replacement(hook, g, hook(g)))
        finally:
            record_if(before)
        return g

    def of_leaf(self, place: int, g: Any, create: bool) -> Any:
        """The gradient of an operand after the hooks that it has when the call begins."""
        node = self._capture.tensor_at(place)._node
        hooks = None if node is None else node.hooks
        if hooks is None:
            return g
        if hooks.accumulated or hooks.before or hooks.after:
            refuse(
                "backward() reaches a tensor with hooks around its node, or after its gradient is "
                "accumulated",
                "remove them, or call backward() outside",
            )
        if hooks.tensor:
            self._capture.is_hooked_by(place, HookedBy(tuple(hooks.tensor.items())))
        return self._called(hooks.tensor, g, create)

    def refuse_returned(self, values: Iterable[Expression]) -> None:
        """Refuse results whose reverse passes would have to call hooks."""
        kept = [one for one in self._nodes if self._hooks.get(one) or one in self._retained]
        for value in values if kept else ():
            nodes = ancestors([value])
            for serial in kept:
                expression, place = self._nodes[serial]
                if value.serial in depending_on(nodes, [expression]):
                    refuse(
                        "hooks a tensor, or retains its gradient, in the history of what is "
                        "returned: a reverse pass outside does not come to it",
                        "return it with detach(), or call backward() inside",
                        place,
                    )
