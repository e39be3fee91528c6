"""What a tensor says of the tape, whether a function is captured or not."""

from __future__ import annotations

from typing import Any

from staticgraph.dynamic.core.dtypes import DTYPES
from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad
from staticgraph.dynamic.tape.grad_mode import mode


def lifted_of(tensor: Any) -> Any:
    """What stands for a tensor in a function that is captured; itself, if none is."""
    return tensor if mode.capture is None else mode.capture.lifted(tensor)


def is_leaf(tensor: Any) -> bool:
    """Whether no recorded op made a tensor."""
    node = tensor._node
    return node is None or type(node) is AccumulateGrad


def hooks_of_tensor(tensor: Any) -> Any:
    """The hooks of `register_hook`, by number; None without any."""
    if tensor._node is None:
        return getattr(tensor._home, "hooks", None)
    hooks = tensor._node.hooks
    return hooks.tensor if hooks is not None and hooks.tensor else None


def items_of_hooks(tensor: Any) -> tuple[tuple[Any, Any], ...] | None:
    """The same in a tuple, which is as it is now."""
    hooks = hooks_of_tensor(tensor)
    return None if hooks is None else tuple(hooks.items())


def retains_grad(tensor: Any) -> bool:
    """Whether `retain_grad` was called on a tensor while it was no leaf."""
    return tensor._home is not None and bool(tensor._home.retains)


def check_gradient(tensor: Any, value: Any) -> None:
    """Raise unless a tensor can be the gradient of another."""
    if value is tensor:
        raise AutogradError("can't assign Variable as its own grad")
    given, wanted = value._array, tensor._array
    if type(given) is not type(wanted):
        raise AutogradError("assigned grad has data of a different type")
    if given.shape != wanted.shape:
        raise AutogradError(
            f"attempting to assign a gradient of size '{list(given.shape)}' to a tensor of size "
            f"'{list(wanted.shape)}'. Please ensure that the gradient and the tensor are the same "
            "size"
        )
    if given.dtype is not wanted.dtype and given.dtype != wanted.dtype:  # mostly the same object
        raise AutogradError(
            f"attempting to assign a gradient with dtype '{DTYPES[given.dtype].legacy.lower()}' to "
            f"a tensor with grad_dtype '{DTYPES[wanted.dtype].legacy}'."
        )
