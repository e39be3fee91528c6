"""Saved tensors that functions pack as a node saves them, and unpack as it reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler.core.op import Operand
from staticgraph.dynamic.core import provided
from staticgraph.dynamic.core.errors import ArgumentError, AutogradError
from staticgraph.dynamic.tape.accumulate_grad import AccumulateGrad
from staticgraph.dynamic.tape.grad_mode import decorated, mode, record_if
from staticgraph.dynamic.tape.nodes import PackHooks
from staticgraph.dynamic.tape.observers import observe

NONE = "Calling register_hooks on a saved tensor with value None is forbidden"


class SavedTensor:
    """A tensor as a node keeps it: `register_hooks` changes how. Nodes make them.

    Example:
        >>> x = dynamic.ones(2, requires_grad=True)
        >>> isinstance((x * x).grad_fn._raw_saved_self, dynamic.autograd.SavedTensor)
        True
    """

    __slots__ = ()

    def __init__(self) -> None:
        raise AutogradError("Trying to create a SavedTensor object from Python is forbidden.")

    def register_hooks(self, pack_hook: Any = None, unpack_hook: Any = None) -> None:
        """Keep `pack_hook(tensor)` instead, and read it as `unpack_hook` of that.

        RuntimeError if there are hooks already, or nothing is kept; TypeError unless two functions
        are given.
        """
        if not callable(pack_hook) or not callable(unpack_hook):
            raise ArgumentError(
                "register_hooks(): incompatible function arguments: two functions are expected"
            )
        self._hooked((pack_hook, unpack_hook))

    def _hooked(self, pair: PackHooks) -> None:
        raise NotImplementedError


GONE = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values "
    "of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to "
    "access saved variables after calling backward."
)


class Packed:
    """What a pack function made of a saved tensor."""

    __slots__ = ("unpack", "value")

    def __init__(self, tensor: Any, pair: PackHooks) -> None:
        pack, self.unpack = pair
        version = tensor._counter[0]
        before = mode.enabled
        try:
            record_if(False)
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


def packed(tensor: Any, pair: PackHooks, is_output: bool) -> Packed:
    """What the functions make of a tensor that was made for them.

    An output is one of its node for as long as it is packed: with the node it would hold itself.
    """
    found = Packed(tensor, pair)
    if is_output:
        tensor._node = None
    return found


def pack_saved(node: Any) -> None:
    """Pack what a new node saves with the functions that are in force in this thread."""
    if mode.packing:
        node.pack(mode.packing[-1])


def saved_tensor(array: object, maker: object, counter: object) -> Any:
    """The tensor that is saved, made by the node `maker`, with the version that `counter` counts.

    An output comes without its node, which would hold itself.
    """
    leaf: Any = maker.leaf() if type(maker) is AccumulateGrad else None
    if leaf is not None and leaf._array is array:  # not what an unpack function made of it
        return leaf
    result: Any = provided.wrap(array)
    result._node = maker
    if isinstance(counter, list):
        result._counter = counter
    return result


def leave(packing: tuple[Any, ...]) -> None:
    """Have these pairs of functions in force, and none that was entered after them."""
    observe(pack_saved, len(packing) - len(mode.packing))
    mode.packing = packing


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Inside, what the graph saves is `pack_hook(tensor)`, and read as `unpack_hook` of that.

    RuntimeError if the hooks are disabled, or if `pack_hook` modifies the tensor in place;
    TypeError if `unpack_hook` does not return a tensor.

    Example:
        >>> x = dynamic.tensor(3.0, requires_grad=True)
        >>> with dynamic.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), dynamic.tensor):
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor(6.)
    """

    def __init__(
        self, pack_hook: Callable[[Any], object], unpack_hook: Callable[[Any], object]
    ) -> None:
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
    """Inside, `saved_tensors_hooks` raises RuntimeError with this message; a decorator too.

    Example:
        >>> with dynamic.autograd.graph.disable_saved_tensors_hooks("not here"):
        ...     dynamic.autograd.graph.saved_tensors_hooks(id, id).__enter__()
        Traceback (most recent call last):
            ...
        staticgraph.dynamic.core.errors.AutogradError: not here
    """

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

    def __call__(self, function: Callable[..., object]) -> Callable[..., Any]:
        """`function`, run in such a context."""
        return decorated(function, lambda: disable_saved_tensors_hooks(self.error_message))
