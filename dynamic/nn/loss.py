"""Losses as layers; `size_average` and `reduce` are PyTorch's old names of `reduction`."""

from __future__ import annotations

from dataclasses import KW_ONLY, InitVar
from typing import Any

from staticgraph.compiler.core.errors import OptionError
from staticgraph.dynamic.nn import functional as F  # noqa: N812 - PyTorch's name
from staticgraph.dynamic.nn.declared import Declared
from staticgraph.dynamic.nn.distance import PairwiseDistance
from staticgraph.dynamic.nn.functional.reduction import legacy_reduction
from staticgraph.dynamic.nn.module import Module


class _Loss(Declared):
    """A loss with a reduction, 'mean', 'sum' or 'none'; its weights are buffers; abstract."""

    def _assign(self, values: dict[str, Any]) -> None:
        Module.__init__(self)
        old = values.pop("size_average", None), values.pop("reduce", None)
        self.reduction = legacy_reduction(*old, values.pop("reduction"))
        for name, value in values.items():
            if name in ("weight", "pos_weight"):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)


class _ReducedLoss(_Loss):
    """A loss whose first hyper-parameters say how it is reduced; abstract."""

    size_average: InitVar[bool | None] = None
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"


class _WeightedLoss(_Loss):
    """A loss whose first hyper-parameter is a weight; abstract."""

    weight: Any = None
    size_average: InitVar[bool | None] = None
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"


class _MarginLoss(_Loss):
    """A loss whose first hyper-parameter is a margin; abstract."""

    margin: float = 0.0
    size_average: InitVar[bool | None] = None
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"


class MSELoss(_ReducedLoss, functional=F.mse_loss):
    """The squared difference.

    Example:
        >>> nn.MSELoss()(dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0, 2.0]))
        tensor(2.)
    """


class L1Loss(_ReducedLoss, functional=F.l1_loss):
    """The absolute difference.

    Example:
        >>> nn.L1Loss()(dynamic.tensor([1.0, 2.0]), dynamic.tensor([3.0, 3.0]))
        tensor(1.5000)
    """


class SmoothL1Loss(_ReducedLoss, functional=F.smooth_l1_loss):
    """Quadratic below beta, linear above.

    Example:
        >>> nn.SmoothL1Loss()(dynamic.tensor([3.0]), dynamic.tensor([0.0]))
        tensor(2.5000)
    """

    beta: float = 1.0


class HuberLoss(_Loss, functional=F.huber_loss):
    """Quadratic below delta, linear above.

    Example:
        >>> nn.HuberLoss()(dynamic.tensor([3.0]), dynamic.tensor([0.0]))
        tensor(2.5000)
    """

    reduction: str = "mean"
    delta: float = 1.0


class CrossEntropyLoss(_Loss, functional=F.cross_entropy):
    """-log(softmax(x)) of the target: class indices, or probabilities.

    Example:
        >>> nn.CrossEntropyLoss()(dynamic.zeros(1, 2), dynamic.tensor([1]))
        tensor(0.6931)
    """

    weight: Any = None
    size_average: InitVar[bool | None] = None
    ignore_index: int = -100
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"
    label_smoothing: float = 0.0


class NLLLoss(_Loss, functional=F.nll_loss):
    """-x[target], x log-probabilities.

    Example:
        >>> nn.NLLLoss()(dynamic.tensor([[-1.0, -2.0]]), dynamic.tensor([1]))
        tensor(2.)
    """

    weight: Any = None
    size_average: InitVar[bool | None] = None
    ignore_index: int = -100
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"


class BCELoss(_WeightedLoss, functional=F.binary_cross_entropy):
    """The loss of targets under probabilities.

    Example:
        >>> nn.BCELoss()(dynamic.tensor([0.5]), dynamic.tensor([1.0]))
        tensor(0.6931)
    """


class BCEWithLogitsLoss(_WeightedLoss, functional=F.binary_cross_entropy_with_logits):
    """The loss of targets under probabilities sigmoid(x).

    Example:
        >>> nn.BCEWithLogitsLoss()(dynamic.tensor([0.0]), dynamic.tensor([1.0]))
        tensor(0.6931)
    """

    pos_weight: Any = None


