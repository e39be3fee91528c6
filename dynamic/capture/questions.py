"""What a captured function asks of its operands, and each call has to answer in the same way."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.core.record import frozen
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tensors.tensor import Tensor


def requires(operand: object) -> bool:
    """Whether an operand requires grad: an array does not."""
    return isinstance(operand, Tensor) and operand._node is not None


def grad_state(operand: object) -> bool | None:
    """Whether an operand requires grad; None if it does, and there are hooks on that."""
    node = operand._node if isinstance(operand, Tensor) else None
    if node is None:
        return False
    hooks = node.hooks
    return True if hooks is None or not _is_hooked(hooks) else None


def _is_hooked(hooks: Any) -> bool:
    return bool(hooks.tensor or hooks.accumulated or hooks.before or hooks.after)


@frozen(eq=False)
class HookedBy:
    """The question whether an operand has exactly these hooks on its gradient."""

    hooks: tuple[tuple[int, Any], ...]

    def __call__(self, operand: Any) -> bool:
        """Ask it."""
        node = operand._node
        found = () if node is None or node.hooks is None else node.hooks.tensor.items()
        return tuple(found) == self.hooks


def is_leaf(operand: object) -> bool:
    """Whether nothing that is recorded made an operand: nothing makes an array."""
    return not isinstance(operand, Tensor) or bool(operand.is_leaf)


def memory_of_gradient(operand: Any) -> Any:
    """The array of the gradient that an operand has, or None."""
    home = operand._home
    return None if home is None else getattr(home.grad, "_array", home.grad)


def has_gradient(operand: Any) -> bool | None:
    """Whether a leaf has a gradient; None of what is none, whose gradient the tape keeps."""
    return gradient_of(operand) is not None if operand.is_leaf else None


def gradient_of(operand: Any) -> Any:
    """The gradient that a tensor has, whether a capture is running or not."""
    capture, mode.capture = mode.capture, None
    try:
        return operand.grad
    finally:
        mode.capture = capture
