"""Saved tensors that may be mutated: they are copied just before (copy on write)."""

from __future__ import annotations

import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from staticgraph.dynamic.core.errors import AutogradError, MutationContextError
from staticgraph.dynamic.tape.grad_mode import copying, mode
from staticgraph.dynamic.tape.saved_tensors import saved_tensors_hooks


class _Kept:
    """A saved tensor: on the memory that was saved until that is written to, then on a copy."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor._constant(tensor._array)
        self.tensor._node = tensor._node


class AllowedMutation:
    """What was saved inside `allow_mutation_on_saved_tensors`, by the memory that it is on.

    Attributes:
        tid_to_weakhandle: what is saved, by memory, version and form.
        cloned: what was copied because it was going to be overwritten, and is still saved.
    """

    def __init__(self) -> None:
        self.cloned: weakref.WeakKeyDictionary[_Kept, Any] = weakref.WeakKeyDictionary()
        self._kept: dict[int, weakref.WeakSet[_Kept]] = {}
        self.tid_to_weakhandle: weakref.WeakValueDictionary[Any, _Kept] = (
            weakref.WeakValueDictionary()
        )

    def pack(self, tensor: Any) -> _Kept:
        """What nodes keep instead of a tensor: the same for all that save it as it is."""
        array, counter = tensor._array, tensor._counter
        place = array.__array_interface__["data"][0]
        key = id(counter), counter[0], place, array.shape, array.strides, array.dtype
        kept = self.tid_to_weakhandle.get(key)
        if kept is None or kept.tensor._node is not tensor._node:
            kept = self.tid_to_weakhandle[key] = _Kept(tensor)
            self._kept.setdefault(id(counter), weakref.WeakSet()).add(kept)
        return kept

    def unpack(self, kept: _Kept) -> Any:
        """The tensor as it was; RuntimeError outside of the context."""
        if mode.mutation is not self:
            raise MutationContextError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context "
                "in which the graph was originally recorded."
            )
        return kept.tensor

    def before_write(self, counter: object) -> None:
        """Copy what was saved of the memory that a version counter belongs to."""
        for kept in self._kept.pop(id(counter), ()):
            kept.tensor._array = kept.tensor._array.copy()
            self.cloned[kept] = kept.tensor

    def clear(self) -> None:
        """Forget what was saved."""
        self._kept.clear()
        self.tid_to_weakhandle.clear()
        self.cloned.clear()


@contextmanager
def allow_mutation_on_saved_tensors() -> Generator[AllowedMutation, None, None]:
    """Inside, tensors that the graph saved may be modified in place: the values are kept first.

    Forward and backward both belong inside. RuntimeError in such a context, and for a backward
    pass outside of it.

    Example:
        >>> x = dynamic.tensor([1.0, 2.0], requires_grad=True)
        >>> with dynamic.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x.clone()
        ...     z = (y * y).sum()
        ...     _ = y.zero_()
        ...     z.backward()
        >>> x.grad
        tensor([2., 4.])
    """
    if mode.mutation is not None:
        raise AutogradError("allow_mutation_on_saved_tensors contexts cannot be nested")
    allowed = AllowedMutation()
    with saved_tensors_hooks(allowed.pack, allowed.unpack):
        mode.mutation = allowed
        copying.append(None)
        try:
            yield allowed
        finally:
            copying.pop()
            mode.mutation = None
            allowed.clear()
