"""What the nodes of the tape have in common, and the nodes that stand for several outputs."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np

from staticgraph.dynamic.core.dtypes import DTYPES
from staticgraph.dynamic.core.errors import ArgumentError
from staticgraph.dynamic.core.results import Size
from staticgraph.dynamic.core.spec import Spec
from staticgraph.dynamic.tape.grad_mode import mode
from staticgraph.dynamic.tape.handles import RemovableHandle
from staticgraph.dynamic.tape.hooks import Hook, Hooks, as_tensor, hooks_to_change
from staticgraph.dynamic.tape.undefined import UNDEFINED

PackHooks: TypeAlias = "tuple[Callable[[Any], Any], Callable[[Any], Any]]"
"""What makes something of a saved tensor, and what makes the tensor of that again."""

numbers = itertools.count()
next_number = numbers.__next__
"""The number of the next node."""

NAMESPACE = "torch::autograd::"
"""What PyTorch's names of nodes that belong to no op begin with."""

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

    def pull(self, g: Any, create_graph: bool) -> Any:
        """The cotangents of the operands, each with the node it goes to."""
        raise NotImplementedError

    def undefined(self, create_graph: bool) -> list[tuple[Any, Any]]:
        """What the operands get where no cotangent has arrived: none either."""
        return [(self.edges[i], UNDEFINED) for i in self.places()]

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

    def operands_shown(self) -> tuple[int, ...]:
        """The positions of the operands that users see: those that are tensors."""
        return tuple(range(len(self.edges)))

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """Per operand the node that made it, or None, and which of its outputs it is."""
        return tuple(graph_edge(self.edges[i]) for i in self.operands_shown())

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whoever looks at the graph; anomaly mode notes the traceback here."""
        return _metadata.setdefault(self, {})

    @property
    def _input_metadata(self) -> tuple[Any, ...]:
        """Per output its shape and dtype."""
        return tuple(InputMetadata(one) for one in getattr(self, "outputs", None) or (self,))

    def __call__(self, *gradients: Any) -> Any:
        """The gradients of the operands for those of the outputs, without going further.

        One tensor for one operand, else a tuple with None where there is none. TypeError for
        another number of gradients.
        """
        count = getattr(self, "count", 1)
        if len(gradients) != count:
            raise ArgumentError(f"expected {count} arguments, got {len(gradients)} instead")
        given = [one if mode.enabled else one._array for one in gradients]
        g = Cotangents(dict(enumerate(given))) if isinstance(self, SeveralOutputs) else given[0]
        parts = self.pull(g, mode.enabled)
        by_place = dict(zip(self.places(), (part for _, part in parts), strict=True))
        found = tuple(as_tensor(by_place.get(i)) for i in range(len(self.edges)))
        return found[0] if len(found) == 1 else found

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after the node; a tuple replaces grad_inputs."""
        return hooks_to_change(self).after.add(hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(grad_outputs)` before the node; a tuple replaces them."""
        return hooks_to_change(self).before.add(hook)

    def _sequence_nr(self) -> int:
        return self.serial

    def _set_sequence_nr(self, number: int) -> None:
        """Give the node another number: of those that are ready the largest one runs first."""
        self.serial = number

    @property
    def requires_grad(self) -> bool:
        """Always: what requires no grad has no node."""
        return True

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {id(self):#x}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ArgumentError(f"cannot pickle '{self.name()}' object: the graph is not copied")


class InputMetadata:
    """What a node knows of one of its outputs.

    Attributes:
        shape, dtype: those.
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, output: Any) -> None:
        self.shape = Size(output.shape)
        self.dtype = DTYPES[np.dtype(output.dtype)]


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


@functools.cache
def class_named(name: str, base: type) -> Any:
    """A class of nodes by its name, which tools that draw graphs print, without a namespace."""
    members = {"__slots__": (), "__doc__": base.__doc__, "name_": name}
    return type(name.rpartition("::")[2], (base,), members)


class Cotangents:
    """The cotangents of the outputs of one node that have arrived, by their numbers."""

    __slots__ = ("parts",)

    def __init__(self, parts: dict[int, Any]) -> None:
        self.parts = parts

    def __add__(self, other: Any) -> Cotangents:
        if other is UNDEFINED:
            return self
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
    """The node of a tensor that cannot be differentiated: what reaches it is an error.

    `edges` are only shown.
    """

    __slots__ = ("error", "label")

    def __init__(
        self, array: Any, error: Exception, label: str, edges: tuple[Any, ...] = ()
    ) -> None:
        super().__init__(array.shape, array.dtype)
        self.edges = edges
        self.hooks = None
        self.error = error
        self.label = label
        self.serial = next_number()

    def pull(self, g: object, create_graph: bool) -> list[tuple[Any, Any]]:
        """Raise the error."""
        raise self.error

    def undefined(self, create_graph: bool) -> list[tuple[Any, Any]]:
        """Raise the error, without a cotangent too."""
        raise self.error

    def name(self) -> str:
        """PyTorch's name of the node."""
        return self.label

    def shown(self) -> Any:
        """The node, with its label as the name of its class."""
        self.__class__ = class_named(self.label, Failing)
        return self
