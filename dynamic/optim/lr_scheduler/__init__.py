"""Schedulers: learning rates that change from step to step, or from epoch to epoch."""

from staticgraph.dynamic.optim.lr_scheduler.composite import ChainedScheduler, SequentialLR
from staticgraph.dynamic.optim.lr_scheduler.cosine import (
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
)
from staticgraph.dynamic.optim.lr_scheduler.cycles import CyclicLR, OneCycleLR
from staticgraph.dynamic.optim.lr_scheduler.decay import (
    ConstantLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from staticgraph.dynamic.optim.lr_scheduler.lambdas import LambdaLR, MultiplicativeLR
from staticgraph.dynamic.optim.lr_scheduler.plateau import ReduceLROnPlateau
from staticgraph.dynamic.optim.lr_scheduler.scheduler import LRScheduler

_LRScheduler = LRScheduler  # its old name, which scripts subclass

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
