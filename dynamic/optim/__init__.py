"""Optimizers and schedulers of their learning rates."""

from staticgraph.dynamic.optim import lr_scheduler, swa_utils
from staticgraph.dynamic.optim.adadelta import Adadelta
from staticgraph.dynamic.optim.adafactor import Adafactor
from staticgraph.dynamic.optim.adagrad import Adagrad
from staticgraph.dynamic.optim.adam import Adam, AdamW
from staticgraph.dynamic.optim.adamax import Adamax
from staticgraph.dynamic.optim.asgd import ASGD
from staticgraph.dynamic.optim.lbfgs import LBFGS
from staticgraph.dynamic.optim.lion import Lion
from staticgraph.dynamic.optim.muon import Muon
from staticgraph.dynamic.optim.nadam import NAdam
from staticgraph.dynamic.optim.optimizer import Optimizer
from staticgraph.dynamic.optim.radam import RAdam
from staticgraph.dynamic.optim.rmsprop import RMSprop
from staticgraph.dynamic.optim.rprop import Rprop
from staticgraph.dynamic.optim.sgd import SGD
from staticgraph.dynamic.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Lion",
    "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler",
    "swa_utils",
]  # fmt: skip
