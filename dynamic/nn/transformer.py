"""Transformer encoders (Vaswani et al. 2017)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from staticgraph.dynamic.core.errors import AutogradError
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from staticgraph.dynamic.nn.attention import MultiheadAttention
from staticgraph.dynamic.nn.containers import ModuleList
from staticgraph.dynamic.nn.dropout import Dropout
from staticgraph.dynamic.nn.linear import Linear
from staticgraph.dynamic.nn.module import Module
from staticgraph.dynamic.nn.normalization import LayerNorm
from staticgraph.dynamic.tensors.devices import check_device


def activation_of(activation: str | Callable[[Any], object]) -> Callable[[Any], Any]:
    """The function of this name, or the function; RuntimeError for another name."""
    known: dict[str, Callable[[Any], Any]] = {"relu": F.relu, "gelu": F.gelu}
    if not isinstance(activation, str):
        return activation
    if activation not in known:
        raise AutogradError(f"activation should be relu/gelu, not {activation}")
    return known[activation]


class TransformerEncoderLayer(Module):
    """Self-attention and a network of two linear layers, each with residual and layer norm.

    (l, n, d_model), or (n, l, d_model) if `batch_first`; `norm_first` normalises before instead
    of after each part.

    Example:
        >>> nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(dynamic.ones(1, 5, 8)).shape
        torch.Size([1, 5, 8])
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
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = activation_of(activation)

    def forward(
        self,
        src: Any,
        src_mask: Any = None,
        src_key_padding_mask: object = None,
        is_causal: bool = False,
    ) -> Any:
        """The output, of the input's shape; the masks are those of MultiheadAttention."""
        masks = (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            src = src + self._attend(self.norm1(src), *masks)
            return src + self._feed(self.norm2(src))
        src = self.norm1(src + self._attend(src, *masks))
        return self.norm2(src + self._feed(src))

    def _attend(self, x: object, mask: object, padding: object, is_causal: bool) -> Any:
        options = {"key_padding_mask": padding, "attn_mask": mask, "is_causal": is_causal}
        return self.dropout1(self.self_attn(x, x, x, need_weights=False, **options)[0])

    def _feed(self, x: object) -> Any:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """`num_layers` copies of a layer in a row, and a normalisation layer after them if given.

    `enable_nested_tensor` and `mask_check` say how PyTorch may skip padding; here none is skipped.

    Example:
        >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> nn.TransformerEncoder(layer, 2)(dynamic.ones(1, 5, 8)).shape
        torch.Size([1, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: object,
        num_layers: int,
        norm: Any = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Any,
        mask: Any = None,
        src_key_padding_mask: object = None,
        is_causal: bool = False,
    ) -> Any:
        """The output of the last layer; the masks are those of MultiheadAttention."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)
