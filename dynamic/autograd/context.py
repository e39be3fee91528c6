"""What the forward of a user's `Function` leaves for its backward."""

from __future__ import annotations

import warnings
from typing import Any

from staticgraph.dynamic.autograd.function_node import SavedArgument, SavedNone
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tape.nodes import FREED
from staticgraph.dynamic.tensors.tensor import Tensor


class FunctionCtx:
    """What forward leaves for backward; any attribute may be set on it as well.

    Attributes:
        needs_input_grad: per argument of `apply` whether it is a tensor that requires grad.
    """

    needs_input_grad: tuple[bool, ...]

    def __init__(self) -> None:
        self._saved: tuple[SavedArgument | SavedNone, ...] | None = ()
        self._to_save: tuple[Any, ...] = ()
        self._dirty: tuple[Any, ...] = ()
        self._constant: tuple[Any, ...] = ()
        self._marked: frozenset[int] = frozenset()
        self._materialize = True
        self._materialize_non_diff_grads = True
        self._in_forward_mode = False
        self.saved_for_forward: tuple[Any, ...] = ()
        self._node: Any = None

    def save_for_backward(self, *tensors: object) -> None:
        """Keep tensors, or None, for backward; TypeError for anything else."""
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise ArgumentError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(tensor).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: object) -> None:
        """Keep tensors for `jvp`, where `saved_tensors` are these."""
        self.saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept; RuntimeError once freed, or if modified in place.

        In `jvp` what `save_for_forward` kept.
        """
        if self._in_forward_mode:
            return self.saved_for_forward
        if self._saved is None:
            raise AutogradError(FREED)
        if self._node is None:
            return self._to_save
        node = self._node()
        return tuple(one.tensor(node) for one in self._saved)

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`, with a warning."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    def mark_dirty(self, *tensors: object) -> None:
        """Say which arguments forward modifies in place; it must return them."""
        for i, tensor in enumerate(tensors):
            if not isinstance(tensor, Tensor):
                raise ArgumentError(
                    f"mark_dirty can only accept variables, but argument {i} is of type "
                    f"{type(tensor).__name__}"
                )
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: object) -> None:
        """Say which outputs have no gradient."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (True) or None for outputs without a gradient."""
        self._materialize = value
