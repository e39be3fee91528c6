"""What a captured function asks of its operands, and each call has to answer in the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.record import frozen
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tensors.history import is_leaf as is_leaf_now
from staticgraph.dynamic.tensors.tensor import Tensor


def requires(operand: object) -> bool:
    """Whether an operand requires grad: an array does not."""
    return isinstance(operand, Tensor) and operand._node is not None


Field = tuple[object, str]
"""An object, and the name of a slot of it; "" if it is a dict: how many items it has."""
_HOOKS = ("tensor", "accumulated", "before", "after")


@frozen(eq=False)
class Question:
    """What is asked of an operand.

    Attributes:
        ask: gives the answer.
        fields: what the answer is read of, as it is now: as long as all of these have what they
            have, it is the same. Empty if they do not tell. One may say that the next is there.
    """

    ask: Callable[[Any], object]
    fields: Callable[[Any], list[Field]]

    def __call__(self, operand: object) -> Any:
        """Ask it."""
        return self.ask(operand)


def _of_history(operand: Any) -> list[Field]:
    """What says which node made a tensor: of a view that is asked of what it is a view of."""
    if not isinstance(operand, Tensor) or operand._note is not None:
        return []
    return [(operand, "_note"), (operand, "_maker")]


def _of_hooks(operand: Any) -> list[Field]:
    found = _of_history(operand)
    node = operand._maker if found else None
    if node is None:
        return found
    found.append((node, "hooks"))
    for name in () if node.hooks is None else _HOOKS:
        found += [(node.hooks, name), (getattr(node.hooks, name), "")]
    return found


def _of_gradient(operand: Any) -> list[Field]:
    found = [*_of_history(operand), (operand, "_home")] if isinstance(operand, Tensor) else []
    return [*found, (operand._home, "grad")] if found and operand._home is not None else found


def _grad_state(operand: object) -> bool | None:
    node = operand._node if isinstance(operand, Tensor) else None
    if node is None:
        return False
    hooks = node.hooks
    hooked = hooks is not None and any(getattr(hooks, name) for name in _HOOKS)
    return None if hooked else True


@frozen(eq=False)
class HookedBy:
    """The question whether an operand has exactly these hooks on its gradient."""

    hooks: tuple[tuple[int, Any], ...]

    def __call__(self, operand: Any) -> bool:
        """Ask it."""
        node = operand._node
        found = () if node is None or node.hooks is None else node.hooks.tensor.items()
        return tuple(found) == self.hooks


def _is_leaf(operand: object) -> bool:
    return not isinstance(operand, Tensor) or is_leaf_now(operand)


def memory_of_gradient(operand: Any) -> Any:
    """The array of the gradient that an operand has, or None."""
    home = operand._home
    return None if home is None else getattr(home.grad, "_array", home.grad)


def _has_gradient(operand: Any) -> bool | None:
    return gradient_of(operand) is not None if is_leaf_now(operand) else None


def gradient_of(operand: Any) -> Any:
    """The gradient that a tensor has, whether a capture is running or not."""
    capture, mode.capture = mode.capture, None
    try:
        return operand.grad
    finally:
        mode.capture = capture


grad_state = Question(_grad_state, _of_hooks)
"""Whether an operand requires grad; None if it does, and there are hooks on that."""
is_leaf = Question(_is_leaf, _of_history)
"""Whether nothing that is recorded made an operand: nothing makes an array."""
has_gradient = Question(_has_gradient, _of_gradient)
"""Whether a leaf has a gradient; None of what is none, whose gradient the tape keeps."""


@frozen
class Same:
    """The question whether something that an operand says of itself is still this."""

    ask: Callable[[Any], object]
    answer: object

    def __call__(self, operand: object) -> bool:
        """Ask it."""
        return bool(self.ask(operand) == self.answer)


def attribute_of(operand: object, name: str) -> tuple[Any, ...]:
    """What an operand has under a name, alone in a tuple; empty if there is nothing."""
    try:
        return (getattr(operand, name),)
    except AttributeError:
        return ()


@frozen
class HasAttribute:
    """The question whether an operand has this under a name, as `attribute_of` finds it."""

    name: str
    found: tuple[Any, ...]

    def __call__(self, operand: object) -> bool:
        """Ask it."""
        now = attribute_of(operand, self.name)
        return repr(now) == repr(self.found) and [*map(type, now)] == [*map(type, self.found)]
