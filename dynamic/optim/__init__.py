"""Optimizers."""

from dynamic.optim.optimizer import Optimizer
from dynamic.optim.sgd import SGD

__all__ = ["SGD", "Optimizer"]
