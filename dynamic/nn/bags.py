"""Sums, means and maxima of embeddings as a layer."""

from __future__ import annotations

from typing import Any

from compiler.core.errors import OptionError
from dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from dynamic.nn import init
from dynamic.nn.module import Module
from dynamic.nn.parameter import Parameter
from dynamic.tape.grad_mode import no_grad
from dynamic.tensors.creation import empty
from dynamic.tensors.devices import check_device


class EmbeddingBag(Module):
    """The sum, mean or maximum of the rows of a weight per bag: see `functional.embedding_bag`.

    The weight begins normal, its row `padding_idx`, which counts in no bag, zero.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        check_device(device)
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise OptionError("padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = padding_idx
        if _weight is not None and tuple(_weight.shape) != (num_embeddings, embedding_dim):
            raise OptionError("Shape of weight does not match num_embeddings and embedding_dim")
        weight = empty(num_embeddings, embedding_dim, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(weight)
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        """One row per bag."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """The sizes, and the options that are not the usual ones."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> EmbeddingBag:
        """A layer on the memory of a matrix, which is not trained if `freeze`."""
        if embeddings.ndim != 2:
            raise OptionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(rows, columns, _weight=embeddings, **options)
        made.weight.requires_grad_(not freeze)
        return made
