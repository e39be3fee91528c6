"""Transformer decoders, and encoder and decoder together (Vaswani et al. 2017)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn import (
    functional as F,  # noqa: N812 - PyTorch's name
    init,
)
from staticgraph.dynamic.nn.attention import MultiheadAttention
from staticgraph.dynamic.nn.containers import ModuleList
from staticgraph.dynamic.nn.dropout import Dropout
from staticgraph.dynamic.nn.linear import Linear
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.normalization import LayerNorm
from staticgraph.dynamic.nn.transformer import (
    TransformerEncoder,
    TransformerEncoderLayer,
    activation_of,
)
from staticgraph.dynamic.tensors.creation import full
from staticgraph.dynamic.tensors.devices import check_device


class TransformerDecoderLayer(Module):
    """Self-attention, attention to `memory`, and two linear layers, with residuals and norms.

    (t, n, d_model), or (n, t, d_model) if `batch_first`; `norm_first` normalises before instead
    of after each part.

    Example:
        >>> layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        >>> layer(dynamic.ones(1, 3, 8), dynamic.ones(1, 5, 8)).shape
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], object] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        check_device(device)
        super().__init__()
        options: dict[str, Any] = {"batch_first": batch_first, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, **options)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, **options)
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = activation_of(activation)

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """The output, of the target's shape; the masks are those of MultiheadAttention."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._attend_self(self.norm1(x), *own)
            x = x + self._attend_memory(self.norm2(x), memory, *other)
            return x + self._feed(self.norm3(x))
        x = self.norm1(x + self._attend_self(x, *own))
        x = self.norm2(x + self._attend_memory(x, memory, *other))
        return self.norm3(x + self._feed(x))

    def _attend_self(self, x: Any, mask: Any, padding: Any, is_causal: bool) -> Any:
        options = {"key_padding_mask": padding, "attn_mask": mask, "is_causal": is_causal}
        return self.dropout1(self.self_attn(x, x, x, need_weights=False, **options)[0])

    def _attend_memory(self, x: Any, memory: Any, mask: Any, padding: Any, is_causal: bool) -> Any:
        options = {"key_padding_mask": padding, "attn_mask": mask, "is_causal": is_causal}
        return self.dropout2(
            self.multihead_attn(x, memory, memory, need_weights=False, **options)[0]
        )

    def _feed(self, x: Any) -> Any:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoder(Module):
    """`num_layers` copies of a layer in a row, and a normalisation layer after them if given.

    Example:
        >>> layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
        >>> nn.TransformerDecoder(layer, 2)(dynamic.ones(1, 3, 8), dynamic.ones(1, 5, 8)).shape
        torch.Size([1, 3, 8])
    """

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """The output of the last layer; the masks are those of MultiheadAttention."""
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, bool(tgt_is_causal), memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of the source, and a decoder of the target that attends to what it gives.

    Example:
        >>> model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
        >>> model(dynamic.ones(1, 5, 8), dynamic.ones(1, 3, 8)).shape
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], object] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        check_device(device)
        super().__init__()
        layer: Any = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        options: dict[str, Any] = {
            "batch_first": batch_first, "norm_first": norm_first, "bias": bias, "dtype": dtype,
        }  # fmt: skip
        norm: dict[str, Any] = {"bias": bias, "dtype": dtype}
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*layer, **options),
            num_encoder_layers,
            LayerNorm(d_model, layer_norm_eps, **norm),
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*layer, **options),
            num_decoder_layers,
            LayerNorm(d_model, layer_norm_eps, **norm),
        )
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """The decoder's output; the masks are those of MultiheadAttention."""
        axis = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[axis] != tgt.shape[axis]:
            raise AutogradError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise AutogradError(
                "the feature number of src and tgt must be equal to d_model: "
                f"{src.shape[-1]} and {tgt.shape[-1]}, not {self.d_model}"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask, bool(src_is_causal))
        return self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            tgt_is_causal,
            memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: object = None, dtype: object = None
    ) -> Any:
        """(sz, sz): -inf above the diagonal, 0 elsewhere."""
        return full((sz, sz), -np.inf, dtype=dtype, device=device).triu(1)
