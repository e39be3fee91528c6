"""What tools that look at the graph read of its nodes: names of classes and saved values."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamic.errors import AutogradError, MissingAttributeError
from dynamic.tape import FREED, Node

_classes: dict[tuple[type, str], type] = {}


def named(node: Any) -> Any:
    """The node, with its name as the name of its class, which tools that draw graphs print."""
    if isinstance(node, Node):
        kind = type(node)
        base = kind if "name_" not in kind.__dict__ else kind.__mro__[1]
        name = node.name()
        made = _classes.get((base, name))
        if made is None:
            members = {"__slots__": (), "__doc__": Node.__doc__, "name_": name}
            made = _classes[base, name] = type(name, (base,), members)
        if made is not kind:
            node.__class__ = made
    return node


_OPERANDS = {
    "matmul": ("self", "mat2"),
    "outer": ("self", "other"),
    "power": ("self", "exponent"),
    "where": ("condition", "self", "other"),
    "masked_fill": ("mask", "value", "self"),
    "take": ("self", "index"),
    "index_select": ("self", "index"),
    "take_along_axis": ("self", "index"),
    "cross_entropy": ("self", "target"),
    "mse_loss": ("self", "target"),
    "binary_cross_entropy_with_logits": ("self", "target"),
    "layer_norm": ("input", "weight", "bias"),
    "dot": ("self", "tensor"),
    "conv2d": ("input", "weight", "bias"),
}
"""PyTorch's names of the operands where they are not self and other."""

_SIZES = frozenset(("sum", "mean", "prod", "sum_dim", "mean_dim", "reshape", "broadcast_to"))


def saved_value(node: Node, attribute: str) -> Any:
    """`node._saved_self`, `_saved_other`, `_saved_result`: what the node saved, as a tensor.

    None for an operand that the rules do not read. RuntimeError once the graph was freed.
    """
    name = attribute.removeprefix("_saved_")
    op = node.recipe.op.name
    names = _OPERANDS.get(op, ("self", "other"))[: len(node.edges)]
    if name in ("self_sym_sizes", "self_sizes") and op in _SIZES and node.edges[0] is not None:
        return node.edges[0].shape
    if name == "dim" and "axes" in node.attrs:
        return node.attrs["axes"]
    if name == "keepdim" and "keepdims" in node.attrs:
        return node.attrs["keepdims"]
    if name in names:
        position = names.index(name)
    elif name == "result" and node.recipe.keeps_output:
        position = len(node.edges)
    else:
        raise MissingAttributeError(f"{node.name()!r} object has no attribute {attribute!r}")
    if node.saved is None:
        raise AutogradError(FREED)
    value = node.saved[position]
    maker = (*node.edges, node)[position]
    guards = node.guards
    counter = guards[position] if guards else None
    if counter is not None and counter[0] != node.versions[position]:
        raise AutogradError(node._mutated())
    return _as_tensor(value, maker, counter)


def _as_tensor(value: Any, maker: Any, counter: Any) -> Any:
    from dynamic.leaf import AccumulateGrad
    from dynamic.saved_tensors import Packed
    from dynamic.tensor import wrap

    if isinstance(value, Packed):
        value = value.unpacked()._array
    if not isinstance(value, np.ndarray):
        return None
    if type(maker) is AccumulateGrad and maker.leaf() is not None:
        return maker.leaf()
    result = wrap(value)
    result._node = maker
    if isinstance(counter, list):
        result._counter = counter
    return result
