"""Embeddings, and their sums, means and maxima over bags."""

from __future__ import annotations

from dataclasses import InitVar
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.nn import (
    functional as F,  # noqa: N812 - PyTorch's name
    init,
)
from staticgraph.dynamic.nn.declared import Declared
from staticgraph.dynamic.nn.errors import AssertedError
from staticgraph.dynamic.nn.parameter import Parameter
from staticgraph.dynamic.tape.grad_mode import no_grad
from staticgraph.dynamic.tensors.creation import empty
from staticgraph.dynamic.tensors.devices import check_device


class _Embedding(Declared):
    """A weight (num_embeddings, embedding_dim), normal at first, its row `padding_idx` zero."""

    _attributes = ("weight",)
    _refusal = "padding_idx must be within num_embeddings"

    def _assign(self, values: dict[str, Any]) -> None:
        check_device(values.pop("device"))
        given, dtype = values.pop("_weight"), values.pop("dtype")
        frozen = values.pop("_freeze", False)
        rows, columns = values["num_embeddings"], values["embedding_dim"]
        padding = values["padding_idx"]
        if padding is not None:
            if not -rows <= padding < rows:
                raise AssertedError(self._refusal)
            values["padding_idx"] = padding % rows
        super()._assign(values)
        if given is not None and tuple(given.shape) != (rows, columns):
            raise OptionError("Shape of weight does not match num_embeddings and embedding_dim")
        weight = empty(rows, columns, dtype=dtype) if given is None else given
        self.weight = Parameter(weight, requires_grad=not frozen)
        if given is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _unusual(self, **usual: object) -> list[str]:
        """The options that are not the usual ones."""
        options = {name: getattr(self, name) for name in usual}
        return [f"{name}={value}" for name, value in options.items() if value != usual[name]]


def _sizes(embeddings: Any) -> tuple[int, int]:
    """The rows and columns of a matrix."""
    if embeddings.ndim != 2:
        raise OptionError("Embeddings parameter is expected to be 2-dimensional")
    rows, columns = embeddings.shape
    return rows, columns


class Embedding(_Embedding, functional=F.embedding):
    """The rows of a weight at integer indices: (...) -> (..., embedding_dim).

    The weight begins normal, its row `padding_idx` zero, which gets no gradient. See
    `functional.embedding` for the other options.

    Example:
        >>> nn.Embedding(10, 3)(dynamic.tensor([1, 4])).shape
        torch.Size([2, 3])
    """

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None = None
    max_norm: float | None = None
    norm_type: float = 2.0
    scale_grad_by_freq: bool = False
    sparse: bool = False
    _weight: InitVar[Any] = None
    _freeze: InitVar[bool] = False
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None
    _refusal = "Padding_idx must be within num_embeddings"

    def extra_repr(self) -> str:
        """The sizes, and the options that are not the usual ones."""
        parts = self._unusual(
            padding_idx=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, sparse=False
        )
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *parts])

    @classmethod
    def from_pretrained(
        cls, embeddings: object, freeze: bool = True, padding_idx: int | None = None, **options: Any
    ) -> Embedding:
        """A layer on the memory of a matrix, which is not trained if `freeze`."""
        sizes = _sizes(embeddings)
        return cls(*sizes, padding_idx, _weight=embeddings, _freeze=freeze, **options)


class EmbeddingBag(_Embedding, functional=F.embedding_bag):
    """The sum, mean or maximum of the rows of a weight per bag: see `functional.embedding_bag`.

    The weight begins normal, its row `padding_idx`, which counts in no bag, zero.

    Example:
        >>> nn.EmbeddingBag(10, 3)(dynamic.tensor([[1, 4], [0, 2]])).shape
        torch.Size([2, 3])
    """

    num_embeddings: int
    embedding_dim: int
    max_norm: float | None = None
    norm_type: float = 2.0
    scale_grad_by_freq: bool = False
    mode: str = "mean"
    sparse: bool = False
    _weight: InitVar[Any] = None
    include_last_offset: bool = False
    padding_idx: int | None = None
    device: InitVar[Any] = None
    dtype: InitVar[Any] = None
    _optional = ("offsets", "per_sample_weights")

    def extra_repr(self) -> str:
        """The sizes, the mode, and the options that are not the usual ones."""
        parts = self._unusual(max_norm=None, norm_type=2, scale_grad_by_freq=False)
        parts += [f"mode={self.mode!r}", *self._unusual(padding_idx=None)]
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *parts])

    @classmethod
    def from_pretrained(
        cls, embeddings: object, freeze: bool = True, **options: Any
    ) -> EmbeddingBag:
        """A layer on the memory of a matrix, which is not trained if `freeze`."""
        made = cls(*_sizes(embeddings), _weight=embeddings, **options)
        made.weight.requires_grad_(not freeze)
        return made
