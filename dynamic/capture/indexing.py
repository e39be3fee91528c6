"""Indexing by traced tensors: the positions that they name, as ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OutOfRangeError
from staticgraph.compiler.core.refusals import refuse
from staticgraph.compiler.graph.expression import construct, is_symbolic
from staticgraph.compiler.ops import leaves
from staticgraph.dynamic.tape.grad_mode import mode


def lifted_key(key: object) -> Any:
    """A key with what stands for tensors of the surroundings: their values may change.

    Elements of uint8 are those of a mask, as eagerly.
    """
    if isinstance(key, tuple):
        return tuple(map(_lifted, key))
    return _lifted(key)


def _lifted(one: object) -> Any:
    found = mode.capture.lifted(one)
    is_mask_of_bytes = is_symbolic(found) and found._array.dtype == np.uint8
    return ops.not_equal(found, 0) if is_mask_of_bytes else found


def by_values(key: object) -> bool:
    """Whether a key has an index or mask whose values are not known."""
    keys = key if isinstance(key, tuple) else (key,)
    return any(is_symbolic(one) and one._is_unknown() for one in keys)


def is_mask(one: Any) -> bool:
    """Whether an entry of a key is a mask."""
    return is_symbolic(one) and one._array.dtype.kind == "b"


def parts(tensor: Any, key: object) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The key of numbers and slices that makes a view, and per axis of that its index, or `:`."""
    keys: list[Any] = list(key) if isinstance(key, tuple) else [key]
    taken = sum(int(one.ndim) if is_mask(one) else 1 for one in keys if not _is_free(one))
    if any(one is Ellipsis for one in keys):
        at = next(i for i, one in enumerate(keys) if one is Ellipsis)
        keys[at : at + 1] = [slice(None)] * (tensor.ndim - taken)
    else:
        keys += [slice(None)] * (tensor.ndim - taken)
    if taken > tensor.ndim:
        raise OutOfRangeError(
            f"too many indices for tensor of dimension {tensor.ndim}: its shape is "
            f"{list(tensor.shape)}"
        )
    basic: list[Any] = []
    advanced: list[Any] = []
    for one in keys:
        if is_mask(one):
            refuse(
                "takes the elements where a mask holds, so many as its values say",
                "use where(mask, x, 0), or a sum weighted by the mask",
            )
        if isinstance(one, bool):
            refuse("indexes by a bool beside tensors", "use unsqueeze")
        if isinstance(one, slice) or one is None:
            advanced.append(slice(None))
        elif not hasattr(one, "__index__") or hasattr(one, "dtype") or isinstance(one, list):
            advanced.append(mode.capture.lifted(one))
        basic.append(one if isinstance(one, int | slice) or one is None else slice(None))
    return tuple(basic), tuple(advanced)


def _is_free(one: object) -> bool:
    """Whether an entry of a key takes no axis."""
    return one is None or one is Ellipsis


def positions(tensor: Any, key: Sequence[Any]) -> Any:
    """The places in the flat tensor that a key of `parts` names: those of all axes, added."""
    indices = [i for i, one in enumerate(key) if not isinstance(one, slice)]
    together = indices == list(range(indices[0], indices[-1] + 1))
    given = {i: _as_index(tensor, key[i]) for i in indices}
    rank = max(one.ndim for one in given.values())
    front = indices[0] if together else 0
    rest = [i for i in range(tensor.ndim) if i not in given]
    before = front if together else 0
    count = rank + len(rest)
    total: Any = None
    stride: Any = 1
    for i in reversed(range(tensor.ndim)):
        size = tensor.shape[i]
        along = mode.capture.made(construct(leaves.iota, (), {"size": size})) * stride
        if i in given:
            part = ops.take(along, given[i], 0)
            shape = (1,) * (rank - part.ndim) + tuple(part.shape)
            shape = (1,) * before + shape + (1,) * (count - before - rank)
        else:
            at = rest.index(i)
            at += rank if at >= before else 0
            shape = tuple(size if axis == at else 1 for axis in range(count))
            part = along
        part = ops.reshape(part, shape)
        total = part if total is None else total + part
        stride = stride * size
    return total


def _as_index(tensor: Any, one: Any) -> Any:
    index = one if is_symbolic(one) else tensor._constant(np.asarray(one))
    if index._array.dtype.kind not in "iu":
        raise OutOfRangeError("tensors used as indices must be long, int, byte or bool tensors")
    return index


def fill_where(tensor: Any, key: Any, value: Any) -> None:
    """`tensor[mask] = value`, for one value, or one for each row that the mask says."""
    keys = key if isinstance(key, tuple) else (key,)
    masks = [one for one in keys if is_mask(one)]
    lead = next(i for i, one in enumerate(keys) if is_mask(one))
    plain = all(one == slice(None) for one in keys[:lead]) and len(keys) == lead + 1
    rest = tensor.ndim - lead - masks[0].ndim
    value = mode.capture.lifted(value)
    if not plain or getattr(value, "ndim", 0) > rest:
        refuse(
            "assigns to the elements where a mask holds, so many as its values say",
            "assign one value, or use where(mask, values, x)",
        )
    mask = ops.reshape(masks[0], (*tuple(masks[0].shape), *(1,) * rest))
    if not is_symbolic(value):
        value = tensor._constant(np.asarray(value, tensor._array.dtype))
    tensor.copy_(ops.where(mask, ops.astype(value, tensor.dtype), tensor))
