"""Hooks and pickle (torch.utils.hooks)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from staticgraph.dynamic.tape.handles import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]

_Hook = TypeVar("_Hook", bound=Callable[..., Any])


def unserializable_hook(f: _Hook) -> _Hook:
    """Mark a hook that need not be written with its tensor, so that pickle does not warn of it.

    Example:
        >>> import pickle
        >>> x = dynamic.ones(2, requires_grad=True)
        >>> handle = x.register_hook(dynamic.utils.hooks.unserializable_hook(lambda g: 2 * g))
        >>> pickle.loads(pickle.dumps(x))
        tensor([1., 1.], requires_grad=True)
    """
    vars(f)["__torch_unserializable__"] = True
    return f
