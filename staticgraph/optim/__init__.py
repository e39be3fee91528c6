"""Optimizers as symbolic updates: `minimize(loss)` gives what `compile(updates=...)` takes.

Options and formulas are PyTorch's, and so are the names of what is kept, in variables, so that
`state_dict` goes from an eager optimizer to a compiled one and back.
"""

from staticgraph.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from staticgraph.optim.adaptive import Adadelta, Adafactor, Adagrad, RMSprop
from staticgraph.optim.average import Average
from staticgraph.optim.clipping import clip_by_global_norm, clip_by_value, global_norm
from staticgraph.optim.descent import ASGD, SGD, Lion, Rprop
from staticgraph.optim.lbfgs import LBFGS
from staticgraph.optim.optimizer import Optimizer, Updates
from staticgraph.optim.schedules import (
    Schedule,
    chained,
    constant,
    cosine,
    cosine_restarts,
    exponential,
    linear,
    multi_step,
    one_cycle,
    polynomial,
    sequential,
    step,
    warmup,
)

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax",
    "Average", "Lion", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "Schedule", "Updates",
    "chained", "clip_by_global_norm", "clip_by_value", "constant", "cosine", "cosine_restarts",
    "exponential", "global_norm", "linear", "multi_step", "one_cycle", "polynomial", "sequential",
    "step", "warmup",
]  # fmt: skip
