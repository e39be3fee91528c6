"""What the nodes of the tape have in common, and the nodes that stand for several outputs."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.core.spec import Spec
from staticgraph.dynamic.tape.handles import RemovableHandle
from staticgraph.dynamic.tape.hooks import Hook, Hooks, hooks_of

PackHooks: TypeAlias = "tuple[Callable[[Any], Any], Callable[[Any], Any]]"
"""What makes something of a saved tensor, and what makes the tensor of that again."""

_numbers = itertools.count()
next_number = _numbers.__next__
"""The number of the next node."""

_metadata: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)


class GraphNode(Spec):
    """A node of the tape; its shape and dtype are those of the output.

    Attributes:
        edges: per operand the node that made it, or None where it requires no grad.
        hooks: the hooks of the node, or None.
        serial: the number of the node; that of an operand's node is smaller.
        owned: a cotangent that the node may write to, as nobody else holds it, or None.
    """

    __slots__ = ("__weakref__", "edges", "hooks", "serial")

    edges: tuple[Any, ...]
    hooks: Hooks | None
    serial: int
    owned: Any = None

    def release(self) -> None:
        """Let go of what is saved."""

    def name(self) -> str:
        """PyTorch's name of the node."""
        return type(self).__name__

    def shown(self) -> Any:
        """The node as tools that look at the graph see it."""
        return self

    def pack(self, pair: PackHooks) -> None:
        """Keep what the first function makes of each saved tensor; the second one reverts it."""

    def places(self) -> tuple[int, ...]:
        """The operand that each of the cotangents that `pull` finds belongs to."""
        return tuple(i for i, edge in enumerate(self.edges) if edge is not None)

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Per operand the node that made it, or None, and which of its outputs it is."""
        return tuple(graph_edge(edge) for edge in self.edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whoever looks at the graph; anomaly mode notes the traceback here."""
        return _metadata.setdefault(self, {})

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after the node; a tuple replaces grad_inputs."""
        return hooks_of(self).after.add(hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(grad_outputs)` before the node; a tuple replaces them."""
        return hooks_of(self).before.add(hook)

    def _sequence_nr(self) -> int:
        return self.serial

    @property
    def requires_grad(self) -> bool:
        """Always: what requires no grad has no node."""
        return True

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ArgumentError(f"cannot pickle '{self.name()}' object: the graph is not copied")


def noted(node: object) -> dict[Any, Any] | None:
    """The metadata of a node if it has any."""
    return _metadata.get(node)


def graph_edge(node: Any) -> tuple[Any, int]:
    """A node, or None, as users see it, and which of its outputs is meant."""
    if node is None:
        return None, 0
    if type(node) is Output:
        return node.edges[0].shown(), node.index
    return node.shown(), 0


class Cotangents:
    """The cotangents of the outputs of one node that have arrived, by their numbers."""

    __slots__ = ("parts",)

    def __init__(self, parts: dict[int, Any]) -> None:
        self.parts = parts

    def __add__(self, other: Cotangents) -> Cotangents:
        for index, part in other.parts.items():
            before = self.parts.get(index)
            self.parts[index] = part if before is None else before + part
        return self

    def listed(self, count: int) -> tuple[Any, ...]:
        """One for each of `count` outputs, None where nothing has arrived."""
        return tuple(self.parts.get(i) for i in range(count))


class SeveralOutputs(GraphNode):
    """A node of several outputs, each of which has a node of its own that leads to it.

    Attributes:
        count: how many.
        heads: the nodes of the outputs that anybody holds, by number.
    """

    __slots__ = ("count", "heads")

    count: int
    heads: dict[int, weakref.ref[Output]]

    def head(self, number: int, array: object) -> Output:
        """The node of one output: the same one for as long as anybody holds it."""
        reference = self.heads.get(number)
        found = None if reference is None else reference()
        if found is None:
            found = Output(self, number, array)
            self.heads[number] = weakref.ref(found)
        return found


class Output(GraphNode):
    """One of several outputs of the node `edges[0]`."""

    __slots__ = ("index",)

    def __init__(self, function: object, index: int, array: Any) -> None:
        super().__init__(array.shape, array.dtype)
        self.edges = (function,)
        self.hooks = None
        self.index = index
        self.serial = next_number()

    def pull(self, g: object, create_graph: bool) -> list[tuple[Any, Any]]:
        """Hand the cotangent over to the node."""
        return [(self.edges[0], Cotangents({self.index: g}))]

    def name(self) -> str:
        """The name of the node."""
        return str(self.edges[0].name())


class Failing(GraphNode):
    """The node of a tensor that cannot be differentiated: what reaches it is an error."""

    __slots__ = ("error", "label")

    def __init__(self, array: Any, error: Exception, label: str) -> None:
        super().__init__(array.shape, array.dtype)
        self.edges = ()
        self.hooks = None
        self.error = error
        self.label = label
        self.serial = next_number()

    def pull(self, g: object, create_graph: bool) -> list[tuple[Any, Any]]:
        """Raise the error."""
        raise self.error

    def name(self) -> str:
        """PyTorch's name of the node."""
        return self.label
