"""Hooks on the gradients of several tensors, which run once in a pass."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tape.nodes import Output

following: list[Any] = []
"""The hooks that there are: the engine describes its passes only if there is one."""


class Pass:
    """One reverse pass: from which nodes, and through which.

    Attributes:
        state: what each hook over several tensors noted in this pass.
        retains: whether what the nodes save stays for another pass.
    """

    __slots__ = ("_needed", "_reached", "_roots", "_wanted", "retains", "state")

    def __init__(
        self,
        roots: Collection[Any],
        needed: Collection[object] | None,
        wanted: Collection[object],
        retains: bool,
    ) -> None:
        self._roots = [node for node, _ in roots]
        self._needed = needed
        self._wanted = wanted
        self.retains = retains
        self._reached: set[Any] | None = None
        self.state: dict[Any, Any] = {}

    def reaches(self, node: Any) -> bool:
        """Whether the hooks of this node's output will run."""
        if type(node) is Output and self.reaches(node.edges[0]):  # with None, if need be
            return True
        if self._needed is not None and node not in self._needed and node not in self._wanted:
            return False
        if self._reached is None:
            self._reached = set()
            stack = list(self._roots)
            while stack:
                one = stack.pop()
                if one not in self._reached:
                    self._reached.add(one)
                    if self._needed is None or one in self._needed:
                        stack.extend(edge for edge in one.edges if edge is not None)
        return node in self._reached


class MultiHandle:
    """What takes the hooks off all tensors: `remove()`, or the end of a `with` block. Final."""

    def __init__(self, hook: object, handles: Sequence[Any]) -> None:
        self._hook: Any = hook
        self.handles = tuple(handles)
        following.append(hook)

    def remove(self) -> None:
        """Take the hooks off; again does nothing."""
        if self._hook is not None:
            following.remove(self._hook)
            self._hook = None
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> MultiHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def _pass() -> Pass:
    task: Pass | None = mode.task
    if task is None:
        raise AutogradError("expected this hook to be called inside a backward call")
    return task


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[..., object], *, mode: str = "all"
) -> MultiHandle:
    """Call `fn` once in a pass: with the gradients of all tensors, or the first one.

    Args:
        tensors: those that require grad.
        fn: called with a list of gradients, None where the pass does not reach a tensor, if mode
            is "all"; with the gradient that is there first if it is "any".
        mode: "all" or "any"; ValueError otherwise.

    Example:
        >>> x, y = (dynamic.tensor(value, requires_grad=True) for value in (2.0, 3.0))
        >>> handle = dynamic.autograd.graph.register_multi_grad_hook((x, y), print)
        >>> (x * y).backward()
        [tensor(3.), tensor(2.)]
    """
    if mode not in ("all", "any"):
        raise OptionError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        first = _First(fn)
        return MultiHandle(
            first, [one.register_hook(first) for one in tensors if one.requires_grad]
        )
    every = _Every(fn, tensors)
    handles = [one.register_hook(every.part(i)) for i, one in enumerate(tensors)]
    return MultiHandle(every, handles)


class _First:
    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._lock = threading.Lock()

    def __call__(self, gradient: object) -> None:
        state = _pass().state
        with self._lock:
            if self in state:
                return
            state[self] = True
        self._function(gradient)


class _Every:
    def __init__(self, function: Callable[..., object], tensors: Sequence[Any]) -> None:
        self._function = function
        self._nodes = [one._node for one in tensors]
        self._lock = threading.Lock()

    def part(self, index: int) -> Callable[[Any], None]:
        """The hook of one tensor."""

        def hook(gradient: object) -> None:
            task = _pass()
            with self._lock:
                noted = task.state.get(self)
                if noted is None:
                    expected = sum(task.reaches(node) for node in self._nodes)
                    noted = task.state[self] = [expected, [None] * len(self._nodes)]
                noted[0] -= 1
                noted[1][index] = gradient
                last = not noted[0]
            if last:
                del task.state[self]
                self._function(noted[1])

        return hook
