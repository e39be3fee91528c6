"""Embeddings."""

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


class Embedding(Module):
    """The rows of a weight at integer indices: (...) -> (..., embedding_dim).

    The weight begins normal, its row `padding_idx` zero, which gets no gradient. See
    `functional.embedding` for the other options.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        check_device(device)
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise OptionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is not None and tuple(_weight.shape) != (num_embeddings, embedding_dim):
            raise OptionError("Shape of weight does not match num_embeddings and embedding_dim")
        weight = empty(num_embeddings, embedding_dim, dtype=dtype) if _weight is None else _weight
        self.weight = Parameter(weight, requires_grad=not _freeze)
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Any) -> Any:
        """The rows at the indices."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """The sizes, and the options that are not the usual ones."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return text + (", sparse=True" if self.sparse else "")

    @classmethod
    def from_pretrained(
        cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None, **options: Any
    ) -> Embedding:
        """A layer on the memory of a matrix, which is not trained if `freeze`."""
        if embeddings.ndim != 2:
            raise OptionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, _weight=embeddings, _freeze=freeze, **options)
