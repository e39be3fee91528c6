"""`grad_fn._saved_*` and `_raw_saved_*`: what a node keeps, under the names that PyTorch has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.dynamic.core import eager_ops, provided
from staticgraph.dynamic.core.errors import AutogradError, MissingAttributeError
from staticgraph.dynamic.core.pytorch import known
from staticgraph.dynamic.tape.nodes import FREED, PackHooks
from staticgraph.dynamic.tape.saved_tensors import GONE, NONE, Packed, SavedTensor, saved_tensor

if TYPE_CHECKING:
    from staticgraph.dynamic.tape.tape import Node

_PRODUCTS = {(1, 1): ("self", "tensor"), (2, 1): ("self", "vec")}


def _operands(node: Node) -> tuple[str, ...]:
    op = node.recipe.op
    if op is ops.matmul:
        ranks = tuple(_rank(node, position) for position in range(2))
        return _PRODUCTS.get(ranks, ("self", "mat2"))  # type: ignore[arg-type]
    return known(op).operands[: len(node.edges)]


def _rank(node: Node, position: int) -> int | None:
    shape = _shape(node, position)
    return None if shape is None else len(shape)


def _shape(node: Node, position: int) -> tuple[int, ...] | None:
    """The shape of an operand; None where the node does not know it any more."""
    edge = node.edges[position]
    if edge is not None:
        return tuple(edge.shape)
    value = None if node.saved is None else node.saved[position]
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(shape)


def _options(node: Node) -> dict[str, Any]:
    """What is no tensor: the op's attributes under PyTorch's names."""
    found: dict[str, Any] = {}
    for options in known(node.recipe.op).options:
        found |= options(node)
    return found


def _sizes(node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for position, name in enumerate(_operands(node)):
        shape = _shape(node, position)
        if shape is not None:
            found[f"{name}_sym_sizes"] = shape
    if node.recipe.op in (ops.mean, eager_ops.mean_dim) and "self_sym_sizes" in found:
        found["self_sym_numel"] = int(np.prod(found["self_sym_sizes"], dtype=int))
    return found


def _positions(node: Node) -> dict[str, int]:
    """The tensors that the node may keep, each with its place among what is saved."""
    plan = node.recipe
    names = {name: position for position, name in enumerate(_operands(node)) if any(plan.keeps)}
    if plan.keeps_output:
        names["result"] = len(node.edges)
    return names


def saved_names(node: Node) -> list[str]:
    """The names of all `_saved_*` and `_raw_saved_*` of a node."""
    tensors, rest = _positions(node), {**_sizes(node), **_options(node)}
    return [f"_saved_{name}" for name in (*tensors, *rest)] + [
        f"_raw_saved_{name}" for name in tensors
    ]


def saved_value(node: Node, attribute: str) -> Any:
    """`node._saved_self`, `_saved_other`, `_saved_result`, ... as a tensor, or an option.

    None for an operand that the rules do not read. RuntimeError once the graph was freed.
    """
    raw = attribute.startswith("_raw_saved_")
    name = attribute.removeprefix("_raw_saved_" if raw else "_saved_")
    position = _positions(node).get(name)
    if position is not None:
        saved = SavedOperand(node, position)
        return saved if raw else saved.data
    if not raw:
        for table in (_options(node), _sizes(node)):
            if name in table:
                return table[name]
    raise MissingAttributeError(f"{node.name()!r} object has no attribute {attribute!r}")


class SavedOperand(SavedTensor):
    """A tensor as a node keeps it. Final.

    RuntimeError from all but the class itself once the graph was freed.
    """

    __slots__ = ("_node", "_position")

    def __init__(self, node: Node, position: int) -> None:
        if node.saved is None:
            raise AutogradError(FREED)
        self._node = node
        self._position = position

    @property
    def data(self) -> Any:
        """The tensor, unpacked; None if nothing is kept. RuntimeError if it was modified."""
        node, position = self._node, self._position
        if node.saved is None:
            raise AutogradError(FREED)
        value = node.saved[position]
        maker = (*node.edges, node)[position]
        counter = node.guards[position] if node.guards else None
        if counter is not None and counter[0] != node.versions[position]:
            raise AutogradError(node._mutated())
        if isinstance(value, Packed):
            unpacked: Any = provided.wrap(value.unpacked()._array)
            unpacked._node = maker
            return unpacked
        if not isinstance(value, np.ndarray):
            return None
        if maker is None and not value.ndim:
            name = _operands(node)[position]
            if node.recipe.number and name in known(node.recipe.op).numbers:
                return _plain(value.item())
            if name in ("weight", "bias"):
                return None  # what stands in for one that is not there
        return saved_tensor(value, maker, counter)

    def _hooked(self, pair: PackHooks) -> None:
        node, position = self._node, self._position
        if node.saved is None:
            raise AutogradError(GONE)
        value = node.saved[position]
        if isinstance(value, Packed):
            raise AutogradError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time."
            )
        tensor: Any = self.data
        if not hasattr(tensor, "_array"):
            raise AutogradError(NONE)
        if position == len(node.edges):
            tensor = tensor.detach()  # with its node the packed tensor would hold itself
        packed = Packed(tensor, pair)
        node.keep_packed(
            (*node.saved[:position], packed, *node.saved[position + 1 :]),
            (*node.guards[:position], None, *node.guards[position + 1 :]),
            node.versions,
        )


def _plain(number: float) -> float:
    """2.0 as 2, as the user wrote it more often than not."""
    return int(number) if float(number).is_integer() else number
