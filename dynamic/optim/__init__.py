"""Optimizers and schedulers of their learning rates."""

from dynamic.optim import lr_scheduler, swa_utils
from dynamic.optim.adadelta import Adadelta
from dynamic.optim.adafactor import Adafactor
from dynamic.optim.adagrad import Adagrad
from dynamic.optim.adam import Adam, AdamW
from dynamic.optim.adamax import Adamax
from dynamic.optim.asgd import ASGD
from dynamic.optim.lbfgs import LBFGS
from dynamic.optim.lion import Lion
from dynamic.optim.nadam import NAdam
from dynamic.optim.optimizer import Optimizer
from dynamic.optim.radam import RAdam
from dynamic.optim.rmsprop import RMSprop
from dynamic.optim.rprop import Rprop
from dynamic.optim.sgd import SGD

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Lion",
    "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "lr_scheduler",
    "swa_utils",
]  # fmt: skip
