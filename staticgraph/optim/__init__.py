"""Optimizers as symbolic updates: `minimize(loss)` gives what `compile(updates=...)` takes.

Options and formulas are PyTorch's, and so are the names of what is kept, in variables, so that
`state_dict` goes from an eager optimizer to a compiled one and back.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from staticgraph.compiler.core import fork as _fork

if TYPE_CHECKING:
    from staticgraph.optim.adam import (
        Adam as Adam,
        Adamax as Adamax,
        AdamW as AdamW,
        NAdam as NAdam,
        RAdam as RAdam,
    )
    from staticgraph.optim.adaptive import (
        Adadelta as Adadelta,
        Adafactor as Adafactor,
        Adagrad as Adagrad,
        RMSprop as RMSprop,
    )
    from staticgraph.optim.average import Average as Average
    from staticgraph.optim.clipping import (
        clip_by_global_norm as clip_by_global_norm,
        clip_by_value as clip_by_value,
        global_norm as global_norm,
    )
    from staticgraph.optim.descent import ASGD as ASGD, SGD as SGD, Lion as Lion, Rprop as Rprop
    from staticgraph.optim.lbfgs import LBFGS as LBFGS
    from staticgraph.optim.optimizer import Optimizer as Optimizer, Updates as Updates
    from staticgraph.optim.schedules import (
        Schedule as Schedule,
        chained as chained,
        constant as constant,
        cosine as cosine,
        cosine_restarts as cosine_restarts,
        exponential as exponential,
        linear as linear,
        multi_step as multi_step,
        one_cycle as one_cycle,
        polynomial as polynomial,
        sequential as sequential,
        step as step,
        warmup as warmup,
    )


_MODULES = {
    "adam": "Adam Adamax AdamW NAdam RAdam",
    "adaptive": "Adadelta Adafactor Adagrad RMSprop",
    "average": "Average",
    "clipping": "clip_by_global_norm clip_by_value global_norm",
    "descent": "ASGD SGD Lion Rprop",
    "lbfgs": "LBFGS",
    "optimizer": "Optimizer Updates",
    "schedules":
        "Schedule chained constant cosine cosine_restarts exponential linear multi_step "
        "one_cycle polynomial sequential step warmup",
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax",
    "Average", "Lion", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "Schedule", "Updates",
    "chained", "clip_by_global_norm", "clip_by_value", "constant", "cosine", "cosine_restarts",
    "exponential", "global_norm", "linear", "multi_step", "one_cycle", "polynomial", "sequential",
    "step", "warmup",
]  # fmt: skip

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what is not there yet."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with _fork.importing():
            found = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