class KLDivLoss(_ReducedLoss, functional=F.kl_div):
    """t * (log(t) - x), x log-probabilities; `log_target`: the target is log(t).

    Example:
        >>> nn.KLDivLoss(reduction="batchmean")(
        ...     dynamic.tensor([[0.5, 0.5]]).log(), dynamic.tensor([[0.5, 0.5]])
        ... )
        tensor(0.)
    """

    log_target: bool = False


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts.

    Example:
        >>> nn.PoissonNLLLoss()(dynamic.tensor([0.0]), dynamic.tensor([2.0]))
        tensor(1.)
    """

    log_input: bool = True
    full: bool = False
    size_average: InitVar[bool | None] = None
    eps: float = 1e-8
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"

    def forward(self, log_input: Any, target: Any) -> Any:
        """The loss; its first argument has the name of an option."""
        options = (self.log_input, self.full, None, self.eps, None, self.reduction)
        return F.poisson_nll_loss(log_input, target, *options)


class GaussianNLLLoss(_Loss, functional=F.gaussian_nll_loss):
    """The negative log-likelihood under a mean and a variance.

    Example:
        >>> nn.GaussianNLLLoss()(
        ...     dynamic.tensor([1.0]), dynamic.tensor([3.0]), dynamic.tensor([1.0])
        ... )
        tensor(2.)
    """

    _: KW_ONLY
    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"


class CTCLoss(Module):
    """The loss of sequences whose places are not known: see `functional.ctc_loss`.

    Example:
        >>> nn.CTCLoss()(
        ...     dynamic.zeros(3, 1, 2),
        ...     dynamic.tensor([[1]]),
        ...     dynamic.tensor([3]),
        ...     dynamic.tensor([1]),
        ... ).shape
        torch.Size([])
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:
        """The loss."""
        options = (self.blank, self.reduction, self.zero_infinity)
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, *options)


class CosineEmbeddingLoss(_MarginLoss, functional=F.cosine_embedding_loss):
    """1 - cos of a pair that belongs together, max(0, cos - margin) of another.

    Example:
        >>> nn.CosineEmbeddingLoss()(
        ...     dynamic.tensor([[1.0, 0.0]]), dynamic.tensor([[0.0, 1.0]]), dynamic.tensor([1.0])
        ... )
        tensor(1.)
    """


class MarginRankingLoss(_MarginLoss, functional=F.margin_ranking_loss):
    """max(0, margin - t * (x1 - x2)).

    Example:
        >>> nn.MarginRankingLoss()(
        ...     dynamic.tensor([1.0]), dynamic.tensor([3.0]), dynamic.tensor([1.0])
        ... )
        tensor(2.)
    """


class HingeEmbeddingLoss(_MarginLoss, functional=F.hinge_embedding_loss):
    """x where the target is 1, max(0, margin - x) where it is -1.

    Example:
        >>> nn.HingeEmbeddingLoss()(dynamic.tensor([0.5]), dynamic.tensor([-1.0]))
        tensor(0.5000)
    """

    margin: float = 1.0


class SoftMarginLoss(_ReducedLoss, functional=F.soft_margin_loss):
    """log(1 + exp(-t * x)).

    Example:
        >>> nn.SoftMarginLoss()(dynamic.tensor([0.0]), dynamic.tensor([1.0]))
        tensor(0.6931)
    """


class MultiMarginLoss(_Loss, functional=F.multi_margin_loss):
    """The mean over the other classes of max(0, margin - x[target] + x)**p.

    Example:
        >>> nn.MultiMarginLoss()(dynamic.tensor([[1.0, 0.5]]), dynamic.tensor([0]))
        tensor(0.2500)
    """

    p: int = 1
    margin: float = 1.0
    weight: Any = None
    reduction: str = "mean"


class MultiLabelMarginLoss(_ReducedLoss, functional=F.multilabel_margin_loss):
    """The mean over labels and other classes of max(0, 1 - x[label] + x).

    Example:
        >>> nn.MultiLabelMarginLoss()(dynamic.tensor([[2.0, 0.0]]), dynamic.tensor([[0, -1]]))
        tensor(0.)
    """


class MultiLabelSoftMarginLoss(_Loss, functional=F.multilabel_soft_margin_loss):
    """The mean over the classes of the binary cross entropies of logits.

    Example:
        >>> nn.MultiLabelSoftMarginLoss()(dynamic.zeros(1, 2), dynamic.ones(1, 2))
        tensor(0.6931)
    """

    weight: Any = None
    reduction: str = "mean"


class _TripletLoss(_Loss):
    """A loss with a margin above 0, else ValueError; abstract."""

    def _assign(self, values: dict[str, Any]) -> None:
        margin = values["margin"]
        if margin <= 0:
            raise OptionError(
                f"{self._get_name()}: expected margin to be greater than 0, got {margin} instead"
            )
        super()._assign(values)


class TripletMarginLoss(_TripletLoss, functional=F.triplet_margin_loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the pairwise distance.

    Example:
        >>> nn.TripletMarginLoss(eps=0)(
        ...     dynamic.tensor([[0.0]]), dynamic.tensor([[1.0]]), dynamic.tensor([[3.0]])
        ... )
        tensor(0.)
    """

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: InitVar[bool | None] = None
    reduce: InitVar[bool | None] = None
    reduction: str = "mean"


class TripletMarginWithDistanceLoss(_TripletLoss, functional=F.triplet_margin_with_distance_loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for any distance d.

    Example:
        >>> nn.TripletMarginWithDistanceLoss()(
        ...     dynamic.zeros(1, 2), dynamic.zeros(1, 2), dynamic.ones(1, 2)
        ... ).shape
        torch.Size([])
    """

    _: KW_ONLY
    distance_function: Any = None
    margin: float = 1.0
    swap: bool = False
    reduction: str = "mean"

    def _assign(self, values: dict[str, Any]) -> None:
        if values["distance_function"] is None:
            values["distance_function"] = PairwiseDistance()
        super()._assign(values)
