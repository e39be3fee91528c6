"""Multi-head attention (Vaswani et al. 2017)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.core.sizes import differ
from staticgraph.dynamic.nn import (
    functional as F,  # noqa: N812 - PyTorch's name
    init,
)
from staticgraph.dynamic.nn.errors import AssertedError, IndivisibleError, ModuleError
from staticgraph.dynamic.nn.functional.attention import (
    additive_mask,
    attention_weights,
    split_heads,
)
from staticgraph.dynamic.nn.linear import NonDynamicallyQuantizableLinear
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tensors.creation import empty
from staticgraph.dynamic.tensors.devices import check_device


class MultiheadAttention(Module):
    """Attention in `num_heads` subspaces: (l, n, embed_dim), (s, n, kdim), (s, n, vdim).

    (n, l, ...) if `batch_first`; the axis n may be absent. `kdim` and `vdim` are `embed_dim`
    unless given; `add_bias_kv` adds a trained key and value, `add_zero_attn` zeros.

    Example:
        >>> attend = nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = dynamic.ones(1, 5, 8)
        >>> out, weights = attend(x, x, x)
        >>> out.shape, weights.shape
        (torch.Size([1, 5, 8]), torch.Size([1, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: object = None,
        dtype: object = None,
    ) -> None:
        check_device(device)
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise OptionError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise IndivisibleError("embed_dim must be divisible by num_heads")
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        self._register(bias, add_bias_kv, dtype)
        self.reset_parameters()

    def _register(self, bias: bool, add_bias_kv: bool, dtype: object) -> None:
        size = self.embed_dim
        shared = self.kdim == self.vdim == size
        shapes: dict[str, Any] = {
            "q_proj_weight": None if shared else (size, size),
            "k_proj_weight": None if shared else (size, self.kdim),
            "v_proj_weight": None if shared else (size, self.vdim),
            "in_proj_weight": (3 * size, size) if shared else None,
            "in_proj_bias": (3 * size,) if bias else None,
        }
        if shared:
            shapes = {"in_proj_weight": shapes.pop("in_proj_weight"), **shapes}
        for name, shape in shapes.items():
            made = None if shape is None else Parameter(empty(shape, dtype=dtype))
            self.register_parameter(name, made)
        self.out_proj = NonDynamicallyQuantizableLinear(size, size, bias=bias, dtype=dtype)
        for name in ("bias_k", "bias_v"):
            made = Parameter(empty(1, 1, size, dtype=dtype)) if add_bias_kv else None
            self.register_parameter(name, made)

    def reset_parameters(self) -> None:
        """Draw the parameters anew (Glorot's bounds), biases 0."""
        for name, parameter in self.named_parameters(recurse=False):
            if name in ("bias_k", "bias_v"):
                init.normal_(parameter, std=math.sqrt(2.0 / (self.embed_dim + 1)))
            elif parameter.ndim == 2:
                init.xavier_uniform_(parameter)
            else:
                init.zeros_(parameter)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def _projected(self, query: object, key: object, value: object) -> list[Any]:
        """Query, key and value, each (length, n, embed_dim)."""
        size = self.embed_dim
        bias = self.in_proj_bias
        biases = [None] * 3 if bias is None else [bias[i * size : (i + 1) * size] for i in range(3)]
        packed = self.in_proj_weight
        if packed is None:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        elif query is key and key is value:
            all_three = F.linear(query, packed, bias)
            return [all_three[..., i * size : (i + 1) * size] for i in range(3)]
        else:
            weights = [packed[i * size : (i + 1) * size] for i in range(3)]
        return [
            F.linear(x, weight, one)
            for x, weight, one in zip((query, key, value), weights, biases, strict=True)
        ]

    def forward(
        self,
        query: Any,
        key: Any,
        value: object,
        key_padding_mask: object = None,
        need_weights: bool = True,
        attn_mask: object = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """The result, of the query's shape, and the weights (n, l, s), or None.

        Args:
            key_padding_mask: (n, s): True at keys to leave out, or numbers to add.
            need_weights: whether the weights are returned.
            attn_mask: (l, s) or (n * num_heads, l, s): True where a key is not seen, or numbers.
            average_attn_weights: else the weights are (n, num_heads, l, s).
            is_causal: a hint that attn_mask is causal, which it has to be.
        """
        if is_causal and attn_mask is None:
            raise ModuleError(
                "Need attn_mask if specifying the is_causal hint. You may use the Transformer "
                "module method `generate_square_subsequent_mask` to create this mask."
            )
        batched = self._is_batched(query, key, value)
        _check_masks(batched, attn_mask, key_padding_mask)
        same = query is key and key is value
        query, *others = (self._sequence_first(x, batched) for x in (query, key, value))
        key, value = (query, query) if same else others
        heads = self._with_additions(*self._projected(query, key, value))
        if key_padding_mask is not None and not batched:
            key_padding_mask = ops.expand_dims(key_padding_mask, 0)
        mask = self._mask(attn_mask, key_padding_mask, query, key)
        scale = 1 / math.sqrt(self.head_dim)
        weights = attention_weights(heads[0] * scale, heads[1], mask)
        weights = F.dropout(weights, self.dropout, self.training)
        joined = ops.transpose(ops.matmul(weights, heads[2]), (2, 0, 1, 3))
        output = self.out_proj(ops.reshape(joined, tuple(query.shape)))
        if not need_weights:
            return self._restored(output, batched), None
        if average_attn_weights:
            weights = ops.mean(weights, axis=1)
        return self._restored(output, batched), weights if batched else ops.squeeze(weights, 0)

    def _is_batched(self, query: Any, key: Any, value: Any) -> bool:
        if query.ndim not in (2, 3):
            raise OptionError(
                "query should be unbatched 2D or batched 3D tensor but received "
                f"{query.ndim}-D query tensor"
            )
        if key.ndim != query.ndim or value.ndim != query.ndim:
            kind = "batched (3-D)" if query.ndim == 3 else "unbatched (2-D)"
            raise OptionError(
                f"For {kind} `query`, expected `key` and `value` to be {query.ndim}-D but found "
                f"{key.ndim}-D and {value.ndim}-D tensors respectively"
            )
        if query.shape[-1] != self.embed_dim:
            raise AssertedError(
                f"was expecting embedding dimension of {self.embed_dim}, but got {query.shape[-1]}"
            )
        return bool(query.ndim == 3)

    def _sequence_first(self, x: object, batched: bool) -> Any:
        if not batched:
            return ops.expand_dims(x, 1)
        return ops.swapaxes(x, 0, 1) if self.batch_first else x

    def _restored(self, x: object, batched: bool) -> Any:
        if not batched:
            return ops.squeeze(x, 1)
        return ops.swapaxes(x, 0, 1) if self.batch_first else x

    def _with_additions(self, query: object, key: Any, value: object) -> list[Any]:
        """The heads of query, key and value (n, heads, length, d), with the added keys."""
        batch = key.shape[1]
        if self.bias_k is not None:
            row = (1, batch, self.embed_dim)
            key = ops.concatenate([key, ops.broadcast_to(self.bias_k, row)], 0)
            value = ops.concatenate([value, ops.broadcast_to(self.bias_v, row)], 0)
        if self.add_zero_attn:
            zero = key._constant(np.zeros((), np.dtype(key.dtype)))
            zero = ops.broadcast_to(zero, (1, batch, self.embed_dim))
            key, value = (ops.concatenate([x, zero], 0) for x in (key, value))
        return [split_heads(x, self.num_heads) for x in (query, key, value)]

    def _mask(self, attn_mask: object, padding_mask: object, query: Any, key: object) -> Any:
        """What is added to the scores (n, heads, l, s), or None."""
        total = None
        if attn_mask is not None:
            mask = self._by_heads(attn_mask, query, key)
            total = additive_mask(mask, True, query.dtype)
        if padding_mask is not None:
            padding = ops.expand_dims(additive_mask(padding_mask, True, query.dtype), (1, 2))
            total = padding if total is None else total + padding
        added = (self.bias_k is not None) + self.add_zero_attn
        if total is None or not added:
            return total
        return ops.pad(total, [(0, 0)] * (total.ndim - 1) + [(0, added)])  # these may be seen

    def _by_heads(self, mask: Any, query: Any, key: Any) -> Any:
        """A mask (l, s) or (n * heads, l, s) in a shape that broadcasts to (n, heads, l, s)."""
        batch = query.shape[1]
        wanted: tuple[Any, ...] = (query.shape[0], key.shape[0])
        if mask.ndim == 3:
            wanted = (batch * self.num_heads, *wanted)
        if differ(mask.shape, wanted):
            raise ModuleError(
                f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {wanted}."
            )
        return mask if mask.ndim == 2 else ops.reshape(mask, (batch, self.num_heads, *wanted[1:]))


def _check_masks(batched: bool, attn_mask: Any, padding_mask: Any) -> None:
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    for name, mask, allowed, said in (
        ("key_padding_mask", padding_mask, (1 + batched,), f"`None` or {1 + batched}-D"),
        ("attn_mask", attn_mask, (2, 3), "`None`, 2-D or 3-D"),
    ):
        if mask is not None and mask.ndim not in allowed:
            raise OptionError(
                f"For {kind} `query`, expected `{name}` to be {said} but found {mask.ndim}-D "
                "tensor instead"
            )
