"""Saved tensors that functions pack as a node saves them, and unpack as it reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.core.op import Operand
from dynamic.errors import ArgumentError, AutogradError
from dynamic.tape.grad_mode import mode, record_if
from dynamic.tape.observers import observe
from dynamic.tape.tape import FREED, Node

_Function = Callable[[Any], Any]


class Packed:
    """What a pack function made of a saved tensor."""

    __slots__ = ("unpack", "value")

    def __init__(self, tensor: Any, pair: tuple[_Function, _Function]) -> None:
        pack, self.unpack = pair
        version = tensor._counter[0]
        before = record_if(False)
        try:
            self.value = pack(tensor)
        finally:
            record_if(before)
        if tensor._counter[0] != version:
            raise AutogradError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook cannot be modified by in-place operations as this can lead to "
                "unexpected side-effects."
            )

    def unpacked(self) -> Any:
        """The tensor that the unpack function returns; TypeError if it is none."""
        result = self.unpack(self.value)
        if not isinstance(result, Operand):
            raise ArgumentError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(result).__name__}"
            )
        return result


class PackedNode(Node):
    """A node whose saved arrays are packed."""

    __slots__ = ()

    def pull(self, g: Any, create_graph: bool) -> list[tuple[Any, Any]]:
        """The cotangents of the operands, with what is saved unpacked for as long as it takes."""
        saved = self.saved
        if saved is None:
            raise AutogradError(FREED)
        unpacked = [one.unpacked()._array if type(one) is Packed else one for one in saved]
        try:
            self.saved = tuple(unpacked)
            return super().pull(g, create_graph)
        finally:
            self.saved = saved


def pack_saved(node: Any) -> None:
    """Pack what a new node saves with the functions that are in force in this thread."""
    if not mode.packing or type(node) is not Node or not node.recipe.holds:
        return
    pair = mode.packing[-1]
    saved: list[Any] = []
    for value, maker, counter in zip(
        node.saved or (), (*node.edges, None), node.guards, strict=True
    ):
        if isinstance(value, np.ndarray) and isinstance(counter, list):
            saved.append(Packed(_tensor(value, maker, counter), pair))
        else:
            saved.append(value)
    node.__class__ = PackedNode
    node.saved = tuple(saved)
    node.guards = node.versions = ()


def _tensor(array: Any, maker: Any, counter: list[Any]) -> Any:
    """The tensor that is saved; an output comes without its node, which would hold itself."""
    from dynamic.tape.leaf import AccumulateGrad
    from dynamic.tensors.tensor import wrap

    if type(maker) is AccumulateGrad and maker.leaf() is not None:
        return maker.leaf()
    result = wrap(array)
    result._node = maker
    result._counter = counter
    return result


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Inside, what the graph saves is `pack_hook(tensor)`, and read as `unpack_hook` of that.

    RuntimeError if the hooks are disabled, or if `pack_hook` modifies the tensor in place;
    TypeError if `unpack_hook` does not return a tensor.
    """

    def __init__(self, pack_hook: _Function, unpack_hook: _Function) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if mode.no_packing is not None:
            raise AutogradError(mode.no_packing)
        mode.packing = (*mode.packing, (self.pack_hook, self.unpack_hook))
        observe(pack_saved, 1)

    def __exit__(self, *exception: object) -> None:
        observe(pack_saved, -1)
        mode.packing = mode.packing[:-1]


class disable_saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Inside, `saved_tensors_hooks` raises RuntimeError with this message; a decorator too."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message
        self._before: list[str | None] = []

    def __enter__(self) -> None:
        if mode.packing:
            raise AutogradError(self.error_message)
        self._before.append(mode.no_packing)
        mode.no_packing = self.error_message

    def __exit__(self, *exception: object) -> None:
        mode.no_packing = self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, run in such a context."""
        from dynamic.tape.grad_mode import decorated

        return decorated(function, lambda: disable_saved_tensors_hooks(self.error_message))
